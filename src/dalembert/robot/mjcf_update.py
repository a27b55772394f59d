"""An MJCF file with other inertias, armatures and friction: nothing else in it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalembert.errors import ExportError
from dalembert.robot.description import BASE, Coordinate, Effort, EffortKind, Robot
from dalembert.robot.interchange import body_inertia, number_text, quaternion_of_matrix, spring_values
from dalembert.robot.mjcf_forces import ball_armature, ball_damping
from dalembert.robot.mjcf_reader import compiled
from dalembert.robot.mjcf_relations import is_motor_offset, motor_offset, offset_attributes
from dalembert.robot.mjcf_tree import MjcfTree
from dalembert.robot.mjcf_writer import principal
from dalembert.robot.updating import check_same, joint_efforts
from dalembert.robot.xml_edit import Tag, XmlText

__all__ = ["updated_mjcf"]

_ATTRIBUTES = {EffortKind.ROTOR: "armature", EffortKind.VISCOUS: "damping", EffortKind.COULOMB: "frictionloss"}
_COMPILED = {"armature": "dof_armature", "damping": "dof_damping", "frictionloss": "dof_frictionloss"}
_ORIENTATIONS = ("fullinertia", "axisangle", "xyaxes", "zaxis", "euler")


def updated_mjcf(robot: Robot, template: Path) -> bytes:
    """The file with the robot's nominal values written out on its bodies, joints and tendons.

    Compiler settings that would overrule them (inertia from geoms, a given total mass) are switched off.
    """
    found, model, tree = compiled(template)
    check_same(template, found, robot)
    return _Update(robot, template, model, tree, found).bytes()


class _Update:
    def __init__(self, robot: Robot, template: Path, model: Any, tree: MjcfTree, found: Robot) -> None:
        self.robot, self.model, self.tree, self.found = robot, model, tree, found
        self.text = XmlText(template)
        worlds = list(self.text.root.all("worldbody"))
        tags = [tag for world in worlds for tag in _below(world, ("body",))]
        names = [model.body(i).name for i in range(1, model.nbody)]
        self.bodies = _matched(tags, names)
        self.tendons = {t.attributes.get("name", ""): t for s in self.text.root.all("tendon") for t in s.children}
        self.added: list[str] = []

    def bytes(self) -> bytes:
        for tag in self.text.root.all("compiler"):
            if tag.attributes.get("inertiafromgeom") == "true":
                self.text.set(tag, {"inertiafromgeom": "auto"})
            if "settotalmass" in tag.attributes:
                self.text.set(tag, {"settotalmass": None})
        for i in range(1, self.model.nbody):
            self._body(i)
        own, others = joint_efforts(self.robot)
        self._joints(own)
        self._motors()
        for effort in others:
            self._other(effort)
        if self.added:
            self.text.append(self.text.root, "<tendon>\n  " + "\n  ".join(self.added) + "\n</tendon>")
        return self.text.result()

    def _fail(self, what: str) -> ExportError:
        return ExportError(
            f"{self.text.path}: {what} is not written in this file itself (an include, a replicate or an attached "
            "model holds it); expected a flat file, as MuJoCo's mj_saveLastXML writes it"
        )

    def _body(self, i: int) -> None:
        """Mass and inertia of a body, from our joint frame to MuJoCo's body frame."""
        frame = self.tree.frames[i]
        inertia = None if frame.body == BASE else body_inertia(self.robot, self.robot.body(frame.body))
        if inertia is None:
            return
        tag = self.bodies.get(i)
        if tag is None:
            raise self._fail(f"body {frame.body!r}")
        moments, axes = principal(frame.body, inertia)
        com = frame.placement.inverse().p + inertia.com
        values: dict[str, str | None] = {
            "pos": number_text(*com), "quat": number_text(*quaternion_of_matrix(axes)),
            "mass": number_text(inertia.mass), "diaginertia": number_text(*moments),
        }  # fmt: skip
        there = tag.first("inertial")
        if there is None:
            given = " ".join(f'{name}="{value}"' for name, value in values.items())
            self.text.prepend(tag, f"<inertial {given}/>")
        else:
            self.text.set(there, values | {n: None for n in _ORIENTATIONS if n in there.attributes})

    def _joint_tag(self, j: int) -> Tag:
        """Where MuJoCo's joint number ``j`` is written."""
        body = int(self.model.jnt_bodyid[j])
        tags = list(_below(self.bodies[body], ("joint", "freejoint"))) if body in self.bodies else []
        index = j - int(self.model.body_jntadr[body])
        if len(tags) != int(self.model.body_jntnum[body]):
            raise self._fail(f"joint {self.tree.joints[j].name!r}")
        return tags[index]

    def _joints(self, own: Mapping[str, Mapping[EffortKind, float]]) -> None:
        for j, joint in enumerate(self.tree.joints):
            if not self.tree.is_scalar(j):
                continue
            dof = int(self.model.jnt_dofadr[j])
            changed = {}
            for kind, name in _ATTRIBUTES.items():
                value = own.get(joint.name, {}).get(kind, 0.0)
                if value != float(getattr(self.model, _COMPILED[name])[dof]):
                    changed[name] = number_text(value)
            if changed:
                self.text.set(self._joint_tag(j), changed)

    def _motors(self) -> None:
        """Offsets; what actuators resist by themselves (MuJoCo 4) is on the joints now."""
        tags = [tag for section in self.text.root.all("actuator") for tag in section.children]
        for i, tag in _matched(tags, [self.model.actuator(k).name for k in range(self.model.nu)], first=0).items():
            there = {
                name: "0" for name in ("armature", "damping")
                if getattr(self.model, f"actuator_{name}", None) is not None
                and float(getattr(self.model, f"actuator_{name}")[i])
            }  # fmt: skip
            motor = next((m for m in self.robot.motors if m.name == self.found.motors[i].name), None)
            offset = 0.0 if motor is None else motor_offset(self.robot, motor)
            if offset != motor_offset(self.found, self.found.motors[i]):
                if tag.name not in ("motor", "general"):
                    raise ExportError(
                        f"{self.text.path}: actuator {self.found.motors[i].name!r} is a {tag.name} actuator, which has "
                        f"no place for the offset {offset:.4g}; expected a motor"
                    )
                self.text.rename(tag, "general")
                there |= offset_attributes(offset)
            if there:
                self.text.set(tag, there)

    # efforts that are not one joint's

    def _other(self, effort: Effort) -> None:
        if is_motor_offset(self.robot, effort):
            return
        values = self._values(effort)
        for j, joint in enumerate(self.tree.joints):
            if effort.kind is EffortKind.FORCE and not self.tree.is_scalar(j):
                for name, law in (("damping", ball_damping), ("armature", ball_armature)):
                    if effort.force == law(joint):
                        value = self.robot.nominal.get(effort.parameters[0], 0.0)
                        self.text.set(self._joint_tag(j), {name: number_text(value)})
                        return
            on = effort.on
            if effort.kind is EffortKind.SPRING and isinstance(on, Coordinate) and on.terms == ((joint.name, 1.0),):
                stiffness, rest = spring_values(self.robot, effort)
                values = {"stiffness": number_text(stiffness), "springref": number_text(rest - on.constant)}
                self.text.set(self._joint_tag(j), values)
                return
        if not any(float(word) for value in values.values() for word in value.split()):
            return
        same = next((e.name for e in self.found.efforts if (e.kind, e.on) == (effort.kind, effort.on)), None)
        if same in self.tendons:
            self.text.set(self.tendons[same], values)
        elif isinstance(effort.on, Coordinate):
            given = "".join(f' {name}="{value}"' for name, value in values.items())
            parts = "".join(f'<joint joint="{n}" coef="{number_text(r)}"/>' for n, r in effort.on.terms)
            name = f"{effort.kind}_{effort.name}"
            self.added.append(f'<fixed name="{name}"{given}>{parts}</fixed>')
        else:
            raise ExportError(f"{self.text.path}: {effort.kind} effort {effort.name!r} has no place in this file")

    def _values(self, effort: Effort) -> dict[str, str]:
        if effort.kind in _ATTRIBUTES:
            return {_ATTRIBUTES[effort.kind]: number_text(self.robot.nominal.get(effort.parameters[0], 0.0))}
        if effort.kind is EffortKind.SPRING and isinstance(effort.on, Coordinate):
            stiffness, rest = spring_values(self.robot, effort)
            return {"stiffness": number_text(stiffness), "springlength": number_text(*[rest - effort.on.constant] * 2)}
        return {}


def _below(tag: Tag, names: Sequence[str]) -> list[Tag]:
    """Elements of those names inside, frames looked through; those inside a body only where bodies are asked for."""
    out = []
    for child in tag.children:
        if child.name in names:
            out.append(child)
            if child.name == "body":
                out += _below(child, names)
        elif child.name == "frame":
            out += _below(child, names)
    return out


def _matched(tags: Sequence[Tag], names: Sequence[str], first: int = 1) -> dict[int, Tag]:
    """Element by MuJoCo's number: in order where all names agree, else by name."""
    if [tag.attributes.get("name", "") for tag in tags] == list(names):
        return dict(enumerate(tags, start=first))
    by_name = {tag.attributes["name"]: tag for tag in tags if "name" in tag.attributes}
    return {i: by_name[name] for i, name in enumerate(names, start=first) if name in by_name}
