"""Samples at which a joint is too slow for the sign of its velocity to be known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from dalembert.errors import UsageError
from dalembert.logs.log import Array

__all__ = ["SlowMask", "usable"]


@dataclass(frozen=True, slots=True)
class SlowMask:
    """Samples with ``|qd| < threshold`` are masked, position by position; one threshold for all, or one each.

    ``unit``: ``"noise"`` counts in standard deviations of the velocity's encoder noise, and masks at least
    what moves by less than one encoder step per period of the cutoff; ``"absolute"`` in rad/s or m/s of the
    motor, ``"relative"`` in the largest velocity of that position. ``dilate`` [s] masks this much more on both
    sides of a slow stretch; None: half a period of the cutoff, over which the position filter mixes velocities.
    A joint that turns back between two samples, fast in both, loses these and what the log's ends could move
    the instant by. Decimation needs no dilation of its own: masked samples have weight zero in it.
    """

    threshold: float | tuple[float, ...] = 5.0
    unit: Literal["noise", "absolute", "relative"] = "noise"
    dilate: float | None = None

    def __post_init__(self) -> None:
        every = self.threshold if isinstance(self.threshold, tuple) else (self.threshold,)
        if not all(math.isfinite(value) and value >= 0.0 for value in every):
            raise UsageError(f"mask threshold {self.threshold}, expected a number of at least 0")
        if self.unit not in ("noise", "absolute", "relative"):
            raise UsageError(f"mask threshold in {self.unit!r}; choose from noise, absolute, relative")
        if self.dilate is not None and not (math.isfinite(self.dilate) and self.dilate >= 0.0):
            raise UsageError(f"mask dilated by {self.dilate} s, expected a time of at least 0")

    def limits(self, noise: Array, unresolved: Array, fastest: Array) -> Array:
        """Threshold [rad/s or m/s] per position from its velocity noise, the speed its encoder does not resolve and its
        largest velocity.
        """
        scale = {"noise": noise, "absolute": np.ones_like(noise), "relative": fastest}[self.unit]
        threshold = np.asarray(self.threshold, dtype=float)
        if threshold.shape not in ((), scale.shape):
            raise UsageError(f"mask of {len(threshold)} thresholds for {len(scale)} positions, expected one or as many")
        limits = threshold * scale
        if self.unit == "noise":
            limits = np.where(limits > 0.0, np.maximum(limits, unresolved), 0.0)
        return np.asarray(limits)

    def reach(self, period: float, cutoff: float | None) -> int:
        """Samples masked on each side of a slow stretch."""
        seconds = self.dilate if self.dilate is not None else (0.5 / cutoff if cutoff else 0.0)
        return round(seconds / period)


def usable(qd: Array, limits: Array, reach: int, turning: int = 0) -> NDArray[np.bool_]:
    """Mask (n, k), True where ``|qd|`` (n, k) reaches its limit, no sample within ``reach`` falls below, and the sign
    is that of the neighbours and of ``turning`` samples beyond them. Limits of zero mask nothing.
    """
    between = (qd[1:] * qd[:-1] < 0.0) & (limits > 0.0)
    turned = np.zeros(qd.shape, dtype=np.bool_)
    turned[1:] |= between
    turned[:-1] |= between
    return ~(_widened(np.abs(qd) < limits, reach) | _widened(turned, turning))


def _widened(marked: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """What lies within ``reach`` samples of a marked one (n, k)."""
    if reach > 0 and len(marked):
        marked = ndimage.maximum_filter1d(marked.view(np.uint8), 2 * reach + 1, axis=0, mode="nearest").view(np.bool_)
    return marked


def sealed_mask(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask, made read-only."""
    mask.flags.writeable = False
    return mask
