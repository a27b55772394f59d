"""Bounds on any expression of the state: dependent coordinates, motor torques, points of the platform, tilt of
joints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.excitation.constraints.source import Array, Slopes
from dalembert.excitation.states import Motion, States
from dalembert.kernels import Kernel
from dalembert.model import Model
from dalembert.symbolic import SX

__all__ = ["Bounded", "SymbolicBounds", "coordinate_rate"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """``lower <= expression <= upper``; the expression is over the model's y, yd, ydd and pi."""

    name: str
    expression: SX
    lower: float
    upper: float


class SymbolicBounds:
    """A :class:`~dalembert.excitation.constraints.source.Source` of expressions, differentiated along the loops."""

    def __init__(self, states: States, bounded: Sequence[Bounded], pi: Array | None = None) -> None:
        model = states.model
        self.model, self.states = model, states
        self.names = tuple(b.name for b in bounded)
        self.lower = np.array([b.lower for b in bounded])
        self.upper = np.array([b.upper for b in bounded])
        self.pi = np.zeros(len(model.parameters)) if pi is None else pi
        d = model.dynamics
        h = ca.densify(ca.vertcat(*[b.expression for b in bounded]))
        self.still = not (ca.depends_on(h, d.yd) or ca.depends_on(h, d.ydd))
        inputs = {"y": d.y, "yd": d.yd, "ydd": d.ydd, "pi": d.pi}
        exact = ca.Function("h", list(inputs.values()), [h]).serialize()  # as text constants would be rounded
        key = hashlib.sha256(exact.encode()).hexdigest()[:16]
        self._values: Kernel = model.kernel(f"bounds {key}", lambda: (inputs, {"h": h}))
        self._back: Kernel | None = None

    def values(self, motion: Motion) -> Array:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        return np.asarray(self._values(motion.y, motion.yd, motion.ydd, self.pi)["h"])

    def slopes(self, motion: Motion) -> Slopes:
        """See :class:`~dalembert.excitation.constraints.source.Source`.

        All quantities of all samples in one call of the adjoint, each with a seed of its own.
        """
        if self._back is None:
            self._back = self.model.adjoint(self._values, "h", ["y", "yd", "ydd"])
        n, k = len(motion.y), len(self.names)
        kept = self._values.nonzeros["h"][0]
        seed = np.zeros((k, len(kept)))
        seed[np.asarray(kept), np.arange(len(kept))] = 1.0
        state = (np.repeat(part, k, axis=0) for part in (motion.y, motion.yd, motion.ydd))
        out = self._back(*state, self.pi, np.tile(seed, (n, 1)))
        by = [np.asarray(out[f"grad_{name}"]).reshape(n, k, -1) for name in ("y", "yd", "ydd")]
        x, xd, xdd = self.states.pull_back_many(motion, *by)
        return (x, None, None) if self.still else (x, xd, xdd)


def coordinate_rate(model: Model, row: Array, order: int) -> SX:
    """A combination of coordinates ``row @ y`` (n_y,), or its derivative of an order up to 2, as an expression."""
    d = model.dynamics
    return ca.mtimes(ca.SX(ca.DM(row[None, :])), (d.y, d.yd, d.ydd)[order])
