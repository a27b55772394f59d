"""The motion of one friction coordinate, and the scales of it that friction laws are set by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.rows import Array

__all__ = ["CoordinateMotion", "MotionScale"]

# Speeds are counted in bins of 5 % from 1e-9 to 1e6 (rad/s or m/s): percentiles that any cut into blocks leaves alone.
_LOWEST, _HIGHEST, _BIN = 1e-9, 1e6, 0.05
_BINS = int(np.ceil(np.log(_HIGHEST / _LOWEST) / _BIN)) + 1


@dataclass(frozen=True, slots=True)
class CoordinateMotion:
    """Filtered motion of ONE coordinate (joint, motor or relative coordinate), read-only.

    ``x xd xdd`` (n,) in rad or m and s; ``period`` [s] between samples; ``quantum``: the encoder's step seen on this
    coordinate, 0 when unknown; ``load`` (n,): effort the coordinate transmits [N m or N], for load-dependent friction.
    """

    x: Array
    xd: Array
    xdd: Array
    period: float
    quantum: float = 0.0
    load: Array | None = None

    def __post_init__(self) -> None:
        for name in ("x", "xd", "xdd", "load"):
            given = getattr(self, name)
            if given is None:
                continue
            view = np.asarray(given, dtype=np.float64).view()
            if view.ndim != 1 or view.shape != np.shape(self.x):
                raise EstimationError(f"motion: {name} has shape {view.shape}, expected that of x, {np.shape(self.x)}")
            if not np.isfinite(view).all():
                at = int(np.flatnonzero(~np.isfinite(view))[0])
                raise EstimationError(f"motion: {name} is not finite at sample {at}, expected numbers")
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        if not self.period > 0.0 or not self.quantum >= 0.0:
            raise EstimationError(
                f"motion: period {self.period:g} s and quantum {self.quantum:g}, expected period > 0 and quantum >= 0"
            )

    def __len__(self) -> int:
        return len(self.x)

    def cut(self, part: slice) -> CoordinateMotion:
        """A stretch of the samples."""
        load = None if self.load is None else self.load[part]
        return CoordinateMotion(self.x[part], self.xd[part], self.xdd[part], self.period, self.quantum, load)


@dataclass(frozen=True, slots=True)
class MotionScale:
    """Size of a coordinate's motion: where laws take their default speeds and lengths from.

    ``lower``, ``upper``: extreme positions [rad or m]; ``top``: largest speed; ``slowest``: the smallest speed that is
    not masked; ``counts``: samples per speed bin.
    """

    lower: float
    upper: float
    top: float
    quantum: float = 0.0
    slowest: float = 0.0
    counts: Array = field(default_factory=lambda: np.zeros(_BINS), repr=False, compare=False)

    @classmethod
    def of(cls, motions: Iterable[CoordinateMotion]) -> MotionScale:
        """Over blocks and logs; the same however the samples are cut into blocks."""
        lower, upper, top, quantum = np.inf, -np.inf, 0.0, 0.0
        counts = np.zeros(_BINS)
        for motion in motions:
            if not len(motion):
                continue
            speed = np.abs(motion.xd)
            lower, upper = min(lower, float(motion.x.min())), max(upper, float(motion.x.max()))
            top, quantum = max(top, float(speed.max())), max(quantum, motion.quantum)
            number = np.log(np.clip(speed, _LOWEST, _HIGHEST) / _LOWEST) / _BIN
            counts += np.bincount(number.astype(np.intp), minlength=_BINS)
        if not np.isfinite(lower):
            raise EstimationError("motion scale: no samples, expected at least one")
        counts.flags.writeable = False
        return cls(lower, upper, top, quantum, counts=counts)

    @property
    def span(self) -> float:
        """Range of positions [rad or m]."""
        return self.upper - self.lower

    def speed(self, percent: float) -> float:
        """Percentile of the speed [rad/s or m/s], to 5 %."""
        total = np.cumsum(self.counts)
        if total[-1] == 0.0:
            return self.top * percent / 100.0
        at = int(np.searchsorted(total, percent / 100.0 * total[-1]))
        return float(min(_LOWEST * np.exp((at + 0.5) * _BIN), self.top))
