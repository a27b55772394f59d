"""Least squares with some coefficients >= 0, on the triangular factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from dalembert.errors import EstimationError
from dalembert.identification.linear import column_scale, solve_linear
from dalembert.identification.rows import Array

__all__ = ["NonnegativeSolution", "solve_nonnegative"]

# scipy's default of 3 k iterations stops short on nearly parallel columns, which neighbouring Dahl elements are
_ITERATIONS_PER_COLUMN = 50


@dataclass(frozen=True, slots=True)
class NonnegativeSolution:
    """``values`` (k,); ``at_bound`` (k,): constrained values that ended at zero; ``residual``: 2-norm of ``rhs - R x``.

    ``converged``: False when the active set did not settle; the values are then those of an interior-point solver.
    """

    values: Array
    at_bound: NDArray[np.bool_]
    residual: float
    rank: int
    converged: bool

    @property
    def free(self) -> tuple[int, ...]:
        """Columns not at their bound: least squares on these alone gives the same values."""
        return tuple(int(i) for i in np.flatnonzero(~self.at_bound))


def solve_nonnegative(R: Array, rhs: Array, nonnegative: Sequence[bool] | NDArray[np.bool_]) -> NonnegativeSolution:
    """``min |R x - rhs|`` with ``x_i >= 0`` where ``nonnegative``; R (m, k) is the triangle of [W y] without its last
    column, which is ``rhs`` (m,).

    The unconstrained x are eliminated by an orthogonal projection, the others found by Lawson and Hanson's active set.
    Open directions of the unconstrained ones get the minimum-norm answer, as in :func:`solve_linear`.
    """
    mask = np.asarray(nonnegative, dtype=bool)
    if R.ndim != 2 or mask.shape != (R.shape[1],) or rhs.shape != (R.shape[0],):
        raise EstimationError(
            f"nonnegative least squares: R {R.shape}, rhs {rhs.shape}, mask {mask.shape}, expected (m, k), (m,), (k,)"
        )
    values = np.zeros(len(mask))
    first = solve_linear(R[:, ~mask], rhs)
    converged = True
    if mask.any():
        basis = first.left
        scale = column_scale(R[:, mask])
        A = R[:, mask] * scale
        A = A - basis @ (basis.T @ A)
        b = rhs - basis @ (basis.T @ rhs)
        try:
            found = nnls(A, b, maxiter=_ITERATIONS_PER_COLUMN * A.shape[1])[0]
        except RuntimeError:  # the active set cycles
            found, converged = np.maximum(lsq_linear(A, b, bounds=(0.0, np.inf)).x, 0.0), False
        values[mask] = found * scale
    values[~mask] = solve_linear(R[:, ~mask], rhs - R[:, mask] @ values[mask]).values
    at_bound = mask & (values == 0.0)
    rank = solve_linear(R[:, ~at_bound], rhs).rank
    return NonnegativeSolution(values, at_bound, float(np.linalg.norm(rhs - R @ values)), rank, converged)
