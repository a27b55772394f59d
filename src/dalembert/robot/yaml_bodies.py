"""Bodies of a robot file: placements, joints, inertia; and frames given by a Khalil-Kleinfinger table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.errors import RobotError
from dalembert.parameters import INERTIAL, BodyInertia, inertial_names
from dalembert.robot.geometry import IDENTITY, Placement, Vector, rotation_about, rpy_rotation
from dalembert.robot.joints import Joint, JointType
from dalembert.robot.quantity import INERTIA, LENGTH, MASS, PITCH, PURE, parameter_quantity
from dalembert.robot.yaml_source import Located

__all__ = [
    "BODY_KEYS",
    "MDH_KEYS",
    "PLACEMENT_KEYS",
    "read_inertia",
    "read_joint",
    "read_mdh_frame",
    "read_placement",
]

PLACEMENT_KEYS = ("at", "rpy", "rotation", "quaternion")
BODY_KEYS = ("name", "parent", *PLACEMENT_KEYS, "joint", "massless", "inertia")
JOINT_KEYS = ("name", "type", "axis", "second_axis", "pitch", "efforts", "limits")
MDH_KEYS = (
    "joint", "antecedent", "sigma", "gamma", "b", "alpha", "d", "theta", "r",
    "body", "massless", "inertia", "efforts", "limits",
)  # fmt: skip


def read_placement(keys: Mapping[str, Located]) -> Placement:
    """``at`` [m] and one of ``rpy`` [rad], ``rotation``, ``quaternion`` (w, x, y, z), ``axis`` (direction of z)."""
    position = keys["at"].vector(LENGTH) if "at" in keys else (0.0, 0.0, 0.0)
    given = [name for name in ("rpy", "rotation", "quaternion", "axis") if name in keys]
    if len(given) > 1:
        keys[given[1]].fail(f"found {' and '.join(given)}, expected only one of them")
    if not given:
        return Placement.of(position)
    item = keys[given[0]]
    rotation = _ROTATIONS[given[0]](item)
    try:
        return Placement.of(position, rotation)
    except RobotError as error:
        item.fail(str(error))


def _rpy(item: Located) -> np.ndarray:
    return rpy_rotation([angle.angle() for angle in item.exactly(3, "three angles [roll, pitch, yaw]")])


def _rotation(item: Located) -> np.ndarray:
    return np.array([row.vector(PURE) for row in item.exactly(3, "three rows of three numbers")])


def _quaternion(item: Located) -> np.ndarray:
    w, *xyz = item.numbers(PURE, 4, "a quaternion [w, x, y, z]")
    norm = float(np.linalg.norm([w, *xyz]))
    if abs(norm - 1.0) > 1e-6:  # digits lost in writing it are made up for, a mistake is not
        item.fail(f"found a quaternion of norm {norm:.6g}, expected norm 1")
    half = float(np.linalg.norm(xyz))
    return rotation_about(np.array(xyz) / half, 2.0 * np.arctan2(half, w)) if half > 0.0 else np.eye(3)


def _along(item: Located) -> np.ndarray:
    """The smallest rotation that turns z into the given direction."""
    direction = np.array(item.axis())
    direction = direction / np.linalg.norm(direction)
    normal = np.cross([0.0, 0.0, 1.0], direction)
    length = float(np.linalg.norm(normal))
    if length < 1e-12:
        return np.eye(3) if direction[2] > 0.0 else rotation_about((1.0, 0.0, 0.0), np.pi)
    return rotation_about(normal / length, float(np.arctan2(length, direction[2])))


_ROTATIONS = {"rpy": _rpy, "rotation": _rotation, "quaternion": _quaternion, "axis": _along}


def read_joint(item: Located | None, body: str) -> tuple[Joint, Mapping[str, Located]]:
    """A body's joint, fixed when there is none, and the keys that are not the joint's own (efforts, limits)."""
    if item is None:
        return Joint(body), {}
    keys = item.mapping(JOINT_KEYS, ["type"], "a joint")
    name = keys["name"].text() if "name" in keys else body
    kind = keys["type"].choice(JointType)
    axis = keys["axis"].axis() if "axis" in keys else (0.0, 0.0, 1.0)
    second: Vector | None = keys["second_axis"].axis() if "second_axis" in keys else None
    pitch = keys["pitch"].number(PITCH) if "pitch" in keys else 0.0
    try:
        joint = Joint(name, kind, axis, second, pitch)
    except RobotError as error:
        (keys.get("pitch") or keys.get("second_axis") or item).fail(str(error))
    return joint, {key: keys[key] for key in ("efforts", "limits") if key in keys}


def read_inertia(item: Located, body: str) -> dict[str, float]:
    """Nominal parameters of a body from {mass, com, tensor at the centre of mass}, {XX: .., M: ..} or ten numbers."""
    if item.is_list:
        cells = item.exactly(len(INERTIAL), f"ten numbers {', '.join(INERTIAL)}")
        values = tuple(cell.number(parameter_quantity(name)) for cell, name in zip(cells, INERTIAL, strict=True))
        mass = cells[-1]
    else:
        keys = item.mapping(("mass", "com", "tensor", *INERTIAL), (), "an inertia")
        if set(keys) & set(INERTIAL):
            for name in ("mass", "com", "tensor"):
                if name in keys:
                    keys[name].fail(f"found {name} beside {', '.join(set(keys) & set(INERTIAL))}, expected one form")
            values = tuple(keys[n].number(parameter_quantity(n)) if n in keys else 0.0 for n in INERTIAL)
            mass = keys.get("M", item)
        else:
            values, mass = _from_mass(keys, item), keys.get("mass", item)
    if not np.isfinite(values).all():
        item.fail("mass, com and tensor give an inertia beyond all numbers, expected a body's")
    if values[-1] < 0.0:
        mass.fail(f"found the mass {values[-1]:g} kg, expected a mass >= 0")
    return dict(zip(inertial_names(body), values, strict=True))


def _from_mass(keys: Mapping[str, Located], item: Located) -> tuple[float, ...]:
    if "mass" not in keys:
        item.fail("the key 'mass' is missing; expected mass, com, tensor")
    com = keys["com"].vector(LENGTH) if "com" in keys else (0.0, 0.0, 0.0)
    tensor = _tensor(keys["tensor"]) if "tensor" in keys else (0.0,) * 6
    return tuple(BodyInertia(keys["mass"].number(MASS), com, tensor).parameters().tolist())


def _tensor(item: Located) -> tuple[float, float, float, float, float, float]:
    rows = item.items("[xx, yy, zz], [xx, xy, xz, yy, yz, zz] or three rows")
    if len(rows) == 3 and all(row.is_list for row in rows):
        m = np.array([row.vector(INERTIA) for row in rows])
        if not np.allclose(m, m.T, rtol=1e-9, atol=0.0):
            item.fail("the three rows are not symmetric, expected an inertia tensor")
        xx, xy, xz, yy, yz, zz = m[np.triu_indices(3)].tolist()
        return xx, xy, xz, yy, yz, zz
    if len(rows) == 3:
        xx, yy, zz = item.vector(INERTIA)
        return xx, 0.0, 0.0, yy, 0.0, zz
    xx, xy, xz, yy, yz, zz = item.numbers(INERTIA, 6, "[xx, yy, zz], [xx, xy, xz, yy, yz, zz] or three rows")
    return xx, xy, xz, yy, yz, zz


def read_mdh_frame(row: Mapping[str, Located]) -> Placement:
    """Frame of a Khalil-Kleinfinger row in its antecedent, at zero of the variable.

    ``Rot(z, gamma) Trans(z, b) Rot(x, alpha) Trans(x, d) Rot(z, theta) Trans(z, r)``; the variable, which adds to
    theta or r, is the last factor in both cases because turns and slides about one axis commute.
    """
    value = dict.fromkeys(("gamma", "b", "alpha", "d", "theta", "r"), 0.0)
    value |= {k: row[k].angle() for k in ("gamma", "alpha", "theta") if k in row}
    value |= {k: row[k].number(LENGTH) for k in ("b", "d", "r") if k in row}
    x, _, z = np.eye(3)
    base = Placement.of((0.0, 0.0, value["b"]), rotation_about(z, value["gamma"]))
    turned = Placement.of((value["d"], 0.0, 0.0)) if value["d"] else IDENTITY
    link = Placement.of((0.0, 0.0, 0.0), rotation_about(x, value["alpha"])) @ turned
    return base @ link @ Placement.of((0.0, 0.0, value["r"]), rotation_about(z, value["theta"]))
