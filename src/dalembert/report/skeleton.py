"""The lines a robot is drawn with: which points of which bodies they join, and where those are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.model import Model
from dalembert.robot import BASE, Coupling, JointType

__all__ = ["Skeleton", "skeleton"]

Array = NDArray[np.float64]

_FLOATING = (JointType.PLANAR, JointType.TRANSLATION, JointType.FREE)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Points fixed in bodies (``owner`` (v,), 0 the base, ``offset`` (v, 3) [m]) and what is drawn through them.

    ``links``: body and the points of its polyline; ``joints``: name, point where the joint sits and, in the body it
    moves, the point (the body's origin) and axis (3,) of its first step; ``loops``: name and the two points it holds
    together; ``ground``: the polyline through what stands on the base. A body that floats off the base, held by loops
    alone, has neither joint nor foot.
    """

    model: Model
    owner: NDArray[np.intp]
    offset: Array
    links: tuple[tuple[str, tuple[int, ...]], ...]
    joints: tuple[tuple[str, int, int, Array], ...]
    loops: tuple[tuple[str, int, int], ...]
    actuated: frozenset[str]
    ground: tuple[int, ...] = ()

    def poses(self, y: ArrayLike) -> tuple[Array, Array]:
        """Origins (n, bodies + 1, 3) and rotations (n, bodies + 1, 3, 3) in the base, the base itself first."""
        y = np.atleast_2d(np.asarray(y, dtype=float))
        found = np.asarray(self.model.poses_kernel()(y)["poses"]).reshape(len(y), -1, 12)
        base = np.broadcast_to(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), (len(y), 1, 12))
        every = np.concatenate([base, found], axis=1)
        return every[:, :, 9:], every[:, :, :9].reshape(len(y), -1, 3, 3)

    def points(self, y: ArrayLike) -> Array:
        """All points (n, v, 3) in the base at configurations y (n, n_y)."""
        origin, rotation = self.poses(y)
        turned = np.einsum("nvij,vj->nvi", rotation[:, self.owner], self.offset)
        return np.asarray(origin[:, self.owner] + turned)


def skeleton(model: Model) -> Skeleton:
    """The lines of a robot; where a body has more than two points they are joined in the order they have at home."""
    robot = model.robot
    number = {BASE: 0, **{name: k + 1 for k, name in enumerate(robot.body_names)}}
    owner: list[int] = []
    offset: list[Array] = []

    def point(body: str, at: ArrayLike) -> int:
        owner.append(number[body])
        offset.append(np.asarray(at, dtype=float))
        return len(owner) - 1

    origin = point(BASE, np.zeros(3))
    driven = {name.partition(".")[0] for motor in robot.motors for name, _ in motor.turns}
    ends: dict[str, list[int]] = {name: [] for name in number}
    joints = []
    for body in robot.bodies:
        place, own = point(body.parent, body.placement.p), point(body.name, np.zeros(3))
        ends[body.name].append(own)
        if body.parent == BASE and body.joint.type in _FLOATING and body.joint.name not in driven:
            continue
        ends[body.parent].append(place)
        if body.joint.steps:
            joints.append((body.joint.name, place, own, np.array(body.joint.steps[0].axis, dtype=float)))
            if body.joint.type in (JointType.PRISMATIC, JointType.CYLINDRICAL):  # the way travelled
                ends[body.name].append(place)
    loops = []
    for loop in robot.loops:
        if isinstance(loop, Coupling):
            continue
        a, b = (point(anchor.body, anchor.placement.p) for anchor in (loop.a, loop.b))
        ends[loop.a.body].append(a)
        ends[loop.b.body].append(b)
        loops.append((loop.name, a, b))
    bare = Skeleton(
        model, np.array(owner, dtype=np.intp), np.array(offset).reshape(-1, 3), (), tuple(joints), tuple(loops),
        frozenset(driven),
    )  # fmt: skip
    home = bare.points(model.home)[0]
    links = tuple((n, _polyline(points, home)) for n, points in ends.items() if n != BASE and len(points) > 1)
    feet = ends[BASE]
    if len({tuple(np.round(home[k], 9)) for k in feet}) == 1:  # one foot: from the base's origin, or all there is
        feet = [origin, *feet]
    return replace(bare, links=links, ground=_polyline(feet, home) if feet else ())


def _polyline(points: Sequence[int], at: Array) -> tuple[int, ...]:
    """One line through a body's points: in order of the angle about their centre when there are more than two."""
    first: dict[tuple[float, ...], int] = {}
    for k in points:
        first.setdefault(tuple((np.round(at[k], 9) + 0.0).tolist()), k)
    unique = list(first.values())
    if len(unique) <= 2:
        return tuple(unique) if len(unique) == 2 else (points[0], points[-1])
    centred = at[unique] - at[unique].mean(axis=0)
    far = np.linalg.norm(centred, axis=1)
    if len(unique) > 3 and far.min() < 1e-3 * far.max():  # in the middle of the others no angle says where it belongs
        return _polyline([k for k, away in zip(unique, far, strict=True) if away > far.min()], at)
    plane = np.linalg.svd(centred)[2][:2]
    order = np.argsort(np.arctan2(centred @ plane[1], centred @ plane[0]))
    return tuple(unique[k] for k in [*order, order[0]])
