"""Friction that follows a power of the speed: lubricated contacts, windage, saturating viscosity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.identification.friction.motion import CoordinateMotion
from dalembert.identification.friction.term import Memoryless, power_unit
from dalembert.identification.rows import Array

__all__ = ["CubicViscous", "QuadraticViscous", "SqrtVelocity"]


class _Power(Memoryless):
    """``F |xd|^power sign(xd)``."""

    __slots__ = ()
    power: ClassVar[float] = 1.0

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, self.power),)

    def columns(self, motion: CoordinateMotion) -> Array:
        return (np.abs(motion.xd) ** self.power * np.sign(motion.xd))[:, None]


@dataclass(frozen=True)
class SqrtVelocity(_Power):
    """``Fr sqrt|xd| sign(xd)``: friction that grows fast at low speed and flattens, as greased gears do."""

    power: ClassVar[float] = 0.5
    symbols: ClassVar[tuple[str, ...]] = ("Fr",)
    nonnegative: ClassVar[tuple[bool, ...]] = (True,)


@dataclass(frozen=True)
class QuadraticViscous(_Power):
    """``Fq xd |xd|``: windage where positive; may be negative beside viscous friction (a curve that flattens)."""

    power: ClassVar[float] = 2.0
    symbols: ClassVar[tuple[str, ...]] = ("Fq",)
    nonnegative: ClassVar[tuple[bool, ...]] = (False,)


@dataclass(frozen=True)
class CubicViscous(_Power):
    """``Ft xd^3``: the next odd power after viscous friction, of either sign."""

    power: ClassVar[float] = 3.0
    symbols: ClassVar[tuple[str, ...]] = ("Ft",)
    nonnegative: ClassVar[tuple[bool, ...]] = (False,)
