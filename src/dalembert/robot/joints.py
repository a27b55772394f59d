"""Joints, as chains of one-axis steps.

Every joint is a sequence of turns and slides about fixed axes, so that the tree coordinates ``y`` are a plain vector
and ``yd`` its derivative. A ball joint is three turns about x, y', z'': all zero at the placement of the joint,
singular when the second turn reaches 90 degrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dalembert.errors import RobotError
from dalembert.robot.geometry import Vector, unit

__all__ = ["STEPS", "Joint", "JointType", "Step"]

X: Vector = (1.0, 0.0, 0.0)
Y: Vector = (0.0, 1.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)


class JointType(StrEnum):
    """The joints a description may use."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    HELICAL = "helical"
    CYLINDRICAL = "cylindrical"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"
    PLANAR = "planar"
    TRANSLATION = "translation"
    FREE = "free"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Step:
    """One coordinate: a turn of 1 rad per unit and a slide of ``slide`` m per unit along the same unit axis.

    ``turn`` is 1 for revolute and helical steps, 0 for prismatic ones; ``slide`` is 0, 1 or the pitch [m/rad].
    """

    coordinate: str
    axis: Vector
    turn: float
    slide: float

    @property
    def is_angle(self) -> bool:
        """True when the coordinate is measured in radians."""
        return self.turn != 0.0


# Suffix, axis and kind of each step; an axis of None is the joint's own axis, "second" its second one.
STEPS: Mapping[JointType, tuple[tuple[str, Vector | str, str], ...]] = {
    JointType.REVOLUTE: (("", "axis", "turn"),),
    JointType.PRISMATIC: (("", "axis", "slide"),),
    JointType.HELICAL: (("", "axis", "screw"),),
    JointType.CYLINDRICAL: ((".slide", "axis", "slide"), (".turn", "axis", "turn")),
    JointType.UNIVERSAL: ((".first", "axis", "turn"), (".second", "second", "turn")),
    JointType.SPHERICAL: ((".rx", X, "turn"), (".ry", Y, "turn"), (".rz", Z, "turn")),
    JointType.PLANAR: ((".x", X, "slide"), (".y", Y, "slide"), (".angle", Z, "turn")),
    JointType.TRANSLATION: ((".x", X, "slide"), (".y", Y, "slide"), (".z", Z, "slide")),
    JointType.FREE: (
        (".x", X, "slide"), (".y", Y, "slide"), (".z", Z, "slide"),
        (".rx", X, "turn"), (".ry", Y, "turn"), (".rz", Z, "turn"),
    ),
    JointType.FIXED: (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint: its name names its coordinates (``pose`` of type planar has ``pose.x``, ``pose.y``, ``pose.angle``).

    ``axis`` is the unit axis in the joint frame (ignored by spherical, planar, translation, free and fixed joints),
    ``second_axis`` the second one of a universal joint, ``pitch`` [m/rad] the advance of a helical one.
    """

    name: str
    type: JointType = JointType.FIXED
    axis: Vector = Z
    second_axis: Vector | None = None
    pitch: float = 0.0

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        object.__setattr__(self, "axis", unit(self.axis, where=f"{where}: axis"))
        if self.type is JointType.HELICAL and not (np.isfinite(self.pitch) and self.pitch != 0.0):
            raise RobotError(f"{where}: pitch {self.pitch}, expected a non-zero advance in m/rad")
        if self.type is JointType.UNIVERSAL:
            second = self.second_axis
            if second is None:
                second = X if abs(self.axis[0]) < 0.5 else Y
            second = unit(second, where=f"{where}: second axis")
            if abs(float(np.dot(second, self.axis))) > 1.0 - 1e-6:
                raise RobotError(f"{where}: second axis {list(second)} is parallel to the first")
            object.__setattr__(self, "second_axis", second)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The one-axis steps from the parent's side to the body's."""
        out = []
        for suffix, axis, kind in STEPS[self.type]:
            direction = axis
            if isinstance(direction, str):
                direction = self.axis if direction == "axis" or self.second_axis is None else self.second_axis
            turn = 0.0 if kind == "slide" else 1.0
            slide = {"turn": 0.0, "slide": 1.0, "screw": self.pitch}[kind]
            out.append(Step(self.name + suffix, direction, turn, slide))
        return tuple(out)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the joint's coordinates, in the order of its steps."""
        return tuple(self.name + suffix for suffix, _, _ in STEPS[self.type])
