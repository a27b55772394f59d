"""Point-to-point sequences: from stop to stop, as robots work [Guegan03, section 5.1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import UsageError
from dalembert.excitation.family import Array, LinearPath
from dalembert.excitation.quintic import powers, quintic

__all__ = ["PointToPoint"]


@dataclass(frozen=True, slots=True)
class PointToPoint:
    """``points`` stops visited in equal times and back to the centre, quintic in between, in ``duration`` [s].

    ``dwell`` is the share of each move's time spent standing at its end. Unknowns of a coordinate: the centre, then
    the stops relative to it.
    """

    points: int = 10
    duration: float = 10.0
    dwell: float = 0.0

    def __post_init__(self) -> None:
        if self.points < 1 or not self.duration > 0.0 or not 0.0 <= self.dwell < 1.0:
            raise UsageError(
                f"point-to-point: {self.points} points in {self.duration} s, dwell {self.dwell}; expected at least one "
                f"point in a positive time and 0 <= dwell < 1"
            )

    @property
    def unknowns(self) -> int:
        """Centre and stops."""
        return 1 + self.points

    @property
    def periodic(self) -> bool:
        """Its end is its beginning."""
        return True

    @property
    def corners(self) -> int:
        """One for every move, and as many peaks of acceleration."""
        return 2 * (self.points + 1)

    def basis(self, t: ArrayLike, order: int = 0) -> Array:
        """See :class:`~dalembert.excitation.family.Family`."""
        u = np.mod(np.asarray(t, dtype=float), self.duration)
        leg = self.duration / (self.points + 1)
        move = leg * (1.0 - self.dwell)
        number = np.minimum((u / leg).astype(int), self.points)  # the move under way
        rest = [np.zeros(1)] * 2
        s = quintic(move, [np.zeros(1), *rest], [np.ones(1), *rest])
        since = u - number * leg
        step = (powers(np.minimum(since, move), order) @ s)[:, 0]
        if order:
            step = np.where(since < move, step, 0.0)
        stops = np.vstack([np.zeros(self.points), np.eye(self.points), np.zeros(self.points)])
        shape = step[:, None] * (stops[number + 1] - stops[number])
        if order == 0:
            shape += stops[number]
        return np.hstack([np.full((len(u), 1), 1.0 if order == 0 else 0.0), shape])

    def still(self) -> Array:
        """The centre alone."""
        return np.asarray(np.eye(self.unknowns)[0])

    def draw(self, rng: np.random.Generator) -> Array:
        """Stops uniform about the centre."""
        return np.concatenate([[0.0], rng.uniform(-1.0, 1.0, self.points)])

    def path(self, coefficients: Array) -> LinearPath:
        """See :class:`~dalembert.excitation.family.Family`."""
        return LinearPath(self, coefficients)

    def describe(self) -> dict[str, object]:
        """Name and settings."""
        return {
            "family": "point-to-point", "points": self.points, "duration": self.duration, "dwell": self.dwell,
        }  # fmt: skip
