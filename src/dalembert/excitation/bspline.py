"""B-splines: motions shaped piece by piece, at rest at both ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline as Spline

from dalembert.errors import UsageError
from dalembert.excitation.family import Array, LinearPath

__all__ = ["BSpline"]

_DEGREE = 5  # continuous jerk
_HELD = 3  # control points that agree at an end: no velocity, no acceleration there


@dataclass(frozen=True, slots=True)
class BSpline:
    """Quintic splines on ``pieces`` equal intervals of ``duration`` [s], at rest at the centre at both ends.

    Unknowns of a coordinate: its centre, then the control points between the ends, relative to it.
    """

    pieces: int = 12
    duration: float = 10.0

    def __post_init__(self) -> None:
        if self.pieces < 2 or not self.duration > 0.0:
            raise UsageError(
                f"B-spline: {self.pieces} pieces in {self.duration} s, expected at least 2 in a positive time"
            )

    @property
    def _free(self) -> int:
        return self.pieces + _DEGREE - 2 * _HELD

    @property
    def unknowns(self) -> int:
        """Centre and free control points."""
        return 1 + self._free

    @property
    def periodic(self) -> bool:
        """Its end is its beginning."""
        return True

    @property
    def corners(self) -> int:
        """About one for every control point."""
        return self.pieces

    def basis(self, t: ArrayLike, order: int = 0) -> Array:
        """See :class:`~dalembert.excitation.family.Family`."""
        u = np.mod(np.asarray(t, dtype=float), self.duration)
        inner = np.linspace(0.0, self.duration, self.pieces + 1)
        knots = np.concatenate([np.zeros(_DEGREE), inner, np.full(_DEGREE, self.duration)])
        free = np.eye(self.pieces + _DEGREE)[:, _HELD : _HELD + self._free]
        constant = np.full((len(u), 1), 1.0 if order == 0 else 0.0)
        return np.hstack([constant, Spline(knots, free, _DEGREE)(u, order)])

    def still(self) -> Array:
        """The centre alone."""
        return np.asarray(np.eye(self.unknowns)[0])

    def draw(self, rng: np.random.Generator) -> Array:
        """Control points normally distributed about the centre."""
        return np.concatenate([[0.0], rng.standard_normal(self._free)])

    def path(self, coefficients: Array) -> LinearPath:
        """See :class:`~dalembert.excitation.family.Family`."""
        return LinearPath(self, coefficients)

    def describe(self) -> dict[str, object]:
        """Name and settings."""
        return {"family": "b-spline", "pieces": self.pieces, "duration": self.duration}
