"""Explicit Runge-Kutta methods, as tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError, choices

__all__ = ["METHODS", "STAGES", "Tableau", "tableau"]

Array = NDArray[np.float64]

STAGES = 7  # rows kept for any method, as loop.c has it


@dataclass(frozen=True, slots=True)
class Tableau:
    """Butcher's table: ``a`` (STAGES, STAGES), weights ``b``, and ``gap`` = b less those of the embedded method.

    ``order`` is that of ``b``; an adaptive method chooses its own steps from ``gap``.
    """

    name: str
    order: int
    stages: int
    a: Array
    b: Array
    gap: Array
    adaptive: bool

    def packed(self) -> Array:
        """All numbers in one row, as loop.c reads them."""
        return np.concatenate([self.a.ravel(), self.b, self.gap])


def _table(name: str, order: int, rows: list[list[float]], b: list[float], low: list[float] | None) -> Tableau:
    a, weights, gap = np.zeros((STAGES, STAGES)), np.zeros(STAGES), np.zeros(STAGES)
    for i, row in enumerate(rows):
        a[i + 1, : len(row)] = row
    weights[: len(b)] = b
    if low is not None:
        gap[: len(low)] = np.array([*b, *[0.0] * (len(low) - len(b))]) - np.array(low)
    for array in (a, weights, gap):
        array.setflags(write=False)
    return Tableau(name, order, len(rows) + 1, a, weights, gap, low is not None)


# Dormand and Prince 1980; the embedded method has order 4.
_DOPRI = _table(
    "dopri5", 5,
    [
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0],
    [5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40],
)  # fmt: skip
# Bogacki and Shampine 1989; the embedded method has order 2.
_BS = _table(
    "bs23", 3,
    [[1 / 2], [0.0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]],
    [2 / 9, 1 / 3, 4 / 9, 0.0],
    [7 / 24, 1 / 4, 1 / 3, 1 / 8],
)  # fmt: skip
_RK4 = _table("rk4", 4, [[1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], None)

METHODS: dict[str, Tableau] = {method.name: method for method in (_RK4, _DOPRI, _BS)}


def tableau(name: str) -> Tableau:
    """The method of that name."""
    if name not in METHODS:
        raise UsageError(f"integrator {name!r}; {choices(name, METHODS)}")
    return METHODS[name]
