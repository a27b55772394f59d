"""Loss functions of robust regression and the scale they are relative to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.rows import Array

__all__ = ["Huber", "Loss", "MedianResidual", "Tukey"]

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


class MedianResidual:
    """Weighted median of |r|: exact while few residuals are kept, of logarithmic bins in a log too long for that.

    A bin is 0.45 % wide. With few residuals the binned median would jump by bins, and iterations that lean on it never
    settle.
    """

    KEPT = 1 << 18  # residuals kept
    DECADES = 14  # below the largest residual expected; smaller ones count as the lowest bin
    PER_DECADE = 512

    def __init__(self, largest: float) -> None:
        self.top = np.log10(largest) if largest > 0.0 else 0.0
        self.counts = np.zeros(self.DECADES * self.PER_DECADE + 1)
        self.kept: list[tuple[Array, Array]] = []
        self.number = 0

    def add(self, residual: Array, weight: Array | None) -> None:
        """Count residuals (m,)."""
        size = np.maximum(np.abs(residual), np.finfo(float).tiny)
        place = (np.log10(size) - self.top + self.DECADES) * self.PER_DECADE
        index = np.clip(place, 0, len(self.counts) - 1).astype(np.int64)
        self.counts += np.bincount(index, weights=weight, minlength=len(self.counts))
        self.number += len(residual)
        if self.number <= self.KEPT:
            self.kept.append((np.abs(residual), np.ones(len(residual)) if weight is None else weight))
        else:
            self.kept.clear()

    def sigma(self) -> float:
        """Median |r| scaled to the sigma of a normal residual; 0 when half of the residuals vanish."""
        return MAD_TO_SIGMA * (self._exact() if self.number <= self.KEPT else self._binned())

    def _exact(self) -> float:
        if not self.kept:
            return 0.0
        size, weight = (np.concatenate(part) for part in zip(*self.kept, strict=True))
        order = np.argsort(size, kind="stable")
        size, below = size[order], np.cumsum(weight[order])
        if not below[-1] > 0.0:
            return 0.0
        low, high = (int(np.searchsorted(below, 0.5 * below[-1], side)) for side in ("left", "right"))
        return float(0.5 * (size[low] + size[min(high, len(size) - 1)]))

    def _binned(self) -> float:
        total = float(self.counts.sum())
        below = np.cumsum(self.counts)
        k = int(np.searchsorted(below, 0.5 * total))
        if total == 0.0 or k == 0:
            return 0.0
        share = (0.5 * total - below[k - 1]) / self.counts[k]
        return float(10.0 ** ((k + share) / self.PER_DECADE - self.DECADES + self.top))
