"""MJCF from a robot: nominal values as inertias, loops as equalities, motors on joints or tendons."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ExportError
from dalembert.parameters import BodyInertia
from dalembert.robot.description import BASE, Anchor, Body, Coordinate, Coupling, Distance, Effort, EffortKind, Robot
from dalembert.robot.geometry import IDENTITY, Placement, rotation_about
from dalembert.robot.interchange import (
    body_inertia,
    number_text,
    quaternion_of_matrix,
    spring_values,
    turns_of_matrix,
    unique_name,
    write_atomically,
)
from dalembert.robot.joints import Joint, JointType, Step
from dalembert.robot.mjcf_forces import ball_armature, ball_damping
from dalembert.robot.mjcf_relations import Relations
from dalembert.robot.mjcf_tree import HOME_TURN

__all__ = ["mjcf_text", "principal", "sayable", "write_mjcf"]

_TINY = "1e-12"  # kg: what MuJoCo wants on a massless body; the reader takes it as none
_TINY_INERTIA = "1e-14 1e-14 1e-14"
_SMALLEST = 1e-15  # kg m^2, MuJoCo's mjMINVAL
_ROUNDING = 1e-9  # relative, of values printed with nine digits or more
_WHOLE = {JointType.SPHERICAL: "ball", JointType.FREE: "free"}


def write_mjcf(robot: Robot, path: str | Path) -> None:
    """Write a robot as MJCF, ready to simulate.

    Joints of several coordinates become several MuJoCo joints named after the coordinates; ball and free joints
    stay whole unless something acts on one of their coordinates. A screw becomes a turn and a slide held by an
    equality. ExportError names what MuJoCo cannot say: loops of kind slide and cylinder, nominal values of
    offsets that are no motor's, of constant forces and user-written laws, inertias that are not physical.
    """
    write_atomically(Path(path), mjcf_text(robot))


def mjcf_text(robot: Robot) -> str:
    """The text of an MJCF file."""
    return _Mjcf(robot).text()


class _Mjcf:
    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.root = ET.Element("mujoco", model=robot.name)
        ET.SubElement(self.root, "compiler", angle="radian", autolimits="true")
        ET.SubElement(self.root, "option", gravity=number_text(*robot.gravity))
        self.world = ET.SubElement(self.root, "worldbody")
        self.elements: dict[str, ET.Element] = {BASE: self.world}
        self.joints: dict[str, ET.Element] = {}  # by coordinate, or by joint where it stays whole
        self.sites: dict[Anchor, str] = {}
        self.whole = self._whole()
        self.screws: list[tuple[str, str, float]] = []

    def text(self) -> str:
        for body in self.robot.bodies:
            self._body(body)
        relations = Relations(self.robot, self.root, self.joints, self._site)
        relations.write(self.screws, skip=self._joint_efforts())
        self._home()
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode") + "\n"

    def _whole(self) -> set[str]:
        """Ball and free joints on whose coordinates nothing acts, so that they can be MuJoCo's own."""
        robot = self.robot
        used = {name for motor in robot.motors for name, _ in motor.turns} | set(robot.limits)
        for loop in robot.loops:
            if isinstance(loop, Coupling):
                used |= {loop.coordinate, *(name for name, _ in loop.terms)}
        for effort in robot.efforts:
            if effort.on is not None and not isinstance(effort.on, Distance):
                used |= {name for name, _ in effort.on.terms}
        candidates = [b for b in robot.bodies if b.joint.type in _WHOLE and not used & set(b.joint.coordinates)]
        return {body.joint.name for body in candidates if self._reads_back(body)}

    def _reads_back(self, body: Body) -> bool:
        """True where the reader gives a whole joint the same coordinates: it keeps home away from 90 degrees."""
        turns = _rotation(body.joint, self.robot.home)
        if abs(turns_of_matrix(turns)[1]) > HOME_TURN:
            return False
        if body.joint.type is JointType.SPHERICAL or body.placement == IDENTITY:
            return body.joint.type is JointType.SPHERICAL or body.parent == BASE
        tilted = abs(turns_of_matrix(body.placement.R @ turns)[1]) > HOME_TURN
        return body.parent == BASE and tilted and body.placement.position == IDENTITY.position

    # bodies

    def _body(self, body: Body) -> None:
        element = ET.SubElement(self.elements[body.parent], "body", name=body.name)
        _place(element, body.placement)
        self.elements[body.name] = element
        if body.joint.name in self.whole:
            kind = _WHOLE[body.joint.type]
            self.joints[body.joint.name] = ET.SubElement(element, "joint", name=body.joint.name, type=kind)
        else:
            for step in body.joint.steps:
                self._step(element, step)
        self._inertial(element, body)

    def _step(self, element: ET.Element, step: Step) -> None:
        kind = "hinge" if step.is_angle else "slide"
        axis = number_text(*step.axis)
        joint = ET.SubElement(element, "joint", name=step.coordinate, type=kind, axis=axis)
        self.joints[step.coordinate] = joint
        limit = self.robot.limits.get(step.coordinate)
        if limit is not None and math.isfinite(limit.lower) and math.isfinite(limit.upper):
            joint.set("range", number_text(limit.lower, limit.upper))
        if step.is_angle and step.slide != 0.0:
            name = unique_name(f"{step.coordinate}_advance", (*self.joints, *self.robot.coordinates))
            self.joints[name] = ET.SubElement(element, "joint", name=name, type="slide", axis=axis)
            self.screws.append((name, step.coordinate, step.slide))

    def _inertial(self, element: ET.Element, body: Body) -> None:
        inertia = body_inertia(self.robot, body)
        if inertia is None:
            ET.SubElement(element, "inertial", pos="0 0 0", mass=_TINY, diaginertia=_TINY_INERTIA)
            return
        moments, axes = principal(body.name, inertia)
        ET.SubElement(
            element,
            "inertial",
            pos=number_text(*inertia.com),
            quat=number_text(*quaternion_of_matrix(axes)),
            mass=number_text(inertia.mass),
            diaginertia=number_text(*moments),
        )

    def _site(self, anchor: Anchor, name: str) -> str:
        """The site of an anchor, made when first asked for."""
        if anchor not in self.sites:
            site = unique_name(name, self.sites.values())
            element = ET.SubElement(self.elements[anchor.body], "site", name=site)
            _place(element, anchor.placement)
            self.sites[anchor] = site
        return self.sites[anchor]

    # efforts that are attributes of a joint

    def _joint_efforts(self) -> set[int]:
        """Write what fits on joints; returns the positions of the efforts written."""
        return {i for i, effort in enumerate(self.robot.efforts) if self._on_joint(effort)}

    def _on_joint(self, effort: Effort) -> bool:
        if effort.kind is EffortKind.FORCE:
            return self._on_ball(effort)
        if effort.on is None or isinstance(effort.on, Distance) or len(effort.on.terms) != 1:
            return False
        ((coordinate, ratio),) = effort.on.terms
        attribute = _ATTRIBUTES.get(effort.kind)
        value = self.robot.nominal.get(effort.parameters[0], 0.0)
        joint = self.joints[coordinate]
        if attribute is None or abs(ratio) != 1.0 or attribute in joint.attrib or value < 0.0:
            return False
        if value:
            joint.set(attribute, number_text(value))
        if value and effort.kind is EffortKind.SPRING:
            rest = spring_values(self.robot, effort)[1] - effort.on.constant
            joint.set("springref", number_text(ratio * rest))
        return True

    def _on_ball(self, effort: Effort) -> bool:
        """Damping and armature of a ball joint, as the reader writes them."""
        value = self.robot.nominal.get(effort.parameters[0], 0.0)
        for body in self.robot.bodies:
            if body.joint.name not in self.whole:
                continue
            for attribute, law in (("damping", ball_damping), ("armature", ball_armature)):
                element = self.joints[body.joint.name]
                if effort.force == law(body.joint) and attribute not in element.attrib and value >= 0.0:
                    element.set(attribute, number_text(value))
                    return True
        return False

    # home

    def _home(self) -> None:
        """The keyframe ``home``; joints in the order MuJoCo counts them, depth first."""
        by_name = {body.joint.name: body for body in self.robot.bodies if body.joint.name in self.whole}
        screws = {name: (turn, pitch) for name, turn, pitch in self.screws}
        home = self.robot.home
        qpos: list[float] = []
        for element in self.world.iter("joint"):
            name = element.get("name", "")
            if name in by_name:
                qpos.extend(_whole_position(by_name[name], home))
            elif name in screws:
                turn, pitch = screws[name]
                qpos.append(pitch * home.get(turn, 0.0))
            else:
                qpos.append(home.get(name, 0.0))
        keyframe = ET.SubElement(self.root, "keyframe")
        ET.SubElement(keyframe, "key", name="home", qpos=number_text(*qpos))


_ATTRIBUTES = {
    EffortKind.ROTOR: "armature",
    EffortKind.VISCOUS: "damping",
    EffortKind.COULOMB: "frictionloss",
    EffortKind.SPRING: "stiffness",
}


def sayable(robot: Robot, effort: Effort) -> bool:
    """False for an effort MJCF has no counterpart of."""
    if effort.kind is EffortKind.OFFSET:
        return any(effort.on == Coordinate(motor.turns) for motor in robot.motors)
    if effort.kind is EffortKind.FORCE:
        whole = [b.joint for b in robot.bodies if b.joint.type in _WHOLE]
        return any(effort.force in (ball_damping(joint), ball_armature(joint)) for joint in whole)
    return effort.kind not in (EffortKind.CONSTANT, EffortKind.BASIS)


def principal(body: str, inertia: BodyInertia) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Principal moments, ascending, and axes; the third of a flat body made exactly the sum of the others."""
    xx, xy, xz, yy, yz, zz = inertia.tensor
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    flat = moments[0] + moments[1]
    if flat < moments[2] <= flat * (1.0 + _ROUNDING):
        moments[2] = flat
    if not inertia.mass > 0.0 or moments[0] <= _SMALLEST or moments[0] + moments[1] < moments[2]:
        raise ExportError(
            f"body {body!r}: mass {inertia.mass:g} kg and principal moments of inertia "
            f"{', '.join(f'{m:.3g}' for m in moments)} kg m^2 are those of no body, which MuJoCo refuses; "
            "expected physically consistent nominal values"
        )
    return moments, axes if np.linalg.det(axes) > 0.0 else -axes


def _rotation(joint: Joint, home: Mapping[str, float]) -> NDArray[np.float64]:
    """Turns of a ball or free joint at home, as a rotation."""
    rotation: NDArray[np.float64] = np.eye(3)
    for axis, name in zip(np.eye(3), joint.coordinates[-3:], strict=True):
        rotation = rotation @ rotation_about(axis, home.get(name, 0.0))
    return rotation


def _whole_position(body: Body, home: Mapping[str, float]) -> list[float]:
    """Position (qpos) of a ball or free joint at home; a free one's in the world."""
    rotation = _rotation(body.joint, home)
    if body.joint.type is JointType.SPHERICAL:
        return [float(value) for value in quaternion_of_matrix(rotation)]
    position = body.placement.R @ [home.get(name, 0.0) for name in body.joint.coordinates[:3]]
    return [*position.tolist(), *quaternion_of_matrix(body.placement.R @ rotation).tolist()]


def _place(element: ET.Element, placement: Placement) -> None:
    if placement.position != IDENTITY.position:
        element.set("pos", number_text(*placement.position))
    if placement.rotation != IDENTITY.rotation:
        element.set("quat", number_text(*quaternion_of_matrix(placement.R).tolist()))
