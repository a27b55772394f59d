"""Physically consistent parameters by log-Cholesky coordinates and exponential friction [Gnad24, section V]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.errors import EstimationError, RobotError
from dalembert.identification.chart import BodyBlock, Chart, ExpBlock, MassBlock, build_chart
from dalembert.identification.convex import physical_estimate
from dalembert.identification.factor import one_thread
from dalembert.identification.linear import solve_linear, solve_quickly
from dalembert.identification.objective import Body, Objective, Regularisation, Weighting, assemble, pseudo_basis, svec
from dalembert.identification.outcome import require_columns
from dalembert.identification.problem import Estimate, Problem, Status
from dalembert.identification.rows import Array
from dalembert.parameters import pseudo_inertia

__all__ = ["Physical"]

SHRINK = 0.1  # barrier weight after each centred point
CENTRED = 0.25  # squared Newton decrement, in units of the barrier weight, below which a point counts as centred
TO_BOUNDARY = 0.95  # share of the way to the boundary a step may go
DECREASE = 1e-4  # share of the promised decrease a step must bring (Armijo)
SHORTEST = 1e-10  # a step shortened this much does not lower the cost for rounding only
# A cost this small relative to that of no model at all is rounding (noise-free data with the truth as prior).
EXACT_COST = 1e-20


@dataclass(frozen=True, slots=True)
class Physical:
    """``min J(pi(theta))`` of [Gnad24, eq. 15] over unconstrained coordinates, by Gauss-Newton with exact Jacobians on
    the factor.

    A solution at the boundary of consistency (a body without extent in some direction, friction at zero) lies at
    infinity in these coordinates, where plain descent stalls up to a third above the optimum. So a vanishing barrier
    ``-mu log det J`` - linear in the coordinates - leads there; since the problem is convex in pi, its weight bounds
    the distance to the global optimum: the cost is within ``tolerance`` of it, relatively, and every body strictly
    inside.

    Zeros, ties of bodies, fixed masses and fixed friction can be asked for; other constraints need ``Sdp``.
    ``gamma_p`` 0: the weight of the prior is what the log's noise warrants (``objective.noise_weight``).
    """

    gamma_tau: float = 1.0
    gamma_p: float = 0.0
    regularisation: Regularisation | str = Regularisation.RELATIVE
    weighting: Weighting | str = Weighting.NOISE
    tolerance: float = 1e-7
    max_iterations: int = 300
    method: ClassVar[str] = "physical"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        if self.max_iterations < 1 or not 0.0 < self.tolerance < 1.0:
            raise EstimationError(
                f"physical: max_iterations {self.max_iterations}, tolerance {self.tolerance}, expected at least 1 "
                "and a number between 0 and 1"
            )
        resolved = problem.constraints.resolve(problem.parameters)
        objective = assemble(
            problem,
            resolved,
            gamma_tau=self.gamma_tau,
            gamma_p=self.gamma_p,
            regularisation=self.regularisation,
            weighting=self.weighting,
        )
        chart = build_chart(problem, resolved, objective)
        with one_thread():
            descent = _Descent(chart, objective, self.max_iterations)
            done = descent.run(self.tolerance)
            standard = chart.value(descent.theta)
            D = chart.jacobian(descent.theta)
            rows, _ = _model(objective, standard)
            tangent = D @ solve_linear(rows @ D, np.zeros(len(rows))).half
            status = (Status.CONVERGED, "")
            if not done:
                status = (Status.NOT_CONVERGED, f"optimum not reached in {self.max_iterations} iterations")
            return physical_estimate(
                self.method,
                problem,
                objective,
                standard,
                tangent,
                status=status,
                settings={
                    "gamma_tau": self.gamma_tau,
                    "gamma_p": objective.gamma_p,
                    "regularisation": str(self.regularisation),
                    "weighting": str(self.weighting),
                    "tolerance": self.tolerance,
                },
                iterations=descent.iterations,
            )


class _Descent:
    """Path following: Newton steps at a barrier weight ``mu`` that shrinks each time the point is centred."""

    def __init__(self, chart: Chart, objective: Objective, budget: int) -> None:
        self.chart, self.objective, self.budget = chart, objective, budget
        self.theta = chart.start(objective.reference)
        self.iterations = 0
        self.barrier = _Barrier(chart, objective)

    def run(self, tolerance: float) -> bool:
        """True when the cost is within ``tolerance`` of the optimum."""
        if not len(self.theta):
            return True
        cost = self.objective.cost(self.chart.value(self.theta))
        nothing = EXACT_COST * (float(np.sum(self.objective.t**2)) + self.objective.floor)
        count = max(self.barrier.count, 1)
        mu = max(cost, nothing) / count
        while self.iterations < self.budget:
            moved, decrement = self._step(mu)
            if moved and decrement > CENTRED * mu:
                continue
            cost = self.objective.cost(self.chart.value(self.theta))
            if mu * count <= tolerance * cost or mu * count <= nothing:
                return self._polish()
            mu *= SHRINK
        return False

    def _polish(self) -> bool:
        """Newton steps without barrier where the optimum is inside: quadratic convergence, no distance left."""
        for _ in range(4):
            before = self.theta
            if not self._step(0.0, boundary=False)[0]:
                self.theta = before
                break
        return True

    def _step(self, mu: float, boundary: bool = True) -> tuple[bool, float]:
        """A Gauss-Newton step in the coordinates, taken as the straight line in pi it is tangent to.

        On that line the problem is convex and the barrier self-concordant, so the damped step always makes progress.
        Returns whether a step was taken and the squared Newton decrement before it.
        """
        self.iterations += 1
        chart, objective = self.chart, self.objective
        standard, D = chart.value(self.theta), chart.jacobian(self.theta)
        rows, residual = _model(objective, standard)
        extra, rest = self.barrier.rows(self.theta, mu)
        A, b = np.vstack([rows @ D, extra]), -np.concatenate([residual, rest])
        step = solve_quickly(A, b)
        decrement = 2.0 * float(np.sum((A @ step) ** 2))
        change = D @ step
        reach = chart.reach(self.theta, change)
        if not boundary and reach < 1.0 / (1.0 - TO_BOUNDARY):
            return False, decrement
        length = min(1.0, TO_BOUNDARY * reach)
        cost = objective.cost(standard) + mu * self.barrier.value(self.theta)
        while length > SHORTEST:
            try:
                trial = chart.start(standard + length * change)
            except RobotError:  # inside only by less than rounding
                length *= 0.5
                continue
            new = objective.cost(chart.value(trial)) + mu * self.barrier.value(trial)
            if new <= cost - DECREASE * length * decrement:
                self.theta = trial
                return True, decrement
            length *= 0.5
        return False, decrement


class _Barrier:
    """``-sum log det J - sum log(p - lower)``, tied bodies once: linear in log-Cholesky and exponential coordinates."""

    def __init__(self, chart: Chart, objective: Objective) -> None:
        self.slope = np.zeros(chart.size)
        self.count = 0
        self.parts: list[tuple[BodyBlock, slice]] = []
        self.chart, self.objective = chart, objective
        for block, where in zip(chart.blocks, chart.slices(), strict=True):
            if isinstance(block, BodyBlock):
                self.parts.append((block, where))
                self.count += 4
            elif isinstance(block, (ExpBlock, MassBlock)):
                self.slope[where] = -1.0
                self.count += 1

    def value(self, theta: Array) -> float:
        """The barrier."""
        total = float(self.slope @ theta)
        return total + sum(block.log_barrier(theta[where]) for block, where in self.parts)

    def rows(self, theta: Array, mu: float) -> tuple[Array, Array]:
        """Rows A and residual e whose ``2 A'e``, ``2 A'A`` are gradient and Hessian in pi of ``mu`` times the
        barrier.
        """
        if mu == 0.0:
            return np.zeros((0, len(theta))), np.zeros(0)
        weight = np.sqrt(0.5 * mu)
        single = np.flatnonzero(self.slope)
        A = [weight * np.eye(len(theta))[single]]
        e = [-weight * np.ones(len(single))]
        for block, where in self.parts:
            full = np.zeros((10, len(theta)))
            full[:, where] = block.whitener(theta[where]) @ block.jacobian(theta[where])
            A.append(weight * full)
            e.append(-weight * svec(np.eye(4)))
        return np.vstack(A), np.concatenate(e)


def _model(objective: Objective, standard: Array) -> tuple[Array, Array]:
    """Rows A (k, p) and residual e (k,): ``2 A'e`` and ``2 A'A`` are gradient and Hessian in pi of the objective.

    The log-det divergence has gradient ``<U J0^-1 U' - I, X>`` and Hessian ``<X, X>`` for ``dJ = U' X U``, J = U'U.
    """
    rows, residual = [objective.T], [objective.T @ standard - objective.t]
    if objective.entropy:
        for body in objective.extended:
            A, e = _entropic(body, standard[list(body.columns)])
            full = np.zeros((len(A), len(standard)))
            full[:, list(body.columns)] = A
            weight = np.sqrt(0.5 * objective.entropy * body.count)
            rows.append(weight * full)
            residual.append(weight * e)
    return np.vstack(rows), np.concatenate(residual)


def _entropic(body: Body, ten: Array) -> tuple[Array, Array]:
    U = np.asarray(np.linalg.cholesky(pseudo_inertia(ten))).T
    half = np.linalg.solve(body.L, U.T)  # L^-1 U', so that U J0^-1 U' = half' half
    return pseudo_basis(U.T), svec(half.T @ half - np.eye(4))
