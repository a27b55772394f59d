"""What a motion tells of the base parameters: the information matrix, and its gradient back to the motion.

``M = sum over samples and rows of w w' / sigma^2`` (b, b), the inverse covariance of weighted least squares in base
columns. ``W`` and its adjoint run as kernels over the samples; only structural non-zeros are touched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.excitation.states import Motion
from dalembert.identification.base import BaseSet
from dalembert.kernels import Kernel
from dalembert.model import Model
from dalembert.symbolic import SX

__all__ = ["Information", "motor_rows_speed"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of W: its non-zero base columns, and where they lie in the compact output."""

    columns: NDArray[np.intp]
    entries: slice
    speed: Array | None  # (n_y,) the joint or motor rate whose slow samples count less, None where any rate counts


class Information:
    """Evaluates M for motions of one model, in one base set, under one torque noise.

    ``sigma`` (n motors,) [N m or N] is the noise of the torques. ``slow`` (rows,) [rad/s or m/s]: a row counts by the
    factor ``qd^2 / (qd^2 + slow^2)`` of its motor, so that motions do not rely on samples whose sign of friction is
    unknown; zero counts all alike. ``masked=False`` leaves the factor out: it dips at every sample that comes to rest,
    and a search among those dips ends in the nearest of them.
    """

    def __init__(
        self,
        model: Model,
        base: BaseSet,
        sigma: ArrayLike,
        *,
        projection: str | None = None,
        slow: ArrayLike = 0.0,
        ignore: Sequence[str] = (),
    ) -> None:
        self.model, self.base = model, base
        self.projection = projection or model.default_projection
        self.sigma = _noise(model, sigma)
        self.columns = _base_columns(base, ignore)
        self.kernel = model.kernel(f"excite {self.projection} {_digest(self.columns)}", self._write)
        self._back: Kernel | None = None
        self.rows = self._layout()
        self.weight = self._row_weights()
        self.slow = np.broadcast_to(np.asarray(slow, dtype=float), len(self.rows))
        self._speed = motor_rows_speed(model, self.projection)

    @property
    def size(self) -> int:
        """Number of base parameters b."""
        return int(self.columns.shape[1])

    def _write(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.model.dynamics
        sigma = ca.SX.sym("sigma", self.model.n)
        w = ca.mtimes(d.regressor(d.observed_map(self.projection, sigma)), ca.sparsify(ca.SX(ca.DM(self.columns))))
        return {"y": d.y, "yd": d.yd, "ydd": d.ydd, "sigma": sigma}, {"W": w}

    def _layout(self) -> tuple[_Row, ...]:
        rows, columns = self.kernel.nonzeros["W"]
        height = self.kernel.program.output("W").shape[0]
        out = []
        for k in range(height):
            at = np.flatnonzero(np.asarray(rows) == k)
            first = int(at[0]) if len(at) else 0
            out.append(_Row(np.asarray(columns)[at], slice(first, first + len(at)), None))
        return tuple(out)

    def _row_weights(self) -> Array:
        """1 / sigma per row; the whitened projection has it inside."""
        if self.projection == "whitened" or self.projection == "platform":
            return np.ones(len(self.rows))
        return np.asarray(1.0 / self.sigma[self.model.dynamics.motor_rows(self.model.row_names(self.projection))])

    def prepare(self) -> None:
        """Compile the gradient."""
        if self._back is None:
            self._back = self.model.adjoint(self.kernel, "W", ["y", "yd", "ydd"])

    # --- values --------------------------------------------------------------------------------------------------

    def entries(self, m: Motion) -> Array:
        """Structural non-zeros of W over the samples (nnz, n), unweighted."""
        return np.asarray(self.kernel.compact(m.y, m.yd, m.ydd, self.sigma)["W"])

    def matrix(self, m: Motion) -> Array:
        """M (b, b)."""
        return self._gram(self.entries(m), self._share(m))

    def stacked(self, m: Motion) -> Array:
        """W (rows * n, b) in base columns, each row over its noise; row group by row group."""
        entries = self.entries(m)
        share = self._share(m)
        out = np.zeros((len(self.rows), entries.shape[1], self.size))
        for k, row in enumerate(self.rows):
            scale = self.weight[k] * (1.0 if share is None else np.sqrt(share[k]))
            out[k][:, row.columns] = (entries[row.entries] * scale).T
        return out.reshape(-1, self.size)

    def _share(self, m: Motion, masked: bool = True) -> Array | None:
        """How much each row counts (rows, n), by its speed; None where all count alike."""
        if not (masked and self.slow.any()):
            return None
        square = (m.yd @ self._speed.T).T ** 2
        slow = self.slow[:, None] ** 2
        return np.asarray(np.where(slow > 0.0, square / np.maximum(square + slow, 1e-300), 1.0))

    def _gram(self, entries: Array, share: Array | None) -> Array:
        m = np.zeros((self.size, self.size))
        for k, row in enumerate(self.rows):
            block = entries[row.entries]
            scaled = block if share is None else block * share[k]
            m[np.ix_(row.columns, row.columns)] += self.weight[k] ** 2 * (scaled @ block.T)
        return m

    # --- gradient ------------------------------------------------------------------------------------------------

    def pull_back(self, m: Motion, entries: Array, slope: Array, masked: bool = True) -> tuple[Array, Array, Array]:
        """Gradient by (y, yd, ydd), each (n, n_y), of a function of M with symmetric gradient ``slope`` (b, b)."""
        self.prepare()
        assert self._back is not None
        share = self._share(m, masked)
        seed = np.empty_like(entries)
        extra = np.zeros_like(m.yd) if share is not None else None
        for k, row in enumerate(self.rows):
            block = entries[row.entries]
            lifted = self.weight[k] ** 2 * (slope[np.ix_(row.columns, row.columns)] @ block)
            if share is not None and extra is not None and self.slow[k] > 0.0:
                # d share / d speed = 2 speed slow^2 / (speed^2 + slow^2)^2
                speed = m.yd @ self._speed[k]
                change = 2.0 * speed * self.slow[k] ** 2 / (speed**2 + self.slow[k] ** 2) ** 2
                extra += np.outer(np.einsum("in,in->n", lifted, block) * change, self._speed[k])
                lifted = lifted * share[k]
            seed[row.entries] = 2.0 * lifted
        out = self._back(m.y, m.yd, m.ydd, self.sigma, seed.T)
        gyd = out["grad_yd"] if extra is None else out["grad_yd"] + extra
        return out["grad_y"], gyd, out["grad_ydd"]

    def value_and_entries(self, m: Motion, masked: bool = True) -> tuple[Array, Array]:
        """M (b, b) and the entries of W that :meth:`pull_back` needs."""
        entries = self.entries(m)
        return self._gram(entries, self._share(m, masked)), entries


def motor_rows_speed(model: Model, projection: str) -> Array:
    """For each row of a projection the combination of yd (rows, n_y) that is its speed."""
    names = model.row_names(projection)
    if projection == "platform":
        return model.robot.linear_map([((name, 1.0),) for name in names])
    return np.asarray(model.robot.motor_map()[model.dynamics.motor_rows(names)])


def _noise(model: Model, sigma: ArrayLike) -> Array:
    value = np.asarray(sigma, dtype=float)
    if value.ndim > 1 or (value.ndim == 1 and len(value) != model.n) or not (np.isfinite(value) & (value > 0.0)).all():
        raise UsageError(
            f"torque noise: found {np.array2string(value, threshold=8)}, expected one positive number [N m or N] or "
            f"one for each of {', '.join(model.robot.motor_names)}"
        )
    return np.array(np.broadcast_to(value, model.n))


def _digest(array: Array) -> str:
    """A short name of an array's values, the same in every process."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def _base_columns(base: BaseSet, ignore: Sequence[str]) -> Array:
    """Selection (p, b): base columns of the standard regressor, tied columns summed."""
    kept = [k for k, name in zip(base.independent, base.base_names, strict=True) if name not in ignore]
    return np.asarray(base.ties.matrix[:, kept])
