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
    motor, ``"relative"`` in the largest velocity of that position. Between two samples of opposite sign a joint
    was slow, however fast it is in both. ``dilate`` [s] masks this much more on both sides of a slow stretch;
    None: half a period of the cutoff, over which the position filter mixes velocities. Decimation needs no
    dilation of its own: masked samples have weight zero in it.
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


def usable(qd: Array, limits: Array, reach: int) -> NDArray[np.bool_]:
    """Mask (n, k), True where ``|qd|`` (n, k) reaches its limit and nothing within ``reach`` samples falls below: no
    sample, and no place between two samples of opposite sign. Limits of zero mask nothing.
    """
    fast = np.abs(qd) >= limits
    turned = (qd[1:] * qd[:-1] < 0.0) & (limits > 0.0)
    fast[1:] &= ~turned
    fast[:-1] &= ~turned
    if reach > 0 and len(fast):
        fast = ndimage.minimum_filter1d(fast.view(np.uint8), 2 * reach + 1, axis=0, mode="nearest").view(np.bool_)
    return np.asarray(fast)


def sealed_mask(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask, made read-only."""
    mask.flags.writeable = False
    return mask
