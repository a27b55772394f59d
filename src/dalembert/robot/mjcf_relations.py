"""The parts of an MJCF file that relate bodies and joints: tendons, equality constraints, actuators."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from dalembert.errors import ExportError
from dalembert.robot.description import (
    Anchor,
    Coordinate,
    Coupling,
    Distance,
    Effort,
    EffortKind,
    Loop,
    LoopKind,
    Motor,
    Robot,
    Terms,
)
from dalembert.robot.geometry import Placement
from dalembert.robot.interchange import body_poses, effort_values, number_text, spring_values, unique_name

__all__ = ["Relations", "is_motor_offset", "motor_offset", "offset_attributes"]

_AXIS_ARM = 0.1  # m along a hinge's axis, where the second of the two points sits that hold it
_ATTRIBUTES = {
    EffortKind.ROTOR: "armature",
    EffortKind.VISCOUS: "damping",
    EffortKind.COULOMB: "frictionloss",
}


def is_motor_offset(robot: Robot, effort: Effort) -> bool:
    """True for an offset a motor works against, which MuJoCo has as the bias of the actuator."""
    return effort.kind is EffortKind.OFFSET and effort.on in [Coordinate(motor.turns) for motor in robot.motors]


def motor_offset(robot: Robot, motor: Motor) -> float:
    """The offset of the first motor with these turns, zero for the others."""
    first = next(m for m in robot.motors if m.turns == motor.turns)
    own = [e for e in robot.efforts if e.kind is EffortKind.OFFSET and e.on == Coordinate(motor.turns)]
    return sum(robot.nominal.get(e.parameters[0], 0.0) for e in own) if first is motor else 0.0


def offset_attributes(offset: float) -> dict[str, str]:
    """An actuator whose force is its control less a constant."""
    return {"gaintype": "fixed", "gainprm": "1", "biastype": "affine", "biasprm": f"{number_text(-offset)} 0 0"}


class Relations:
    """Appends ``<tendon>``, ``<equality>`` and ``<actuator>``; ``site`` gives the site of an anchor."""

    def __init__(
        self,
        robot: Robot,
        root: ET.Element,
        joints: Mapping[str, ET.Element],
        site: Callable[[Anchor, str], str],
    ) -> None:
        self.robot, self.joints, self.site = robot, joints, site
        self.root = root
        self.tendon = ET.Element("tendon")
        self.equality = ET.Element("equality")
        self.actuator = ET.Element("actuator")
        self.tendon_names: list[str] = []
        self.resisting: dict[tuple[str, Coordinate | Distance], ET.Element] = {}

    def write(self, screws: Iterable[tuple[str, str, float]], skip: set[int]) -> None:
        """Everything; ``screws`` are slides held to turns, ``skip`` the efforts already written on joints."""
        for slide, turn, pitch in screws:
            self._couple(slide, turn, slide, number_text(0.0, pitch, 0.0, 0.0, 0.0))
        for loop in self.robot.loops:
            if isinstance(loop, Coupling):
                self._coupling(loop)
            else:
                self._loop(loop)
        for motor in self.robot.motors:
            self._motor(motor)
        for i, effort in enumerate(self.robot.efforts):
            if i not in skip:
                self._effort(effort)
        self.root.extend(part for part in (self.tendon, self.equality, self.actuator) if len(part))

    # tendons

    def _fixed(self, name: str, terms: Terms) -> ET.Element:
        """A tendon whose length is a combination of coordinates."""
        element = ET.SubElement(self.tendon, "fixed", name=self._tendon_name(name))
        for coordinate, ratio in terms:
            ET.SubElement(element, "joint", joint=coordinate, coef=number_text(ratio))
        return element

    def _straight(self, name: str, a: Anchor, b: Anchor) -> ET.Element:
        """A tendon whose length is the distance between two anchors."""
        element = ET.SubElement(self.tendon, "spatial", name=self._tendon_name(name))
        ET.SubElement(element, "site", site=self.site(a, f"{name}_a"))
        ET.SubElement(element, "site", site=self.site(b, f"{name}_b"))
        return element

    def _tendon_name(self, name: str) -> str:
        self.tendon_names.append(unique_name(name, self.tendon_names))
        return self.tendon_names[-1]

    # loops

    def _couple(self, name: str, source: str | None, dependent: str, polynomial: str) -> None:
        element = ET.SubElement(self.equality, "joint", name=name, joint1=dependent, polycoef=polynomial)
        if source is not None:
            element.set("joint2", source)

    def _coupling(self, loop: Coupling) -> None:
        if len(loop.terms) <= 1:
            source, ratio = loop.terms[0] if loop.terms else (None, 0.0)
            polynomial = number_text(loop.constant, ratio, 0.0, 0.0, 0.0)
            self._couple(loop.name, source, loop.coordinate, polynomial)
            return
        rest = tuple((name, -ratio) for name, ratio in loop.terms)
        tendon = self._fixed(loop.name, ((loop.coordinate, 1.0), *rest))  # zero long at MuJoCo's reference
        self._hold(loop.name, tendon, loop.constant)

    def _hold(self, name: str, tendon: ET.Element, lengthening: float) -> None:
        polynomial = number_text(lengthening, 0.0, 0.0, 0.0, 0.0)
        ET.SubElement(self.equality, "tendon", name=name, tendon1=tendon.get("name", ""), polycoef=polynomial)

    def _loop(self, loop: Loop) -> None:
        if loop.kind is LoopKind.ROD:
            poses = body_poses(self.robot, {})
            ends = [(poses[end.body] @ end.placement).p for end in (loop.a, loop.b)]
            reference = float(np.linalg.norm(ends[1] - ends[0]))
            self._hold(loop.name, self._straight(loop.name, loop.a, loop.b), loop.length - reference)
        elif loop.kind in (LoopKind.POINT, LoopKind.WELD):
            self._between("connect" if loop.kind is LoopKind.POINT else "weld", loop.name, loop.a, loop.b)
        elif loop.kind is LoopKind.AXIS:  # two points of the axis, one row of the six to spare
            self._between("connect", loop.name, loop.a, loop.b)
            arm = Placement.of((0.0, 0.0, _AXIS_ARM))
            a, b = (Anchor(end.body, end.placement @ arm) for end in (loop.a, loop.b))
            names = [other.name for other in self.robot.loops]
            self._between("connect", unique_name(f"{loop.name}_axis", names), a, b)
        else:
            raise ExportError(
                f"loop {loop.name!r} of kind {loop.kind} has no counterpart in MJCF; choose from point, axis, weld, rod"
            )

    def _between(self, kind: str, name: str, a: Anchor, b: Anchor) -> None:
        sites = (self.site(a, f"{name}_a"), self.site(b, f"{name}_b"))
        ET.SubElement(self.equality, kind, name=name, site1=sites[0], site2=sites[1])

    # motors

    def _motor(self, motor: Motor) -> None:
        offset = motor_offset(self.robot, motor)
        element = ET.SubElement(self.actuator, "general" if offset else "motor", name=motor.name)
        for name, value in offset_attributes(offset).items() if offset else ():
            element.set(name, value)
        if len(motor.turns) == 1:
            ((coordinate, ratio),) = motor.turns
            element.set("joint", coordinate)
            element.set("gear", number_text(ratio))
        else:
            element.set("tendon", self._fixed(motor.name, motor.turns).get("name", ""))
        if math.isfinite(motor.torque_limit):
            element.set("forcerange", number_text(-motor.torque_limit, motor.torque_limit))

    # efforts that are not a joint's own

    def _effort(self, effort: Effort) -> None:
        if not any(effort_values(self.robot, effort)) or is_motor_offset(self.robot, effort):
            return
        if effort.kind is EffortKind.SPRING:
            stiffness, rest = spring_values(self.robot, effort)
            attributes = {"stiffness": stiffness}
        elif effort.kind in _ATTRIBUTES:
            (value,) = effort_values(self.robot, effort)
            attributes, rest = {_ATTRIBUTES[effort.kind]: value}, 0.0
        else:
            raise ExportError(
                f"{effort.kind} effort {effort.name!r} has no counterpart in MJCF; "
                "choose from rotor, viscous, coulomb, spring"
            )
        if min(attributes.values()) < 0.0:
            raise ExportError(
                f"{effort.kind} effort {effort.name!r}: nominal value {min(attributes.values()):g}, "
                "MuJoCo expects a number >= 0"
            )
        self._on_tendon(effort, attributes, rest)

    def _on_tendon(self, effort: Effort, attributes: Mapping[str, float], rest: float) -> None:
        """Efforts of one name on one coordinate share a tendon."""
        on = effort.on
        if isinstance(on, Coordinate):
            rest -= on.constant
            sign = -1.0 if rest < 0.0 else 1.0  # MuJoCo takes a negative springlength as not given
            on = Coordinate(tuple((name, sign * ratio) for name, ratio in on.terms))
            rest *= sign
        if on is None:
            return
        element = self.resisting.get((effort.name, on))
        if element is None or set(attributes) & set(element.attrib):
            if isinstance(on, Distance):
                element = self._straight(effort.name, on.a, on.b)
            else:
                element = self._fixed(effort.name, on.terms)
            self.resisting[effort.name, on] = element
        for name, value in attributes.items():
            element.set(name, number_text(value))
        if "stiffness" in attributes:
            element.set("springlength", number_text(rest, rest))
