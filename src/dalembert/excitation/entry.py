"""From rest at home into a periodic motion and back to rest, within the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.excitation.constraints.slack import Slacks
from dalembert.excitation.quintic import Quintic, powers, quintic

__all__ = ["Piece", "Ride", "find_ride", "quiet_moments"]

Array = NDArray[np.float64]
Derivatives = tuple[Array, ...]
Derived = Callable[[Array], Derivatives]  # x and its derivatives up to the third, each (n, r)

_CHECKS = 400  # of the limits along an entry
_GROWTH, _LENGTHS = 1.15, 50  # between durations tried, up to 19 s
_SHORTEST = 0.02  # [s]
_STARTS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # periods in which a motion is brought up to its pace
_MOMENTS = 6  # of a periodic motion tried as its beginning
_ROUNDING = 1e-12
_SAME = 1.2
_RISE = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])  # from 0 to 1 with two derivatives zero at both ends


class Piece(Protocol):
    """A way in or out."""

    @property
    def duration(self) -> float: ...

    def derivative(self, t: Array, order: int) -> Array:
        """Derivative (n, r) of an order up to 3 at times ``t`` (n,) [s]."""
        ...


@dataclass(frozen=True, slots=True)
class _Pace:
    """A motion brought from rest up to its own pace, or back to rest, along its own path: positions are those of the
    motion, and no rate is larger.

    ``at`` [s] is where in the motion its own pace is reached (``rising``), or left.
    """

    motion: Derived
    at: float
    duration: float
    rising: bool

    def derivative(self, t: Array, order: int) -> Array:
        """See :class:`Piece`: chain rule on ``x(theta(t))``, the pace theta' rising from 0 to 1."""
        sign = 1.0 if self.rising else -1.0
        u = np.asarray(t, dtype=float) / self.duration
        u = u if self.rising else 1.0 - u
        way = powers(u, 0, 6)[:, 1:] @ (_RISE / np.arange(1.0, 7.0)) - 0.5  # of theta, 0 where the pace is reached
        pace, change, second = (powers(u, k) @ _RISE for k in range(3))
        x = self.motion(self.at + sign * self.duration * way)
        one, two = pace[:, None], sign * change[:, None] / self.duration
        three = second[:, None] / self.duration**2
        if order == 0:
            return x[0]
        if order == 1:
            return np.asarray(x[1] * one)
        if order == 2:
            return np.asarray(x[2] * one**2 + x[1] * two)
        return np.asarray(x[3] * one**3 + 3.0 * x[2] * one * two + x[1] * three)


@dataclass(frozen=True, slots=True)
class _Both:
    """One piece after another."""

    first: Piece
    second: Piece

    @property
    def duration(self) -> float:
        return self.first.duration + self.second.duration

    def derivative(self, t: Array, order: int) -> Array:
        """See :class:`Piece`."""
        before = self.first.derivative(np.minimum(t, self.first.duration), order)
        after = self.second.derivative(np.maximum(t - self.first.duration, 0.0), order)
        return np.where((t < self.first.duration)[:, None], before, after)


@dataclass(frozen=True, slots=True)
class Ride:
    """A whole run: entry from rest at home, the motion ``repeat`` times, exit to rest at home.

    ``coordinates`` name the columns. An entry or exit is None where home is where the motion starts or ends at rest.
    """

    coordinates: tuple[str, ...]
    motion: Derived
    period: float
    repeat: int
    entry: Piece | None
    exit: Piece | None

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
    coordinates: tuple[str, ...], motion: Derived, period: float, repeat: int, home: Array, limits: Slacks, *,
    slowly: bool = False,
) -> tuple[Ride, tuple[str, ...]]:  # fmt: skip
    """The run around a motion, with the shortest entry and exit that keep the limits and are no wilder than the motion
    itself where that is possible; notes where there is none.

    ``slowly``: where no single quintic leads into the motion, move to a point of it first and follow it from rest up to
    its own pace; for motions that go on before and after the times they are asked for.
    """
    rest = [home, np.zeros_like(home), np.zeros_like(home)]
    calm = [np.maximum(np.abs(part).max(axis=0), 1e-12) for part in motion(np.linspace(0.0, period, _CHECKS))[1:3]]
    notes = []
    pieces: list[Piece | None] = []
    for rising, at in ((True, 0.0), (False, repeat * period)):
        state = [part[0] for part in motion(np.array([at]))][:3]
        still = all(np.abs(a - b).max() < 1e-9 for a, b in zip(rest, state, strict=True))
        piece: Piece | None = None
        if not still:
            piece = _bridge(rest, state, calm, limits, rising)
            if piece is None and slowly:
                piece = _slow(motion, at, period, rest, calm, limits, rising)
        if piece is None and not still:
            notes.append(
                f"no {'entry from' if rising else 'exit to'} rest at home found within the limits: the trajectory "
                f"begins or ends in motion; plan a way there, or use a family at rest at both ends "
                f"(fourier-polynomial, b-spline)"
            )
        pieces.append(piece)
    return Ride(coordinates, motion, period, repeat, pieces[0], pieces[1]), tuple(notes)


def quiet_moments(speed: Array) -> Array:
    """Samples of a period where the motion is slowest nearby, slowest first: good moments to begin."""
    slow = (speed <= np.roll(speed, 1)) & (speed <= np.roll(speed, -1))
    at = np.flatnonzero(slow)
    return np.asarray(at[np.argsort(speed[at])][:_MOMENTS])


def _keeps(piece: Piece, limits: Slacks) -> bool:
    t = np.linspace(0.0, piece.duration, _CHECKS)
    # the motion may touch a limit where the two meet
    return limits.least(tuple(piece.derivative(t, order) for order in range(4))) > -_ROUNDING


def _bridge(rest: list[Array], state: list[Array], calm: list[Array], limits: Slacks, rising: bool) -> Quintic | None:
    """The quickest quintic from rest into a state, or back, that keeps the limits and the rates ``calm`` (r,); where
    none keeps those, the one that exceeds them least.
    """
    start, end = (rest, state) if rising else (state, rest)
    best: tuple[float, Quintic | None] = (np.inf, None)
    for duration in _SHORTEST * _GROWTH ** np.arange(_LENGTHS):
        piece = Quintic(float(duration), quintic(duration, start, end))
        x = [piece.derivative(np.linspace(0.0, duration, _CHECKS), order) for order in (1, 2)]
        wild = max(float((np.abs(part) / most).max()) for part, most in zip(x, calm, strict=True))
        if wild < best[0] and _keeps(piece, limits):
            best = (wild, piece)
        if best[0] <= _SAME:
            break
    return best[1]


def _slow(
    motion: Derived, at: float, period: float, rest: list[Array], calm: list[Array], limits: Slacks, rising: bool
) -> Piece | None:
    """From rest to a point of the motion, and along it up to its pace; or back."""
    for share in _STARTS:
        pace = _Pace(motion, at, share * period, rising)
        if not _keeps(pace, limits):
            continue
        end = np.array([0.0 if rising else pace.duration])
        point = [pace.derivative(end, 0)[0], *rest[1:]]
        move = _bridge(rest, point, calm, limits, rising)
        if move is not None:
            return _Both(move, pace) if rising else _Both(pace, move)
    return None
