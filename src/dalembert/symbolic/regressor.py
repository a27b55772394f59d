"""The projected regressor in one forward pass, for trees and loops alike.

Each body frame carries its partial velocities B: the body's twist per independent velocity. With the body's own
regressor K, power balance gives its columns W_j = B_j' K_j; for a tree B_j holds the ancestor joint axes, for a closed
robot the same axes weighted by N. No backward pass, no loop force.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dalembert.symbolic.algebra import SX, cross, hat
from dalembert.symbolic.tree import Tree

__all__ = ["BodyMotion", "body_regressor", "inertial_columns", "motions", "tree_torque"]


@dataclass(frozen=True, slots=True)
class BodyMotion:
    """A frame's motion in its own axes: pose in the parent, angular velocity and acceleration, and the acceleration
    of its origin less gravity; ``turning`` and ``sliding`` (3, k) are its twist per column of the velocity map.
    """

    rotation: SX
    position: SX
    w: SX
    wd: SX
    a: SX
    turning: SX
    sliding: SX


def motions(tree: Tree, y: SX, yd: SX, ydd: SX, velocity_map: SX | None = None) -> list[BodyMotion]:
    """Motion of every frame; ``velocity_map`` G (n_y, k) says what twists to carry along (none: k = 0)."""
    g = ca.SX(tree.n_y, 0) if velocity_map is None else velocity_map
    zero = ca.SX(ca.DM.zeros(3, g.shape[1]))
    still = ca.SX(ca.DM.zeros(3))
    root = BodyMotion(ca.SX.eye(3), still, still, still, -ca.SX(ca.DM(tree.gravity)), zero, zero)
    out: list[BodyMotion] = []
    for index, frame in enumerate(tree.frames):
        up = out[frame.parent] if frame.parent >= 0 else root
        rotation, position = tree.local(index, y)
        e = rotation.T
        w, wd = ca.mtimes(e, up.w), ca.mtimes(e, up.wd)
        # acceleration of the point of the parent under this origin [Gnad24, eq. 3 in body axes]
        a = ca.mtimes(e, up.a + cross(up.wd, position) + cross(up.w, cross(up.w, position)))
        turning = ca.mtimes(e, up.turning)
        sliding = ca.mtimes(e, up.sliding - cross(position, up.turning))
        if frame.step is not None:
            axis, k = ca.DM(frame.step.axis), frame.coordinate
            if frame.step.slide:
                rate = frame.step.slide * axis
                a = a + 2 * cross(w, rate * yd[k]) + rate * ydd[k]
                sliding = sliding + ca.mtimes(rate, g[k, :])
            if frame.step.turn:
                wd = wd + cross(w, axis * yd[k]) + axis * ydd[k]
                w = w + axis * yd[k]
                turning = turning + ca.mtimes(axis, g[k, :])
        out.append(BodyMotion(rotation, position, w, wd, a, turning, sliding))
    return out


def body_regressor(motion: BodyMotion) -> tuple[SX, SX]:
    """(force, moment) at the frame origin per standard parameter, each (3, 10): the Newton-Euler equations."""
    w1, w2, w3 = (motion.w[i] for i in range(3))
    d1, d2, d3 = (motion.wd[i] for i in range(3))
    tensor = [
        (d1, w1 * w3, -w1 * w2),
        (d2 - w1 * w3, d1 + w2 * w3, w1 * w1 - w2 * w2),
        (d3 + w1 * w2, w3 * w3 - w1 * w1, d1 - w2 * w3),
        (-w2 * w3, d2, w1 * w2),
        (w2 * w2 - w3 * w3, d3 - w1 * w2, d2 + w1 * w3),
        (w2 * w3, -w1 * w3, d3),
    ]
    spin = ca.horzcat(*[ca.vertcat(*column) for column in tensor])
    first = hat(motion.wd) + ca.mtimes(hat(motion.w), hat(motion.w))
    zero = ca.SX(ca.DM.zeros(3, 6))
    force = ca.horzcat(zero, first, motion.a)
    moment = ca.horzcat(spin, -hat(motion.a), ca.SX(ca.DM.zeros(3)))
    return force, moment


def inertial_columns(tree: Tree, y: SX, yd: SX, ydd: SX, velocity_map: SX) -> list[SX]:
    """Columns of each body with mass, (k, 10) apiece, for the projection by ``velocity_map`` G: ``G' Y``."""
    moving = motions(tree, y, yd, ydd, velocity_map)
    blocks = []
    for index, _ in tree.bodies():
        force, moment = body_regressor(moving[index])
        blocks.append(ca.mtimes(moving[index].sliding.T, force) + ca.mtimes(moving[index].turning.T, moment))
    return blocks


def tree_torque(tree: Tree, y: SX, yd: SX, ydd: SX, parameters: SX) -> SX:
    """Inertial and gravity torque of the opened tree, (n_y,), by the recursive Newton-Euler algorithm.

    ``parameters`` stacks the ten parameters of each body with mass.
    """
    moving = motions(tree, y, yd, ydd)
    force = [ca.SX(ca.DM.zeros(3)) for _ in tree.frames]
    moment = [ca.SX(ca.DM.zeros(3)) for _ in tree.frames]
    for position, (index, _) in enumerate(tree.bodies()):
        own = parameters[10 * position : 10 * position + 10]
        per_force, per_moment = body_regressor(moving[index])
        force[index], moment[index] = ca.mtimes(per_force, own), ca.mtimes(per_moment, own)
    torque: list[SX] = [ca.SX(0)] * tree.n_y
    for index in reversed(range(len(tree.frames))):
        frame, here = tree.frames[index], moving[index]
        if frame.step is not None:
            axis = ca.DM(frame.step.axis)
            torque[frame.coordinate] = frame.step.turn * ca.dot(axis, moment[index]) + frame.step.slide * ca.dot(
                axis, force[index]
            )
        if frame.parent >= 0:
            carried = ca.mtimes(here.rotation, force[index])
            force[frame.parent] += carried
            moment[frame.parent] += ca.mtimes(here.rotation, moment[index]) + cross(here.position, carried)
    return ca.vertcat(*torque)
