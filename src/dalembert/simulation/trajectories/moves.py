"""Moves from point to point, each straight in its coordinates, from rest to rest by a polynomial of time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError

__all__ = ["Law", "Moves", "move_times", "moves"]

Array = NDArray[np.float64]


class Law(StrEnum):
    """The time law of a move by the degree of its polynomial: 0 to 1 with 1, 2 or 3 derivatives zero at both ends."""

    CUBIC = "cubic"
    QUINTIC = "quintic"
    SEPTIC = "septic"

    @property
    def polynomial(self) -> Polynomial:
        """Share of the way over share of the time."""
        return _LAWS[self]

    @property
    def peaks(self) -> tuple[float, float]:
        """Largest rate and second derivative of the law."""
        s = np.linspace(0.0, 1.0, 20001)
        return float(np.abs(self.polynomial.deriv()(s)).max()), float(np.abs(self.polynomial.deriv(2)(s)).max())


_LAWS = {
    Law.CUBIC: Polynomial([0, 0, 3, -2]),
    Law.QUINTIC: Polynomial([0, 0, 0, 10, -15, 6]),
    Law.SEPTIC: Polynomial([0, 0, 0, 0, 35, -84, 70, -20]),
}


@dataclass(frozen=True, slots=True)
class Moves:
    """Points (m, k), and times [s] at which the moves between them ``start`` and ``end`` (m - 1,); rest elsewhere."""

    points: Array
    start: Array
    end: Array
    law: Law = Law.QUINTIC

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or len(self.points) < 2 or not np.isfinite(self.points).all():
            raise UsageError(
                f"moves: points of shape {self.points.shape}, expected at least two rows of finite numbers"
            )
        steps = np.concatenate([self.start, self.end[-1:]])[1:] - self.end
        if self.start.shape != (len(self.points) - 1,) or not (self.end > self.start).all() or (steps < -1e-12).any():
            raise UsageError("moves: times must rise, one start and one later end per move")

    def __call__(self, t: ArrayLike, /) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, k) at times ``t`` (n,) [s]."""
        t = np.asarray(t, dtype=float)
        k = np.clip(np.searchsorted(self.start, t, side="right") - 1, 0, len(self.start) - 1)
        span = (self.end - self.start)[k]
        s = np.clip((t - self.start[k]) / span, 0.0, 1.0)
        step = (self.points[1:] - self.points[:-1])[k]
        law = self.law.polynomial
        # at rest the highest derivative of a cubic is not zero at s = 0 and 1: it belongs to the move alone
        moving = ((t >= self.start[k]) & (t < self.end[k])).astype(float)
        x = self.points[k] + law(s)[:, None] * step
        return x, (moving * law.deriv()(s) / span)[:, None] * step, (moving * law.deriv(2)(s) / span**2)[:, None] * step


def moves(points: ArrayLike, move: ArrayLike, pause: ArrayLike = 0.0, law: Law = Law.QUINTIC) -> Moves:
    """Moves that take ``move`` [s] each, with a ``pause`` [s] after each (one number for all, or one per move)."""
    points = np.asarray(points, dtype=float)
    n = len(points) - 1
    if n < 1:
        raise UsageError(f"moves: {n + 1} points, expected at least two")
    spans = []
    for name, value in (("move", move), ("pause", pause)):
        array = np.asarray(value, dtype=float)
        if array.shape not in ((), (n,)) or not np.isfinite(array).all() or (array < 0.0).any():
            raise UsageError(f"moves: {name} {array.tolist()}, expected one time or {n} of them, in s and >= 0")
        spans.append(np.broadcast_to(array, (n,)))
    if not (spans[0] > 0.0).all():
        raise UsageError("moves: a move takes no time, expected positive times")
    start = np.concatenate([[0.0], np.cumsum(spans[0] + spans[1])[:-1]])
    return Moves(points, start, start + spans[0], law)


def move_times(points: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, law: Law = Law.QUINTIC) -> Array:
    """Shortest times (m - 1,) [s] of the moves that keep velocity and acceleration (k,) of every coordinate."""
    step = np.abs(np.diff(np.asarray(points, dtype=float), axis=0))
    peak_v, peak_a = law.peaks
    by_speed = peak_v * step / np.asarray(velocity, dtype=float)
    by_acceleration = np.sqrt(peak_a * step / np.asarray(acceleration, dtype=float))
    times: Array = np.maximum(by_speed, by_acceleration).max(axis=1)
    if not np.isfinite(times).all() or not (times > 0.0).all():
        raise UsageError(
            "moves: no time follows from the limits; give 'move' in s, or velocity and acceleration limits and points "
            "that differ"
        )
    return times
