"""Friction laws with a characteristic speed, which they are not linear in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.friction.motion import CoordinateMotion, MotionScale
from dalembert.identification.friction.term import Memoryless, Shape, power_unit, unset
from dalembert.identification.rows import Array

__all__ = ["SmoothCoulomb", "Stribeck"]

# The characteristic speed is searched where the log can tell it: above a share of the top speed that a joint crosses in
# a few samples and above what is masked (a level at rest that no row sees can be anything), below the top speed. The
# search starts at this percentile of the speeds.
_SLOWEST = 1e-3
_START_PERCENT = 20.0


@dataclass(frozen=True)
class _SpeedShape(Memoryless):
    """A term with a characteristic speed ``vs`` [rad/s or m/s]; nan until set or scaled by a motion."""

    vs: float = math.nan
    lower: float = 0.0
    upper: float = math.inf
    typical: float = math.nan
    label: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not (math.isnan(self.vs) or 0.0 < self.vs < math.inf):
            raise EstimationError(f"friction term {self.label!r}: speed {self.vs:g}, expected a positive number")

    @property
    def shape(self) -> tuple[Shape, ...]:
        return (Shape("vs", "{}/s", self.vs, self.lower, self.upper, self.typical),)

    def with_shape(self, values: Sequence[float]) -> Self:
        if len(values) != 1:
            raise EstimationError(f"friction term {self.label!r}: {len(values)} shape parameters, expected 1 (vs)")
        return replace(self, vs=float(values[0]))

    def scaled(self, scale: MotionScale) -> Self:
        top = scale.top if scale.top > 0.0 else 1.0  # a coordinate that never moves: any speed gives zero columns
        lower = max(_SLOWEST * top, min(scale.slowest, 0.5 * top))
        typical = min(max(scale.speed(_START_PERCENT), 3.0 * lower), top)
        vs = typical if math.isnan(self.vs) else self.vs
        return replace(self, vs=vs, lower=min(lower, vs), upper=max(top, vs), typical=typical)

    def _ratio(self, motion: CoordinateMotion) -> Array:
        if math.isnan(self.vs):
            raise unset(self.label)
        return np.asarray(motion.xd / self.vs)


@dataclass(frozen=True)
class SmoothCoulomb(_SpeedShape):
    """``Fc tanh(xd / vs)``: Coulomb friction whose switch at reversals takes a speed of about vs."""

    symbols: ClassVar[tuple[str, ...]] = ("Fc",)
    nonnegative: ClassVar[tuple[bool, ...]] = (True,)
    label: ClassVar[str] = "smooth"

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 0.0),)

    def columns(self, motion: CoordinateMotion) -> Array:
        return np.tanh(self._ratio(motion))[:, None]

    def slopes(self, motion: CoordinateMotion) -> Array:
        u = self._ratio(motion)
        return (-(u / self.vs) * (1.0 - np.tanh(u) ** 2))[:, None, None]


@dataclass(frozen=True)
class Stribeck(_SpeedShape):
    """``(Fc (1 - e) + Fs e) sign(xd)`` with ``e = exp(-|xd/vs|^delta)``: from the level Fs at rest to Fc at speed.

    The span is that of ``sign(xd)`` and ``e sign(xd)``; written with the two levels, both >= 0 keep it dissipative,
    and Fs may be smaller than Fc (friction that grows with speed, as in greased gears). ``delta``: 1 [Tustin] or 2
    [Armstrong].
    """

    delta: float = 1.0
    symbols: ClassVar[tuple[str, ...]] = ("Fc", "Fs")
    nonnegative: ClassVar[tuple[bool, ...]] = (True, True)
    label: ClassVar[str] = "stribeck"

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 0.0),) * 2

    def columns(self, motion: CoordinateMotion) -> Array:
        u = self._ratio(motion)
        low = np.exp(-(np.abs(u) ** self.delta))
        return np.stack([1.0 - low, low], axis=1) * np.sign(u)[:, None]

    def slopes(self, motion: CoordinateMotion) -> Array:
        u = self._ratio(motion)
        power = np.abs(u) ** self.delta
        slope = np.exp(-power) * power * (self.delta / self.vs) * np.sign(u)
        return np.stack([-slope, slope], axis=1)[:, :, None]
