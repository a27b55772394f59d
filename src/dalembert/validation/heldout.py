"""A fit against logs it was not made from.

Torque is compared in the fit's own projection (on an over-actuated robot the motors' torques hold an unknown preload
that no model predicts), once decimated like the identification and once at full rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError
from dalembert.identification.fit import Fit
from dalembert.identification.fitted import FittedModel, fitted
from dalembert.identification.rows import Rows
from dalembert.logs import Log, LogSource
from dalembert.motion import Closer
from dalembert.parameters import inertial_names, is_physical
from dalembert.signals import SignalSettings, SlowMask, prepare

__all__ = ["GroupScore", "Validation", "validate"]

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
class Validation:
    """How a fit predicts held-out logs.

    ``rows`` at the identification's decimation, ``raw`` at the full rate. The raw error again in two parts:
    ``away_error`` where every joint with dry friction in a row clearly moves, ``reversal_error`` in the other rows, a
    share ``reversal_share`` of all: there the sign of a measured velocity is noise, and true parameters err too.
    ``mass_positive``: share of configurations along the logs where the mass matrix is positive definite;
    ``mass_smallest``: its smallest eigenvalue there, relative to the largest. ``inconsistent``: bodies that are not
    physically consistent, empty for base fits (which have no bodies).
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

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """A few lines: errors per row group, mass matrix, consistency."""
        lines = [
            f"{self.fit} on {', '.join(self.logs)}: torque error {100 * self.relative_error:.2f} % decimated, "
            f"{100 * self.raw_relative_error:.2f} % at full rate"
        ]
        if self.reversal_share > 0.0:
            lines.append(
                f"  at full rate {100 * self.away_error:.2f} % away from velocity reversals, "
                f"{100 * self.reversal_error:.2f} % near them ({100 * self.reversal_share:.1f} % of the rows)"
            )
        for row, raw in zip(self.rows, self.raw, strict=True):
            lines.append(
                f"  {row.name:10} RMS {row.rms:8.4g} {row.unit:4} {100 * row.relative_error:6.2f} %  R2 {row.r2:.4f}"
                f"   raw {100 * raw.relative_error:6.2f} %  R2 {raw.r2:.4f}"
            )
        lines.append(
            f"  mass matrix positive definite at {100 * self.mass_positive:.0f} % of the configurations "
            f"(smallest eigenvalue / largest {self.mass_smallest:.2g})"
        )
        if self.inconsistent:
            lines.append(f"  bodies not physically consistent: {', '.join(self.inconsistent)}")
        return "\n".join(lines)


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


def settings_of(fit: Fit) -> SignalSettings:
    """Signal treatment of the fit's first log: cutoff, decimation and mask as settled then."""
    record = fit.provenance["logs"][0]
    slow = max(record["slow"], default=0.0)
    mask = SlowMask(slow, "absolute") if slow > 0.0 else None
    return SignalSettings(cutoff=record["cutoff"], decimate=record["decimate"], mask=mask)


def validate(fit: Fit, logs: LogSource | Iterable[LogSource], *, signals: SignalSettings | None = None) -> Validation:
    """Score a fit on held-out logs; signals are treated as they were in the identification unless given."""
    sources = tuple(logs) if isinstance(logs, Iterable) and not isinstance(logs, Log) else (logs,)
    model = fitted(fit)
    settings = signals or settings_of(fit)
    units = {row.name: row.unit for row in fit.rows}
    full_rate = replace(settings, decimate=1, mask=None)
    kept = model.rows(sources, settings)
    rows, raw = _sums(kept, model.values), _sums(model.rows(sources, full_rate), model.values)
    away = _sums(model.rows(sources, replace(full_rate, mask=SlowMask())), model.values)
    scores = _scores(kept.groups, rows, units)
    positive, smallest = _mass(model, sources, settings)
    return Validation(
        fit=f"{fit.robot} ({fit.method})", logs=tuple(source.info.name for source in sources),
        relative_error=_relative(rows), raw_relative_error=_relative(raw), away_error=_relative(away),
        reversal_error=_relative(raw, less=away), reversal_share=1.0 - _count(away) / _count(raw),
        rows=scores, raw=_scores(kept.groups, raw, units), mass_positive=positive, mass_smallest=smallest,
        inconsistent=_inconsistent(model), notes=_notes(fit, sources),
    )  # fmt: skip


def _notes(fit: Fit, sources: Sequence[LogSource]) -> tuple[str, ...]:
    used = {record["sha256"]: record["name"] for record in fit.provenance["logs"] if record["sha256"]}
    return tuple(
        f"log {s.info.name!r} was used in the identification itself ({used[s.info.sha256]!r}): this is not validation"
        for s in sources
        if s.info.sha256 in used
    )


def _mass(model: FittedModel, sources: Sequence[LogSource], settings: SignalSettings) -> tuple[float, float]:
    """Share of configurations with a positive definite mass matrix, and its smallest relative eigenvalue."""
    good, count, smallest = 0, 0, np.inf
    for source in sources:
        signals = prepare(source, settings)
        step = max(1, len(signals.t) // _CONFIGURATIONS)
        y = Closer(model.model).positions(signals.q, signals.t)[::step]
        eigen = np.linalg.eigvalsh(model.model.mass_matrix(y, _with_payload(model, source.info.payload)))
        relative = eigen[:, 0] / eigen[:, -1]
        good, count = good + int((relative > 0.0).sum()), count + len(relative)
        smallest = min(smallest, float(relative.min()))
    return good / count, smallest


def _with_payload(model: FittedModel, payload: str) -> Array:
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
