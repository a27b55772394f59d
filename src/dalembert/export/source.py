"""What every exporter reads: a fit's model with its values, with one payload or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ExportError, choices
from dalembert.export.friction import Law, law_of
from dalembert.identification.fit import Fit
from dalembert.identification.fitted import FittedModel, fitted
from dalembert.identification.friction import friction_coordinates
from dalembert.model import Model, build_model
from dalembert.parameters import inertial_names
from dalembert.robot import Robot

__all__ = ["Identified", "identified"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Identified:
    """A fit's rigid ``model`` with standard parameters ``pi`` (p,) and the friction ``laws`` beside it.

    The values of a base fit stand in the columns its base parameters are named after, those of dependent columns are
    zero: the same torque as any completion of them. ``beta`` (b,) are the base values, ``columns`` (p, b) the standard
    columns they multiply (zero for those of friction laws), ``symbols`` their names. ``described`` is the robot before
    friction laws replaced its own friction. ``physical``: the method gave consistent standard parameters.
    """

    fit: Fit
    model: Model
    described: Robot
    pi: Array
    laws: tuple[Law, ...]
    symbols: tuple[str, ...]
    beta: Array
    columns: Array
    payload: str
    physical: bool
    notes: tuple[str, ...]

    @property
    def robot(self) -> Robot:
        """The robot of the rigid model."""
        return self.model.robot

    @property
    def values(self) -> dict[str, float]:
        """Standard parameters by name."""
        return dict(zip(self.model.parameters, self.pi.tolist(), strict=True))


def identified(fit: Fit, payload: str | None = None) -> Identified:
    """The model of a fit. ``payload`` names the one it carries, "" none; None: none where the logs tell it apart."""
    found = fitted(fit)
    carried, notes = _carried(fit, found, payload)
    absent = [name for name in found.payloads if name != carried]
    model = found.model
    if absent:
        model = build_model(_without(model.robot, absent), backend=model.backend)
    rigid = dict(zip(found.model.parameters, found.pi.tolist(), strict=True))
    laws = _laws(found)
    symbols, beta, columns = _base(fit, found, model, absent)
    return Identified(
        fit, model, _without(found.described, absent), np.array([rigid[name] for name in model.parameters]), laws,
        symbols, beta, columns, carried, found.physical, notes,
    )  # fmt: skip


def _carried(fit: Fit, found: FittedModel, asked: str | None) -> tuple[str, tuple[str, ...]]:
    """Which payload the exported model carries, and what to say about it."""
    known = found.payloads
    if asked:
        if asked not in known:
            raise ExportError(f"payload {asked!r} is not in the fit; {choices(asked, known)}")
        return asked, ()
    seen = tuple(dict.fromkeys(str(log.get("payload", "")) for log in fit.provenance.get("logs", ())))
    if not known or "" in seen:
        return "", ((f"payload left out: {', '.join(known)}",) if known else ())
    if asked is not None:
        raise ExportError(
            f"every log of the fit carries a payload ({', '.join(known)}), which cannot be told from the robot; "
            f"expected one of them"
        )
    if len(known) > 1:
        raise ExportError(f"the fit has payloads {', '.join(known)} and no log without; choose one of them")
    return known[0], (f"every log carries payload {known[0]!r}: exported with it",)


def _without(robot: Robot, absent: Sequence[str]) -> Robot:
    """The robot less payload bodies."""
    if not absent:
        return robot
    gone = {name for body in absent for name in inertial_names(body)}
    nominal = {name: value for name, value in robot.nominal.items() if name not in gone}
    return replace(robot, bodies=tuple(b for b in robot.bodies if b.name not in absent), nominal=nominal)


def _laws(found: FittedModel) -> tuple[Law, ...]:
    if found.laws is None:
        return ()
    places, values = friction_coordinates(found.described), found.values[len(found.ties.names) :]
    laws, at = [], 0
    for on, model in found.laws.laws:
        count = len(model.symbols)
        laws.append(law_of(on, places[on], model, values[at : at + count]))
        at += count
    return tuple(laws)


def _base(
    fit: Fit, found: FittedModel, model: Model, absent: Sequence[str]
) -> tuple[tuple[str, ...], Array, Array]:  # fmt: skip
    """Names, values and standard columns of the base parameters that act without the absent payloads."""
    gone = {name for body in absent for name in inertial_names(body)}
    renamed = fit.provenance["columns"]
    kept = [p for p in fit.parameters if renamed.get(p.name, p.name) not in gone]
    rows = [found.model.parameters.index(name) for name in model.parameters]
    columns = np.zeros((len(model.parameters), len(kept)))
    for k, parameter in enumerate(kept):
        column = renamed.get(parameter.name, parameter.name)
        if column in found.ties.names:
            columns[:, k] = found.ties.matrix[rows, found.ties.names.index(column)]
    beta = fit.beta
    return tuple(p.name for p in kept), np.array([beta[p.name] for p in kept]), columns
