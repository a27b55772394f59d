"""Common end of all estimators: residuals per group, errors, the papers' sigma and the status."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError
from dalembert.identification.factor import Factor
from dalembert.identification.linear import LinearSolution, solve_linear
from dalembert.identification.problem import Estimate, GroupResidual, Problem, Score, Setting, Status
from dalembert.identification.rows import Array

__all__ = ["base_estimate", "finish", "group_norms", "own_scales", "require_columns", "status_of"]

# The smallest residual taken at its word, relative to the RMS torque: a group that fits better (noise-free simulation,
# a joint that never moves) would otherwise get a weight that hides all others.
SCALE_FLOOR = 1e-9


def require_columns(problem: Problem, method: str) -> None:
    """Refuse an empty problem."""
    if not problem.kept:
        raise EstimationError(f"{method}: no parameter to estimate, expected at least one base parameter")
    if not any(factor.rows for factor in problem.factors):
        raise EstimationError(f"{method}: the source has no rows, expected at least one block of rows")


def group_norms(factors: tuple[Factor, ...], columns: list[int], values: Array) -> Array:
    """Residual norm |y - W x| of each group (G,), from its factor."""
    return np.array([np.linalg.norm(f.R[:, columns] @ values - f.R[:, -1]) for f in factors])


def own_scales(problem: Problem) -> tuple[Array, Array]:
    """Weights 1/sigma (G,) and sigma (G,) of the groups: each from the OLS residual of its own equations [Briot15,
    4.2].
    """
    columns = list(problem.kept)
    total = sum(f.count for f in problem.factors)
    rms = problem.torque_norm / np.sqrt(total) if total > 0 else 0.0
    sigma = np.zeros(len(problem.factors))
    common: Array | None = None
    for g, factor in enumerate(problem.factors):
        own = solve_linear(factor.R[:, columns], factor.R[:, -1])
        left = problem.rows.dof_share * factor.count - own.rank
        residual = own.residual
        passive = problem.torque_norm > 0.0 and not factor.R[:, -1].any()
        if (left <= 0.0 or passive) and factor.count > 0.0:
            # too few rows for equations of their own, or a passive joint's, which pi = 0 would meet exactly: the
            # residual of the common solution, without a correction
            if common is None:
                common = solve_linear(
                    problem.weighted(np.ones(len(sigma)))[:, columns],
                    problem.weighted(np.ones(len(sigma)))[:, -1],
                ).values
            residual, left = (
                float(np.linalg.norm(factor.R[:, columns] @ common - factor.R[:, -1])),
                factor.count,
            )
        sigma[g] = residual / np.sqrt(left) if left > 0.0 else 0.0
    floor = SCALE_FLOOR * rms
    sigma = np.maximum(sigma, floor) if floor > 0.0 else np.ones(len(sigma))
    return 1.0 / sigma, sigma


def status_of(
    problem: Problem, solution: LinearSolution, determined: NDArray[np.bool_] | None = None
) -> tuple[Status, str]:
    """The status of a linear solution and one line that says what was found.

    ``determined`` (k,) of the base values, where the solution is of what constraints leave free of them.
    """
    sure = solution.determined if determined is None else determined
    count = len(solution.values)
    if problem.torque_norm == 0.0:
        return Status.NO_TORQUE, "the measured torque is zero in every row"
    if problem.freedom < count:
        return (
            Status.TOO_FEW_ROWS,
            f"{problem.freedom:g} degrees of freedom in the rows for {count} parameters",
        )
    if not solution.full_rank:
        open_ = [n for n, ok in zip(problem.names, sure, strict=True) if not ok]
        return (
            Status.RANK_DEFICIENT,
            f"rank {solution.rank} of {count}; not determined: {', '.join(open_)}",
        )
    return Status.CONVERGED, ""


def base_estimate(
    method: str,
    problem: Problem,
    scales: Array,
    solution: LinearSolution,
    *,
    settings: Mapping[str, Setting],
    iterations: int = 1,
    status: tuple[Status, str] | None = None,
) -> Estimate:
    """The estimate of a linear least-squares solution in the metric of ``scales``."""
    return finish(
        method,
        problem,
        solution.values,
        scales,
        gain=solution.gain,
        rank=solution.rank,
        condition=solution.condition,
        determined=solution.determined,
        status=status or status_of(problem, solution),
        settings=settings,
        iterations=iterations,
    )


def finish(
    method: str,
    problem: Problem,
    values: Array,
    scales: Array,
    *,
    gain: Array,
    rank: int,
    condition: float,
    status: tuple[Status, str],
    settings: Mapping[str, Setting],
    determined: NDArray[np.bool_] | None = None,
    covariance: Array | None = None,
    spread: Array | None = None,
    iterations: int = 1,
    cost: float | None = None,
    score: Score | None = None,
    standard: Array | None = None,
    standard_spread: Array | None = None,
) -> Estimate:
    """An :class:`Estimate`; ``covariance`` defaults to ``sigma_rho^2 spread`` [Briot15, eq. 46-47].

    ``gain`` (k, k) plays (W'W)^-1, and is the ``spread`` unless given. With ``standard`` (p,), residuals are those of
    the standard parameters.
    """
    p = len(problem.parameters)
    columns, x = (list(problem.kept), values) if standard is None else (list(range(p)), standard)
    raw = group_norms(problem.factors, columns, x)
    counts = np.array([f.count for f in problem.factors])
    torque = np.array([f.torque_norm for f in problem.factors])
    groups = tuple(
        GroupResidual(
            name,
            f.rows,
            float(r / np.sqrt(f.count)) if f.count > 0 else 0.0,
            _ratio(r, t),
            float(s),
        )
        for name, f, r, t, s in zip(problem.rows.groups, problem.factors, raw, torque, scales, strict=True)
    )
    left = problem.rows.dof_share * float(counts.sum()) - rank
    total = float(np.linalg.norm(raw * scales))
    sigma_rho = total / np.sqrt(left) if left > 0.0 else 0.0
    if covariance is None and left > 0.0:
        covariance = sigma_rho**2 * (gain if spread is None else spread)
    return Estimate(
        method=method,
        status=status[0],
        message=status[1],
        names=problem.names,
        values=np.array(values, dtype=float),
        determined=np.ones(len(values), dtype=bool) if determined is None else determined,
        covariance=covariance if left > 0.0 else None,
        groups=groups,
        relative_error=_ratio(float(np.linalg.norm(raw)), float(np.linalg.norm(torque))),
        weighted_error=_ratio(total, float(np.linalg.norm(torque * scales))),
        sigma_rho=float(sigma_rho),
        rank=rank,
        condition=condition,
        freedom=float(max(left, 0.0)),
        score=score or Score(gain, np.asarray(scales)),
        iterations=iterations,
        cost=float(total**2 if cost is None else cost),
        standard=None if standard is None else np.array(standard),
        standard_names=problem.parameters if standard is not None else (),
        standard_covariance=sigma_rho**2 * standard_spread if standard_spread is not None and left > 0.0 else None,
        settings=settings,
    )


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0.0 else 0.0
