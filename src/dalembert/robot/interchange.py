"""What the readers and writers of other tools' formats share: names, rotations, inertias, files."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import ExportError, RobotError
from dalembert.parameters import BodyInertia, inertial_names
from dalembert.robot.description import BASE, Body, Effort, EffortKind, Robot
from dalembert.robot.geometry import IDENTITY, Placement, rotation_about, snap

__all__ = [
    "UNBOUNDED",
    "body_inertia",
    "body_poses",
    "effort_values",
    "matrix_of_quaternion",
    "nominal_inertia",
    "number_text",
    "quaternion_of_matrix",
    "rpy_of_matrix",
    "spring_values",
    "turns_of_matrix",
    "unique_name",
    "whole_files",
    "write_atomically",
]

Array = NDArray[np.float64]

# Where a format demands a bound and there is none: this or more means unbounded (SI units).
UNBOUNDED = 1e9


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """The name wanted, or that name with the first number from 2 that is free."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


def matrix_of_quaternion(quaternion: ArrayLike) -> Array:
    """Rotation matrix of a quaternion (w, x, y, z) of any length but zero."""
    q = np.asarray(quaternion, dtype=float)
    norm = float(np.linalg.norm(q))
    if not norm > 0.0:
        raise RobotError(f"quaternion {q.tolist()}, expected one that is not zero")
    w, x, y, z = q / norm
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return snap(rows)


def quaternion_of_matrix(rotation: ArrayLike) -> Array:
    """Unit quaternion (w, x, y, z), w >= 0, of a rotation matrix."""
    r = np.asarray(rotation, dtype=float)
    # 4 q q' entry by entry; its largest column is q up to scale, whatever the angle (Shepperd)
    k = np.empty((4, 4))
    k[0, 0] = 1.0 + np.trace(r)
    k[1:, 1:] = r + r.T + (1.0 - np.trace(r)) * np.eye(3)
    k[0, 1:] = k[1:, 0] = (r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1])
    q: Array = k[:, int(np.argmax(np.diag(k)))]
    q = q / np.linalg.norm(q)
    return snap(-q if q[0] < 0.0 else q)


def turns_of_matrix(rotation: ArrayLike) -> tuple[float, float, float]:
    """Angles of the turns about x, y', z'' that make a rotation: the coordinates of a ball joint [rad]."""
    r = np.asarray(rotation, dtype=float)
    first = math.atan2(-r[1, 2], r[2, 2])
    s, c = math.sin(first), math.cos(first)
    second = math.atan2(r[0, 2], c * r[2, 2] - s * r[1, 2])
    third = math.atan2(c * r[1, 0] + s * r[2, 0], c * r[1, 1] + s * r[2, 1])
    return (first, second, third)


def rpy_of_matrix(rotation: ArrayLike) -> tuple[float, float, float]:
    """URDF's roll, pitch, yaw of a rotation [rad], accurate at 90 degrees of pitch too."""
    r = np.asarray(rotation, dtype=float)
    yaw = math.atan2(r[1, 0], r[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    roll = math.atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return (roll, pitch, yaw)


def nominal_inertia(body: str, mass: float, com: ArrayLike, tensor: ArrayLike) -> dict[str, float]:
    """Nominal values of a body's ten parameters from its mass, centre of mass and 3x3 tensor about it."""
    x, y, z = np.asarray(com, dtype=float).tolist()
    xx, xy, xz, yy, yz, zz = np.asarray(tensor, dtype=float)[np.triu_indices(3)].tolist()
    values = BodyInertia(mass, (x, y, z), (xx, xy, xz, yy, yz, zz)).parameters()
    return dict(zip(inertial_names(body), values.tolist(), strict=True))


def body_inertia(robot: Robot, body: Body) -> BodyInertia | None:
    """Nominal mass, centre of mass and tensor of a body; None where it has none."""
    values = np.array([robot.nominal.get(name, 0.0) for name in inertial_names(body.name)])
    if body.massless or not values.any():
        return None
    if values[9] > 0.0:
        return BodyInertia.of(values)
    if values[6:].any():
        raise ExportError(
            f"body {body.name!r}: nominal mass {values[9]:g} kg with first moments {values[6:9].tolist()}, "
            "expected a positive mass"
        )
    xx, xy, xz, yy, yz, zz = values[:6].tolist()
    return BodyInertia(0.0, (0.0, 0.0, 0.0), (xx, xy, xz, yy, yz, zz))


def effort_values(robot: Robot, effort: Effort) -> tuple[float, ...]:
    """Nominal values of an effort's parameters, zero where not given."""
    return tuple(robot.nominal.get(name, 0.0) for name in effort.parameters)


def spring_values(robot: Robot, effort: Effort) -> tuple[float, float]:
    """Nominal stiffness and rest of a spring effort; the rest counted from zero of its coordinate."""
    if effort.kind is not EffortKind.SPRING:
        raise ExportError(f"effort {effort.name!r} is no spring")
    values = effort_values(robot, effort)
    if effort.rest is not None:
        return values[0], effort.rest
    if values[0] == 0.0 and values[1] != 0.0:
        raise ExportError(f"spring {effort.name!r}: no stiffness but a force {values[1]:g}, expected a stiffness")
    return values[0], values[1] / values[0] if values[0] else 0.0


def body_poses(robot: Robot, y: Mapping[str, float]) -> dict[str, Placement]:
    """Pose of every body (its joint frame) in the base at coordinates ``y``, zero where not given."""
    poses = {BASE: IDENTITY}
    for body in robot.bodies:
        pose = poses[body.parent] @ body.placement
        for step in body.joint.steps:
            value = y.get(step.coordinate, 0.0)
            axis = np.array(step.axis)
            pose = pose @ Placement.of(step.slide * value * axis, rotation_about(axis, step.turn * value))
        poses[body.name] = pose
    return poses


def number_text(*values: float) -> str:
    """Numbers as text that reads back to the same doubles."""
    return " ".join(repr(float(value) + 0.0) for value in values)  # + 0.0: no minus zero


@contextmanager
def whole_files(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Paths to write to in place of those asked for, with the same endings.

    They take their places together when all are complete; whatever interrupts that leaves the old files and nothing
    else. ExportError where the system refuses.
    """
    drafts = {path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}"): path for path in paths}
    try:
        yield tuple(drafts)
        for draft, path in drafts.items():
            draft.replace(path)
    except OSError as error:
        path = drafts.get(Path(error.filename or ""), paths[0])
        reason = error.strerror or error
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = f"{path.parent} is not a folder"
        raise ExportError(f"{path}: cannot be written ({reason})") from None
    finally:
        for draft in drafts:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or leave the old one untouched, whatever interrupts it."""
    with whole_files(path) as (draft,):
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
