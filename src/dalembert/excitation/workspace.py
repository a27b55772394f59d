"""Regions a point of the platform must stay in. Lengths in m, base frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np

from dalembert.errors import UsageError
from dalembert.robot.geometry import Vector
from dalembert.symbolic import SX

__all__ = ["Box", "Cone", "Cylinder", "HalfSpace", "Hemisphere", "Region", "Sphere"]

# name of the condition, expression of the point, lower and upper bound
Condition = tuple[str, SX, float, float]


class Region(Protocol):
    """A region as smooth conditions on a point."""

    @property
    def conditions(self) -> int:
        """How many conditions there are."""
        ...

    def of(self, p: SX) -> list[Condition]:
        """The conditions at point ``p`` (3, 1)."""
        ...


def _unit(axis: Vector, where: str) -> np.ndarray:
    a = np.asarray(axis, dtype=float)
    length = float(np.linalg.norm(a))
    if not (math.isfinite(length) and length > 1e-12):
        raise UsageError(f"{where}: axis {axis}, expected three numbers that are not all zero")
    return a / length


def _length(apart: SX, size: float) -> SX:
    """Length of a vector, smooth at zero: by 1e-3 of ``size`` too long there, by 5e-7 of it at ``size``."""
    return ca.sqrt(ca.dot(apart, apart) + (1e-3 * size) ** 2)


def _positive(where: str, **values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise UsageError(f"{where}: {name} {value}, expected a positive number")


@dataclass(frozen=True, slots=True)
class Box:
    """``lower <= p <= upper`` along the base axes; use infinities for open sides."""

    lower: Vector
    upper: Vector

    def __post_init__(self) -> None:
        for axis, low, high in zip("xyz", self.lower, self.upper, strict=True):
            if not low < high:
                raise UsageError(f"workspace box: {axis} from {low} to {high} m, expected lower < upper")

    @property
    def conditions(self) -> int:
        """One per axis."""
        return 3

    def of(self, p: SX) -> list[Condition]:
        """See :class:`Region`."""
        return [(f"box {'xyz'[k]} [m]", p[k], self.lower[k], self.upper[k]) for k in range(3)]


@dataclass(frozen=True, slots=True)
class Sphere:
    """``|p - centre| <= radius``."""

    centre: Vector
    radius: float

    def __post_init__(self) -> None:
        _positive("workspace sphere", radius=self.radius)

    @property
    def conditions(self) -> int:
        """One."""
        return 1

    def of(self, p: SX) -> list[Condition]:
        """See :class:`Region`."""
        apart = p - ca.DM(self.centre)
        return [("sphere: distance from the centre [m]", _length(apart, self.radius), -math.inf, self.radius)]


@dataclass(frozen=True, slots=True)
class Hemisphere:
    """The half of a sphere on the side ``axis`` points to, as [Gnad24, figure 2]."""

    centre: Vector
    radius: float
    axis: Vector = (0.0, 0.0, -1.0)

    def __post_init__(self) -> None:
        _positive("workspace hemisphere", radius=self.radius)
        _unit(self.axis, "workspace hemisphere")

    @property
    def conditions(self) -> int:
        """Sphere and plane."""
        return 2

    def of(self, p: SX) -> list[Condition]:
        """See :class:`Region`."""
        a = _unit(self.axis, "workspace hemisphere")
        height = ca.dot(ca.DM(a), p - ca.DM(self.centre))
        return [*Sphere(self.centre, self.radius).of(p), ("hemisphere: height over its plane [m]", height, 0.0,
        math.inf)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cylinder:
    """Within ``radius`` of the line through ``centre`` along ``axis``, heights ``lower`` to ``upper`` along it."""

    centre: Vector
    radius: float
    axis: Vector = (0.0, 0.0, 1.0)
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        _positive("workspace cylinder", radius=self.radius)
        _unit(self.axis, "workspace cylinder")
        if not self.lower < self.upper:
            raise UsageError(f"workspace cylinder: heights {self.lower} to {self.upper} m, expected lower < upper")

    @property
    def conditions(self) -> int:
        """Radius and height."""
        return 2

    def of(self, p: SX) -> list[Condition]:
        """See :class:`Region`."""
        a = ca.DM(_unit(self.axis, "workspace cylinder"))
        apart = p - ca.DM(self.centre)
        height = ca.dot(a, apart)
        across = apart - a * height
        return [
            ("cylinder: distance from the axis [m]", _length(across, self.radius), -math.inf, self.radius),
            ("cylinder: height [m]", height, self.lower, self.upper),
        ]


@dataclass(frozen=True, slots=True)
class Cone:
    """Within ``angle`` [rad] of ``axis`` as seen from ``apex``."""

    apex: Vector
    axis: Vector
    angle: float

    def __post_init__(self) -> None:
        _unit(self.axis, "workspace cone")
        if not 0.0 < self.angle < math.pi / 2:
            raise UsageError(f"workspace cone: angle {self.angle} rad, expected 0 < angle < pi/2")

    @property
    def conditions(self) -> int:
        """One."""
        return 1

    def of(self, p: SX) -> list[Condition]:
        """See :class:`Region`. The apex itself is outside."""
        a = ca.DM(_unit(self.axis, "workspace cone"))
        apart = p - ca.DM(self.apex)
        along = ca.dot(a, apart)
        return [("cone: angle from its axis [rad]", ca.atan2(_length(apart - a * along, 1e-3), along), -math.inf,
        self.angle)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """``normal . p <= offset``, the normal of any length."""

    normal: Vector
    offset: float

    def __post_init__(self) -> None:
        _unit(self.normal, "workspace half-space")

    @property
    def conditions(self) -> int:
        """One."""
        return 1

    def of(self, p: SX) -> list[Condition]:
        """See :class:`Region`."""
        return [("half-space [m]", ca.dot(ca.DM(self.normal), p), -math.inf, self.offset)]
