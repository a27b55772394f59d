"""URDF from a robot: the tree; what URDF cannot say goes to a side YAML next to it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dalembert.robot.description import (
    BASE,
    Body,
    Coordinate,
    Coupling,
    Effort,
    EffortKind,
    Limit,
    Loop,
    Robot,
)
from dalembert.robot.geometry import IDENTITY, Placement
from dalembert.robot.interchange import (
    UNBOUNDED,
    body_inertia,
    number_text,
    rpy_of_matrix,
    unique_name,
    write_atomically,
)
from dalembert.robot.joints import JointType, Step
from dalembert.robot.updating import joint_efforts
from dalembert.robot.urdf_side import side_path, side_text

__all__ = ["beside", "urdf_texts", "write_urdf"]

_WHOLE = {JointType.FIXED: "fixed", JointType.PLANAR: "planar", JointType.FREE: "floating"}


def write_urdf(robot: Robot, path: str | Path) -> None:
    """Write a robot's tree as URDF with nominal values as inertias, the rest in ``NAME.dalembert.yaml`` beside it.

    Joints of several coordinates become chains of links without mass, with joints named after the coordinates;
    a screw becomes a turn and a slide that mimics it. Couplings to one coordinate are mimics.
    """
    urdf, side = urdf_texts(robot)
    write_atomically(Path(path), urdf)
    write_atomically(side_path(Path(path)), side)


def urdf_texts(robot: Robot) -> tuple[str, str]:
    """The URDF file, and the side YAML that goes beside it."""
    return _Urdf(robot).text(), side_text(beside(robot))


def beside(robot: Robot) -> Robot:
    """What the side file has to say: the robot without what URDF says."""
    said = all(is_dynamics(robot, effort) for effort in robot.efforts)
    own = _one_axis(robot)
    limits = {
        name: limit
        for name, limit in robot.limits.items()
        if name not in own or limit != Limit(limit.lower, limit.upper, limit.velocity)
    }
    return replace(
        robot,
        loops=tuple(loop for loop in robot.loops if not is_mimic(robot, loop)),
        efforts=() if said else robot.efforts,
        nominal={} if said else robot.nominal,
        limits=limits,
    )


class _Urdf:
    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.root = ET.Element("robot", name=robot.name)
        self.links = [BASE, *robot.body_names]
        self.efforts, _ = joint_efforts(robot)
        self.mimics = {
            loop.coordinate: loop for loop in robot.loops if isinstance(loop, Coupling) and is_mimic(robot, loop)
        }

    def text(self) -> str:
        ET.SubElement(self.root, "link", name=BASE)
        for body in self.robot.bodies:
            self._body(body)
        ET.indent(self.root)
        return '<?xml version="1.0"?>\n' + ET.tostring(self.root, encoding="unicode") + "\n"

    def _body(self, body: Body) -> None:
        joint, parent, placement = body.joint, body.parent, body.placement
        if joint.type in _WHOLE:
            self._link(body.name, body)
            element = self._joint(joint.name, _WHOLE[joint.type], parent, body.name, placement)
            if joint.type is JointType.PLANAR:
                ET.SubElement(element, "axis", xyz="0 0 1")
            return
        single = [part for step in joint.steps for part in self._parts(step)]
        for i, (name, step, is_turn) in enumerate(single):
            last = i == len(single) - 1
            child = body.name if last else unique_name(f"{body.name}_{name}", self.links)
            self.links.append(child)
            self._link(child, body if last else None)
            self._moving(self._joint(name, self._kind(name, is_turn), parent, child, placement), name, step)
            parent, placement = child, IDENTITY

    def _parts(self, step: Step) -> list[tuple[str, Step, bool]]:
        """Name, step and kind of the URDF joints of one step: two for a screw, the slide first."""
        if step.is_angle and step.slide != 0.0:
            name = unique_name(f"{step.coordinate}_advance", self.robot.coordinates)
            return [(name, step, False), (step.coordinate, step, True)]
        return [(step.coordinate, step, step.is_angle)]

    def _kind(self, name: str, is_turn: bool) -> str:
        """A turn without bounds on position, velocity or torque is continuous."""
        limit = self.robot.limits.get(name, Limit())
        bounds = (-limit.lower, limit.upper, limit.velocity, self._torque_limit(name))
        if not is_turn:
            return "prismatic"
        return "revolute" if min(bounds) < UNBOUNDED else "continuous"

    def _link(self, name: str, body: Body | None) -> None:
        link = ET.SubElement(self.root, "link", name=name)
        inertia = body_inertia(self.robot, body) if body else None
        if inertia is None:
            return
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=number_text(*inertia.com), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=number_text(inertia.mass))
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        ET.SubElement(inertial, "inertia", {n: number_text(v) for n, v in zip(names, inertia.tensor, strict=True)})

    def _joint(self, name: str, kind: str, parent: str, child: str, placement: Placement) -> ET.Element:
        element = ET.SubElement(self.root, "joint", name=name, type=kind)
        rpy = number_text(*rpy_of_matrix(placement.R))
        ET.SubElement(element, "origin", xyz=number_text(*placement.position), rpy=rpy)
        ET.SubElement(element, "parent", link=parent)
        ET.SubElement(element, "child", link=child)
        return element

    def _moving(self, element: ET.Element, name: str, step: Step) -> None:
        """Axis, limit, mimic and dynamics of a joint of one coordinate."""
        ET.SubElement(element, "axis", xyz=number_text(*step.axis))
        limit = self.robot.limits.get(name, Limit())
        if element.get("type") != "continuous":
            bounds = {"lower": max(limit.lower, -UNBOUNDED), "upper": min(limit.upper, UNBOUNDED)}
            bounds |= {"effort": self._torque_limit(name), "velocity": min(limit.velocity, UNBOUNDED)}
            ET.SubElement(element, "limit", {key: number_text(value) for key, value in bounds.items()})
        if name != step.coordinate:  # the slide of a screw
            ET.SubElement(element, "mimic", joint=step.coordinate, multiplier=number_text(step.slide))
        elif name in self.mimics:
            loop = self.mimics[name]
            ((source, ratio),) = loop.terms
            attributes = {"multiplier": number_text(ratio), "offset": number_text(loop.constant)}
            ET.SubElement(element, "mimic", {"joint": source, **attributes})
        dynamics = dict(self._friction(name))
        if dynamics:
            ET.SubElement(element, "dynamics", dynamics)

    def _torque_limit(self, coordinate: str) -> float:
        motors = [m for m in self.robot.motors if m.turns == ((coordinate, 1.0),)]
        return min([UNBOUNDED, *(m.torque_limit for m in motors)])

    def _friction(self, coordinate: str) -> Iterator[tuple[str, str]]:
        """Friction on the joint alone, its motor's included; the side file says whose it is."""
        kinds = {EffortKind.VISCOUS: "damping", EffortKind.COULOMB: "friction"}
        for kind, name in kinds.items():
            value = self.efforts.get(coordinate, {}).get(kind, 0.0)
            if value > 0.0:
                yield name, number_text(value)


def _one_axis(robot: Robot) -> set[str]:
    """Coordinates that become a URDF joint of their own."""
    return {s.coordinate for b in robot.bodies if b.joint.type not in _WHOLE for s in b.joint.steps}


def is_mimic(robot: Robot, loop: Loop | Coupling) -> bool:
    """True for a loop that URDF's ``<mimic>`` says."""
    if not isinstance(loop, Coupling) or len(loop.terms) != 1:
        return False
    same = [c for c in robot.loops if isinstance(c, Coupling) and c.coordinate == loop.coordinate]
    return {loop.coordinate, loop.terms[0][0]} <= _one_axis(robot) and same[0] is loop


def is_dynamics(robot: Robot, effort: Effort) -> bool:
    """True for an effort that URDF's ``<dynamics>`` says, and its reader gives back unchanged."""
    if effort.kind not in (EffortKind.VISCOUS, EffortKind.COULOMB) or not isinstance(effort.on, Coordinate):
        return False
    own = effort.name in _one_axis(robot) and effort.on == Coordinate(((effort.name, 1.0),))
    return own and robot.nominal.get(effort.parameters[0], 0.0) > 0.0
