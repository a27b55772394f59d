"""Dry friction of constant size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.identification.friction.motion import CoordinateMotion
from dalembert.identification.friction.term import Memoryless, power_unit
from dalembert.identification.rows import Array

__all__ = ["AsymmetricCoulomb", "Coulomb"]


@dataclass(frozen=True)
class Coulomb(Memoryless):
    """``Fc sign(xd)`` [Briot15, eq. 3]."""

    symbols: ClassVar[tuple[str, ...]] = ("Fc",)
    nonnegative: ClassVar[tuple[bool, ...]] = (True,)

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 0.0),)

    def columns(self, motion: CoordinateMotion) -> Array:
        return np.sign(motion.xd)[:, None]


@dataclass(frozen=True)
class AsymmetricCoulomb(Memoryless):
    """``Fcp`` while xd > 0 and ``-Fcn`` while xd < 0: Coulomb friction and an offset that leaves with the motion."""

    symbols: ClassVar[tuple[str, ...]] = ("Fcp", "Fcn")
    nonnegative: ClassVar[tuple[bool, ...]] = (True, True)

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 0.0),) * 2

    def columns(self, motion: CoordinateMotion) -> Array:
        sign = np.sign(motion.xd)
        return np.stack([np.maximum(sign, 0.0), np.minimum(sign, 0.0)], axis=1)
