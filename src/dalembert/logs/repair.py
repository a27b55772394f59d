"""Repairs of a log, each only when asked for, each said in the notes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
from scipy.interpolate import CubicSpline

from dalembert.errors import LogError, choices
from dalembert.logs.clock import Clock, places, read_clock
from dalembert.logs.log import Array

__all__ = ["Repair", "repaired"]

Missing = Literal["drop"]
Order = Literal["sort"]
Duplicates = Literal["drop"]
Jitter = Literal["resample", "uniform"]
Gaps = Literal["longest", "fill", "split"]
_VALID = {
    "missing": get_args(Missing), "order": get_args(Order), "duplicates": get_args(Duplicates),
    "jitter": get_args(Jitter), "gaps": get_args(Gaps),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repair:
    """What may be done to a log that is not clean; None: nothing, the log is refused.

    ``missing="drop"`` removes rows with NaN or infinite values (which leaves gaps). ``order="sort"`` sorts
    rows by time. ``duplicates="drop"`` keeps the first of rows with the same time. ``jitter="resample"``
    interpolates to a uniform grid by cubic splines; ``"uniform"`` takes the rows as uniform and the stamps as
    wrong. ``gaps="longest"`` keeps the longest stretch without a gap, ``"fill"`` interpolates linearly across
    them, ``"split"`` makes one log per stretch (:func:`dalembert.logs.read_pieces`).
    """

    missing: Missing | None = None
    order: Order | None = None
    duplicates: Duplicates | None = None
    jitter: Jitter | None = None
    gaps: Gaps | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            found = getattr(self, item.name)
            if found is not None and found not in _VALID[item.name]:
                raise LogError(f"repair of {item.name}: {found!r}; {choices(found, _VALID[item.name])}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A clean stretch: uniform grid, values (n, k), the notes on how it came about."""

    start: float
    period: float
    values: Array
    notes: tuple[str, ...]


def repaired(t: Array, values: Array, repair: Repair, unit: float, where: str) -> list[Piece]:
    """Uniform stretches of the samples; LogError for every fault that no repair was asked for."""
    notes: list[str] = []
    t, values = _finite(t, values, repair, notes)
    clock = read_clock(t, unit, where)
    if len(clock.backwards):
        n, at = len(clock.backwards), places(clock.backwards)
        if repair.order is None:
            raise LogError(
                f"{where}: time decreases {n} time{'s' * (n > 1)}, at {at}, expected increasing stamps; "
                "repair: order=sort"
            )
        order = np.argsort(t, kind="stable")
        t, values = t[order], values[order]
        notes.append(f"rows sorted by time: it decreased {n} time{'s' * (n > 1)}, at {at}")
        clock = read_clock(t, unit, where)
    if len(clock.repeated):
        n, at = len(clock.repeated), places(clock.repeated)
        if repair.duplicates is None:
            raise LogError(
                f"{where}: {n} repeated time stamp{'s' * (n > 1)}, at {at}, expected increasing stamps; "
                "repair: duplicates=drop"
            )
        keep = np.concatenate(([True], np.diff(t) > 0.0))
        t, values = t[keep], values[keep]
        notes.append(f"{n} row{'s' * (n > 1)} with a repeated time stamp dropped, at {at}")
        clock = read_clock(t, unit, where)
    return [
        _uniform(*piece, repair, unit, where, notes) for piece in _stretches(t, values, clock, repair, where, notes)
    ]


def _finite(t: Array, values: Array, repair: Repair, notes: list[str]) -> tuple[Array, Array]:
    if repair.missing is None:
        return t, values  # the scan has refused missing values
    good = np.isfinite(t) & np.isfinite(values).all(axis=1)
    if good.all():
        return t, values
    lost = np.flatnonzero(~good)
    notes.append(f"{len(lost)} rows with missing or infinite values dropped, at {places(lost, 1)}")
    return t[good], values[good]


def _stretches(
    t: Array, values: Array, clock: Clock, repair: Repair, where: str, notes: list[str]
) -> list[tuple[Array, Array]]:
    """The samples between gaps, or all of them with the gaps filled."""
    if not len(clock.gaps):
        return [(t, values)]
    n, lost, at = len(clock.gaps), int(np.sum(clock.missed)), places(clock.gaps)
    said = f"{n} gap{'s' * (n > 1)} of {lost} samples in all, before {at}"
    if repair.gaps is None:
        raise LogError(
            f"{where}: {said}, expected a steady {1.0 / clock.period:.6g} Hz; repair: gaps=longest, fill or split"
        )
    if repair.gaps == "fill":
        inside = [t[g] + clock.period * np.arange(1, m + 1) for g, m in zip(clock.gaps, clock.missed, strict=True)]
        full = np.sort(np.concatenate([t, *inside]))
        notes.append(f"{said}: filled by straight lines")
        return [(full, np.column_stack([np.interp(full, t, column) for column in values.T]))]
    bounds = [0, *(clock.gaps + 1).tolist(), len(t)]
    pieces = [(t[a:b], values[a:b]) for a, b in itertools.pairwise(bounds) if b - a >= 2]
    if repair.gaps == "longest":
        longest = max(pieces, key=lambda piece: len(piece[0]))
        notes.append(f"{said}: the longest stretch kept, {len(longest[0])} of {len(t)} rows")
        return [longest]
    notes.append(f"{said}: split into {len(pieces)} logs")
    return pieces


def _uniform(t: Array, values: Array, repair: Repair, unit: float, where: str, notes: list[str]) -> Piece:
    """The samples on a uniform grid."""
    clock = read_clock(t, unit, where)
    if clock.uniform:
        return Piece(clock.start, clock.period, values, (*notes, *clock.notes()))
    percent = f"{100 * clock.deviation:.3g} % of the period"
    if repair.jitter is None:
        raise LogError(
            f"{where}: time stamps are off a uniform {1.0 / clock.period:.6g} Hz grid by up to {percent}, "
            "expected at most 5 %; repair: jitter=resample or uniform"
        )
    period = float((t[-1] - t[0]) / (len(t) - 1))
    if repair.jitter == "uniform":
        said = f"time stamps jitter by up to {percent}: rows taken as uniform, stamps dropped"
        return Piece(float(t[0]), period, values, (*notes, said))
    grid = np.minimum(t[0] + period * np.arange(len(t)), t[-1])
    said = f"time stamps jitter by up to {percent}: resampled to {1.0 / period:.6g} Hz by cubic splines"
    return Piece(float(t[0]), period, CubicSpline(t, values, axis=0)(grid), (*notes, said))
