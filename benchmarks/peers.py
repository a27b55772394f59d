"""The peer: Pinocchio called once per sample from Python, as the identification toolboxes do."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from dalembert.robot import Anchor, Coupling, Loop, LoopKind, Robot
from dalembert.symbolic.tree import Tree, flatten


def pinocchio_model(robot: Robot) -> tuple[pin.Model, Tree, list[int]]:
    """The spanning tree in Pinocchio, one joint per step; the joint index of every frame."""
    tree = flatten(robot)
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    joints: list[int] = []
    offsets: list[pin.SE3] = []
    for k, frame in enumerate(tree.frames):
        parent = joints[frame.parent] if frame.parent >= 0 else 0
        placement = pin.SE3(frame.placement.R, frame.placement.p)
        if frame.parent >= 0:
            placement = offsets[frame.parent] * placement
        if frame.step is None:
            joints.append(parent)
            offsets.append(placement)
            continue
        axis = np.array(frame.step.axis)
        kind = pin.JointModelRevoluteUnaligned if frame.step.turn else pin.JointModelPrismaticUnaligned
        aligned = {(1, 0, 0): "X", (0, 1, 0): "Y", (0, 0, 1): "Z"}.get(tuple(axis))
        if aligned:
            joint = getattr(pin, f"JointModel{'R' if frame.step.turn else 'P'}{aligned}")()
        else:
            joint = kind(axis)
        joints.append(model.addJoint(parent, joint, placement, f"j{k}"))
        offsets.append(pin.SE3.Identity())
    for frame, joint, offset in zip(tree.frames, joints, offsets, strict=True):
        if frame.body is not None:
            model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)), offset)
    return model, tree, joints


def tree_loop(robot: Robot) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """The peer's regressor of a tree, sample by sample."""
    model, _, _ = pinocchio_model(robot)
    data = model.createData()

    def run(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        for k in range(len(q)):
            pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])

    return run


def closed_loop(robot: Robot, independent: list[int]) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """What a user of Pinocchio writes for a closed robot: tree regressor, closure Jacobian, N by NumPy, N' Y."""
    model, tree, joints = pinocchio_model(robot)
    index = {name: k for k, name in enumerate(robot.coordinates)}
    couplings = [loop for loop in robot.loops if isinstance(loop, Coupling)]
    ends = []
    for loop in robot.loops:
        if isinstance(loop, Loop):
            if loop.kind is not LoopKind.POINT:
                raise ValueError(f"peer: loop kind {loop.kind} not written")
            ends.append((_frame(model, tree, joints, loop.a), _frame(model, tree, joints, loop.b)))
    fixed = np.zeros((len(couplings), tree.n_y))
    for row, coupling in zip(fixed, couplings, strict=True):
        row[index[coupling.coordinate]] = 1.0
        for name, ratio in coupling.terms:
            row[index[name]] -= ratio
    data = model.createData()
    rows, dependent = _rows(model, data, ends, fixed, independent, tree.n_y)

    def run(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        for k in range(len(q)):
            regressor = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
            closure = _closure(model, data, q[k], ends, fixed)[rows]
            n = np.zeros((tree.n_y, len(independent)))
            n[independent] = np.eye(len(independent))
            n[dependent] = -np.linalg.solve(closure[:, dependent], closure[:, independent])
            n.T @ regressor

    return run


def _frame(model: pin.Model, tree: Tree, joints: list[int], anchor: Anchor) -> int:
    k = tree.frame_of(anchor.body)
    placement = pin.SE3(anchor.placement.R, anchor.placement.p)
    joint = joints[k] if k >= 0 else 0
    return model.addFrame(pin.Frame(f"a{model.nframes}", joint, 0, placement, pin.FrameType.OP_FRAME))


def _closure(model: pin.Model, data: pin.Data, q: np.ndarray, ends: list, fixed: np.ndarray) -> np.ndarray:
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    blocks = [
        pin.getFrameJacobian(model, data, a, world)[:3] - pin.getFrameJacobian(model, data, b, world)[:3]
        for a, b in ends
    ]
    return np.vstack([*blocks, fixed])


def _rows(model, data, ends, fixed, independent, n_y):  # type: ignore[no-untyped-def]
    from scipy.linalg import qr

    dependent = [k for k in range(n_y) if k not in independent]
    closure = _closure(model, data, np.random.default_rng(0).uniform(-0.5, 0.5, n_y), ends, fixed)
    _, _, order = qr(closure[:, dependent].T, pivoting=True, mode="economic")
    return sorted(order[: len(dependent)]), dependent


def rate(run: Callable[[], object], samples: int, repeats: int = 5) -> float:
    """Best samples per second of CPU time of several runs, of what runs on one thread: neighbours do not count."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return samples / best
