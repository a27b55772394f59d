"""Distance from singularities: smallest singular values of the closure Jacobian and of the motors' map, smoothed.

With singular values ``s_k`` the quantity is ``(sum s_k^-p)^(-1/p)``: below the smallest, equal to it where it stands
alone, and differentiable where several meet. Its derivative is ``u' dA v`` weighted over the singular pairs.
"""

from __future__ import annotations

from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.excitation.constraints.source import Array, Slopes
from dalembert.excitation.states import Motion
from dalembert.kernels import Kernel
from dalembert.model import Model
from dalembert.symbolic import SX

__all__ = ["Measure", "SingularityBounds"]

Measure = Literal["closure", "motors", "condition"]
_POWER = 16.0  # 2 equal singular values count 4 % less, 6 equal ones 11 %


class SingularityBounds:
    """One measure bounded along the motion: ``closure`` and ``motors`` from below, ``condition`` (of T N) from
    above.
    """

    still = True

    def __init__(self, model: Model, measure: Measure, bound: float) -> None:
        self.model, self.measure = model, measure
        what = {
            "closure": "singularity margin of the loops (smallest singular value of C)",
            "motors": "singularity margin of the motors (smallest singular value of T N)",
            "condition": "condition number of the motors' map T N",
        }[measure]
        self.names = (what,)
        low = measure != "condition"
        self.lower = np.array([bound if low else -np.inf])
        self.upper = np.array([np.inf if low else bound])
        self._kernel: Kernel = model.kernel(f"singularity {measure == 'closure'}", self._write)
        self._back: Kernel | None = None

    def _write(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.model.dynamics
        matrix = d.C if self.measure == "closure" else d.J_inv
        return {"y": d.y}, {"A": ca.densify(matrix)}

    def _decomposed(self, y: Array) -> tuple[Array, Array, Array]:
        shape = self._kernel.program.output("A").shape
        a = np.asarray(self._kernel(y)["A"]).reshape(len(y), *shape)
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return u, np.maximum(s, 1e-300), vt

    def _soft(self, s: Array) -> tuple[Array, Array]:
        """The measure (n,), and its derivative by each singular value (n, k)."""
        ratio = (s[:, -1:] / s) ** _POWER
        total = ratio.sum(axis=1, keepdims=True)
        small = s[:, -1:] * total ** (-1.0 / _POWER)
        d_small = small * ratio / total / s
        if self.measure != "condition":
            return small[:, 0], d_small
        high = (s / s[:, :1]) ** _POWER
        above = high.sum(axis=1, keepdims=True)
        large = s[:, :1] * above ** (1.0 / _POWER)
        d_large = large * high / above / s
        return (large / small)[:, 0], d_large / small - large * d_small / small**2

    def values(self, motion: Motion) -> Array:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        return self._soft(self._decomposed(motion.y)[1])[0][:, None]

    def slopes(self, motion: Motion) -> Slopes:
        """See :class:`~dalembert.excitation.constraints.source.Source`."""
        if self._back is None:
            self._back = self.model.adjoint(self._kernel, "A", ["y"])
        u, s, vt = self._decomposed(motion.y)
        weights = self._soft(s)[1]
        direction = np.einsum("nik,nk,nkj->nij", u, weights, vt)
        rows, columns = self._kernel.nonzeros["A"]
        seed: NDArray[np.float64] = direction[:, np.asarray(rows), np.asarray(columns)]
        gradient = np.asarray(self._back(motion.y, seed)["grad_y"])
        maps = self.model.velocity_maps(motion.y)[0]
        return np.einsum("ni,nij->nj", gradient, maps)[:, None, :], None, None
