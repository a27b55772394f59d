"""Independent coordinates -> full state, and gradients back: exact through the loops.

On the loops ``dy = N dx``; yd and ydd are the expressions of the model's rates, differentiated by y, xd and xdd. A
gradient by (y, yd, ydd) is pulled back to (x, xd, xdd) sample by sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.model import Model
from dalembert.motion import Closer
from dalembert.motion.closing import CLOSED
from dalembert.symbolic import SX

__all__ = ["Motion", "States", "rates"]

Array = NDArray[np.float64]

_NEWTON = 8  # steps from a warm start before the loops are followed from home again
_LEAP = 0.5  # [rad or m] a configuration further than this from its warm start may be on another branch
_BEND = 4.0  # largest second difference of neighbouring samples, relative to the median step, on one branch


@dataclass(frozen=True, slots=True)
class Motion:
    """Independent coordinates ``x xd xdd`` (n, r) and the full state ``y yd ydd`` (n, n_y) they make.

    ``xddd`` (n, r): their jerk, for limits that ask for it.
    """

    x: Array
    xd: Array
    xdd: Array
    y: Array
    yd: Array
    ydd: Array
    xddd: Array | None = None


class States:
    """Closes the loops of a motion given by its independent coordinates. One object serves one grid of times.

    The last configurations are the warm start of the next call, so the object is not shared between threads.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.select = model.position_map("independent")
        self.is_tree = not model.dynamics.assembly.rows
        self._last: tuple[Array, Array] | None = None
        if not self.is_tree:
            self._ones = np.ones(model.r)
            self._closer = Closer(model, given="independent")
            self._newton = model.newton_kernel("independent")
            rates = model.kernel("rates stacked independent", lambda: _stacked_rates(model))
            self._rates = rates
            self._back = model.adjoint(rates, "s", ["y", "xd", "xdd"])
            self._moved = np.asarray(rates.nonzeros["s"][0])  # a coordinate that cannot move has no seed

    def motion(self, x: Array, xd: Array, xdd: Array) -> Motion:
        """Full state of every sample; ClosureError where the loops cannot follow."""
        if self.is_tree:
            return Motion(x, xd, xdd, x @ self.select, xd @ self.select, xdd @ self.select)
        y = self._close(x)
        s = self._rates(y, xd, xdd)["s"]
        n_y = self.model.n_y
        return Motion(x, xd, xdd, y, s[:, :n_y], s[:, n_y:])

    def _close(self, x: Array) -> Array:
        y = None
        if self._last is not None and self._last[0].shape == x.shape:
            y = self._from(*self._last, x)
        if y is None:
            y = self._closer.positions(x)
        self._last = (x.copy(), y)
        return y

    def _from(self, x0: Array, y0: Array, x: Array) -> Array | None:
        """Newton from the configurations of another motion; None where it fails or may have changed branch."""
        step = np.abs(x - x0).max()
        if step == 0.0:
            return y0
        maps = self.model.velocity_maps(y0)[0]
        y = y0 + np.einsum("nij,nj->ni", maps, x - x0)
        if not np.abs(y - y0).max() < _LEAP:
            return None
        for _ in range(_NEWTON):
            new, c, e = self._newton(y, x, self._ones)
            moved = np.abs(new - y).max()
            y = np.ascontiguousarray(new)
            if not moved < _LEAP:
                return None
            if max(np.abs(c).max(initial=0.0), np.abs(e).max()) < CLOSED:
                return y
        return None

    def pull_back(self, m: Motion, gy: Array, gyd: Array, gydd: Array) -> tuple[Array, Array, Array]:
        """Gradient by (x, xd, xdd), each (n, r), of a function with gradients (n, n_y) by (y, yd, ydd)."""
        if self.is_tree:
            return gy @ self.select.T, gyd @ self.select.T, gydd @ self.select.T
        rates = self._back(m.y, m.xd, m.xdd, np.hstack([gyd, gydd])[:, self._moved])
        whole = gy + rates["grad_y"]
        return np.einsum("nij,ni->nj", self.maps(m.y), whole), rates["grad_xd"], rates["grad_xdd"]

    def pull_back_many(self, m: Motion, gy: Array, gyd: Array, gydd: Array) -> tuple[Array, Array, Array]:
        """The same for k functions at once: gradients (n, k, n_y) -> (n, k, r)."""
        n, k, n_y = gy.shape
        if self.is_tree:
            t = self.select.T
            return gy @ t, gyd @ t, gydd @ t
        seeds = np.concatenate([gyd, gydd], axis=2).reshape(n * k, 2 * n_y)[:, self._moved]
        by_x, by_xd, by_xdd = gy, np.zeros((n, k, self.model.r)), np.zeros((n, k, self.model.r))
        if seeds.any():
            back = self._back(np.repeat(m.y, k, 0), np.repeat(m.xd, k, 0), np.repeat(m.xdd, k, 0), seeds)
            by_x = gy + back["grad_y"].reshape(n, k, n_y)
            by_xd, by_xdd = (back[name].reshape(n, k, -1) for name in ("grad_xd", "grad_xdd"))
        return by_x @ self.maps(m.y), by_xd, by_xdd

    def maps(self, y: Array) -> Array:
        """dy/dx (n, n_y, r)."""
        return self.model.velocity_maps(y)[0]

    def check(self, x: Array) -> Array:
        """Configurations followed from home by continuation, whatever was solved before."""
        try:
            return self._closer.positions(x) if not self.is_tree else x @ self.select
        except ClosureError:
            self._last = None
            raise


def _stacked_rates(model: Model) -> tuple[dict[str, SX], dict[str, SX]]:
    """y, xd, xdd -> ``s`` = (yd, ydd), seeds in one vector."""
    d = model.dynamics
    xd, xdd = ca.SX.sym("xd", model.r), ca.SX.sym("xdd", model.r)
    yd, ydd = rates(model, xd, xdd)
    return {"y": d.y, "xd": xd, "xdd": xdd}, {"s": ca.densify(ca.vertcat(yd, ydd))}


def rates(model: Model, xd: SX, xdd: SX) -> tuple[SX, SX]:
    """Yd and ydd of the independent rates, as expressions over ``model.dynamics.y``."""
    d = model.dynamics
    yd = ca.mtimes(d.N, xd)
    return yd, ca.mtimes(d.N, xdd) + ca.substitute(d.acceleration_bias, d.yd, yd)
