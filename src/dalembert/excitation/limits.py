"""What a motion must keep: of coordinates and motors, in the workspace, off singularities, between links."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from dalembert.errors import UsageError, choices
from dalembert.excitation.constraints.clearance import Capsule
from dalembert.excitation.workspace import Region
from dalembert.robot import BASE, Limit, Motor, Robot
from dalembert.robot.geometry import Vector

__all__ = ["Clearance", "Limits", "Margin", "Shares", "Tilt", "Workspace"]


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of each limit the design may use. Less than all of it where an imperfect controller needs room."""

    position: float = 1.0
    velocity: float = 0.9
    acceleration: float = 0.9
    jerk: float = 1.0
    torque: float = 0.9

    def __post_init__(self) -> None:
        for name in ("position", "velocity", "acceleration", "jerk", "torque"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise UsageError(f"share of {name}: {getattr(self, name)}, expected 0 < share <= 1")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A region a point fixed in a body (the platform unless named) stays in."""

    region: Region
    body: str = ""
    point: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Margin:
    """Distance from singularities, see ``constraints/singularity.py``; None: not asked for.

    Least singular values of the closure Jacobian (``closure``), of the motors' map (``motors``: parallel
    singularities) and of the platform's map (``platform``: serial ones); largest ``condition`` number of T N.
    """

    closure: float | None = None
    motors: float | None = None
    platform: float | None = None
    condition: float | None = None


@dataclass(frozen=True, slots=True)
class Clearance:
    """Capsules on links, the pairs that must stay ``distance`` [m] apart, and the height of the floor [m] along z."""

    capsules: tuple[Capsule, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    distance: float = 0.0
    floor: float | None = None

    def __post_init__(self) -> None:
        known = [capsule.name for capsule in self.capsules]
        for name in known:
            if known.count(name) > 1:
                raise UsageError(f"clearance: {known.count(name)} capsules are named {name!r}, expected one")
        for a, b in self.pairs:
            for name in (a, b):
                if name not in known:
                    raise UsageError(f"clearance: no capsule {name!r}; {choices(name, known)}")
            if a == b:
                raise UsageError(f"clearance: pair of {a!r} and itself, expected two capsules")
        if (self.floor is not None or self.distance) and not known:
            raise UsageError("clearance: no capsules, expected what is kept apart or above the floor")
        idle = [name for name in known if not any(name in pair for pair in self.pairs)]
        if idle and self.floor is None:
            raise UsageError(
                f"clearance: nothing is kept apart from capsule {idle[0]!r}, expected a pair with it, or a floor"
            )


@dataclass(frozen=True, slots=True)
class Tilt:
    """A ball joint's play: the axis of body ``a`` within ``angle`` [rad] of that of body ``b``."""

    name: str
    a: str
    axis_a: Vector
    b: str
    axis_b: Vector
    angle: float

    def __post_init__(self) -> None:
        if not 0.0 < self.angle < math.pi:
            raise UsageError(f"tilt {self.name!r}: angle {self.angle} rad, expected 0 < angle < pi")


@dataclass(frozen=True, slots=True)
class Limits:
    """Everything a design must keep. ``motion`` maps coordinates and motors to bounds, ``torque`` motors to N m or N.

    ``singularity`` None: a third of what home has, for robots with loops. See :meth:`of` for the robot's own.
    """

    motion: Mapping[str, Limit] = field(default_factory=dict)
    torque: Mapping[str, float] = field(default_factory=dict)
    workspace: tuple[Workspace, ...] = ()
    singularity: Margin | None = None
    clearance: Clearance = field(default_factory=Clearance)
    tilt: tuple[Tilt, ...] = ()
    shares: Shares = field(default_factory=Shares)

    def __post_init__(self) -> None:
        for name in ("motion", "torque"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for name, limit in self.motion.items():
            if not limit.lower < limit.upper:
                raise UsageError(
                    f"limits of {name!r}: position from {limit.lower:g} to {limit.upper:g}, expected lower < upper"
                )
            for kind in ("velocity", "acceleration", "jerk"):
                if not getattr(limit, kind) > 0.0:
                    raise UsageError(
                        f"limits of {name!r}: {kind} {getattr(limit, kind):g}, expected a positive number"
                    )  # fmt: skip
        for name, value in self.torque.items():
            if not value > 0.0:
                raise UsageError(f"limits: torque of {name!r} is {value:g}, expected a positive number")

    @classmethod
    def of(cls, robot: Robot, shares: Shares | None = None) -> Limits:
        """The limits written in the robot's description."""
        torque = {m.name: m.torque_limit for m in robot.motors if math.isfinite(m.torque_limit)}
        return cls(dict(robot.limits), torque, shares=shares or Shares())

    def check(self, robot: Robot) -> None:
        """Refuse names the robot does not have."""
        known = tuple(dict.fromkeys((*robot.coordinates, *robot.motor_names)))
        for name in self.motion:
            if name not in known:
                raise UsageError(f"limits: no coordinate or motor {name!r}; {choices(name, known)}")
        for name in self.torque:
            if name not in robot.motor_names:
                raise UsageError(f"limits: torque: no motor {name!r}; {choices(name, robot.motor_names)}")
        bodies = (BASE, *robot.body_names)
        named = [("workspace", w.body) for w in self.workspace if w.body]
        named += [(f"tilt {t.name!r}", body) for t in self.tilt for body in (t.a, t.b)]
        named += [(f"capsule {c.name!r}", c.body) for c in self.clearance.capsules]
        for where, body in named:
            if body not in bodies:
                raise UsageError(f"limits: {where}: no body {body!r}; {choices(body, bodies)}")
        if self.workspace and robot.platform is None and any(not w.body for w in self.workspace):
            raise UsageError(f"limits: workspace: robot {robot.name!r} declares no platform; name a body")
        if self.singularity is not None and self.singularity.platform is not None and robot.platform is None:
            raise UsageError(f"limits: singularity: robot {robot.name!r} declares no platform")
        if self.singularity is not None and self.singularity.closure is not None and not robot.loops:
            raise UsageError(f"limits: singularity: closure: robot {robot.name!r} has no loops")

    def motor_rate(self, motor: Motor, kind: Literal["velocity", "acceleration"]) -> float:
        """Largest velocity or acceleration a motor can have: its own limit, or what its coordinates' leave it."""
        own, *turned = (getattr(self.motion.get(name, Limit()), kind) for name in (motor.name, *dict(motor.turns)))
        return float(min(own, sum(abs(ratio) * most for (_, ratio), most in zip(motor.turns, turned, strict=True))))

    def widened(self, **changes: object) -> Limits:
        """The same limits with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]
