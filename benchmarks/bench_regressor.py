"""Regressor of trees and projected regressor of closed robots, relative to Pinocchio called from Python."""

from __future__ import annotations

import numpy as np

from dalembert.kernels import Kernel
from dalembert.model import Model
from dalembert.motion import random_states
from dalembert.robot import Body, Joint, JointType, Motor, Placement, Robot, load_robot, select_efforts
from peers import closed_loop, rate, tree_loop

TITLE = "samples/s of W relative to pin.computeJointTorqueRegressor in a Python loop (the same W, inertial columns)"
TREES = ("tx40", "panda", "18-joint tree")
CLOSED = ("dualv", "delta", "orthoglide")


def branched_tree(joints: int = 18) -> Robot:
    """A tree of revolute joints about coordinate axes, three branches, as a legged robot has them."""
    rng = np.random.default_rng(0)
    bodies = []
    for k in range(joints):
        parent = "base" if k % 6 == 0 and k == 0 else f"b{k - 1}" if k % 6 else "b0"
        axis = np.eye(3)[rng.integers(3)]
        place = Placement.of([0.3, 0.0, 0.05])
        bodies.append(Body(f"b{k}", parent, Joint(f"q{k}", JointType.REVOLUTE, tuple(axis)), place))
    motors = tuple(Motor(f"q{k}", ((f"q{k}", 1.0),)) for k in range(joints))
    return Robot("18-joint tree", tuple(bodies), motors=motors)


def _robot(name: str) -> Robot:
    if name == "18-joint tree":
        return branched_tree()
    return select_efforts(load_robot(name), friction="none", offsets=False, rotor=False)


def _stream(kernel: Kernel, states: tuple[np.ndarray, ...], sigma: np.ndarray) -> None:
    """Every block of W, as identification reads it."""
    for _, outputs in kernel.stream(*states, sigma):
        outputs["W"]


def _row(name: str, samples: int, peer_samples: int) -> dict[str, object]:
    robot = _robot(name)
    projection = "platform"
    speeds = {}
    peer = 0.0
    for backend in ("numpy", "c"):
        model = Model(robot, backend=backend)
        states = random_states(model, samples, np.random.default_rng(1))
        arrays = (states.y, states.yd, states.ydd)
        kernel = model.regressor_kernel(projection)
        sigma = np.ones(model.n)
        _stream(kernel, tuple(x[:5000] for x in arrays), sigma)
        speeds[backend] = rate(lambda k=kernel, x=arrays, s=sigma: _stream(k, x, s), samples)
        if backend == "numpy":
            few = tuple(x[:peer_samples] for x in arrays)
            if model.dynamics.assembly.rows:
                chosen = [model.coordinates.index(n) for n in model.independent]
                run = closed_loop(robot, chosen)
            else:
                run = tree_loop(robot)
            run(*few)
            peer = rate(lambda run=run, few=few: run(*few), peer_samples)
    return {
        "robot": name,
        "peer samples/s": round(peer),
        "numpy / peer": speeds["numpy"] / peer,
        "C / peer": speeds["c"] / peer,
    }


def run() -> list[dict[str, object]]:
    """One row per robot."""
    return [_row(name, 60_000, 10_000) for name in TREES] + [_row(name, 60_000, 3_000) for name in CLOSED]
