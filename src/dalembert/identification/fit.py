"""The result of an identification, as it is printed and stored (``fit.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dalembert.display import Plotted
from dalembert.errors import EstimationError, choices
from dalembert.identification.fit_text import fit_headline, fit_lines
from dalembert.identification.problem import Estimate

__all__ = ["Fit", "FitParameter", "FitRow"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class FitParameter:
    """One identified base parameter.

    ``sigma`` by the papers' formula, ``sigma_robust`` by HAC, both in the parameter's unit; ``relative_sigma`` is
    ``sigma / |value|``; None where it cannot be given. ``low``, ``high``: 95 % interval. ``regrouping``: which standard
    parameters it stands for. ``essential``: kept in the essential set. ``verdict``, ``hint``: how well the log fixes it
    and which motion would help.
    """

    name: str
    value: float
    unit: str = ""
    sigma: float | None = None
    sigma_robust: float | None = None
    relative_sigma: float | None = None
    low: float | None = None
    high: float | None = None
    regrouping: str = ""
    essential: bool = True
    verdict: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class FitRow:
    """Error of one row group: rows, RMS [unit of the group] and norm relative to the measured one."""

    name: str
    rows: int
    rms: float
    relative_error: float
    unit: str = "N m"


@dataclass(frozen=True, slots=True)
class Fit(Plotted):
    """Everything an identification found, free of the data it came from. The fields are those of ``fit.json``.

    ``standard`` maps standard parameters to values for the methods that give them. ``provenance`` holds versions,
    options and file hashes: JSON values only.
    """

    robot: str
    method: str
    status: str
    rank: int
    condition: float
    relative_error: float
    rows: tuple[FitRow, ...]
    parameters: tuple[FitParameter, ...]
    standard: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    remedy: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("standard", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        *,
        robot: str,
        units: Mapping[str, str] = MappingProxyType({}),
        group_units: Mapping[str, str] = MappingProxyType({}),
        regrouping: Mapping[str, str] = MappingProxyType({}),
        robust: Sequence[float] | None = None,
        intervals: Sequence[tuple[float, float]] | None = None,
        verdicts: Mapping[str, tuple[str, str]] = MappingProxyType({}),
        dropped: Mapping[str, float] = MappingProxyType({}),
        provenance: Mapping[str, Any] = MappingProxyType({}),
    ) -> Fit:
        """From an estimate. ``robust`` (k,) sigmas, ``intervals`` (k,), ``verdicts``: name -> (verdict, hint).

        ``dropped``: base parameters left out of the essential set, with the value they had.
        """
        sigma = estimate.sigma
        parameters = []
        for i, name in enumerate(estimate.names):
            value, known = float(estimate.values[i]), bool(estimate.determined[i])
            spread = None if sigma is None or not known else float(sigma[i])
            low, high = intervals[i] if intervals is not None and known else (None, None)
            verdict, hint = verdicts.get(name, ("", ""))
            parameters.append(
                FitParameter(
                    name,
                    value,
                    unit=units.get(name, ""),
                    sigma=spread,
                    sigma_robust=None if robust is None or not known else float(robust[i]),
                    relative_sigma=None if spread is None or value == 0.0 else spread / abs(value),
                    low=None if low is None else float(low),
                    high=None if high is None else float(high),
                    regrouping=regrouping.get(name, ""),
                    verdict=verdict,
                    hint=hint,
                )
            )
        for name, value in dropped.items():
            parameters.append(
                FitParameter(
                    name,
                    value,
                    unit=units.get(name, ""),
                    regrouping=regrouping.get(name, ""),
                    essential=False,
                )
            )
        return cls(
            robot=robot,
            method=estimate.method,
            status=str(estimate.status),
            rank=estimate.rank,
            condition=estimate.condition,
            relative_error=estimate.relative_error,
            rows=tuple(
                FitRow(g.group, g.rows, g.rms, g.relative, group_units.get(g.group, "N m")) for g in estimate.groups
            ),
            parameters=tuple(parameters),
            standard=_standard(estimate),
            message=estimate.message,
            remedy=estimate.status.remedy,
            provenance=provenance,
        )

    def value(self, name: str) -> float:
        """The value of a base parameter."""
        return self[name].value

    def __getitem__(self, name: str) -> FitParameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise EstimationError(f"fit: no parameter {name!r}; {choices(name, [p.name for p in self.parameters])}")

    @property
    def beta(self) -> Mapping[str, float]:
        """Base values by name, those left out of the essential set as zero."""
        return MappingProxyType({p.name: p.value if p.essential else 0.0 for p in self.parameters})

    def to_dict(self) -> dict[str, Any]:
        """JSON values only; the inverse of :meth:`from_dict`, exactly."""
        out: dict[str, Any] = {"format": FORMAT}
        for name in Fit.field_names():
            value = getattr(self, name)
            if name in ("rows", "parameters"):
                value = [asdict(entry) for entry in value]
            elif isinstance(value, Mapping):
                value = dict(value)
            out[name] = value
        return out

    @staticmethod
    def field_names() -> tuple[str, ...]:
        """The fields of ``fit.json``; a fit that carries more than that stores no more."""
        return tuple(item.name for item in fields(Fit))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """From what :meth:`to_dict` gave; a missing or unknown field raises."""
        body = dict(data)
        found = body.pop("format", None)
        if found != FORMAT:
            raise EstimationError(f"fit: format {found!r}, expected {FORMAT}")
        _known(cls, body, "fit")
        for name, kind in (("rows", FitRow), ("parameters", FitParameter)):
            for entry in body[name]:
                _known(kind, entry, f"fit: {name}")
            body[name] = tuple(kind(**entry) for entry in body[name])
        return cls(**body)

    def to_json(self) -> str:
        """``fit.json`` text; every number survives the round trip."""
        try:
            return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"
        except ValueError as error:
            raise EstimationError(f"fit: {error}; expected finite numbers only") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From ``fit.json`` text."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise EstimationError(f"fit: not JSON ({error})") from None
        if not isinstance(data, dict):
            raise EstimationError(f"fit: found a {type(data).__name__}, expected a JSON object")
        return cls.from_dict(data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {fit_headline(self)}>"

    def __str__(self) -> str:
        """Tables: base parameters, regroupings, errors of the row groups, standard parameters, what would help."""
        return "\n".join(fit_lines(self))


def _standard(estimate: Estimate) -> dict[str, float]:
    if estimate.standard is None:
        return {}
    return {n: float(v) for n, v in zip(estimate.standard_names, np.asarray(estimate.standard), strict=True)}


def _known(kind: type, data: Mapping[str, Any], what: str) -> None:
    names = [item.name for item in fields(kind)]
    for name in data:
        if name not in names:
            raise EstimationError(f"{what}: unknown field {name!r}; {choices(name, names)}")
    for name in names:
        if name not in data:
            raise EstimationError(f"{what}: field {name!r} is missing")
