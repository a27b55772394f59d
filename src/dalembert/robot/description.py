"""What a robot is: a frozen, validated description, whatever file it came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dalembert.display import Plotted
from dalembert.errors import RobotError, choices
from dalembert.parameters import inertial_names
from dalembert.robot.expression import Expression
from dalembert.robot.geometry import IDENTITY, Placement, Vector
from dalembert.robot.joints import Joint
from dalembert.robot.robot_text import headline, robot_lines

__all__ = [
    "BASE",
    "Anchor",
    "Body",
    "Coordinate",
    "Coupling",
    "Distance",
    "Effort",
    "EffortKind",
    "Limit",
    "Loop",
    "LoopKind",
    "Motor",
    "Robot",
    "Sensor",
]

BASE = "base"
Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Body:
    """A rigid body hanging on its parent by a joint; ``placement`` is the joint frame, at zero, in the parent.

    A massless body has no inertial parameters.
    """

    name: str
    parent: str
    joint: Joint
    placement: Placement = IDENTITY
    massless: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    """A frame fixed in a body (or in the base)."""

    body: str
    placement: Placement = IDENTITY


class LoopKind(StrEnum):
    """What a closed loop holds together, between the z axes of two anchors where a direction matters."""

    POINT = "point"  # coincident origins: a ball joint, 3 rows
    AXIS = "axis"  # coincident origins and aligned z axes: a hinge, 5 rows
    SLIDE = "slide"  # same orientation, origins on the common z axis: a slider, 5 rows
    CYLINDER = "cylinder"  # common z axis: 4 rows
    WELD = "weld"  # same frame: 6 rows
    ROD = "rod"  # origins at a constant distance: a massless rod, 1 row


@dataclass(frozen=True, slots=True)
class Loop:
    """A joint that was cut to leave a tree. ``length`` [m] is that of a rod."""

    name: str
    kind: LoopKind
    a: Anchor
    b: Anchor
    length: float = 0.0


@dataclass(frozen=True, slots=True)
class Coupling:
    """A dependent coordinate: ``coordinate = sum ratio * other + constant``."""

    name: str
    coordinate: str
    terms: Terms
    constant: float = 0.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A linear combination of joint coordinates, ``sum ratio * coordinate + constant``."""

    terms: Terms
    constant: float = 0.0


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance [m] between two anchor points, as a relative coordinate of two bodies."""

    a: Anchor
    b: Anchor


@dataclass(frozen=True, slots=True)
class Motor:
    """An actuator that turns with the joints: ``theta = sum ratio * coordinate`` (gears, signs, screw pitch)."""

    name: str
    turns: Terms
    torque_limit: float = math.inf


@dataclass(frozen=True, slots=True)
class Sensor:
    """A position measurement that is not a motor's: ``theta = sum ratio * coordinate``."""

    name: str
    reads: Terms


class EffortKind(StrEnum):
    """Efforts that are linear in further parameters; the symbol each parameter's name starts with."""

    ROTOR = "rotor"  # Ia xdd
    VISCOUS = "viscous"  # Fv xd
    COULOMB = "coulomb"  # Fc sign(xd)
    OFFSET = "offset"  # off
    SPRING = "spring"  # k (x - rest); rest unknown: k x - kr
    CONSTANT = "constant"  # F: a constant force along the coordinate
    BASIS = "basis"  # sum c_i phi_i(coordinates)
    FORCE = "force"  # c times a given generalised force per coordinate


@dataclass(frozen=True, slots=True)
class Effort:
    """An effort on a coordinate ``x``: the power it takes is its value times ``xd``.

    ``rest`` is a spring's free length or angle (None: unknown, a second parameter); ``basis`` the expressions of joint
    coordinates of a BASIS effort; ``force`` the generalised force per coordinate of a FORCE effort (which has no
    ``on``), the only kind that need not act along the coordinate it depends on.
    """

    name: str
    kind: EffortKind
    on: Coordinate | Distance | None
    rest: float | None = None
    basis: tuple[Expression, ...] = ()
    force: tuple[tuple[str, Expression], ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, ``Ia_m1``, ``Fv_q4``, ``k_counterweight`` ..."""
        if self.kind is EffortKind.SPRING:
            return (f"k_{self.name}",) if self.rest is not None else (f"k_{self.name}", f"kr_{self.name}")
        if self.kind is EffortKind.BASIS:
            return tuple(f"c{i}_{self.name}" for i in range(len(self.basis)))
        return (f"{_SYMBOL[self.kind]}_{self.name}",)


_SYMBOL: Mapping[EffortKind, str] = {
    EffortKind.ROTOR: "Ia",
    EffortKind.VISCOUS: "Fv",
    EffortKind.COULOMB: "Fc",
    EffortKind.OFFSET: "off",
    EffortKind.CONSTANT: "F",
    EffortKind.FORCE: "c",
}


@dataclass(frozen=True, slots=True)
class Limit:
    """Bounds of one coordinate or motor, SI units; infinite where not given."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf


@dataclass(frozen=True, slots=True)
class Robot(Plotted):
    """A spanning tree of bodies, the loops that close it, its motors and everything linear that resists motion.

    Bodies are listed parents first. ``independent`` names the coordinates whose velocities describe the motion
    (empty: chosen by the model). ``home`` is a guess of the coordinates that picks the assembly mode; coordinates not
    named are zero. ``platform`` names the body a payload is fixed to. ``symmetric`` groups bodies meant to be equal.
    ``nominal`` maps parameter names to values. ``unmeasured`` lists motors whose torque is not measured,
    ``without_encoder`` those whose position is not.
    """

    name: str
    bodies: tuple[Body, ...]
    loops: tuple[Loop | Coupling, ...] = ()
    motors: tuple[Motor, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    efforts: tuple[Effort, ...] = ()
    gravity: Vector = (0.0, 0.0, -9.81)
    independent: tuple[str, ...] = ()
    home: Mapping[str, float] = field(default_factory=dict)
    platform: str | None = None
    symmetric: tuple[tuple[str, ...], ...] = ()
    limits: Mapping[str, Limit] = field(default_factory=dict)
    nominal: Mapping[str, float] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    without_encoder: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("home", "limits", "nominal"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        _Checks(self).run()

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the tree coordinates ``y``, in order."""
        return tuple(name for body in self.bodies for name in body.joint.coordinates)

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in order."""
        return tuple(body.name for body in self.bodies)

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the actuators, as logs call them."""
        return tuple(motor.name for motor in self.motors)

    def __repr__(self) -> str:
        return f"<Robot {headline(self)}>"

    def __str__(self) -> str:
        """Bodies with their joints, loops, motors."""
        return "\n".join(robot_lines(self))

    def body(self, name: str) -> Body:
        """The body of that name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise RobotError(f"robot {self.name!r}: no body {name!r}; {choices(name, self.body_names)}")

    def motor_map(self) -> NDArray[np.float64]:
        """T, shape (n motors, n_y): motor coordinates from joint coordinates, ``theta = T y``."""
        return self.linear_map(motor.turns for motor in self.motors)

    @property
    def readings(self) -> dict[str, Terms]:
        """The measured positions by name: of motors with an encoder, then of the further sensors."""
        motors = {motor.name: motor.turns for motor in self.motors if motor.name not in self.without_encoder}
        return motors | {sensor.name: sensor.reads for sensor in self.sensors}

    def sensor_map(self) -> NDArray[np.float64]:
        """T_s: a row for each of :attr:`readings`, ``theta_s = T_s y``."""
        return self.linear_map(self.readings.values())

    def linear_map(self, rows: Iterable[Terms]) -> NDArray[np.float64]:
        """Matrix of linear combinations of coordinates, one row each."""
        index = {name: i for i, name in enumerate(self.coordinates)}
        rows = list(rows)
        out = np.zeros((len(rows), len(index)))
        for i, terms in enumerate(rows):
            for name, ratio in terms:
                out[i, index[name]] += ratio
        return out

    def parameters(self) -> tuple[str, ...]:
        """Names of all standard parameters: ten per body with mass, then those of the efforts."""
        inertial = [name for body in self.bodies if not body.massless for name in inertial_names(body.name)]
        return (*inertial, *(name for effort in self.efforts for name in effort.parameters))

    def with_efforts(self, efforts: Iterable[Effort]) -> Robot:
        """The same robot with other effort terms; nominal values of terms that are gone are dropped."""
        efforts = tuple(efforts)
        names = {n for b in self.bodies for n in inertial_names(b.name)} | {n for e in efforts for n in e.parameters}
        return replace(self, efforts=efforts, nominal={k: v for k, v in self.nominal.items() if k in names})


class _Checks:
    """Every rule a description must keep, each with a message that names the culprit and the choices."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.coordinates = set(robot.coordinates)

    def run(self) -> None:
        for check in (
            self._names, self._tree, self._loops, self._motors, self._efforts, self._groups, self._numbers,
        ):  # fmt: skip
            check()

    def _fail(self, message: str) -> None:
        raise RobotError(f"robot {self.robot.name!r}: {message}")

    def _unique(self, kind: str, names: Iterable[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if not name:
                self._fail(f"a {kind} has an empty name")
            if name in seen:
                self._fail(f"the {kind} name {name!r} is used twice; names must differ")
            seen.add(name)

    def _names(self) -> None:
        robot = self.robot
        if not robot.bodies:
            self._fail("no bodies, expected at least one")
        self._unique("body", robot.body_names)
        self._unique("joint", [body.joint.name for body in robot.bodies])
        self._unique("coordinate", robot.coordinates)
        self._unique("motor", [*robot.motor_names, *(s.name for s in robot.sensors)])
        self._unique("loop", [loop.name for loop in robot.loops])
        self._unique("parameter", robot.parameters())

    def _known(self, what: str, name: str, valid: Iterable[str]) -> None:
        valid = list(valid)
        if name not in valid:
            self._fail(f"{what}: no {name!r}; {choices(name, valid)}")

    def _coordinate(self, what: str, name: str) -> None:
        self._known(f"{what}: coordinate", name, self.robot.coordinates)

    def _terms(self, what: str, terms: Terms) -> None:
        if not terms:
            self._fail(f"{what} acts on nothing, expected at least one coordinate; {choices('', self.coordinates)}")
        for name, ratio in terms:
            self._coordinate(what, name)
            if not math.isfinite(ratio) or ratio == 0.0:
                self._fail(f"{what}: ratio {ratio} on {name!r}, expected a finite non-zero number")

    def _anchor(self, what: str, anchor: Anchor) -> None:
        self._known(f"{what}: body", anchor.body, (BASE, *self.robot.body_names))

    def _tree(self) -> None:
        placed = {BASE}
        names = self.robot.body_names
        if BASE in names:
            self._fail(f"a body is named {BASE!r}, which is the name of the fixed base")
        for body in self.robot.bodies:
            self._known(f"body {body.name!r}: parent", body.parent, (BASE, *names))
            if body.parent not in placed:
                self._fail(
                    f"body {body.name!r}: parent {body.parent!r} does not lead to the base (cycle or wrong order)"
                )
            placed.add(body.name)
        if not self.coordinates:
            self._fail("no joint can move, expected at least one joint that is not fixed")

    def _loops(self) -> None:
        for loop in self.robot.loops:
            what = f"loop {loop.name!r}"
            if isinstance(loop, Coupling):
                self._coordinate(what, loop.coordinate)
                if loop.terms:
                    self._terms(what, loop.terms)
                if loop.coordinate in dict(loop.terms):
                    self._fail(f"{what}: coordinate {loop.coordinate!r} depends on itself")
                self._finite(what, [loop.constant])
                continue
            self._anchor(what, loop.a)
            self._anchor(what, loop.b)
            if loop.a.body == loop.b.body:
                self._fail(f"{what}: both ends are on {loop.a.body!r}, expected two bodies")
            if loop.kind is LoopKind.ROD and not (math.isfinite(loop.length) and loop.length > 0.0):
                self._fail(f"{what}: rod length {loop.length}, expected a positive length in m")

    def _motors(self) -> None:
        robot = self.robot
        for motor in robot.motors:
            self._terms(f"motor {motor.name!r}", motor.turns)
            if not motor.torque_limit > 0.0:
                self._fail(f"motor {motor.name!r}: torque limit {motor.torque_limit}, expected a positive number")
        for sensor in robot.sensors:
            self._terms(f"sensor {sensor.name!r}", sensor.reads)
        for what, names in (("unmeasured torque", robot.unmeasured), ("without encoder", robot.without_encoder)):
            for name in names:
                self._known(f"{what}: motor", name, robot.motor_names)

    def _efforts(self) -> None:
        for effort in self.robot.efforts:
            what = f"effort {effort.name!r} ({effort.kind})"
            if isinstance(effort.on, Coordinate):
                self._terms(what, effort.on.terms)
                self._finite(what, [effort.on.constant])
            elif isinstance(effort.on, Distance):
                self._anchor(what, effort.on.a)
                self._anchor(what, effort.on.b)
            elif effort.kind is not EffortKind.FORCE:
                self._fail(f"{what} acts on nothing, expected a joint, a motor or a relative coordinate")
            if effort.rest is not None:
                self._finite(what, [effort.rest])
            for name, _ in effort.force:
                self._coordinate(what, name)
            if effort.kind is EffortKind.BASIS and not effort.basis:
                self._fail(f"{what}: empty basis, expected at least one expression")

    def _groups(self) -> None:
        robot = self.robot
        for name in robot.independent:
            self._coordinate("independent", name)
        for name in robot.home:
            self._coordinate("home", name)
        for name in robot.limits:
            self._known("limits: coordinate or motor", name, (*robot.coordinates, *robot.motor_names))
        if robot.platform is not None:
            self._known("platform: body", robot.platform, robot.body_names)
        for group in robot.symmetric:
            for name in group:
                self._known("symmetric: body", name, robot.body_names)
            if len({robot.body(name).massless for name in group}) > 1:
                self._fail(f"symmetric: {', '.join(group)} mix bodies with and without mass")
        for name in robot.nominal:
            self._known("nominal: parameter", name, robot.parameters())

    def _finite(self, what: str, values: Iterable[float]) -> None:
        for value in values:
            if not math.isfinite(value):
                self._fail(f"{what}: found {value}, expected a finite number")

    def _numbers(self) -> None:
        robot = self.robot
        self._finite("gravity", robot.gravity)
        for name, value in robot.home.items():
            self._finite(f"home: {name}", [value])
        for name, value in robot.nominal.items():
            self._finite(f"nominal: {name}", [value])
            if name.startswith("M_") and value < 0.0 and name[2:] in robot.body_names:
                self._fail(f"nominal: mass {name} = {value:g} kg, expected a mass >= 0")
        for name, limit in robot.limits.items():
            if not limit.lower < limit.upper:
                self._fail(f"limits of {name!r}: lower {limit.lower:g} is not below upper {limit.upper:g}")
            for bound in (limit.velocity, limit.acceleration, limit.jerk):
                if not bound > 0.0:
                    self._fail(f"limits of {name!r}: found {bound}, expected positive bounds")
