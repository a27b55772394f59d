"""URDF: trees of links; what URDF cannot say (loops, motors, further efforts) comes from a side YAML."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import RobotError, choices
from dalembert.robot.description import (
    BASE,
    Body,
    Coordinate,
    Coupling,
    Effort,
    EffortKind,
    Limit,
    Motor,
    Robot,
)
from dalembert.robot.geometry import Placement, Vector, rounded_quarter, rpy_rotation, said_of_quarter, unit
from dalembert.robot.interchange import UNBOUNDED, nominal_inertia
from dalembert.robot.joints import Joint, JointType
from dalembert.robot.urdf_side import read_side, side_path
from dalembert.robot.urdf_tree import ONE_AXIS, UrdfJoint, UrdfTree
from dalembert.robot.xml_tree import Element, read_xml

__all__ = ["inertial_frame", "read_urdf"]

_ZERO: Vector = (0.0, 0.0, 0.0)


def read_urdf(
    path: str | Path, side: str | Path | None = None, *, floating: bool = False, beside: bool = True
) -> Robot:
    """The robot of a URDF file and its side YAML: the one given, else ``NAME.dalembert.yaml`` if beside the file.

    Links are bodies and joint frames are link frames, so coordinates and placements are URDF's own. The root link
    is the base and its inertia does nothing; with ``floating`` it is a free body. ``mimic`` becomes a coupling,
    ``dynamics`` viscous and Coulomb efforts. Every joint is its own motor, seen on the joint's side, except mimics;
    where the file has transmissions, only the joints they name. A link called ``base`` that is not the root is
    renamed ``base_2``. ``beside`` False: the side YAML beside the file is not looked for.
    """
    robot = _Urdf(read_xml(Path(path), "robot"), floating).robot()
    found = side_path(Path(path)) if side is None else Path(side)
    if side is None and not (beside and found.is_file()):
        return robot
    return read_side(robot, found)


def inertial_frame(rpy: str) -> NDArray[np.float64]:
    """Rotation of an ``rpy`` attribute that was read before."""
    return rpy_rotation([rounded_quarter(word) or float(word) for word in rpy.split()])


class _Urdf:
    """One file on its way to a robot."""

    def __init__(self, root: Element, floating: bool) -> None:
        self.root, self.floating = root, floating
        tree = UrdfTree(root, floating)
        self.links, self.joints, self.base = tree.links, tree.joints, tree.base
        self.order, self.names = tree.order, tree.names

    def robot(self) -> Robot:
        bodies, nominal = self._bodies()
        efforts, effort_values = self._efforts()
        loops, motors, limits = self._mimics(), self._motors(), self._limits()
        file = Path(self.root.file)
        try:
            return Robot(
                name=self.root.attributes.get("name", "").strip() or file.stem,
                bodies=tuple(bodies),
                loops=tuple(loops),
                motors=tuple(motors),
                efforts=tuple(efforts),
                limits=limits,
                nominal={**nominal, **effort_values},
                source=str(file),
            )
        except RobotError as error:
            raise RobotError(f"{self.root.file}: {error}") from None

    # bodies

    def _bodies(self) -> tuple[list[Body], dict[str, float]]:
        bodies: list[Body] = []
        nominal: dict[str, float] = {}
        if self.floating:
            root = self.names[self.base]
            values = self._inertia(self.base)
            bodies.append(Body(root, BASE, Joint(root, JointType.FREE), massless=not values))
            nominal.update(values)
        for joint in self.order:
            values = self._inertia(joint.child)
            bodies.extend(self._chain(joint, massless=not values))
            nominal.update(values)
        return bodies, nominal

    def _inertia(self, link: str) -> dict[str, float]:
        """Nominal parameters of a link; empty for one without inertia."""
        inertial = self.links[link].first("inertial")
        if inertial is None:
            return {}
        mass_element, tensor_element = inertial.need("mass"), inertial.need("inertia")
        mass = mass_element.number("value")
        if mass < 0.0:
            raise mass_element.error(f"link {link!r}: mass {mass:g} kg, expected a mass >= 0")
        xx, yy, zz = (tensor_element.number(name) for name in ("ixx", "iyy", "izz"))
        xy, xz, yz = (tensor_element.number(name, 0.0) for name in ("ixy", "ixz", "iyz"))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if mass == 0.0 and not tensor.any():
            return {}
        frame = _origin(inertial)
        return nominal_inertia(self.names[link], mass, frame.p, frame.R @ tensor @ frame.R.T)

    def _chain(self, joint: UrdfJoint, *, massless: bool) -> list[Body]:
        """The body of a joint's child; three where a planar joint's normal is not z."""
        name, parent = self.names[joint.child], self.names[joint.parent]
        placement = _origin(joint.element)
        if joint.one_axis:
            kind = Joint(joint.name, ONE_AXIS[joint.type], joint.axis)
        elif joint.type == "planar" and joint.axis != (0.0, 0.0, 1.0):
            return self._tilted_plane(joint, placement, massless=massless)
        else:
            types = {"fixed": JointType.FIXED, "planar": JointType.PLANAR, "floating": JointType.FREE}
            kind = Joint(joint.name, types[joint.type])
        return [Body(name, parent, kind, placement, massless)]

    def _tilted_plane(self, joint: UrdfJoint, placement: Placement, *, massless: bool) -> list[Body]:
        normal = np.array(joint.axis)
        first = np.roll(normal, 1) if np.count_nonzero(normal) == 1 else np.cross(normal, np.eye(3)[0])
        axes = (unit(first), unit(np.cross(normal, first)), joint.axis)
        kinds = (JointType.PRISMATIC, JointType.PRISMATIC, JointType.REVOLUTE)
        name, parent = self.names[joint.child], self.names[joint.parent]
        bodies = []
        for suffix, axis, kind in zip((".x", ".y", ".angle"), axes, kinds, strict=True):
            last = suffix == ".angle"
            body = name if last else name + suffix
            step = Joint(joint.name + suffix, kind, axis)
            bodies.append(Body(body, parent, step, placement, massless if last else True))
            parent, placement = body, Placement()
        return bodies

    # what acts on the joints

    def _mimics(self) -> list[Coupling]:
        out = []
        for joint in self.order:
            mimic = joint.element.first("mimic")
            if mimic is None:
                continue
            source = mimic.attribute("joint")
            moving = [j.name for j in self.order if j.one_axis and j is not joint]
            if not joint.one_axis:
                raise mimic.error(f"joint {joint.name!r} is {joint.type}, expected one of {', '.join(ONE_AXIS)}")
            if source not in moving:
                raise mimic.error(f"joint {joint.name!r} mimics no joint {source!r}; {choices(source, moving)}")
            ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            terms = ((source, ratio),) if ratio else ()
            out.append(Coupling(f"{joint.name}_mimic", joint.name, terms, offset))
        self._check_mimics({c.coordinate: c.terms[0][0] for c in out if c.terms})
        return out

    def _check_mimics(self, source: dict[str, str]) -> None:
        for start in source:
            at, seen = start, {start}
            while at in source:
                at = source[at]
                if at in seen:
                    raise self.joints[start].element.error(f"joint {start!r} mimics itself, through {at!r}")
                seen.add(at)

    def _efforts(self) -> tuple[list[Effort], dict[str, float]]:
        efforts: list[Effort] = []
        nominal: dict[str, float] = {}
        for joint in self.order:
            dynamics = joint.element.first("dynamics")
            if dynamics is None or not joint.one_axis:
                continue
            for key, kind in (("damping", EffortKind.VISCOUS), ("friction", EffortKind.COULOMB)):
                value = dynamics.number(key, 0.0)
                if value < 0.0:
                    raise dynamics.error(f"joint {joint.name!r}: {key} {value:g}, expected a number >= 0")
                if value > 0.0:
                    effort = Effort(joint.name, kind, Coordinate(((joint.name, 1.0),)))
                    efforts.append(effort)
                    nominal[effort.parameters[0]] = value
        return efforts, nominal

    def _limits(self) -> dict[str, Limit]:
        limits = {}
        for joint in self.order:
            element = joint.element.first("limit")
            if element is None or not joint.one_axis:
                continue
            lower, upper = element.number("lower", 0.0), element.number("upper", 0.0)
            if joint.type == "continuous" or lower == upper == 0.0:  # URDF's defaults: no bounds given
                lower, upper = -math.inf, math.inf
            lower = lower if lower > -UNBOUNDED else -math.inf
            upper = upper if upper < UNBOUNDED else math.inf
            if not lower < upper:
                raise element.error(f"joint {joint.name!r}: lower {lower:g} is not below upper {upper:g}")
            limit = Limit(lower, upper, velocity=self._bound(joint, "velocity"))
            if limit != Limit():
                limits[joint.name] = limit
        return limits

    def _bound(self, joint: UrdfJoint, name: str) -> float:
        """A positive bound of ``<limit>``; absent or 0: none."""
        element = joint.element.first("limit")
        value = element.number(name, 0.0) if element else 0.0
        if element is not None and value < 0.0:
            raise element.error(f"joint {joint.name!r}: {name} {value:g}, expected a number >= 0")
        return value if 0.0 < value < UNBOUNDED else math.inf

    def _motors(self) -> list[Motor]:
        named = set()
        for transmission in self.root.all("transmission"):
            for element in transmission.all("joint"):
                name = element.attribute("name")
                if name not in self.joints:
                    raise element.error(f"no joint {name!r}; {choices(name, self.joints)}")
                named.add(name)
        driven = [j for j in self.order if j.one_axis]
        if named:
            driven = [j for j in driven if j.name in named]
        else:
            driven = [j for j in driven if j.element.first("mimic") is None]
        return [Motor(j.name, ((j.name, 1.0),), self._bound(j, "effort")) for j in driven]


def _origin(element: Element) -> Placement:
    origin = element.first("origin")
    if origin is None:
        return Placement()
    return Placement.of(origin.vector("xyz", _ZERO), rpy_rotation(_angles(origin)))


def _angles(origin: Element) -> tuple[float, ...]:
    """Roll, pitch, yaw; decimals of a multiple of pi/2 are that multiple, and said."""
    angles = list(origin.vector("rpy", _ZERO))
    for k, word in enumerate(origin.attributes.get("rpy", "").split()):
        exact = rounded_quarter(word)
        if exact is not None:
            warnings.warn(f"{origin.file}:{origin.line}: rpy {said_of_quarter(word, exact)}", stacklevel=2)
            angles[k] = exact
    return tuple(angles)
