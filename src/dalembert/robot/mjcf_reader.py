"""MJCF as MuJoCo compiles it: its tree, equality constraints, actuators and passive forces."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import RobotError
from dalembert.robot.description import Limit, Robot
from dalembert.robot.geometry import Vector
from dalembert.robot.mjcf_forces import read_efforts, read_motors
from dalembert.robot.mjcf_ignored import ignored
from dalembert.robot.mjcf_loops import read_loops
from dalembert.robot.mjcf_tree import MjcfTree, read_tree

__all__ = ["compiled", "read_mjcf"]


def read_mjcf(path: str | Path) -> Robot:
    """The robot of an MJCF file; needs the ``mujoco`` package.

    Coordinates of hinges and slides are MuJoCo's own; a ball joint gets three turns, zero at its reference or,
    when home is far from it, at home. Several joints of one body become a chain of massless bodies. Bodies fixed
    in the world are part of the base. Masses, inertias and passive forces give nominal values. What MuJoCo would
    simulate and a robot description has no place for is named in one warning each.
    """
    file = Path(path)
    robot, _, tree = compiled(file)
    for message in ignored(_mujoco(), tree):
        warnings.warn(f"{file}: {message}", stacklevel=2)
    return robot


def compiled(file: Path) -> tuple[Robot, Any, MjcfTree]:
    """The robot, MuJoCo's model, and how one follows from the other."""
    mujoco = _mujoco()
    model = _compile(mujoco, file)
    tree = read_tree(str(file), model, _home(mujoco, model))
    if not tree.bodies:
        raise tree.error("no moving body, expected at least one joint")
    motors = read_motors(mujoco, tree)
    efforts, values = read_efforts(mujoco, tree, motors)
    loops = read_loops(mujoco, tree)
    try:
        robot = Robot(
            name=_model_name(model, file),
            bodies=tuple(tree.bodies),
            loops=tuple(loops),
            motors=tuple(motors),
            efforts=tuple(efforts),
            gravity=_gravity(mujoco, model),
            home=tree.home,
            limits=_limits(tree),
            nominal={**tree.nominal, **values},
            source=str(file),
        )
    except RobotError as error:
        raise RobotError(f"{file}: {error}") from None
    return robot, model, tree


def _mujoco() -> Any:
    try:
        return import_module("mujoco")
    except ImportError:
        raise RobotError(
            "reading MJCF needs the mujoco package, which is not installed: pip install 'dalembert[mjcf]'"
        ) from None


def _compile(mujoco: Any, file: Path) -> Any:
    try:
        file.read_bytes()  # the system's own reason when it cannot be read
        return mujoco.MjModel.from_xml_path(str(file))
    except OSError as error:
        raise RobotError(f"{file}: cannot be read ({error.strerror or error})") from None
    except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise RobotError(f"{file}: MuJoCo: {' '.join(str(error).split())}") from None


def _home(mujoco: Any, model: Any) -> NDArray[np.float64]:
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    return np.array(model.qpos0 if key < 0 else model.key_qpos[key])


def _model_name(model: Any, file: Path) -> str:
    name = bytes(model.names).split(b"\0", 1)[0].decode("utf-8", "replace")
    return file.stem if name in ("", "MuJoCo Model") else name


def _gravity(mujoco: Any, model: Any) -> Vector:
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        return (0.0, 0.0, 0.0)
    x, y, z = model.opt.gravity.tolist()
    return (x, y, z)


def _limits(tree: MjcfTree) -> dict[str, Limit]:
    model = tree.model
    return {
        joint.name: Limit(*model.jnt_range[j].tolist())
        for j, joint in enumerate(tree.joints)
        if tree.is_scalar(j) and model.jnt_limited[j]
    }
