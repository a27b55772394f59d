"""What the designer needs of a family of motions: each coordinate is a combination of known functions of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Family", "LinearPath", "Path"]

Array = NDArray[np.float64]


class Path(Protocol):
    """One motion of the independent coordinates."""

    def __call__(self, t: ArrayLike, /) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, k) at times ``t`` (n,) [s]."""
        ...


class Family(Protocol):
    """A family of motions, linear in its unknowns: coordinate j is ``x_j(t) = basis(t) @ c_j``.

    ``duration`` [s]; ``unknowns`` is the length m of c_j; ``periodic`` says that the motion may be repeated without a
    stop.
    """

    @property
    def duration(self) -> float: ...

    @property
    def unknowns(self) -> int: ...

    @property
    def periodic(self) -> bool: ...

    @property
    def corners(self) -> int:
        """How many times a coordinate can turn back: what grids are sized by."""
        ...

    def basis(self, t: ArrayLike, order: int = 0) -> Array:
        """The functions (n, m), or their time derivative of that order (up to 3), at times ``t`` (n,) [s]."""
        ...

    def still(self) -> Array:
        """Unknowns (m,) of the constant motion ``x = 1``."""
        ...

    def draw(self, rng: np.random.Generator) -> Array:
        """Random unknowns (m,) of one coordinate, of order one, about zero."""
        ...

    def path(self, coefficients: Array) -> Path:
        """The motion of coordinates with unknowns ``coefficients`` (k, m)."""
        ...

    def describe(self) -> dict[str, object]:
        """Name and settings, JSON values only."""
        ...


@dataclass(frozen=True, slots=True)
class LinearPath:
    """A motion of a family: ``x = basis(t) @ coefficients'``, coefficients (k, m)."""

    family: Family
    coefficients: Array

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, k) at times ``t`` (n,) [s]."""
        x, xd, xdd = (self.family.basis(t, order) @ self.coefficients.T for order in range(3))
        return x, xd, xdd
