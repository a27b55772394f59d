"""MuJoCo's own answers in the coordinates of a robot description, and a plain NumPy kinematics of the latter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from dalembert.robot import BASE, EffortKind, Motor, Robot
from dalembert.robot.mjcf_reader import read_mjcf

Array = NDArray[np.float64]
MODELS = Path(__file__).parent / "models"
CLOSED = ("4rrr", "delta", "fivebar", "parallelogram", "stewart_sps", "stewart_ups")
ALL = (*CLOSED, "tree")


def turn(axis: Any, angle: float) -> Array:
    """Rodrigues' formula."""
    x, y, z = axis
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    out: Array = np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)
    return out


def frames(robot: Robot, y: Array) -> dict[str, Array]:
    """4x4 pose of every body: its placement, then its steps one after the other."""
    values = dict(zip(robot.coordinates, y, strict=True))
    poses = {BASE: np.eye(4)}
    for body in robot.bodies:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = body.placement.R, body.placement.p
        for step in body.joint.steps:
            value = values[step.coordinate]
            move = np.eye(4)
            move[:3, :3] = turn(step.axis, step.turn * value)
            move[:3, 3] = step.slide * value * np.array(step.axis)
            pose = pose @ move
        poses[body.name] = poses[body.parent] @ pose
    return poses


def world_inertia(robot: Robot, y: Array) -> dict[str, Array]:
    """4x4 pseudo-inertia of every body with mass, at the origin of the base."""
    poses = frames(robot, y)
    out = {}
    for body in robot.bodies:
        if body.massless:
            continue
        xx, xy, xz, yy, yz, zz, mx, my, mz, m = (
            robot.nominal[f"{s}_{body.name}"] for s in ["XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"]
        )
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        sigma = np.trace(tensor) / 2 * np.eye(3) - tensor
        first = np.array([[mx], [my], [mz]])
        out[body.name] = poses[body.name] @ np.block([[sigma, first], [first.T, m]]) @ poses[body.name].T
    return out


def ball_rates(turns: Array) -> Array:
    """J(turns): angular velocity in the child's axes from the rates of turns about x, y', z''."""
    (s2, s3), (c2, c3) = np.sin(turns[1:]), np.cos(turns[1:])
    zero = 0.0 * s2
    return np.array([[c3 * c2, s3, zero], [-s3 * c2, c3, zero], [s2, zero, zero + 1.0]])


class Engine:
    """A MuJoCo model beside the robot read from the same file."""

    def __init__(self, path: Path, robot: Robot | None = None) -> None:
        self.robot = read_mjcf(path) if robot is None else robot
        self.model = mujoco.MjModel.from_xml_path(str(path))
        for flag in ("EQUALITY", "FRICTIONLOSS", "CONTACT", "LIMIT"):
            self.model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
        self.data = mujoco.MjData(self.model)
        self.names = [self.model.body(i).name or f"body{i}" for i in range(self.model.nbody)]
        index = {name: i for i, name in enumerate(self.robot.coordinates)}
        self.joints = []
        for j in range(self.model.njnt):
            joint = self._joint(j)
            body = next(b for b in self.robot.bodies if b.joint.name == joint)
            self.joints.append((j, body, [index[c] for c in body.joint.coordinates]))

    def _joint(self, j: int) -> str:
        """Name of joint j; the models have one joint without a name."""
        return self.model.joint(j).name or "elbow_joint2"

    def configuration(self, y: Array) -> Array:
        """MuJoCo's qpos of tree coordinates."""
        qpos = np.zeros(self.model.nq)
        for j, body, at in self.joints:
            to = self.model.jnt_qposadr[j]
            if len(at) == 1:
                qpos[to] = y[at[0]]
                continue
            before = np.eye(3)
            if len(at) == 3:
                q = self.model.body_quat[self.model.jnt_bodyid[j]]
                mujoco.mju_quat2Mat(flat := np.empty(9), q)
                before = flat.reshape(3, 3)
            else:
                qpos[to : to + 3] = body.placement.p + body.placement.R @ y[at[:3]]
                to += 3
            rotation = before.T @ body.placement.R
            for axis, angle in zip(np.eye(3), y[at[-3:]], strict=True):
                rotation = rotation @ turn(axis, angle)
            mujoco.mju_mat2Quat(qpos[to : to + 4], rotation.ravel())
        return qpos

    def rates(self, y: Array) -> Array:
        """E (nv, n_y): qvel = E yd."""
        out = np.zeros((self.model.nv, len(y)), dtype=y.dtype)
        for j, body, at in self.joints:
            to = self.model.jnt_dofadr[j]
            if len(at) == 1:
                out[to, at[0]] = 1.0
                continue
            if len(at) == 6:
                out[to : to + 3, at[:3]] = body.placement.R
                to += 3
            out[to : to + 3, at[-3:]] = ball_rates(y[at[-3:]])
        return out

    def kinematics(self, y: Array) -> None:
        """Place the bodies."""
        self.data.qpos[:] = self.configuration(y)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def tree_effort(self, y: Array, yd: Array, ydd: Array) -> Array:
        """Inverse dynamics of the cut-open tree, mapped to the coordinates y."""
        e = self.rates(y)
        step = 1e-30
        e_rate = np.imag(self.rates(y + 1j * step * yd)) / step
        self.data.qpos[:] = self.configuration(y)
        self.data.qvel[:] = e @ yd
        self.data.qacc[:] = e @ ydd + e_rate @ yd
        mujoco.mj_inverse(self.model, self.data)
        effort: Array = e.T @ self.data.qfrc_inverse
        return effort


def cut_open(robot: Robot) -> Robot:
    """The spanning tree alone, a motor on every coordinate, without the friction MuJoCo treats as a constraint."""
    motors = tuple(Motor(name, ((name, 1.0),)) for name in robot.coordinates)
    return replace(frictionless(robot), loops=(), motors=motors, independent=(), unmeasured=())


def frictionless(robot: Robot) -> Robot:
    """Coulomb friction set to zero."""
    zero = {n: 0.0 for e in robot.efforts if e.kind is EffortKind.COULOMB for n in e.parameters}
    return replace(robot, nominal={**robot.nominal, **zero})
