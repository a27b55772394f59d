"""Total least squares: noise in the columns as well as in the torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.constraints import match
from dalembert.identification.factor import triangle
from dalembert.identification.linear import column_scale, solve_linear
from dalembert.identification.outcome import base_estimate, own_scales, require_columns, status_of
from dalembert.identification.problem import Estimate, Problem, Status
from dalembert.identification.rows import Array

__all__ = ["Tls", "total_least_squares"]

# Last entry of the smallest singular vector below which no finite solution exists: the noise hides the torque.
NO_SOLUTION = 1e-8


def total_least_squares(A: Array, b: Array, exact: NDArray[np.bool_], *, scaled: bool = True) -> Array | None:
    """``(A + E) x = b + e`` with the smallest ``|[E e]|``; None where there is no finite solution.

    Columns marked ``exact`` have no noise. ``scaled``: noise proportional to each column's norm, so that units do not
    matter; otherwise of equal size in all columns (Van Huffel and Vandewalle 1991, mixed LS-TLS).
    """
    noisy = np.flatnonzero(~exact)
    order = np.concatenate([np.flatnonzero(exact), noisy])
    stacked = np.column_stack([A[:, order], b])
    # exact columns are scaled for the numerics only: they drop out of the noise
    scale = column_scale(stacked)
    if not scaled:
        scale[int(exact.sum()) :] = 1.0
    R = triangle(stacked * scale)
    k = int(exact.sum())
    v = np.linalg.svd(R[k:, k:])[2][-1]
    if abs(v[-1]) < NO_SOLUTION:
        return None
    z = -v[:-1] / v[-1]
    exact_part = solve_linear(R[:k, :k], R[:k, -1] - R[:k, k:-1] @ z).values if k else np.zeros(0)
    x = np.empty(A.shape[1])
    x[order] = np.concatenate([exact_part, z]) * scale[:-1] / scale[-1]
    return x


@dataclass(frozen=True, slots=True)
class Tls:
    """Total least squares by SVD of the factor, rows weighted per group as in WLS.

    ``exact``: names or patterns of columns without noise (offsets). Every other column and the torque are taken to have
    noise in proportion to their norm. The covariance is the first-order one, ``sigma_rho^2 (W'W)^-1``.
    """

    exact: Sequence[str] = ()
    weighted: bool = True
    method: ClassVar[str] = "tls"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        scales = own_scales(problem)[0] if self.weighted else np.ones(len(problem.factors))
        R = problem.weighted(scales)
        A, b = R[:, list(problem.kept)], R[:, -1]
        exact = np.zeros(len(problem.kept), dtype=bool)
        for pattern in self.exact:
            exact[match(pattern, problem.names, "tls: exact")] = True
        solution = solve_linear(A, b)
        status = status_of(problem, solution)
        # without full rank the smallest singular vector is a null direction of W, not the noise: keep least squares
        if status[0] is Status.CONVERGED:
            values = total_least_squares(A, b, exact)
            if values is None:
                status = (Status.NOT_CONVERGED, "no finite total least-squares solution; the values are those of wls")
            else:
                residual = float(np.linalg.norm(b - A @ values))
                solution = replace(solution, values=values, residual=residual)
        return base_estimate(
            self.method,
            problem,
            scales,
            solution,
            status=status,
            settings={"exact": list(self.exact), "weighted": self.weighted},
        )
