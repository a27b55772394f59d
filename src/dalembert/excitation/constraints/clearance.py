"""Clearance between links: each is covered by capsules, segments with a radius [Ericson 2005, section 5.1.9].

The distance of two segments is that of their closest points; with those held in the links its derivative is exact
(envelope theorem), wherever the closest points are unique.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.excitation.constraints.source import Array, Slopes
from dalembert.excitation.states import Motion
from dalembert.model import Model
from dalembert.robot import Anchor
from dalembert.robot.geometry import Placement, Vector
from dalembert.symbolic import SX

__all__ = ["Capsule", "ClearanceBounds"]


@dataclass(frozen=True, slots=True)
class Capsule:
    """A segment ``start`` - ``end`` in the frame of a body (or of the base) with a ``radius`` [m]."""

    name: str
    body: str
    start: Vector
    end: Vector
    radius: float

    def __post_init__(self) -> None:
        if not self.radius >= 0.0:
            raise UsageError(f"capsule {self.name!r}: radius {self.radius}, expected at least 0 m")


class ClearanceBounds:
    """Distances of pairs of capsules, surface to surface, at least ``distance`` [m]."""

    still = True

    def __init__(
        self, model: Model, capsules: Sequence[Capsule], pairs: Sequence[tuple[str, str]], distance: float
    ) -> None:
        self.model = model
        known = [c.name for c in capsules]
        self.pairs = tuple((known.index(a), known.index(b)) for a, b in pairs)
        self.names = tuple(f"clearance of {a} and {b} [m]" for a, b in pairs)
        self.radii = np.array([capsules[a].radius + capsules[b].radius for a, b in self.pairs])
        self.lower = np.full(len(self.pairs), float(distance))
        self.upper = np.full(len(self.pairs), np.inf)
        self._capsules = tuple(capsules)
        key = hashlib.sha256(repr(self._capsules).encode()).hexdigest()[:16]
        self._points = model.kernel(f"capsules {key}", self._write)
        self._slopes = model.kernel(f"capsule slopes {key}", self._write_slopes)

    def _ends(self) -> SX:
        tree, y = self.model.dynamics.tree, self.model.dynamics.y
        ends = []
        for c in self._capsules:
            for point in (c.start, c.end):
                ends.append(tree.anchor(Anchor(c.body, Placement(position=point)), y, -1)[1])
        return ca.densify(ca.vertcat(*ends))

    def _write(self) -> tuple[dict[str, SX], dict[str, SX]]:
        return {"y": self.model.dynamics.y}, {"p": self._ends()}

    def _write_slopes(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.model.dynamics
        return {"y": d.y}, {"dp": ca.densify(ca.mtimes(ca.jacobian(self._ends(), d.y), d.N))}

    def _closest(self, y: Array) -> list[tuple[Array, Array, Array, Array]]:
        """For each pair: distance (n,), direction (n, 3) from a to b, and where the closest points lie (n,), (n,)."""
        points = np.asarray(self._points(y)["p"]).reshape(len(y), len(self._capsules), 2, 3)
        out = []
        for a, b in self.pairs:
            s, t = closest_points(points[:, a, 0], points[:, a, 1], points[:, b, 0], points[:, b, 1])
            p = points[:, a, 0] + s[:, None] * (points[:, a, 1] - points[:, a, 0])
            q = points[:, b, 0] + t[:, None] * (points[:, b, 1] - points[:, b, 0])
            apart = q - p
            length = np.linalg.norm(apart, axis=1)
            out.append((length, apart / np.maximum(length, 1e-12)[:, None], s, t))
        return out

    def values(self, motion: Motion) -> Array:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        return np.asarray(np.stack([length for length, *_ in self._closest(motion.y)], axis=1) - self.radii)

    def slopes(self, motion: Motion) -> Slopes:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        n, r = len(motion.y), self.model.r
        dp = np.asarray(self._slopes(motion.y)["dp"]).reshape(n, len(self._capsules), 2, 3, r)
        out = np.zeros((n, len(self.pairs), r))
        for k, ((a, b), (_, direction, s, t)) in enumerate(zip(self.pairs, self._closest(motion.y), strict=True)):
            for capsule, share, sign in ((a, s, -1.0), (b, t, 1.0)):
                ends = (1.0 - share)[:, None, None] * dp[:, capsule, 0] + share[:, None, None] * dp[:, capsule, 1]
                out[:, k] += sign * np.einsum("ni,nij->nj", direction, ends)
        return out, None, None


def closest_points(a0: Array, a1: Array, b0: Array, b1: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where on two segments (n, 3) their closest points lie, each in [0, 1] (n,) [Ericson 2005, 5.1.9]."""
    d1, d2, r = a1 - a0, b1 - b0, a0 - b0
    a, e, f = (np.einsum("ni,ni->n", u, v) for u, v in ((d1, d1), (d2, d2), (d2, r)))
    c, b = (np.einsum("ni,ni->n", d1, v) for v in (r, d2))
    a_safe, e_safe = np.maximum(a, 1e-18), np.maximum(e, 1e-18)
    denominator = a * e - b * b
    s = np.where(denominator > 1e-15 * a_safe * e_safe, (b * f - c * e) / np.maximum(denominator, 1e-30), 0.0)
    s = np.clip(s, 0.0, 1.0)
    t = np.clip((b * s + f) / e_safe, 0.0, 1.0)
    s = np.clip((b * t - c) / a_safe, 0.0, 1.0)
    return np.asarray(s), np.asarray(t)
