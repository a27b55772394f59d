"""Dry friction that grows with the effort a transmission carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.identification.friction.motion import CoordinateMotion
from dalembert.identification.friction.term import Memoryless, require_load
from dalembert.identification.rows import Array

__all__ = ["LoadDependent"]


@dataclass(frozen=True)
class LoadDependent(Memoryless):
    """``Fl |load| sign(xd)``; ``load`` comes from a model (an earlier fit), not from the torque being explained."""

    symbols: ClassVar[tuple[str, ...]] = ("Fl",)
    nonnegative: ClassVar[tuple[bool, ...]] = (True,)

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return ("1",)

    def columns(self, motion: CoordinateMotion) -> Array:
        return (np.abs(require_load("load", motion)) * np.sign(motion.xd))[:, None]
