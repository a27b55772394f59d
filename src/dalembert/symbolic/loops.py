"""Loop closures c(y) = 0."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.robot import Coupling, Loop, LoopKind, Robot
from dalembert.symbolic.algebra import SX
from dalembert.symbolic.tree import Tree

__all__ = ["Closures", "closures"]


@dataclass(frozen=True, slots=True)
class Closures:
    """Rows ``c(y)`` and the loop each row belongs to; rows that do not depend on ``y`` are kept apart."""

    c: SX
    loops: tuple[str, ...]
    constant: tuple[tuple[str, float], ...]


def _relative(tree: Tree, loop: Loop, y: SX) -> tuple[SX, SX]:
    """(R, p) of anchor b seen from anchor a."""
    root = tree.common_root(tree.frame_of(loop.a.body), tree.frame_of(loop.b.body))
    r_a, p_a = tree.anchor(loop.a, y, root)
    r_b, p_b = tree.anchor(loop.b, y, root)
    return ca.mtimes(r_a.T, r_b), ca.mtimes(r_a.T, p_b - p_a)


def _apart(tree: Tree, loop: Loop, y: SX) -> SX:
    """Vector from anchor a to anchor b in the axes of their common root: fewer terms than in a's axes."""
    root = tree.common_root(tree.frame_of(loop.a.body), tree.frame_of(loop.b.body))
    return tree.anchor(loop.b, y, root)[1] - tree.anchor(loop.a, y, root)[1]


def _rows(tree: Tree, loop: Loop, y: SX) -> SX:
    match loop.kind:
        case LoopKind.POINT:
            return _apart(tree, loop, y)
        case LoopKind.ROD:
            apart = _apart(tree, loop, y)
            # (|d|^2 - l^2) / 2l: metres to first order, without the root's singular derivative
            return (ca.dot(apart, apart) - loop.length**2) / (2 * loop.length)
    rotation, position = _relative(tree, loop, y)
    tilt = ca.vertcat(rotation[0, 2], rotation[1, 2])  # b's z axis across a's
    twist = (rotation[1, 0] - rotation[0, 1]) / 2
    match loop.kind:
        case LoopKind.AXIS:
            return ca.vertcat(_apart(tree, loop, y), tilt)
        case LoopKind.CYLINDER:
            return ca.vertcat(position[:2], tilt)
        case LoopKind.SLIDE:
            return ca.vertcat(position[:2], tilt, twist)
        case _:
            return ca.vertcat(_apart(tree, loop, y), tilt, twist)


def _coupling(robot: Robot, coupling: Coupling, y: SX) -> SX:
    terms = ((coupling.coordinate, 1.0), *((name, -ratio) for name, ratio in coupling.terms))
    return ca.mtimes(ca.SX(ca.DM(robot.linear_map([terms]))), y) - coupling.constant


def closures(robot: Robot, tree: Tree, y: SX) -> Closures:
    """All closure rows of a robot, in the order of its loops."""
    rows: list[SX] = []
    names: list[str] = []
    constant: list[tuple[str, float]] = []
    for loop in robot.loops:
        block = _coupling(robot, loop, y) if isinstance(loop, Coupling) else _rows(tree, loop, y)
        for k in range(block.shape[0]):
            if ca.depends_on(block[k], y) and not _is_constant(block[k], y):
                rows.append(block[k])
                names.append(loop.name)
            else:
                constant.append((loop.name, float(ca.evalf(ca.substitute(block[k], y, ca.DM.zeros(tree.n_y))))))
    c = ca.vertcat(*rows) if rows else ca.SX(0, 1)
    return Closures(c, tuple(names), tuple(constant))


def _is_constant(row: SX, y: SX) -> bool:
    """True for a row that mentions ``y`` but does not vary with it: the planar loop's out-of-plane rows.

    Rotations about one axis composed with snapped constants leave such rows as sums that cancel to rounding.
    """
    gradient = ca.Function("g", [y], [ca.jacobian(row, y)])
    rng = np.random.default_rng(0)
    probes = [np.abs(np.array(gradient(rng.uniform(-1, 1, y.shape[0])))).max() for _ in range(3)]
    return bool(max(probes) < 1e-14)
