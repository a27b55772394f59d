"""A fit against logs it was not made from.

Torque is compared in the fit's own projection (on an over-actuated robot the motors' torques hold an unknown preload
that no model predicts), once decimated like the identification and once at full rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.display import Tabled, aligned
from dalembert.errors import EstimationError
from dalembert.identification.drive import calibrated
from dalembert.identification.fit import Fit
from dalembert.identification.fitted import FittedModel, fitted
from dalembert.identification.identify import Identification
from dalembert.identification.observation import BLOCK, Closing, Run
from dalembert.identification.prepare import labelled_logs
from dalembert.identification.rows import Rows
from dalembert.logs import Log, LogSource
from dalembert.parameters import inertial_names, is_physical
from dalembert.signals import SignalSettings, SlowMask, plan, prepared

__all__ = ["GroupScore", "Validation", "payload_values", "settings_of", "validate"]

Array = NDArray[np.float64]

_CONFIGURATIONS = 2000  # along the logs, at which the mass matrix is checked


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Prediction of one row group: RMS error [unit], error norm over torque norm, R2 = 1 - error / variance."""

    name: str
    unit: str
    rows: int
    rms: float
    relative_error: float
    r2: float


@dataclass(frozen=True, slots=True)
class Validation(Tabled):
    """How a fit predicts held-out logs.

    ``rows`` at the identification's decimation, ``raw`` at the full rate. The raw error again in two parts:
    ``away_error`` where every joint with dry friction in a row clearly moves, ``reversal_error`` in the other rows, a
    share ``reversal_share`` of all: there the sign of a measured velocity is noise, and true parameters err too.
    ``mass_positive``: share of configurations along the logs where the mass matrix is positive definite;
    ``mass_smallest``: its smallest eigenvalue there, relative to the largest. ``inconsistent``: bodies that are not
    physically consistent, empty for base fits (which have no bodies). ``sources``: the logs, for pictures.
    """

    fit: str
    logs: tuple[str, ...]
    relative_error: float
    raw_relative_error: float
    away_error: float
    reversal_error: float
    reversal_share: float
    rows: tuple[GroupScore, ...]
    raw: tuple[GroupScore, ...]
    mass_positive: float
    mass_smallest: float
    inconsistent: tuple[str, ...]
    notes: tuple[str, ...]
    projection: str = ""
    physical: bool = False
    sources: tuple[LogSource, ...] = field(default=(), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON values; all but the logs themselves."""
        return {name: value for name, value in asdict(replace(self, sources=())).items() if name != "sources"}

    def __repr__(self) -> str:
        return f"<Validation {self.headline}>"

    @property
    def headline(self) -> str:
        """Fit, logs and torque errors in one line."""
        projected = f", projected ({self.projection})" if self.projection.startswith(("platform", "whitened")) else ""
        return (
            f"{self.fit} on {', '.join(self.logs)}: torque error {_percent(self.relative_error)}{projected}, "
            f"{_percent(self.raw_relative_error)} at full rate without any filter on the torque"
        )

    def cells(self) -> list[tuple[str, ...]]:
        """Header and a row for every row group: RMS error, relative error and R2, decimated and at full rate."""
        rows: list[tuple[str, ...]] = [("", "rows", "RMS", "", "error", "R2", "at full rate", "R2")]
        for row, raw in zip(self.rows, self.raw, strict=True):
            errors = (_percent(row.relative_error), f"{row.r2:.4f}", _percent(raw.relative_error), f"{raw.r2:.4f}")
            rows.append((row.name, str(row.rows), f"{row.rms:.4g}", row.unit, *errors))
        return rows

    def __str__(self) -> str:
        """A few lines: errors per row group, mass matrix, consistency."""
        lines = [
            self.headline,
            *aligned(self.cells(), right=(1, 2, 4, 5, 6, 7), indent="  "),
            f"mass matrix positive definite at {100 * self.mass_positive:.4g} % of the configurations "
            f"(smallest eigenvalue {self.mass_smallest:.2g} of the largest)",
        ]
        if self.reversal_share > 0.0:
            lines.append(
                f"at full rate {_percent(self.away_error)} away from velocity reversals, "
                f"{_percent(self.reversal_error)} near them ({100 * self.reversal_share:.1f} % of the rows)"
            )
        if self.physical:
            bad = ", ".join(self.inconsistent)
            lines.append(f"bodies not physically consistent: {bad}" if bad else "every body is physically consistent")
        return "\n".join([*lines, *self.notes])


def _percent(share: float) -> str:
    return f"{100.0 * share:.2f} %"


@dataclass(slots=True)
class _Sums:
    rows: int = 0
    error: float = 0.0
    torque: float = 0.0
    sum: float = 0.0


def _sums(rows: Rows, values: Array) -> list[_Sums]:
    """Sums over the rows of each group."""
    sums = [_Sums() for _ in rows.groups]
    for block in rows.blocks():
        s = sums[block.group]
        s.rows += len(block.y)
        s.error += float(np.sum((block.y - block.W @ values) ** 2))
        s.torque += float(np.sum(block.y**2))
        s.sum += float(block.y.sum())
    return sums


def _scores(names: Sequence[str], sums: Sequence[_Sums], units: dict[str, str]) -> tuple[GroupScore, ...]:
    """Scores of the groups."""
    if not any(s.rows for s in sums):
        raise EstimationError("validation: no rows are left of the logs, expected longer ones or a smaller mask")
    return tuple(_score(name, units.get(name, "N m"), s) for name, s in zip(names, sums, strict=True))


def _count(sums: Sequence[_Sums]) -> int:
    return sum(s.rows for s in sums)


def _relative(sums: Sequence[_Sums], less: Sequence[_Sums] = ()) -> float:
    """Error norm over torque norm of all groups, or of what is left without the rows in ``less``."""
    error = sum(s.error for s in sums) - sum(s.error for s in less)
    torque = sum(s.torque for s in sums) - sum(s.torque for s in less)
    return float(np.sqrt(max(error, 0.0) / torque)) if torque > 0.0 else 0.0 if not error > 0.0 else float("inf")


def _score(name: str, unit: str, s: _Sums) -> GroupScore:
    variance = s.torque - s.sum**2 / s.rows if s.rows else 0.0
    return GroupScore(
        name, unit, s.rows, float(np.sqrt(s.error / s.rows)) if s.rows else 0.0,
        float(np.sqrt(s.error / s.torque)) if s.torque > 0.0 else 0.0, 1.0 - s.error / variance if variance > 0.0 else
        0.0,
    )  # fmt: skip


def settings_of(fit: Fit, log: LogSource) -> SignalSettings:
    """Signal treatment of the fit's own log (of the same name, else the first) for another one.

    A log sampled at another rate is decimated to the same rate of rows.
    """
    records = fit.provenance["logs"]
    record = next((r for r in records if r["name"] == log.info.name), records[0])
    slow = tuple(record["slow"])
    mask = SlowMask(slow, "absolute") if max(slow, default=0.0) > 0.0 else None
    decimate = max(1, round(record["decimate"] * log.info.rate / record["rate"]))
    return SignalSettings(cutoff=record["cutoff"], decimate=decimate, mask=mask)


def validate(
    fit: Fit,
    logs: LogSource | Iterable[LogSource],
    *,
    signals: SignalSettings | None = None,
    payload: Mapping[str, str] | None = None,
) -> Validation:
    """Score a fit on held-out logs; signals are treated as they were in the identification unless given. ``payload``
    maps log names to the payload each carries.
    """
    sources = tuple(logs) if isinstance(logs, Iterable) and not isinstance(logs, Log) else (logs,)
    if not sources:
        raise EstimationError("validation: no log given, expected at least one")
    gains = {motor: found["value"] for motor, found in fit.provenance.get("gains", {}).items()}
    sources = tuple(calibrated(source, gains) for source in labelled_logs(sources, payload or {}))
    # an identification still has its model at hand: nothing is compiled again
    model = fitted(fit, fit.prepared.model if isinstance(fit, Identification) else None)
    settings = [signals or settings_of(fit, source) for source in sources]
    units = {row.name: row.unit for row in fit.rows}
    full_rate = [replace(s, decimate=1, mask=None) for s in settings]
    kept = model.rows(sources, settings)
    rows, raw = _sums(kept, model.values), _sums(model.rows(sources, full_rate), model.values)
    away = _sums(model.rows(sources, [replace(s, mask=SlowMask()) for s in full_rate]), model.values)
    scores = _scores(kept.groups, rows, units)
    positive, smallest = _mass(model, sources, settings)
    return Validation(
        fit=f"{fit.robot} ({fit.method})", logs=tuple(source.info.name for source in sources),
        relative_error=_relative(rows), raw_relative_error=_relative(raw), away_error=_relative(away),
        reversal_error=_relative(raw, less=away), reversal_share=1.0 - _count(away) / _count(raw),
        rows=scores, raw=_scores(kept.groups, raw, units), mass_positive=positive, mass_smallest=smallest,
        inconsistent=_inconsistent(model), notes=_notes(fit, sources), projection=model.projection,
        physical=model.physical, sources=sources,
    )  # fmt: skip


def _notes(fit: Fit, sources: Sequence[LogSource]) -> tuple[str, ...]:
    used = {record["sha256"]: record["name"] for record in fit.provenance["logs"] if record["sha256"]}
    return tuple(
        f"log {s.info.name!r} was used in the identification itself ({used[s.info.sha256]!r}): this is not validation"
        for s in sources
        if s.info.sha256 in used
    )


def _mass(model: FittedModel, sources: Sequence[LogSource], settings: Sequence[SignalSettings]) -> tuple[float, float]:
    """Share of configurations with a positive definite mass matrix, and its smallest relative eigenvalue."""
    good, count, smallest = 0, 0, np.inf
    for source, treated in zip(sources, settings, strict=True):
        run = Run(source, plan(source, treated))
        step = max(1, run.plan.samples // _CONFIGURATIONS)
        closing, pi = Closing(model.model, run), payload_values(model, source.info.payload)
        for signals in prepared(source, run.plan, BLOCK):
            y = closing(signals)[0][-signals.first % step :: step]
            if len(y):
                eigen = np.linalg.eigvalsh(model.model.mass_matrix(y, pi))
                relative = eigen[:, 0] / eigen[:, -1]
                good, count = good + int((relative > 0.0).sum()), count + len(relative)
                smallest = min(smallest, float(relative.min()))
    return good / count, smallest


def payload_values(model: FittedModel, payload: str) -> Array:
    """Standard parameters with the payloads a log does not carry at zero."""
    pi = model.pi.copy()
    for body in model.payloads:
        if body != payload:
            pi[[model.model.parameters.index(name) for name in inertial_names(body)]] = 0.0
    return pi


def _inconsistent(model: FittedModel) -> tuple[str, ...]:
    if not model.physical:
        return ()
    names = model.model.parameters
    bodies = [b.name for b in model.model.robot.bodies if not b.massless]
    values = model.pi
    return tuple(b for b in bodies if not is_physical(values[[names.index(n) for n in inertial_names(b)]]))
