"""The tree of a compiled MuJoCo model: bodies at their joint frames, coordinates, home, nominal inertias."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import RobotError
from dalembert.robot.description import BASE, Anchor, Body
from dalembert.robot.geometry import IDENTITY, Placement, rotation_about, unit
from dalembert.robot.interchange import matrix_of_quaternion, nominal_inertia, turns_of_matrix, unique_name
from dalembert.robot.joints import Joint, JointType

__all__ = ["HOME_TURN", "NO_MASS", "MjcfTree", "read_tree"]

# MuJoCo wants mass on every moving body; the writer gives massless ones less than this [kg].
NO_MASS = 1e-11
# A ball joint whose second turn is further from zero at home gets home's orientation into its placement [rad].
HOME_TURN = math.radians(20.0)

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
_SCALAR = {SLIDE: JointType.PRISMATIC, HINGE: JointType.REVOLUTE}


@dataclass(slots=True)
class MjcfTree:
    """What the tree gives to the rest of the reader."""

    file: str
    model: Any
    bodies: list[Body] = field(default_factory=list)
    nominal: dict[str, float] = field(default_factory=dict)
    home: dict[str, float] = field(default_factory=dict)
    frames: list[Anchor] = field(default_factory=list)  # per MuJoCo body: its frame in a body of ours
    joints: list[Joint] = field(default_factory=list)  # per MuJoCo joint

    def anchor(self, body: int, position: ArrayLike, quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> Anchor:
        """A frame given in a MuJoCo body, on the body of ours that carries it."""
        frame = self.frames[body]
        return Anchor(frame.body, frame.placement @ Placement.of(position, matrix_of_quaternion(quaternion)))

    def site(self, index: int) -> Anchor:
        """The frame of a site."""
        model = self.model
        return self.anchor(int(model.site_bodyid[index]), model.site_pos[index], model.site_quat[index])

    def is_scalar(self, joint: int) -> bool:
        """True for hinges and slides, whose coordinate is MuJoCo's own."""
        return int(self.model.jnt_type[joint]) in _SCALAR

    def error(self, message: str) -> RobotError:
        """An error about this file, to be raised."""
        return RobotError(f"{self.file}: {message}")


def read_tree(file: str, model: Any, home: NDArray[np.float64]) -> MjcfTree:
    """The tree of a model; ``home`` is the qpos of the home configuration."""
    return _Reader(file, model, home).read()


class _Reader:
    def __init__(self, file: str, model: Any, home: NDArray[np.float64]) -> None:
        self.tree = MjcfTree(file, model, frames=[Anchor(BASE)])
        self.model, self.qpos = model, home
        self.body_names = _names([model.body(i).name for i in range(model.nbody)], "body", BASE)
        self.joint_names = self._joint_names()

    def _joint_names(self) -> list[str]:
        model, wanted = self.model, []
        for j in range(model.njnt):
            body = self.body_names[model.jnt_bodyid[j]]
            index = j - int(model.body_jntadr[model.jnt_bodyid[j]])
            alone = int(model.body_jntnum[model.jnt_bodyid[j]]) == 1
            wanted.append(model.joint(j).name or f"{body}_joint{'' if alone else index + 1}")
        return _names(wanted, "joint", None)

    def read(self) -> MjcfTree:
        for i in range(1, self.model.nbody):
            if int(self.model.body_jntnum[i]):
                self._moving(i)
            else:
                self._fixed(i)
        return self.tree

    def _pose(self, body: int) -> tuple[str, Placement]:
        """Parent of ours, and a MuJoCo body's frame in it before its joints move."""
        model = self.model
        parent = self.tree.frames[int(model.body_parentid[body])]
        local = Placement.of(model.body_pos[body], matrix_of_quaternion(model.body_quat[body]))
        return parent.body, parent.placement @ local

    def _fixed(self, body: int) -> None:
        parent, pose = self._pose(body)
        if parent == BASE:  # part of the world
            self.tree.frames.append(Anchor(BASE, pose))
            return
        name = self.body_names[body]
        joint = Joint(unique_name(f"{name}_fixed", self.joint_names))
        self._add(body, name, parent, joint, pose, np.zeros(3))

    def _moving(self, body: int) -> None:
        """One body of ours per joint, massless but for the last: X = X T(p) M(q) T(-p), joint by joint."""
        model, name = self.model, self.body_names[body]
        parent, pose = self._pose(body)
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        at = np.zeros(3)
        for j in range(first, first + count):
            point = np.zeros(3) if int(model.jnt_type[j]) == FREE else np.array(model.jnt_pos[j])
            joint, placement = self._joint(j, pose @ Placement.of(point - at))
            if j == first + count - 1:
                self._add(body, name, parent, joint, placement, point)
                return
            between = unique_name(f"{name}_{joint.name}", self.body_names)
            self.body_names.append(between)
            self.tree.bodies.append(Body(between, parent, joint, placement, massless=True))
            parent, pose, at = between, IDENTITY, point

    def _add(
        self,
        body: int,
        name: str,
        parent: str,
        joint: Joint,
        placement: Placement,
        point: NDArray[np.float64],
    ) -> None:
        """The body that carries the inertia; ``point`` is its joint in MuJoCo's body frame."""
        model = self.model
        mass = float(model.body_mass[body])
        massless = mass < NO_MASS
        if not massless:
            rotation = matrix_of_quaternion(model.body_iquat[body])
            tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
            self.tree.nominal.update(nominal_inertia(name, mass, model.body_ipos[body] - point, tensor))
        self.tree.bodies.append(Body(name, parent, joint, placement, massless))
        self.tree.frames.append(Anchor(name, Placement.of(-point)))

    def _joint(self, j: int, frame: Placement) -> tuple[Joint, Placement]:
        """A joint and its placement, so that hinges and slides keep MuJoCo's coordinate with its reference."""
        name, kind = self.joint_names[j], int(self.model.jnt_type[j])
        at = int(self.model.jnt_qposadr[j])
        if kind in _SCALAR:
            axis = unit(self.model.jnt_axis[j], where=f"joint {name!r}: axis")
            zero = float(self.model.qpos0[at])
            joint = Joint(name, _SCALAR[kind], axis)
            self.tree.home[name] = float(self.qpos[at])
            if kind == HINGE:
                frame = frame @ Placement.of(rotation=rotation_about(axis, -zero))
            else:
                frame = frame @ Placement.of(-zero * np.array(axis))
        elif kind == BALL:
            joint = Joint(name, JointType.SPHERICAL)
            frame = frame @ self._turns(joint, self.qpos[at : at + 4], [IDENTITY])
        else:  # placed in the world, whatever its body's pose
            joint = Joint(name, JointType.FREE)
            reference = Placement.of(rotation=matrix_of_quaternion(self.model.qpos0[at + 3 : at + 7]))
            frame = self._turns(joint, self.qpos[at + 3 : at + 7], [IDENTITY, reference])
            position = frame.R.T @ self.qpos[at : at + 3]
            self.tree.home.update(zip(joint.coordinates[:3], position.tolist(), strict=True))
        self.tree.joints.append(joint)
        return joint, frame

    def _turns(self, joint: Joint, quaternion: ArrayLike, frames: list[Placement]) -> Placement:
        """The first frame from which home is near, else home's own; sets the turns of home from there."""
        home = matrix_of_quaternion(quaternion)
        for frame in (*frames, Placement.of(rotation=home)):
            turns = turns_of_matrix(frame.R.T @ home)
            if abs(turns[1]) <= HOME_TURN:
                break
        self.tree.home.update(zip(joint.coordinates[-3:], turns, strict=True))
        return frame


def _names(wanted: list[str], kind: str, first: str | None) -> list[str]:
    """Stable unique names: MuJoCo's own, else ``body3``; ``first`` is the name of element 0."""
    names: list[str] = [] if first is None else [first]
    taken = {name for name in wanted if name} | set(names)
    for i, name in enumerate(wanted[len(names) :], start=len(names)):
        if not name or name in names:
            name = unique_name(name or f"{kind}{i}", taken)
        names.append(name)
        taken.add(name)
    return names
