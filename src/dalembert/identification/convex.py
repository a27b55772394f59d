"""What the two convex methods share: the reduced, whitened variables and the end of the estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from dalembert.identification.constraints import Resolved
from dalembert.identification.factor import triangle
from dalembert.identification.freedom import base_freedom
from dalembert.identification.linear import solve_linear
from dalembert.identification.objective import Objective, pseudo_basis
from dalembert.identification.outcome import finish, status_of
from dalembert.identification.problem import Estimate, Problem, Score, Setting, Status
from dalembert.identification.rows import Array

__all__ = ["Reduced", "free_directions", "physical_estimate", "reduce", "signs"]

SAME_ROW = 1e-11  # singular value of unit rows below which one repeats others


@dataclass(frozen=True, slots=True)
class Reduced:
    """``pi = x0 + D v``: all equalities eliminated, v (k,) in the metric of the objective.

    The objective is ``|M v - t|^2 + constant``, plus the log-dets of an entropic one; M (k, k) is the identity without
    them, and with them what is left of it when their curvature at the prior is part of the metric.
    """

    x0: Array
    D: Array  # (p, k)
    M: Array  # (k, k)
    t: Array  # (k,)


def reduce(objective: Objective, resolved: Resolved) -> Reduced:
    """Eliminate the equalities and whiten by the triangle of the objective."""
    x0, Z = resolved.basis()
    k = Z.shape[1]
    stacked = triangle(np.column_stack([objective.T @ Z, objective.t - objective.T @ x0]))
    T, t = stacked[:k, :k], stacked[:k, k]
    metric = T
    if objective.entropy and k:
        # curvature of the log-det divergence at the prior, weight / 2 |L^-1 dJ L^-T|^2
        rows = [T]
        for body in objective.extended:
            weight = np.sqrt(0.5 * objective.entropy * body.count)
            rows.append(weight * pseudo_basis(body.L) @ Z[list(body.columns)])
        metric = triangle(np.vstack(rows))
    if not k:
        return Reduced(x0, np.zeros((len(x0), 0)), np.eye(0), t)
    D = solve_triangular(metric, Z.T, trans="T", lower=False).T
    M = solve_triangular(metric, T.T, trans="T", lower=False).T if metric is not T else np.eye(k)
    return Reduced(x0, D, M, t)


def free_directions(C: Array) -> Array:
    """Orthonormal basis of the directions that leave ``C v`` unchanged."""
    k = C.shape[1]
    if not len(C):
        return np.eye(k)
    _, s, Vt = np.linalg.svd(C, full_matrices=True)
    return np.asarray(Vt[int(np.sum(s > SAME_ROW * s[0])) :].T)


def signs(problem: Problem, resolved: Resolved) -> tuple[Array, Array]:
    """Lower and upper bounds (p,), those of friction and rotor inertia at least zero; tied columns share them."""
    lower, upper = resolved.lower.copy(), resolved.upper.copy()
    for i in problem.nonnegative:
        if np.isnan(resolved.fixed[i]):
            lower[i] = max(lower[i], 0.0)
    np.maximum.at(lower, resolved.tie, lower.copy())
    np.minimum.at(upper, resolved.tie, upper.copy())
    return lower[resolved.tie], upper[resolved.tie]


def physical_estimate(
    method: str,
    problem: Problem,
    objective: Objective,
    standard: Array,
    tangent: Array,
    *,
    status: tuple[Status, str],
    settings: Mapping[str, Setting],
    iterations: int,
) -> Estimate:
    """The estimate from standard parameters (p,) and a factor ``tangent`` (p, k) of how they answer to the data.

    ``tangent @ tangent.T`` maps ``data_share W'Lambda d`` to the change of the standard parameters: the inverse Hessian
    of the objective on the directions left free. The covariance is that of the data noise alone; the pull of the prior
    is a bias it does not tell.
    """
    B = problem.base_map()
    R = problem.weighted(objective.scales)
    data = R[:, list(problem.kept)]
    # what is fixed, as at an earlier stage, needs no row of its own; what equal parameters cancel is exactly that
    free = base_freedom(problem)
    held = np.all(free.N == 0.0, axis=1)
    values, moved = np.where(held, free.start, B @ standard), np.where(held[:, None], 0.0, B @ tangent)
    gain_p = objective.data_share * tangent @ moved.T  # (p, k): score of the base columns -> standard
    gain = objective.data_share * moved @ moved.T
    half, half_p = data @ gain, data @ gain_p.T
    plain = solve_linear(data @ free.N, R[:, -1] - data @ free.start)
    determined = free.determined(plain.determined)
    own = status_of(problem, plain, determined)
    return finish(
        method,
        problem,
        values,
        objective.scales,
        gain=gain,
        spread=half.T @ half,
        rank=plain.rank,
        condition=plain.condition,
        determined=determined,
        status=own if status[0].ok else status,
        settings=settings,
        iterations=iterations,
        cost=objective.cost(standard),
        score=Score(gain, objective.scales),
        standard=standard,
        standard_spread=half_p.T @ half_p,
    )
