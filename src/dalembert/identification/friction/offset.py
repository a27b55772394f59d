"""A constant effort: offset of a current sensor, difference of friction between the two directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.identification.friction.motion import CoordinateMotion
from dalembert.identification.friction.term import Memoryless, power_unit
from dalembert.identification.rows import Array

__all__ = ["Offset"]


@dataclass(frozen=True)
class Offset(Memoryless):
    """``off`` [Gautier11, eq. 6]."""

    symbols: ClassVar[tuple[str, ...]] = ("off",)
    nonnegative: ClassVar[tuple[bool, ...]] = (False,)

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 0.0),)

    def columns(self, motion: CoordinateMotion) -> Array:
        return np.ones((len(motion), 1))
