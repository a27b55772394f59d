"""Quintic polynomials between given states: the softest joints of motions, zero jerk at neither end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Quintic", "powers", "quintic"]

Array = NDArray[np.float64]


def powers(t: Array, order: int, degree: int = 5) -> Array:
    """Derivatives of an order of 1, t, ..., t^degree (n, degree + 1)."""
    out = np.zeros((len(t), degree + 1))
    for k in range(order, degree + 1):
        out[:, k] = np.prod(np.arange(k - order + 1, k + 1)) * t ** (k - order)
    return out


def quintic(duration: float, start: Sequence[Array], end: Sequence[Array]) -> Array:
    """Coefficients (6, k) of the polynomial with position, velocity and acceleration ``start`` at 0, ``end`` at
    ``duration`` [s], each (k,).

    Solved in the time t / duration, where the system is well conditioned whatever the duration.
    """
    scale = duration ** np.arange(3.0)
    rows = np.vstack([powers(np.array([u]), order) for u in (0.0, 1.0) for order in range(3)])
    right = np.array([s * v for state in (start, end) for s, v in zip(scale, state, strict=True)])
    return np.asarray(np.linalg.solve(rows, right) / duration ** np.arange(6.0)[:, None])


@dataclass(frozen=True, slots=True)
class Quintic:
    """The motion of k coordinates ``sum coefficients[i] t^i`` for ``duration`` [s], coefficients (6, k)."""

    duration: float
    coefficients: Array

    def derivative(self, t: ArrayLike, order: int) -> Array:
        """Derivative (n, k) of an order at times ``t`` (n,) [s]."""
        return np.asarray(powers(np.asarray(t, dtype=float), order) @ self.coefficients)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, k)."""
        return self.derivative(t, 0), self.derivative(t, 1), self.derivative(t, 2)
