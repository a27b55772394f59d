"""Viscous friction, proportional to the speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dalembert.identification.friction.motion import CoordinateMotion
from dalembert.identification.friction.term import Memoryless, power_unit
from dalembert.identification.rows import Array

__all__ = ["Viscous"]


@dataclass(frozen=True)
class Viscous(Memoryless):
    """``Fv xd`` [Briot15, eq. 3]."""

    symbols: ClassVar[tuple[str, ...]] = ("Fv",)
    nonnegative: ClassVar[tuple[bool, ...]] = (True,)

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 1.0),)

    def columns(self, motion: CoordinateMotion) -> Array:
        return motion.xd[:, None].copy()
