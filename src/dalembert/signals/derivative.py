"""Central differences of uniformly sampled signals.

The acceleration is by default the same operator applied twice (the central difference of the velocity), so
that velocity and acceleration are exactly consistent: qdd = D qd, qd = D q. ``direct`` takes the second
difference of the positions instead, half as wide and less attenuated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import UsageError
from dalembert.logs.log import Array

__all__ = ["Differences"]

# Weights of samples 1 .. m to the right; to the left the negative. Of the second derivative weights 0 .. m, symmetric.
_FIRST: Mapping[int, tuple[float, ...]] = {
    2: (1 / 2,),
    4: (2 / 3, -1 / 12),
    6: (3 / 4, -3 / 20, 1 / 60),
}
_SECOND: Mapping[int, tuple[float, ...]] = {
    2: (-2.0, 1.0),
    4: (-5 / 2, 4 / 3, -1 / 12),
    6: (-49 / 18, 3 / 2, -3 / 20, 1 / 90),
}


@dataclass(frozen=True, slots=True)
class Differences:
    """Central differences of order of accuracy ``accuracy`` (error proportional to period^accuracy)."""

    accuracy: int = 4
    acceleration: Literal["twice", "direct"] = "twice"

    def __post_init__(self) -> None:
        if self.accuracy not in _FIRST:
            raise UsageError(f"differences of accuracy {self.accuracy}; choose from {', '.join(map(str, _FIRST))}")
        if self.acceleration not in ("twice", "direct"):
            raise UsageError(f"acceleration by {self.acceleration!r}; choose from twice, direct")

    @property
    def margin(self) -> int:
        """Samples lost at each end."""
        return len(_FIRST[self.accuracy]) * (2 if self.acceleration == "twice" else 1)

    def velocity(self, q: ArrayLike, period: float) -> Array:
        """First derivative of ``q`` (n, ...) sampled every ``period`` [s], shape (n - 2 m, ...), m = accuracy
        / 2.
        """
        x = np.asarray(q, dtype=np.float64)
        weights = _FIRST[self.accuracy]
        m = len(weights)
        inner = self._inner(x, m)
        out = np.zeros((inner, *x.shape[1:]))
        for s, weight in enumerate(weights, start=1):
            out += (weight / period) * (x[m + s : m + s + inner] - x[m - s : m - s + inner])
        return out

    def _second(self, x: Array, period: float) -> Array:
        weights = _SECOND[self.accuracy]
        m = len(weights) - 1
        inner = self._inner(x, m)
        out = np.zeros((inner, *x.shape[1:]))
        middle = x[m : m + inner]
        for s, weight in enumerate(weights[1:], start=1):  # differences first: positions may be large
            out += (weight / period**2) * ((x[m + s : m + s + inner] - middle) - (middle - x[m - s : m - s + inner]))
        return out

    def _inner(self, x: Array, m: int) -> int:
        if len(x) <= 2 * m:
            raise UsageError(f"{len(x)} samples to differentiate, expected more than {2 * m}")
        return len(x) - 2 * m

    def both(self, q: ArrayLike, period: float) -> tuple[Array, Array]:
        """Velocity and acceleration, both shape (n - 2 margin, ...): of the samples from number ``margin``
        on.
        """
        x = np.asarray(q, dtype=np.float64)
        qd = self.velocity(x, period)
        if self.acceleration == "direct":
            return qd, self._second(x, period)
        m = len(_FIRST[self.accuracy])
        return qd[m : len(qd) - m], self.velocity(qd, period)

    def gains(self, frequency: ArrayLike, period: float) -> tuple[Array, Array]:
        """Response of velocity [1/s] and acceleration [1/s^2] at each frequency [Hz]; the true ones are w and
        w^2.
        """
        w = 2.0 * np.pi * np.atleast_1d(np.asarray(frequency, dtype=np.float64)) * period
        first = sum(2.0 * c * np.sin(s * w) for s, c in enumerate(_FIRST[self.accuracy], start=1)) / period
        if self.acceleration == "twice":
            return np.asarray(first), np.asarray(first) ** 2
        second = sum(2.0 * c * (1.0 - np.cos(s * w)) for s, c in enumerate(_SECOND[self.accuracy][1:], start=1))
        return np.asarray(first), np.asarray(second) / period**2
