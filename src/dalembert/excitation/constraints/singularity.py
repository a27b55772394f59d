"""Distance from singularities, as smallest singular values along the motion, smoothed.

With singular values ``s_k`` the quantity is ``(sum s_k^-p)^(-1/p)``: below the smallest, equal to it where it stands
alone, and differentiable where several meet.

``closure``: of C; a loop locks or gains a mobility there. ``motors``: of T on orthonormal admissible velocities; the
motors lose hold of a motion (parallel singularity). ``platform``: of the platform's twist [m/s, rad/s] on the same; a
motion leaves the platform where it is (serial singularity). ``condition``: condition number of T N itself.
"""

from __future__ import annotations

from typing import Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.excitation.constraints.source import Array, Slopes
from dalembert.excitation.states import Motion
from dalembert.kernels import Kernel
from dalembert.model import Model
from dalembert.symbolic import SX

__all__ = ["MEASURES", "Measure", "SingularityBounds", "singularity_at"]

Measure = Literal["closure", "motors", "platform", "condition"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
_POWER = 16.0  # 2 equal singular values count 4 % less, 6 equal ones 11 %
_LEAST = 1e-12  # singular values below count as this: those of a product are rounded to 1e-8
_FULL = 1e-7  # singular value at home, relative to the largest, of a motion that does not move the platform

_NAMES = {
    "closure": "singularity margin of the loops (smallest singular value of C)",
    "motors": "parallel singularity margin (smallest singular value of the motors' map)",
    "platform": "serial singularity margin (smallest singular value of the platform's map)",
    "condition": "condition number of the motors' map T N",
}


class SingularityBounds:
    """One measure bounded along the motion: ``condition`` from above, the others from below."""

    still = True

    def __init__(self, model: Model, measure: Measure, bound: float) -> None:
        self.model, self.measure = model, measure
        self.names = (_NAMES[measure],)
        low = measure != "condition"
        self.lower = np.array([bound if low else -np.inf])
        self.upper = np.array([np.inf if low else bound])
        self._relative = measure in ("motors", "platform")
        self._kernel: Kernel = model.kernel(f"singularity {measure}", self._write)
        self._back: Kernel | None = None
        self._rank = self._full_rank()

    def _write(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.model.dynamics
        matrix = d.C if self.measure == "closure" else d.J_inv
        if self.measure == "platform":
            matrix = ca.mtimes(_platform_twist(self.model), d.N)
        return {"y": d.y}, {"A": ca.densify(ca.vertcat(matrix, d.N) if self._relative else matrix)}

    def _full_rank(self) -> int:
        """Singular values that count: a redundant robot always has motions that leave its platform still."""
        s = self._singular_values(self.model.home[None])[0]
        return int((s > _FULL * s[0]).sum()) if self.measure == "platform" else len(s)

    def _matrix(self, y: Array) -> tuple[Array, Array]:
        """A (n, i, j) on orthonormal velocities where the measure is one of them, and what makes them so (n, j, j):
        N = Q R, so ``N R^-1`` is orthonormal.
        """
        shape = self._kernel.program.output("A").shape
        a = np.asarray(self._kernel(y)["A"]).reshape(len(y), *shape)
        if not self._relative:
            return a, np.eye(shape[1])
        top = shape[0] - self.model.n_y
        inverse = np.linalg.inv(np.linalg.qr(a[:, top:], mode="r"))
        return a[:, :top] @ inverse, inverse

    def _singular_values(self, y: Array) -> Array:
        """(n, k), largest first."""
        a, _ = self._matrix(y)
        if a.shape[1] > a.shape[2]:
            return np.asarray(np.maximum(np.linalg.svd(a, compute_uv=False), _LEAST))
        # through a a': four times as fast, and near a singularity exact to 1e-8 of the largest, which is near enough
        squares = np.linalg.eigvalsh(a @ a.transpose(0, 2, 1))[:, ::-1]
        return np.asarray(np.sqrt(np.maximum(squares, _LEAST**2)))

    def _decomposed(self, y: Array) -> tuple[Array, Array, Array]:
        """Left directions u (n, i, k), singular values s (n, k), right directions w (n, k, j).

        ``A w_k = s_k u_k``; for a measure on orthonormal velocities the w are such that ``N w`` is orthonormal.
        """
        a, inverse = self._matrix(y)
        if a.shape[1] > a.shape[2]:
            u, s, vt = np.linalg.svd(a, full_matrices=False)
            s = np.maximum(s, _LEAST)
        else:
            squares, u = np.linalg.eigh(a @ a.transpose(0, 2, 1))
            s, u = np.sqrt(np.maximum(squares[:, ::-1], _LEAST**2)), u[:, :, ::-1]
            vt = (u.transpose(0, 2, 1) @ a) / s[:, :, None]
        return u, s, vt @ inverse.swapaxes(-1, -2)

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
        return self._soft(self._singular_values(motion.y)[:, : self._rank])[0][:, None]

    def slopes(self, motion: Motion) -> Slopes:
        """See :class:`~dalembert.excitation.constraints.source.Source`.

        ``ds = u' dA w`` and, where N is in the measure, ``- s (N w)' dN w``.
        """
        if self._back is None:
            self._back = self.model.adjoint(self._kernel, "A", ["y"])
        u, s, w = self._decomposed(motion.y)
        u, s, w = u[:, :, : self._rank], s[:, : self._rank], w[:, : self._rank]
        weights = self._soft(s)[1]
        direction = (u * weights[:, None, :]) @ w
        maps = self.model.velocity_maps(motion.y)[0]
        if self._relative:
            moved = maps @ w.transpose(0, 2, 1)
            direction = np.concatenate([direction, -(moved * (s * weights)[:, None, :]) @ w], axis=1)
        rows, columns = self._kernel.nonzeros["A"]
        seed: NDArray[np.float64] = direction[:, np.asarray(rows), np.asarray(columns)]
        gradient = np.asarray(self._back(motion.y, seed)["grad_y"])
        return np.einsum("ni,nij->nj", gradient, maps)[:, None, :], None, None


def singularity_at(model: Model, measure: Measure, y: Array) -> Array:
    """A measure at configurations ``y`` (n, n_y), smoothed as in the design (n,)."""
    y = np.atleast_2d(y)
    nothing = np.zeros_like(y)
    return SingularityBounds(model, measure, 0.0).values(Motion(nothing, nothing, nothing, y, nothing, nothing))[:, 0]


def _platform_twist(model: Model) -> SX:
    """Velocity of the platform's origin and its angular velocity, per tree rate (6, n_y)."""
    d = model.dynamics
    assert model.robot.platform is not None
    rotation, position = d.tree.pose(d.tree.frame_of(model.robot.platform), d.y)
    columns = []
    for k in range(model.n_y):
        turn = ca.mtimes(ca.reshape(ca.jacobian(ca.vec(rotation), d.y[k]), 3, 3), rotation.T)
        columns.append(ca.vertcat(turn[2, 1], turn[0, 2], turn[1, 0]))
    return ca.vertcat(ca.jacobian(position, d.y), ca.horzcat(*columns))
