"""Bounded least squares on standard parameters: masses >= 0, ties, equalities, values fixed at an earlier stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dalembert.errors import EstimationError, choices
from dalembert.identification.conic import ConicProgram
from dalembert.identification.constraints import Resolved
from dalembert.identification.convex import Reduced, free_directions, physical_estimate, reduce, signs
from dalembert.identification.factor import one_thread
from dalembert.identification.linear import solve_linear
from dalembert.identification.objective import Objective, Regularisation, Weighting, assemble
from dalembert.identification.outcome import require_columns
from dalembert.identification.problem import Estimate, Problem, Status
from dalembert.identification.rows import Array
from dalembert.parameters import INERTIAL

__all__ = ["Bounded"]

Mask = NDArray[np.bool_]

# Rounding of a bound after whitening, and of a multiplier, relative to the largest entry.
FEASIBLE = 1e-11
MULTIPLIER = 1e-11
LIKELY_ACTIVE = 1e-6  # multiplier of the conic solution, relative to the largest, above which a bound starts as active


@dataclass(frozen=True, slots=True)
class Bounded:
    """Least squares with bounds and equalities on the standard parameters [Fontes17, section 4].

    ``positive``: symbols of body parameters that cannot be negative. The data decide every base parameter; what the
    torque does not see goes to the prior (zero where there is none), each parameter measured by its own size. Solved by
    Clarabel, then made exact by an active-set step. A later stage passes the values of an earlier one by
    ``Constraints.fixing``.
    """

    positive: Sequence[str] = ("M", "XX", "YY", "ZZ")
    gamma_p: float = 1e-9
    weighting: Weighting | str = Weighting.NOISE
    method: ClassVar[str] = "bounded"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        for symbol in self.positive:
            if symbol not in INERTIAL:
                raise EstimationError(f"bounded: positive {symbol!r}; {choices(symbol, INERTIAL)}")
        resolved = problem.constraints.resolve(problem.parameters)
        objective = assemble(
            problem,
            resolved,
            gamma_tau=1.0,
            gamma_p=self.gamma_p,
            regularisation=Regularisation.NONE,
            weighting=self.weighting,
            physical=False,
        )
        with one_thread():
            reduced = reduce(objective, resolved)
            bounds = self._bounds(problem, objective, resolved, reduced)
            C, d = bounds.C, bounds.d
            program = ConicProgram(reduced.t)
            program.above(C, d)
            result = program.solve()
            v, active, status = result.v, np.zeros(len(d), dtype=bool), result.status
            if status is not Status.INFEASIBLE and len(d):
                largest = float(result.multipliers.max(initial=0.0))
                guess = result.multipliers > LIKELY_ACTIVE * max(largest, np.finfo(float).tiny)
                exact = _active_set(reduced.t, C, d, guess)
                if exact is not None:
                    (v, active), status = exact, Status.CONVERGED
            message = "" if status is Status.CONVERGED else f"Clarabel: {result.found}"
            standard = reduced.x0 + reduced.D @ v
            # a mass and a moment of inertia that an equality ties together meet their bounds as one: both are said
            met = np.flatnonzero(status.ok & (C @ v - d <= FEASIBLE * _size(reduced.t, d)))
            for k in met:
                standard[resolved.tie == bounds.column[k]] = bounds.value[k]
            names = [problem.parameters[bounds.column[k]] for k in met]
            return physical_estimate(
                self.method,
                problem,
                objective,
                standard,
                reduced.D @ free_directions(C[active]),
                status=(status, message),
                settings={
                    "positive": list(self.positive),
                    "gamma_p": self.gamma_p,
                    "weighting": str(self.weighting),
                    "at bound": names,
                },
                iterations=result.iterations,
            )

    def _bounds(self, problem: Problem, objective: Objective, resolved: Resolved, reduced: Reduced) -> _Bounds:
        """Bounds of all parameters that can move; tied ones share theirs."""
        lower, upper = signs(problem, resolved)
        for body in problem.bodies:
            for symbol in self.positive:
                column = body.columns[INERTIAL.index(symbol)]
                lower[column] = max(lower[column], 0.0)
        rows, rhs, columns, values = [], [], [], []
        for sign, bound in ((1.0, lower), (-1.0, upper)):
            for i in np.flatnonzero(np.isfinite(bound) & (resolved.tie == np.arange(len(bound)))):
                row = sign * reduced.D[i]
                size = float(np.linalg.norm(row))
                if size > 0.0:
                    rows.append(row / size)
                    rhs.append(sign * (bound[i] - reduced.x0[i]) / size)
                    columns.append(int(i))
                    values.append(float(bound[i]))
        return _Bounds(np.array(rows).reshape(-1, len(reduced.t)), np.array(rhs), columns, values)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """``C v >= d`` with rows of unit norm; ``column`` and ``value`` of the parameter each row bounds."""

    C: Array
    d: Array
    column: list[int]
    value: list[float]


def _size(t: Array, d: Array) -> float:
    """What rounding is relative to."""
    return max(1.0, float(np.abs(t).max(initial=0.0)), float(np.abs(d).max(initial=0.0)))


def _active_set(t: Array, C: Array, d: Array, active: Mask) -> tuple[Array, Mask] | None:
    """Exact ``min |v - t|`` with ``C v >= d`` from a guess of the active rows; None where it does not settle."""
    active = active.copy()
    size = _size(t, d)
    for _ in range(3 * len(d) + 3):
        v, multipliers = t.copy(), np.zeros(len(d))
        if active.any():
            gap = d[active] - C[active] @ t
            multipliers[active] = _multipliers(C[active], gap)
            v = t + C[active].T @ multipliers[active]
        worst = int(np.argmin(multipliers))
        if multipliers[worst] < -MULTIPLIER * size:
            active[worst] = False
            continue
        slack = C @ v - d
        slack[active] = 0.0
        worst = int(np.argmin(slack))
        if slack[worst] >= -FEASIBLE * size:
            return v, active
        active[worst] = True
    return None


def _multipliers(C: Array, gap: Array) -> Array:
    """``(C C')^-1 gap`` from a QR of C'; the smallest ones where rows repeat each other."""
    R = np.asarray(np.linalg.qr(C.T, mode="r"))
    if R.shape[0] == R.shape[1] and np.abs(np.diag(R)).min() > FEASIBLE:
        return np.asarray(solve_triangular(R, solve_triangular(R, gap, trans="T")))
    return solve_linear(C.T, solve_linear(C, gap).values).values
