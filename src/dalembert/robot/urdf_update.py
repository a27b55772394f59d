"""A URDF file with other inertias and joint friction: nothing else in it changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dalembert.robot.description import BASE, Effort, EffortKind, Robot
from dalembert.robot.interchange import body_inertia, effort_values, number_text
from dalembert.robot.updating import check_same, joint_efforts
from dalembert.robot.urdf_reader import inertial_frame, read_urdf
from dalembert.robot.urdf_side import side_text
from dalembert.robot.urdf_tree import UrdfTree
from dalembert.robot.urdf_writer import beside, is_dynamics
from dalembert.robot.xml_edit import Tag, XmlText
from dalembert.robot.xml_tree import read_xml

__all__ = ["updated_urdf"]

_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def updated_urdf(robot: Robot, template: Path) -> tuple[bytes, str | None]:
    """The file with the robot's nominal values, and the side YAML with what URDF cannot say (None: nothing).

    ``<inertial>`` keeps its frame's orientation; ``<dynamics>`` gets the friction that acts on the joint alone.
    """
    root = read_xml(template, "robot")
    tree = UrdfTree(root, floating=False)
    if tree.base in robot.body_names:
        tree = UrdfTree(root, floating=True)
    plain = read_urdf(template, floating=tree.floating, beside=False)
    check_same(template, plain, robot)
    text = XmlText(template)
    links = {tag.attributes.get("name", "").strip(): tag for tag in text.root.all("link")}
    joints = {tag.attributes.get("name", "").strip(): tag for tag in text.root.all("joint")}
    for link, tag in links.items():
        if tree.names[link] != BASE:
            _inertial(text, tag, robot, tree.names[link])
    own, _ = joint_efforts(robot)
    for joint in tree.order:
        values = own.get(joint.name, {})
        if joint.one_axis:
            _dynamics(text, joints[joint.name], values.get(EffortKind.VISCOUS), values.get(EffortKind.COULOMB))
    said = replace(robot, nominal={}, efforts=(), name=plain.name, source=plain.source, bodies=plain.bodies)
    same = said == replace(plain, nominal={}, efforts=()) and all(_said(robot, effort) for effort in robot.efforts)
    return text.result(), None if same else side_text(beside(robot))


def _said(robot: Robot, effort: Effort) -> bool:
    """True for friction ``<dynamics>`` gives back, and for one that does nothing."""
    return is_dynamics(robot, effort) or not any(effort_values(robot, effort))


def _inertial(text: XmlText, link: Tag, robot: Robot, body: str) -> None:
    inertia = body_inertia(robot, robot.body(body))
    if inertia is None:
        return
    tag = link.first("inertial")
    xx, xy, xz, yy, yz, zz = inertia.tensor
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    com, mass = number_text(*inertia.com), number_text(inertia.mass)
    if tag is None:
        entries = " ".join(f'{n}="{number_text(v)}"' for n, v in zip(_ENTRIES, inertia.tensor, strict=True))
        text.prepend(
            link,
            f'<inertial>\n  <origin xyz="{com}" rpy="0 0 0"/>\n  <mass value="{mass}"/>\n  <inertia {entries}/>\n'
            "</inertial>",
        )
        return
    origin = tag.first("origin")
    R = np.eye(3) if origin is None else inertial_frame(origin.attributes.get("rpy", "0 0 0"))
    turned = (R.T @ tensor @ R)[np.triu_indices(3)]
    if origin is None and any(inertia.com):
        text.prepend(tag, f'<origin xyz="{com}" rpy="0 0 0"/>')
    elif origin is not None:
        text.set(origin, {"xyz": com})
    for child in tag.all("mass"):
        text.set(child, {"value": mass})
    every = {n: number_text(v) for n, v in zip(_ENTRIES, turned.tolist(), strict=True)}
    for child in tag.all("inertia"):
        text.set(child, every)  # all six: urdfdom drops the mass of a link that lacks one, zero or not


def _dynamics(text: XmlText, joint: Tag, viscous: float | None, coulomb: float | None) -> None:
    tag = joint.first("dynamics")
    values = {"damping": viscous or 0.0, "friction": coulomb or 0.0}
    if tag is not None:
        there = {name: value for name, value in values.items() if value or name in tag.attributes}
        text.set(tag, {name: number_text(value) for name, value in there.items()})
    elif any(values.values()):
        given = " ".join(f'{name}="{number_text(value)}"' for name, value in values.items() if value)
        text.append(joint, f"<dynamics {given}/>")
