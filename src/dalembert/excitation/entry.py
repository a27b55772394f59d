"""From rest at home into a periodic motion and back to rest, within the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.excitation.constraints.slack import Slacks
from dalembert.excitation.quintic import Quintic, quintic

__all__ = ["Ride", "find_ride", "quiet_moments"]

Array = NDArray[np.float64]
Derivatives = tuple[Array, ...]
Derived = Callable[[Array], Derivatives]  # x and its derivatives up to the third, each (n, r)

_CHECKS = 400  # of the limits along an entry
_GROWTH, _LENGTHS = 1.15, 50  # between durations tried, up to 19 s
_SHORTEST = 0.02  # [s]
_MOMENTS = 6  # of a periodic motion tried as its beginning
_ROUNDING = 1e-12
_SAME = 1.2


@dataclass(frozen=True, slots=True)
class Ride:
    """A whole run: entry from rest at home, the motion ``repeat`` times, exit to rest at home.

    ``coordinates`` name the columns. An entry or exit is None where home is where the motion starts or ends at rest.
    """

    coordinates: tuple[str, ...]
    motion: Derived
    period: float
    repeat: int
    entry: Quintic | None
    exit: Quintic | None

    @property
    def record(self) -> tuple[float, float]:
        """Beginning and end [s] of the part that is designed."""
        start = self.entry.duration if self.entry else 0.0
        return start, start + self.repeat * self.period

    @property
    def duration(self) -> float:
        """Everything [s]."""
        return self.record[1] + (self.exit.duration if self.exit else 0.0)

    def derivatives(self, t: ArrayLike) -> Derivatives:
        """X and its derivatives up to the third (n, r) at times ``t`` (n,) [s]; at rest outside."""
        at = np.clip(np.atleast_1d(np.asarray(t, dtype=float)), 0.0, self.duration)
        start, end = self.record
        out = [np.array(part) for part in self.motion(np.clip(at - start, 0.0, end - start))]
        for piece, inside, since in ((self.entry, at < start, at), (self.exit, at > end, at - end)):
            if piece is not None and inside.any():
                for order, part in enumerate(out):
                    part[inside] = piece.derivative(since[inside], order)
        return tuple(out)

    def __call__(self, t: ArrayLike) -> Derivatives:
        """Position, velocity and acceleration (n, r)."""
        return self.derivatives(t)[:3]


def find_ride(
    coordinates: tuple[str, ...], motion: Derived, period: float, repeat: int, home: Array, limits: Slacks
) -> tuple[Ride, tuple[str, ...]]:
    """The run around a motion, with the shortest entry and exit that keep the limits and are no wilder than the motion
    itself where that is possible; notes where there is none.
    """
    first = [part[0] for part in motion(np.zeros(1))]
    last = [part[0] for part in motion(np.array([repeat * period]))]
    rest = [home, np.zeros_like(home), np.zeros_like(home)]
    calm = [np.maximum(np.abs(part).max(axis=0), 1e-12) for part in motion(np.linspace(0.0, period, _CHECKS))[1:3]]
    notes = []
    pieces: list[Quintic | None] = []
    for what, start, end in (("entry from", rest, first[:3]), ("exit to", last[:3], rest)):
        still = all(np.abs(a - b).max() < 1e-9 for a, b in zip(start, end, strict=True))
        piece = None if still else _bridge(start, end, calm, limits)
        if piece is None and not still:
            notes.append(
                f"no {what} rest at home found within the limits: the trajectory begins or ends in motion; plan a way "
                f"there, or use a family at rest at both ends (fourier-polynomial, b-spline)"
            )
        pieces.append(piece)
    return Ride(coordinates, motion, period, repeat, pieces[0], pieces[1]), tuple(notes)


def quiet_moments(speed: Array) -> Array:
    """Samples of a period where the motion is slowest nearby, slowest first: good moments to begin."""
    slow = (speed <= np.roll(speed, 1)) & (speed <= np.roll(speed, -1))
    at = np.flatnonzero(slow)
    return np.asarray(at[np.argsort(speed[at])][:_MOMENTS])


def _bridge(start: list[Array], end: list[Array], calm: list[Array], limits: Slacks) -> Quintic | None:
    """The quickest quintic between two states that keeps the limits and the rates ``calm`` (r,); where none keeps
    those, the one that exceeds them least.
    """
    best: tuple[float, Quintic | None] = (np.inf, None)
    for duration in _SHORTEST * _GROWTH ** np.arange(_LENGTHS):
        piece = Quintic(float(duration), quintic(duration, start, end))
        t = np.linspace(0.0, duration, _CHECKS)
        x = tuple(piece.derivative(t, order) for order in range(4))
        wild = max(float((np.abs(part) / most).max()) for part, most in zip(x[1:3], calm, strict=True))
        # the motion may touch a limit where the two meet
        if wild < best[0] and limits.least(x) > -_ROUNDING:
            best = (wild, piece)
        if best[0] <= _SAME:
            break
    return best[1]
