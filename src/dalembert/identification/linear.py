"""Linear least squares on a triangular factor, with a rank decision that does not depend on units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dalembert.identification.factor import one_thread
from dalembert.identification.rows import Array

__all__ = ["LinearSolution", "column_scale", "least_squares", "null_space", "solve_linear", "solve_quickly"]

# A direction of unit-norm columns that moves the rows by less than this is not excited by the log. Exact dependencies
# come out at 1e-15 after a QR of W; a log that needs more than ten of the sixteen digits of a double is worth no less.
RANK_TOLERANCE = 1e-10
# Columns smaller than this, relative to the largest, are rounding of a zero and are not blown up to unit norm. Units
# and magnitudes of honest columns (kg m^2 of a wrist, kg of a base) differ by far less.
ZERO_COLUMN = 1e-13
# A parameter takes part in a null direction when it moves by more than this share of it.
NULL_SHARE = 1e-6


@dataclass(frozen=True, slots=True)
class LinearSolution:
    """Minimum-norm least-squares solution in unit-norm columns.

    ``values`` (k,). ``determined`` (k,): False where the log leaves the value open. ``half`` (k, rank):
    ``half @ half.T`` is the (pseudo-)inverse of ``A'A``. ``condition`` is that of A itself, over its rank.
    ``residual`` is the 2-norm of ``b - A x``.
    """

    values: Array
    determined: NDArray[np.bool_]
    rank: int
    condition: float
    residual: float
    half: Array
    left: Array  # (n, rank): orthonormal, the pseudo-inverse of A is ``half @ left.T``

    @property
    def full_rank(self) -> bool:
        """True when every value is determined."""
        return self.rank == len(self.values)

    @property
    def gain(self) -> Array:
        """(A'A)^+ (k, k), from the singular values."""
        return self.half @ self.half.T

    @property
    def inverse(self) -> Array:
        """Pseudo-inverse of A (k, n) in unit-norm columns."""
        return self.half @ self.left.T


def column_scale(A: Array) -> Array:
    """Factors (k,) that bring the columns of A to unit norm; those of numerically zero columns leave them small."""
    norms = np.linalg.norm(A, axis=0)
    largest = float(norms.max(initial=0.0))
    if largest == 0.0:
        return np.ones(len(norms))
    return np.asarray(
        np.where(norms > ZERO_COLUMN * largest, 1.0 / np.maximum(norms, ZERO_COLUMN * largest), 1.0 / largest)
    )


def solve_linear(A: Array, b: Array) -> LinearSolution:
    """Least squares of ``A x = b`` by SVD of A with unit-norm columns."""
    k = A.shape[1]
    scale = column_scale(A)
    with one_thread():
        U, s, Vt = np.linalg.svd(A * scale, full_matrices=False)
        raw = np.linalg.svd(A, compute_uv=False)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0.0 else 0
    half = scale[:, None] * (Vt[:rank].T / s[:rank])
    values = half @ (U[:, :rank].T @ b)
    determined = np.ones(k, dtype=bool)
    if rank < k:
        # the projector on the row space has a unit diagonal exactly where no null direction moves the parameter
        determined = 1.0 - np.sum(Vt[:rank] ** 2, axis=0) < NULL_SHARE
    condition = float(raw[0] / raw[rank - 1]) if rank and raw[rank - 1] > 0.0 else 1.0
    return LinearSolution(values, determined, rank, condition, float(np.linalg.norm(b - A @ values)), half, U[:, :rank])


def solve_quickly(A: Array, b: Array) -> Array:
    """Least squares of ``A x = b`` by QR, several times faster; by SVD where the triangle is not clearly regular."""
    k = A.shape[1]
    scale = column_scale(A)
    R = np.asarray(np.linalg.qr(np.column_stack([A * scale, b]), mode="r"))
    diagonal = np.abs(np.diag(R))[:k]
    if len(diagonal) == k and diagonal.min(initial=1.0) > RANK_TOLERANCE:
        return np.asarray(scale * solve_triangular(R[:k, :k], R[:k, k]))
    return solve_linear(A, b).values


def least_squares(R: Array, columns: Sequence[int]) -> LinearSolution:
    """Least squares of the last column of a factor (n, p+1) on the chosen ones."""
    return solve_linear(R[:, list(columns)], R[:, -1])


def null_space(A: Array) -> Array:
    """Orthonormal basis (k, k - rank) of the null space of A in unit-norm columns, scaled back (columns not unit)."""
    scale = column_scale(A)
    _, s, Vt = np.linalg.svd(A * scale, full_matrices=True)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0.0 else 0
    return np.asarray(scale[:, None] * Vt[rank:].T)
