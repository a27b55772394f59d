"""Bounds on combinations of independent coordinates and their derivatives: linear in the unknowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearBounds"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearBounds:
    """``lower <= a . d^order x / dt^order <= upper`` for k combinations ``a`` (k, r) of the independent coordinates.

    ``names`` (k) say what is bounded, for messages. Infinite where there is no bound.
    """

    order: int
    combinations: Array
    lower: Array
    upper: Array
    names: tuple[str, ...]

    @property
    def size(self) -> Array:
        """What a violation is measured against (k,): half the range, or the bound where there is one only."""
        both = np.isfinite(self.lower) & np.isfinite(self.upper)
        with np.errstate(invalid="ignore"):
            half = (self.upper - self.lower) / 2.0
        one = np.where(np.isfinite(self.upper), np.abs(self.upper), np.abs(self.lower))
        return np.asarray(np.where(both, half, np.where(one > 0.0, one, 1.0)))

    def values(self, derivatives: tuple[Array, ...]) -> Array:
        """The bounded quantities (n, k) from (x, xd, xdd, xddd)."""
        return np.asarray(derivatives[self.order] @ self.combinations.T)
