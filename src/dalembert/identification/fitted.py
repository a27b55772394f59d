"""A fit made usable again: the model, the values and the rows it predicts, rebuilt from ``fit.json`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.base import Ties, no_ties, symmetric_ties
from dalembert.identification.fit import Fit
from dalembert.identification.friction import TERMS, FrictionLaws, FrictionModel, friction_coordinates
from dalembert.identification.friction_rows import FrictionRows, Tracks
from dalembert.identification.observation import LogRows
from dalembert.identification.rows import RowBlock, Rows
from dalembert.logs import LogSource
from dalembert.model import Model, build_model
from dalembert.robot import Coordinate, Distance, Robot
from dalembert.robot.yaml_reader import robot_of_text
from dalembert.robot.yaml_writer import yaml_text
from dalembert.signals import SignalSettings

__all__ = [
    "FittedModel",
    "TiedRows",
    "describe",
    "dry_rows",
    "fitted",
    "laws_from_dict",
    "laws_to_dict",
    "rows_of",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FittedModel:
    """An identified model: ``values`` (p,) for the columns of its rows, dependent ones at zero for base fits.

    The rigid part is ``model`` with parameters ``pi``; ``laws`` are the friction laws beside it, on ``places`` of
    ``described``, the robot as it was before they replaced its own friction. ``load`` (p,): rigid parameters that the
    transmitted loads are computed with, for friction that depends on them.
    """

    model: Model
    described: Robot
    laws: FrictionLaws | None
    ties: Ties
    values: Array
    projection: str
    sigma: Array
    payloads: tuple[str, ...]
    physical: bool
    load: Array | None = None

    @property
    def pi(self) -> Array:
        """Standard parameters of the rigid model (p,)."""
        count = len(self.ties.names)
        return np.asarray(self.ties.matrix @ self.values[:count])

    def rows(
        self, sources: Sequence[LogSource], signals: SignalSettings | Sequence[SignalSettings] | None = None
    ) -> Rows:
        """Rows of logs, with columns that match ``values``."""
        return rows_of(
            self.model, sources, signals=signals, projection=self.projection, sigma=self.sigma, payloads=self.payloads,
            described=self.described, laws=self.laws, ties=self.ties, load=self.load,
        )  # fmt: skip


class TiedRows:
    """Rows whose columns of parameters meant to be equal are summed."""

    def __init__(self, rows: Rows, ties: Ties) -> None:
        self.rows, self.ties = rows, ties
        self._split = len(ties.matrix)
        self.parameters = (*ties.names, *rows.parameters[self._split :])
        self.groups, self.dof_share = rows.groups, rows.dof_share

    def blocks(self) -> Iterator[RowBlock]:
        """The rows with tied columns."""
        for block in self.rows.blocks():
            tied = block.W[:, : self._split] @ self.ties.matrix
            yield replace(block, W=np.asfortranarray(np.hstack([tied, block.W[:, self._split :]])))


def rows_of(
    model: Model,
    sources: Sequence[LogSource],
    *,
    signals: SignalSettings | Sequence[SignalSettings] | None,
    projection: str | None,
    sigma: Array | None,
    payloads: Sequence[str],
    described: Robot,
    laws: FrictionLaws | None,
    ties: Ties,
    load: Array | None = None,
) -> Rows:
    """Rows of logs under a model, friction laws and ties."""
    places = friction_coordinates(described) if laws is not None else {}
    dry = dry_rows(model, projection, places) if places else ()
    rigid = LogRows(
        model, sources, signals=signals, projection=projection, sigma=sigma, payloads=payloads, dry=dry
    )  # fmt: skip
    rows: Rows = rigid if laws is None else FrictionRows(Tracks(rigid, places, load), laws)
    return rows if len(ties.names) == len(ties.matrix) else TiedRows(rows, ties)


def dry_rows(
    model: Model, projection: str | None, places: Mapping[str, Coordinate | Distance]
) -> tuple[tuple[frozenset[int], Coordinate | Distance], ...]:
    """Which rows each friction coordinate enters."""
    kernel = model.coordinates_kernel(projection or model.default_projection, places)
    rows, columns = kernel.nonzeros["D"]
    return tuple(
        (frozenset(int(r) for r, c in zip(rows, columns, strict=True) if c == k), place)
        for k, place in enumerate(places.values())
    )


def laws_to_dict(laws: FrictionLaws) -> dict[str, Any]:
    """JSON values of friction laws: for every coordinate its model's name and the settings of its terms."""
    kinds = {type(make()): name for name, make in TERMS.items()}
    return {
        on: {"model": model.name, "terms": [{"kind": kinds[type(t)], **_settings(t)} for t in model.terms]}
        for on, model in laws.laws
    }


def _settings(term: Any) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(term).items() if v == v}  # nan: not set


def laws_from_dict(data: Mapping[str, Any]) -> FrictionLaws:
    """Inverse of :func:`laws_to_dict`."""
    laws = []
    for on, entry in data.items():
        terms = []
        for settings in entry["terms"]:
            kind = settings["kind"]
            if kind not in TERMS:
                raise EstimationError(f"fit: friction term {kind!r} of {on!r} is unknown; {choices(kind, TERMS)}")
            given = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items() if k != "kind"}
            terms.append(type(TERMS[kind]())(**given))
        laws.append((on, FrictionModel(entry["model"], tuple(terms))))
    return FrictionLaws(tuple(laws))


def describe(
    described: Robot, rigid: Robot, laws: FrictionLaws | None, projection: str, sigma: Array, payloads: Sequence[str],
    symmetric: bool, load: Array | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What ``fit.json`` must hold to rebuild the model."""
    return {
        "described": yaml_text(described),
        "rigid": yaml_text(rigid),
        "friction": None if laws is None else laws_to_dict(laws),
        "projection": projection,
        "sigma": sigma.tolist(),
        "payloads": list(payloads),
        "symmetric": symmetric,
        **({} if load is None else {"load": load.tolist()}),
    }


def fitted(fit: Fit, model: Model | None = None) -> FittedModel:
    """The identified model of a fit; ``model`` is the one it was made with, where that is still at hand."""
    found = fit.provenance.get("model")
    if not isinstance(found, Mapping):
        raise EstimationError("fit: no model in its provenance; it was not written by 'identify'")
    rigid = robot_of_text(found["rigid"], "fit.json (model)")
    described = robot_of_text(found["described"], "fit.json (robot)")
    model = model or build_model(rigid)
    laws = laws_from_dict(found["friction"]) if found["friction"] else None
    ties = symmetric_ties(rigid) if found["symmetric"] else no_ties(model.parameters)
    names = (*ties.names, *(laws.names if laws else ()))
    values = np.zeros(len(names))
    known = fit.standard or {p.name: p.value for p in fit.parameters if p.essential}
    columns = fit.provenance["columns"]
    for name, value in known.items():
        values[names.index(columns.get(name, name))] = value
    return FittedModel(
        model, described, laws, ties, values, found["projection"], np.array(found["sigma"]),
        tuple(found["payloads"]), bool(fit.standard), np.array(found["load"]) if "load" in found else None,
    )  # fmt: skip
