"""Streamed triangular factor: R of ``[W y]`` per row group, all that most estimators need of a log of any length.

``R'R = [W y]'[W y]``, accumulated by LAPACK ``tpqrt``, which updates a triangle by a block of rows. The Gram matrix
would be cheaper but loses half of the digits that rank decisions need (null singular values at 1e-8 instead of 1e-15).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from dalembert.errors import EstimationError
from dalembert.identification.rows import Array, RowBlock, Rows, checked_blocks

__all__ = ["Accumulator", "Factor", "accumulate", "combine", "one_thread", "triangle"]

BLOCK_ROWS = 1536  # rows of one update: fastest of 256..8192 measured for 40-160 columns (engine notes)
INNER_BLOCK = 8  # reflectors per compact block of tpqrt: fastest of 8, 16, 32, 48 for 87 columns


@dataclass(frozen=True, slots=True)
class Factor:
    """Upper triangle ``R`` (p+1, p+1) of ``[W y]`` for one group, diagonal >= 0, columns in the order of the
    parameters.

    ``count`` is the number of rows (sum of their weights), ``rows`` how many there were, ``peak`` the largest ``|y|``.
    """

    R: Array
    count: float
    rows: int
    peak: float

    @property
    def torque_norm(self) -> float:
        """2-norm of ``y`` over the group."""
        return float(np.linalg.norm(self.R[:, -1]))


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Context in which BLAS keeps to one thread: two make updates by small blocks 2-11 times slower."""
    limited: AbstractContextManager[object] = _pools().limit(limits=1, user_api="blas")
    return limited


@dataclass(slots=True)
class Accumulator:
    """R of ``[columns]`` for rows that arrive in blocks; columns that are zero in all rows so far cost nothing."""

    columns: int
    _active: NDArray[np.bool_] = field(init=False)
    _R: Array = field(init=False)
    _pending: list[Array] = field(init=False)
    _waiting: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._active = np.zeros(self.columns, dtype=bool)
        self._R = np.zeros((0, 0), order="F")
        self._pending = []

    def add(self, rows: Array) -> None:
        """Add rows (m, columns). The caller may reuse the array: it is copied."""
        fresh = ~self._active
        if fresh.any():
            fresh &= np.any(rows != 0.0, axis=0)
            if fresh.any():
                self._flush()
                self._grow(fresh)
        for k in range(0, len(rows), BLOCK_ROWS):
            part = rows[k : k + BLOCK_ROWS, self._active]
            self._pending.append(part)
            self._waiting += len(part)
            if self._waiting >= BLOCK_ROWS:
                self._flush()

    def result(self) -> Array:
        """R (columns, columns), upper triangular, diagonal >= 0."""
        self._flush()
        out = np.zeros((self.columns, self.columns))
        where = np.flatnonzero(self._active)
        # the rows of R may stand in any slot that keeps it triangular: that of their own column
        out[np.ix_(where, where)] = self._R * np.where(np.diag(self._R) < 0.0, -1.0, 1.0)[:, None]
        return out

    def _grow(self, fresh: NDArray[np.bool_]) -> None:
        active = self._active | fresh
        old = np.flatnonzero(self._active[active])
        grown = np.zeros((int(active.sum()), int(active.sum())), order="F")
        grown[np.ix_(old, old)] = self._R
        self._R, self._active = grown, active

    def _flush(self) -> None:
        if not self._waiting:
            return
        block = np.asfortranarray(np.concatenate(self._pending) if len(self._pending) > 1 else self._pending[0])
        self._pending, self._waiting = [], 0
        n = len(self._R)
        if n:
            self._R, _, _, info = lapack.dtpqrt(0, min(INNER_BLOCK, n), self._R, block, overwrite_a=1, overwrite_b=1)
            if info:
                raise EstimationError(f"QR update: LAPACK tpqrt reported argument {-info} as invalid")


def _stacked(block: RowBlock) -> Array:
    out = np.empty((len(block.y), block.W.shape[1] + 1))
    out[:, :-1], out[:, -1] = block.W, block.y
    if block.weight is not None:
        out *= np.sqrt(block.weight)[:, None]
    return out


def accumulate(rows: Rows) -> tuple[Factor, ...]:
    """One factor per row group, in one pass. Independent of how the rows are cut into blocks."""
    n = len(rows.groups)
    parts = [Accumulator(len(rows.parameters) + 1) for _ in range(n)]
    count, number, peak = [0.0] * n, [0] * n, [0.0] * n
    with one_thread():
        for block in checked_blocks(rows):
            g = block.group
            parts[g].add(_stacked(block))
            count[g] += float(len(block.y) if block.weight is None else block.weight.sum())
            number[g] += len(block.y)
            peak[g] = max(peak[g], float(np.abs(block.y).max()))
        return tuple(Factor(parts[g].result(), count[g], number[g], peak[g]) for g in range(n))


def triangle(rows: Array) -> Array:
    """R of a small matrix (n, n) with diagonal >= 0, padded with zero rows when there are fewer rows than columns."""
    n = rows.shape[1]
    out = np.zeros((n, n))
    if len(rows):
        upper = np.linalg.qr(rows, mode="r")
        out[: len(upper)] = upper * np.where(np.diag(upper) < 0.0, -1.0, 1.0)[:, None]
    return out


def combine(factors: Iterable[Factor], scales: Sequence[float] | Array) -> Array:
    """R (p+1, p+1) of all groups stacked, group g multiplied by ``scales[g]``."""
    with one_thread():
        return triangle(np.vstack([scale * factor.R for factor, scale in zip(factors, scales, strict=True)]))
