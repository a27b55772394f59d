"""Physically consistent parameters by semidefinite programming: a convex problem, so the global optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from dalembert.errors import EstimationError
from dalembert.identification.conic import ConicProgram, ConicResult
from dalembert.identification.constraints import Resolved
from dalembert.identification.convex import Reduced, free_directions, physical_estimate, reduce, signs
from dalembert.identification.factor import one_thread
from dalembert.identification.linear import solve_linear
from dalembert.identification.objective import (
    Objective,
    Regularisation,
    Weighting,
    assemble,
    pseudo_basis,
    svec,
    unsvec,
)
from dalembert.identification.outcome import require_columns
from dalembert.identification.problem import Estimate, Problem, Status
from dalembert.identification.rows import Array

__all__ = ["Sdp"]

# The smallest eigenvalue a pseudo-inertia keeps, relative to the prior's: well above the solver's own feasibility of
# 1e-10, so that each body is strictly consistent, and far below anything a torque tells.
MARGIN = 1e-8
ACTIVE = 1e-6  # multiplier, relative to the largest, above which a bound holds
POLISH_STEPS = 60
NEAR = 0.25  # Newton decrement below which full steps converge quadratically
SETTLED = 1e-12  # change of the whitened variables that is rounding
ROUNDS = 3  # of raising the margin

# Of a body: ``svec(X) = C v + constant`` for its whitened pseudo-inertia X, and the weight of the log-det
Term = tuple[Array, Array, float]


@dataclass(frozen=True, slots=True)
class Sdp:
    """``min J(pi)`` of [Gnad24, eq. 15] with every pseudo-inertia positive definite and friction >= 0, by Clarabel.

    Accepts every constraint: fixed values, ties, bounds, linear equalities.
    ``gamma_p`` 0: the weight of the prior is what the log's noise warrants (``objective.noise_weight``).
    """

    gamma_tau: float = 1.0
    gamma_p: float = 0.0
    regularisation: Regularisation | str = Regularisation.RELATIVE
    weighting: Weighting | str = Weighting.NOISE
    margin: float = MARGIN
    method: ClassVar[str] = "sdp"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        if not 0.0 < self.margin < 1.0:
            raise EstimationError(f"sdp: margin {self.margin}, expected a small positive number")
        resolved = problem.constraints.resolve(problem.parameters)
        objective = assemble(
            problem,
            resolved,
            gamma_tau=self.gamma_tau,
            gamma_p=self.gamma_p,
            regularisation=self.regularisation,
            weighting=self.weighting,
        )
        with one_thread():
            standard, tangent, result = self._solve(problem, resolved, objective)
            message = "" if result.status is Status.CONVERGED else f"Clarabel: {result.found}"
            return physical_estimate(
                self.method,
                problem,
                objective,
                standard,
                tangent,
                status=(result.status, message),
                settings={
                    "gamma_tau": self.gamma_tau,
                    "gamma_p": objective.gamma_p,
                    "regularisation": str(self.regularisation),
                    "weighting": str(self.weighting),
                    "margin": self.margin,
                },
                iterations=result.iterations,
            )

    def _solve(self, problem: Problem, resolved: Resolved, objective: Objective) -> tuple[Array, Array, ConicResult]:
        """Standard parameters, the factor of how they answer to the data, and what Clarabel said."""
        reduced = reduce(objective, resolved)
        C, d = _bounds(problem, resolved, objective, reduced)
        terms = []
        for body in objective.extended:
            basis = pseudo_basis(body.L)
            columns = list(body.columns)
            terms.append((basis @ reduced.D[columns], basis @ reduced.x0[columns], objective.entropy * body.count))
        result = self._definite(reduced.t if not objective.entropy else _quadratic_target(reduced, terms), terms, C, d)
        v, tangent = result.v, reduced.D
        if objective.entropy and result.status is not Status.INFEASIBLE:
            unit = max(result.distance, float(np.sqrt(objective.entropy)))
            program = ConicProgram(reduced.t, reduced.M, len(terms), origin=result.v, unit=unit)
            program.above(C, d)
            for term in terms:
                program.log_det(*term)
            result = program.solve()
            v, half = _polish(result, reduced, terms, C, d)
            tangent = reduced.D @ half
        return reduced.x0 + reduced.D @ v, tangent, result

    def _definite(self, target: Array, terms: Sequence[Term], C: Array, d: Array) -> ConicResult:
        """Least ``|v - target|^2`` with every body consistent. Feasible to the solver is within its tolerance of that:
        where a body comes out beyond the boundary, the margin grows by what was missing.
        """
        margin = self.margin
        for _ in range(ROUNDS):
            program = ConicProgram(target)
            program.above(C, d)
            for C_body, constant, _ in terms:
                program.definite(C_body, constant, margin)
            result = program.solve()
            eigenvalues = [np.linalg.eigvalsh(unsvec(A @ result.v + constant))[0] for A, constant, _ in terms]
            least = min(eigenvalues, default=margin)
            if least > 0.0 or not result.status.ok:
                break
            margin += 2.0 * (margin - least)
        return result


def _quadratic_target(reduced: Reduced, terms: Sequence[Term]) -> Array:
    """Where the objective is least without any cone when each log-det has its curvature at the prior everywhere.

    ``|M v - t|^2 + sum weight / 2 |C v + constant - svec I|^2`` is ``|v - target|^2`` but for a constant: M and the
    curvatures make up the metric of v.
    """
    target = reduced.M.T @ reduced.t
    for C_body, constant, weight in terms:
        target += 0.5 * weight * C_body.T @ (svec(np.eye(4)) - constant)
    return np.asarray(target)


def _bounds(problem: Problem, resolved: Resolved, objective: Objective, reduced: Reduced) -> tuple[Array, Array]:
    """``C v >= d``: bounds of free parameters, each in units of its scale, tied ones once."""
    lower, upper = signs(problem, resolved)
    for body in objective.bodies:
        if body.point:
            lower[body.columns[9]] = max(lower[body.columns[9]], 0.0)
    single = np.isnan(resolved.fixed) & (resolved.tie == np.arange(len(lower)))
    rows, rhs = [], []
    for sign, bound in ((1.0, lower), (-1.0, upper)):
        held = np.flatnonzero(single & np.isfinite(bound))
        unit = sign / objective.scale[held]
        rows.append(unit[:, None] * reduced.D[held])
        rhs.append(unit * (bound[held] - reduced.x0[held]))
    return np.vstack(rows), np.concatenate(rhs)


def _polish(result: ConicResult, reduced: Reduced, terms: Sequence[Term], C: Array, d: Array) -> tuple[Array, Array]:
    """Newton steps on ``|M v - t|^2 + sum weight (tr X - log det X)`` from the conic solution, active bounds kept.

    Exponential cones end with half of the digits; the log-det is smooth inside, so a few steps give the others.
    Returns v and a factor of the inverse Hessian.
    """
    multipliers, v = result.multipliers, result.v
    active = multipliers > ACTIVE * max(float(multipliers.max(initial=0.0)), ACTIVE)
    N = free_directions(C[active])
    half = N
    for _ in range(POLISH_STEPS):
        A, e, roots = [reduced.M @ N], [reduced.M @ v - reduced.t], []
        for C_body, constant, weight in terms:
            X = unsvec(C_body @ v + constant)
            if np.linalg.eigvalsh(X)[0] <= 0.0:
                return result.v, half
            U = np.asarray(np.linalg.cholesky(X)).T
            # dX = U' E U: gradient <U U' - I, E>, Hessian <E, E>
            left = [solve_triangular(U.T, unsvec(column), lower=True) for column in (C_body @ N).T]
            E = np.array([svec(solve_triangular(U.T, h.T, lower=True)) for h in left]).reshape(-1, 10)
            A.append(np.sqrt(0.5 * weight) * E.T)
            e.append(np.sqrt(0.5 * weight) * svec(U @ U.T - np.eye(4)))
            roots.append(np.sqrt(0.5 * weight))
        solution = solve_linear(np.vstack(A), -np.concatenate(e))
        step, half = N @ solution.values, N @ solution.half
        # the log-det is self-concordant: 1 / (1 + Newton decrement) of the step always lowers the cost
        decrement = max(np.linalg.norm(part @ solution.values) / root for part, root in zip(A[1:], roots, strict=True))
        v = v + step / (1.0 + decrement if decrement > NEAR else 1.0)
        if float(np.abs(step).max(initial=0.0)) < SETTLED * max(1.0, float(np.abs(v).max(initial=0.0))):
            return (v if np.all((C @ v - d)[~active] >= 0.0) else result.v), half
    return result.v, half
