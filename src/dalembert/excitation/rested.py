"""Fourier series with a polynomial that takes away velocity and acceleration at both ends [Park 2006]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.excitation.family import Array, LinearPath
from dalembert.excitation.fourier import Fourier
from dalembert.excitation.quintic import powers, quintic

__all__ = ["FourierPolynomial"]


@dataclass(frozen=True, slots=True)
class FourierPolynomial:
    """``harmonics`` of 1 / ``duration`` [s], each less the quintic with its states at both ends.

    Every motion starts and ends at rest and without acceleration at its centre, and may be repeated.
    """

    harmonics: int = 5
    duration: float = 10.0

    def __post_init__(self) -> None:
        Fourier(self.harmonics, self.duration)

    @property
    def unknowns(self) -> int:
        """Centre, sines, cosines."""
        return 1 + 2 * self.harmonics

    @property
    def periodic(self) -> bool:
        """Its end is its beginning."""
        return True

    @property
    def corners(self) -> int:
        """As of the series."""
        return 2 * self.harmonics

    def basis(self, t: ArrayLike, order: int = 0) -> Array:
        """See :class:`~dalembert.excitation.family.Family`."""
        series = Fourier(self.harmonics, self.duration)
        ends = np.array([0.0, self.duration])
        states = [series.basis(ends, k)[:, 1:] for k in range(3)]
        taken = quintic(self.duration, [s[0] for s in states], [s[1] for s in states])
        out = series.basis(t, order)
        out[:, 1:] -= powers(np.mod(np.asarray(t, dtype=float), self.duration), order) @ taken
        return out

    def still(self) -> Array:
        """The centre alone."""
        return np.asarray(np.eye(self.unknowns)[0])

    def draw(self, rng: np.random.Generator) -> Array:
        """Sines and cosines with normal amplitudes, centre zero."""
        return np.concatenate([[0.0], rng.standard_normal(2 * self.harmonics)])

    def path(self, coefficients: Array) -> LinearPath:
        """See :class:`~dalembert.excitation.family.Family`."""
        return LinearPath(self, coefficients)

    def describe(self) -> dict[str, object]:
        """Name and settings."""
        return {"family": "fourier-polynomial", "harmonics": self.harmonics, "duration": self.duration}
