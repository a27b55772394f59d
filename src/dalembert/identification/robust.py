"""Loss functions of robust regression and the scale they are relative to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.rows import Array

__all__ = ["Huber", "Loss", "ResidualHistogram", "Tukey"]

MAD_TO_SIGMA = 1.482602218505602  # 1 / quantile(normal, 3/4): median |r| of a normal residual to its sigma


class Loss(Protocol):
    """A loss of the standardised residual ``u = r / sigma``."""

    @property
    def name(self) -> str:
        """Short name."""
        ...

    @property
    def tuning(self) -> float:
        """Where the loss leaves the parabola, in sigma."""
        ...

    def weight(self, u: Array) -> Array:
        """psi(u) / u."""
        ...

    def slope(self, u: Array) -> Array:
        """psi'(u)."""
        ...


@dataclass(frozen=True, slots=True)
class Huber:
    """Linear beyond ``tuning`` sigma; 1.345 keeps 95 % efficiency on normal noise (Huber 1981)."""

    tuning: float = 1.345
    name: str = "huber"

    def __post_init__(self) -> None:
        _positive(self.name, self.tuning)

    def weight(self, u: Array) -> Array:
        return np.asarray(self.tuning / np.maximum(np.abs(u), self.tuning))

    def slope(self, u: Array) -> Array:
        return np.asarray(np.abs(u) <= self.tuning, dtype=float)


@dataclass(frozen=True, slots=True)
class Tukey:
    """Bisquare: rows beyond ``tuning`` sigma do not count; 4.685 keeps 95 % efficiency on normal noise."""

    tuning: float = 4.685
    name: str = "tukey"

    def __post_init__(self) -> None:
        _positive(self.name, self.tuning)

    def weight(self, u: Array) -> Array:
        return np.asarray(np.maximum(1.0 - (u / self.tuning) ** 2, 0.0) ** 2)

    def slope(self, u: Array) -> Array:
        v = (u / self.tuning) ** 2
        return np.asarray(np.where(v < 1.0, (1.0 - v) * (1.0 - 5.0 * v), 0.0))


def _positive(name: str, tuning: float) -> None:
    if not 0.0 < tuning < np.inf:
        raise EstimationError(f"{name}: tuning {tuning}, expected a positive number of sigma")


class ResidualHistogram:
    """Streaming weighted median of |r|: logarithmic bins, linear inside a bin, so no residual is kept in memory."""

    DECADES = 14  # below the largest residual expected; smaller ones count as the lowest bin
    PER_DECADE = 512  # bins 0.45 % wide; interpolation makes the median smooth within

    def __init__(self, largest: float) -> None:
        self.top = np.log10(largest) if largest > 0.0 else 0.0
        self.counts = np.zeros(self.DECADES * self.PER_DECADE + 1)

    def add(self, residual: Array, weight: Array | None) -> None:
        """Count residuals (m,)."""
        size = np.maximum(np.abs(residual), np.finfo(float).tiny)
        place = (np.log10(size) - self.top + self.DECADES) * self.PER_DECADE
        index = np.clip(place, 0, len(self.counts) - 1).astype(np.int64)
        self.counts += np.bincount(index, weights=weight, minlength=len(self.counts))

    def sigma(self) -> float:
        """Median |r| scaled to the sigma of a normal residual; 0 when half of the residuals vanish."""
        total = float(self.counts.sum())
        below = np.cumsum(self.counts)
        k = int(np.searchsorted(below, 0.5 * total))
        if total == 0.0 or k == 0:
            return 0.0
        share = (0.5 * total - below[k - 1]) / self.counts[k]
        return float(MAD_TO_SIGMA * 10.0 ** ((k + share) / self.PER_DECADE - self.DECADES + self.top))
