"""The links and joints of a URDF file, checked to be a tree."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import choices
from dalembert.robot.description import BASE
from dalembert.robot.geometry import Vector, unit
from dalembert.robot.interchange import unique_name
from dalembert.robot.joints import JointType
from dalembert.robot.xml_tree import Element

__all__ = ["ONE_AXIS", "UrdfJoint", "UrdfTree"]

ONE_AXIS = {
    "revolute": JointType.REVOLUTE,
    "continuous": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
}
_TYPES = (*ONE_AXIS, "fixed", "planar", "floating")


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A ``<joint>`` with what the tree needs of it."""

    element: Element
    name: str
    type: str
    parent: str
    child: str
    axis: Vector

    @property
    def one_axis(self) -> bool:
        """True for joints of one coordinate."""
        return self.type in ONE_AXIS


class UrdfTree:
    """Links by name, joints by name, and the order of the joints from the root."""

    def __init__(self, root: Element, floating: bool) -> None:
        self.root, self.floating = root, floating
        self.links = self._links()
        self.joints = self._joints()
        self.base = self._find_root()
        self.order = self._order()
        self.names = self._names()

    def _links(self) -> dict[str, Element]:
        links: dict[str, Element] = {}
        for child in self.root.children:
            if ":" in child.tag:
                raise child.error("an unexpanded macro; expand it first: xacro robot.urdf.xacro > robot.urdf")
            if child.tag == "link":
                name = child.attribute("name")
                if name in links:
                    raise child.error(f"the link name {name!r} is used twice; names must differ")
                links[name] = child
        if not links:
            raise self.root.error("no <link>, expected at least two")
        return links

    def _joints(self) -> dict[str, UrdfJoint]:
        joints: dict[str, UrdfJoint] = {}
        parents: dict[str, str] = {}
        for element in self.root.all("joint"):
            joint = self._joint(element)
            if joint.name in joints:
                raise element.error(f"the joint name {joint.name!r} is used twice; names must differ")
            if joint.child in parents:
                raise element.error(
                    f"link {joint.child!r} has two parents, {parents[joint.child]!r} and {joint.parent!r}; "
                    "URDF is a tree: close loops in the side YAML"
                )
            parents[joint.child] = joint.parent
            joints[joint.name] = joint
        return joints

    def _joint(self, element: Element) -> UrdfJoint:
        name, kind = element.attribute("name"), element.attribute("type")
        if kind not in _TYPES:
            raise element.error(f"joint {name!r}: type {kind!r}; {choices(kind, _TYPES)}")
        ends = []
        for tag in ("parent", "child"):
            end = element.need(tag)
            link = end.attribute("link")
            if link not in self.links:
                raise end.error(f"joint {name!r}: no link {link!r}; {choices(link, self.links)}")
            ends.append(link)
        if ends[0] == ends[1]:
            raise element.error(f"joint {name!r}: link {ends[0]!r} is its own parent")
        axis = element.first("axis")
        direction = axis.vector("xyz", (1.0, 0.0, 0.0)) if axis else (1.0, 0.0, 0.0)
        if axis is not None and max(map(abs, direction)) == 0.0:
            raise axis.error(f"joint {name!r}: the axis is zero, expected a direction")
        return UrdfJoint(element, name, kind, ends[0], ends[1], unit(direction))

    def _find_root(self) -> str:
        children = {joint.child for joint in self.joints.values()}
        roots = [name for name in self.links if name not in children]
        if not roots:
            raise self.root.error("every link is a child: the joints form a cycle, expected one root link")
        if len(roots) > 1:
            raise self.links[roots[1]].error(f"{len(roots)} root links ({', '.join(roots)}), expected one")
        return roots[0]

    def _order(self) -> list[UrdfJoint]:
        """Joints parents first, depth first, in the order of the file."""
        below: dict[str, list[UrdfJoint]] = {}
        for joint in self.joints.values():
            below.setdefault(joint.parent, []).append(joint)
        order: list[UrdfJoint] = []
        stack = below.get(self.base, [])[::-1]
        while stack:
            order.append(stack.pop())
            stack.extend(below.get(order[-1].child, [])[::-1])
        if len(order) < len(self.joints):
            lost = next(j for j in self.joints.values() if j not in order)
            raise lost.element.error(
                f"joint {lost.name!r} is not reached from the root {self.base!r}: it is in a cycle"
            )
        return order

    def _names(self) -> dict[str, str]:
        """Link name -> body name."""
        names = {name: name for name in self.links}
        if BASE in names:
            names[BASE] = unique_name(BASE, self.links)
        if not self.floating:
            names[self.base] = BASE
        return names
