"""Long signals thinned for drawing: the smallest and largest value of every stretch, so that no peak is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Thinned", "thinned"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Thinned:
    """Uniform values ``y`` (m,) from ``start`` [s] every ``step`` [s]; each stands for ``each`` samples."""

    start: float
    step: float
    y: Array
    each: float

    @property
    def x(self) -> Array:
        """Abscissae (m,)."""
        return np.asarray(self.start + self.step * np.arange(len(self.y)))


def thinned(values: Array, start: float, period: float, points: int) -> Thinned:
    """At most about ``points`` of a signal (n,): itself when it is short enough, else the least and the largest value
    of every stretch in turn. A stretch without any value is nan.
    """
    samples = len(values)
    if samples <= points:
        return Thinned(start, period, np.asarray(values, dtype=float), 1.0)
    stretch = -(-2 * samples // points)
    count = -(-samples // stretch)
    padded = np.full(count * stretch, np.nan)
    padded[:samples] = values
    parts = padded.reshape(count, stretch)
    both = np.stack([np.fmin.reduce(parts, axis=1), np.fmax.reduce(parts, axis=1)], axis=1)
    both[1::2] = both[1::2, ::-1]  # least, largest, largest, least: half the strokes from bottom to top
    step = 0.5 * stretch * period
    return Thinned(start + 0.5 * step, step, both.ravel(), 0.5 * stretch)
