"""The spanning tree as a list of one-step frames, and its kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.robot import BASE, IDENTITY, Anchor, Body, Placement, Robot, Step
from dalembert.symbolic.algebra import SX, axis_rotation

__all__ = ["Frame", "Tree", "flatten"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a joint: it sits in frame ``parent`` (-1: base) at ``placement``, then moves by ``step``.

    ``coordinate`` is the step's place in ``y`` (-1 for a fixed joint). The last frame of a joint carries its body.
    """

    parent: int
    placement: Placement
    step: Step | None
    coordinate: int
    body: Body | None


@dataclass(frozen=True, slots=True)
class Tree:
    """All frames, parents first, and where each body's frame is."""

    frames: tuple[Frame, ...]
    n_y: int
    gravity: tuple[float, float, float]

    def frame_of(self, body: str) -> int:
        """Index of the frame a body moves with; -1 for the base."""
        if body == BASE:
            return -1
        return next(i for i, frame in enumerate(self.frames) if frame.body is not None and frame.body.name == body)

    def bodies(self) -> tuple[tuple[int, Body], ...]:
        """Frames that carry a body with mass, with that body."""
        return tuple((i, f.body) for i, f in enumerate(self.frames) if f.body is not None and not f.body.massless)

    def ancestors(self, frame: int) -> tuple[int, ...]:
        """The frame itself and all above it, nearest first, the base (-1) last."""
        chain = [frame]
        while chain[-1] >= 0:
            chain.append(self.frames[chain[-1]].parent)
        return tuple(chain)

    def local(self, frame: int, y: SX) -> tuple[SX, SX]:
        """(R, p) of a frame in its parent frame at coordinates ``y``."""
        f = self.frames[frame]
        r0, p0 = ca.SX(ca.DM(f.placement.R)), ca.SX(ca.DM(f.placement.p))
        if f.step is None:
            return r0, p0
        value = y[f.coordinate]
        rotation = ca.mtimes(r0, axis_rotation(f.step.axis, value)) if f.step.turn else r0
        position = p0 + ca.mtimes(r0, ca.DM(f.step.axis)) * (f.step.slide * value) if f.step.slide else p0
        return rotation, position

    def pose(self, frame: int, y: SX, root: int = -1) -> tuple[SX, SX]:
        """(R, p) of a frame seen from one of its ancestors (the base unless given)."""
        rotation, position = ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3))
        for k in self.ancestors(frame):
            if k == root:
                break
            r, p = self.local(k, y)
            rotation, position = ca.mtimes(r, rotation), p + ca.mtimes(r, position)
        return rotation, position

    def common_root(self, a: int, b: int) -> int:
        """Nearest common ancestor of two frames."""
        above = set(self.ancestors(a))
        return next(k for k in self.ancestors(b) if k in above)

    def anchor(self, anchor: Anchor, y: SX, root: int = -1) -> tuple[SX, SX]:
        """(R, p) of an anchor frame seen from a frame above its body."""
        rotation, position = self.pose(self.frame_of(anchor.body), y, root)
        here = anchor.placement
        return ca.mtimes(rotation, ca.DM(here.R)), position + ca.mtimes(rotation, ca.DM(here.p))


def flatten(robot: Robot) -> Tree:
    """The one-step frames of a robot's spanning tree."""
    frames: list[Frame] = []
    at: dict[str, int] = {BASE: -1}
    coordinate = 0
    for body in robot.bodies:
        parent, placement = at[body.parent], body.placement
        steps: Sequence[Step | None] = body.joint.steps or (None,)
        for k, step in enumerate(steps):
            carried = body if k == len(steps) - 1 else None
            frames.append(Frame(parent, placement, step, coordinate if step else -1, carried))
            parent, placement = len(frames) - 1, IDENTITY
            coordinate += step is not None
        at[body.name] = parent
    return Tree(tuple(frames), coordinate, robot.gravity)


def numeric(function: ca.Function, *arguments: NDArray[np.float64]) -> NDArray[np.float64]:
    """First output of a CasADi function at one point, as an array."""
    return np.array(function(*arguments)[0] if function.n_out() > 1 else function(*arguments))
