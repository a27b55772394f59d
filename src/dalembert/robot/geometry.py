"""Constant rigid placements: where one frame sits in another."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import RobotError

__all__ = [
    "IDENTITY",
    "Placement",
    "Vector",
    "rotation_about",
    "rounded_quarter",
    "rpy_rotation",
    "said_of_quarter",
    "snap",
    "snap_angle",
    "unit",
]

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]

# Angles written with 9 or more digits that mean a multiple of pi/2 are taken as such: cos(pi/2) = 6e-17 would
# otherwise become an operation, and rounded descriptions give false base parameters (engine-notes.md).
ANGLE_SNAP = 1e-9
ENTRY_SNAP = 1e-12
_ORTHOGONAL = 1e-14  # of R R' - 1: rounding, which making R orthogonal again would only replace by its own


def snap_angle(angle: float) -> float:
    """The angle, or the multiple of pi/2 within 1e-9 rad of it."""
    quarter = round(angle / (math.pi / 2))
    exact = quarter * (math.pi / 2)
    return exact if abs(angle - exact) < ANGLE_SNAP else angle


def rounded_quarter(text: str) -> float | None:
    """The multiple of pi/2 that a decimal was rounded or cut from (``1.5708``, ``-3.14``); None for any other.

    A joint tilted by the 4e-6 rad between 1.5708 and pi/2 tells parameters apart that no experiment on the robot does.
    """
    match = re.fullmatch(r"[-+]?\d*\.(\d{2,})", text.strip())
    if match is None:
        return None
    value, size = float(text), 10.0 ** len(match[1])
    exact = round(value / (math.pi / 2)) * (math.pi / 2)
    if not exact or abs(value - exact) < ANGLE_SNAP:
        return None
    return exact if round(value * size) in (round(exact * size), math.trunc(exact * size)) else None


def said_of_quarter(text: str, exact: float) -> str:
    """What a reader says of an angle taken as the multiple of pi/2 it was rounded from."""
    quarters = round(exact / (math.pi / 2))
    name = {1: "pi/2", 2: "pi"}.get(abs(quarters), f"{abs(quarters)}*pi/2")
    return f"{text.strip()} is taken as {'-' * (quarters < 0)}{name}, which it is rounded from"


def _sincos(angle: float) -> tuple[float, float]:
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) < ANGLE_SNAP:
        return ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))[quarter % 4]
    return math.sin(angle), math.cos(angle)


def snap(values: ArrayLike) -> NDArray[np.float64]:
    """Entries within 1e-12 of 0, 1 or -1 made exact, so that they stay structural."""
    out = np.array(values, dtype=float)
    for exact in (0.0, 1.0, -1.0):
        out[np.abs(out - exact) < ENTRY_SNAP] = exact
    return out


def unit(axis: ArrayLike, *, where: str = "axis") -> Vector:
    """The axis scaled to length one; exact for coordinate axes."""
    a = np.asarray(axis, dtype=float)
    length = math.hypot(*a.tolist()) if a.shape == (3,) else math.nan
    if not (math.isfinite(length) and length > ENTRY_SNAP):
        raise RobotError(f"{where}: found {np.asarray(axis).tolist()}, expected three numbers that are not all zero")
    x, y, z = snap(a / length).tolist()
    return (x, y, z)


def rotation_about(axis: ArrayLike, angle: float) -> NDArray[np.float64]:
    """Rotation matrix about a unit axis (Rodrigues), exact at multiples of pi/2."""
    s, c = _sincos(angle)
    x, y, z = np.asarray(axis, dtype=float)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return snap(np.eye(3) + s * cross + (1.0 - c) * (cross @ cross))


def rpy_rotation(rpy: ArrayLike) -> NDArray[np.float64]:
    """URDF's fixed-axis roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float)
    x, y, z = np.eye(3)
    return snap(rotation_about(z, yaw) @ rotation_about(y, pitch) @ rotation_about(x, roll))


def _vector(values: NDArray[np.float64]) -> Vector:
    x, y, z = values.tolist()
    return (x, y, z)


@dataclass(frozen=True, slots=True)
class Placement:
    """Pose of a child frame in its parent: ``p_parent = position + rotation @ p_child``."""

    position: Vector = (0.0, 0.0, 0.0)
    rotation: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    @classmethod
    def of(cls, position: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> Placement:
        """From array-likes; the rotation must be a proper orthogonal matrix to 1e-6 and is made one to rounding."""
        p = np.asarray(position, dtype=float)
        r = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
        if p.shape != (3,) or r.shape != (3, 3) or not (np.isfinite(p).all() and np.isfinite(r).all()):
            raise RobotError(
                f"placement: found position {p.tolist()}, expected three finite numbers and a 3x3 rotation"
            )
        u, _, vt = np.linalg.svd(r)
        if np.linalg.det(r) < 0.0 or np.abs(u @ vt - r).max() > 1e-6:
            raise RobotError(f"placement: rotation {r.tolist()} is not a rotation matrix")
        if np.abs(r @ r.T - np.eye(3)).max() > _ORTHOGONAL:
            r = u @ vt
        p, r = snap(p), snap(r)
        x, y, z = (_vector(row) for row in r)
        return cls(_vector(p), (x, y, z))

    @property
    def p(self) -> NDArray[np.float64]:
        """Position [m], shape (3,)."""
        return np.array(self.position)

    @property
    def R(self) -> NDArray[np.float64]:
        """Rotation matrix, shape (3, 3)."""
        return np.array(self.rotation)

    def __matmul__(self, other: Placement) -> Placement:
        """Composition: the frame ``other``, given in this one, seen from this one's parent."""
        return Placement.of(self.p + self.R @ other.p, self.R @ other.R)

    def inverse(self) -> Placement:
        """Pose of the parent in the child."""
        return Placement.of(-self.R.T @ self.p, self.R.T)


IDENTITY = Placement()
