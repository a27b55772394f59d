"""Jerk of dependent coordinates and motors: ``yddd = N xddd + d(ydd)/dy yd + d(ydd)/dxd xdd``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import casadi as ca
import numpy as np

from dalembert.excitation.constraints.source import Array, Slopes
from dalembert.excitation.states import Motion, rates
from dalembert.kernels import Kernel
from dalembert.model import Model
from dalembert.symbolic import SX

__all__ = ["JerkBounds"]

_BY = ("y", "xd", "xdd", "xddd")


class JerkBounds:
    """Third derivatives of combinations ``row @ y``, each given as row (n_y,), bound and name, within +- the bound."""

    still = False

    def __init__(self, model: Model, bounded: Sequence[tuple[Array, float, str]]) -> None:
        self.model = model
        self.names = tuple(name for *_, name in bounded)
        self.upper = np.array([bound for _, bound, _ in bounded])
        self.lower = -self.upper
        self._rows = np.array([row for row, *_ in bounded])
        key = hashlib.sha256(self._rows.tobytes()).hexdigest()[:16]
        self._kernel: Kernel = model.kernel(f"jerk {key}", self._write)
        self._back: Kernel | None = None

    def _write(self) -> tuple[dict[str, SX], dict[str, SX]]:
        y = self.model.dynamics.y
        xd, xdd, xddd = (ca.SX.sym(name, self.model.r) for name in _BY[1:])
        yd, ydd = rates(self.model, xd, xdd)
        rows = ca.SX(ca.DM(self._rows))
        own = ca.mtimes(rows, ydd)
        jerk = ca.jtimes(own, y, yd) + ca.jtimes(own, xd, xdd) + ca.mtimes([rows, self.model.dynamics.N, xddd])
        return {"y": y, "xd": xd, "xdd": xdd, "xddd": xddd}, {"h": ca.densify(jerk)}

    def values(self, motion: Motion) -> Array:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        assert motion.xddd is not None
        h = self._kernel(motion.y, motion.xd, motion.xdd, motion.xddd)["h"]
        return np.asarray(h).reshape(len(motion.y), len(self.names))

    def slopes(self, motion: Motion) -> Slopes:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        if self._back is None:
            self._back = self.model.adjoint(self._kernel, "h", list(_BY))
        n, k = len(motion.y), len(self.names)
        assert motion.xddd is not None
        state = (np.repeat(part, k, axis=0) for part in (motion.y, motion.xd, motion.xdd, motion.xddd))
        kept = np.asarray(self._kernel.nonzeros["h"][0])
        out = self._back(*state, np.tile(np.eye(k)[:, kept], (n, 1)))
        by_y, *rest = (np.asarray(out[f"grad_{name}"]).reshape(n, k, -1) for name in _BY)
        return by_y @ self.model.velocity_maps(motion.y)[0], *rest
