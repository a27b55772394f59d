"""Iteratively reweighted least squares: outliers (reversals, impacts, dropouts) lose their weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.factor import Accumulator, one_thread, triangle
from dalembert.identification.linear import LinearSolution, solve_linear
from dalembert.identification.outcome import SCALE_FLOOR, finish, own_scales, require_columns, status_of
from dalembert.identification.problem import Estimate, Problem, Score, Status
from dalembert.identification.robust import Huber, Loss, MedianResidual
from dalembert.identification.rows import Array, checked_blocks

__all__ = ["Irls"]


SETTLED = 30  # iterations after which the scales are held: with them fixed a convex loss has no other way than down


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one pass over the rows at given values and scales found."""

    R: Array  # factor of the reweighted rows
    sigma: Array  # robust sigma of each group at those values
    psi2: Array  # mean of psi^2 per group
    slope: Array  # mean of psi' per group


@dataclass(frozen=True, slots=True)
class Irls:
    """M-estimate with a Huber or Tukey loss of ``r / sigma_g``, sigma_g the MAD of the group's residuals (Huber 1981).

    One pass over the rows for each iteration. It ends when the modelled torque changes by less than ``tolerance`` of
    the measured one.
    """

    loss: Loss = field(default_factory=Huber)
    tolerance: float = 1e-9
    max_iterations: int = 100
    method: ClassVar[str] = "irls"

    def __post_init__(self) -> None:
        if self.max_iterations < 1 or not self.tolerance > 0.0:
            raise EstimationError(
                f"irls: max_iterations {self.max_iterations}, tolerance {self.tolerance}, expected positive numbers"
            )

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        scales, _ = own_scales(problem)
        R = problem.weighted(scales)
        columns = [*problem.kept, R.shape[1] - 1]
        solution = solve_linear(R[:, columns[:-1]], R[:, -1])
        status = status_of(problem, solution)
        iterations, done = 0, status[0] is Status.NO_TORQUE
        state = self._pass(problem, solution.values, scales)
        while not done and iterations < self.max_iterations:
            iterations += 1
            if iterations <= SETTLED:
                scales = self._scales(problem, state.sigma)
            state = self._pass(problem, solution.values, scales)
            new = solve_linear(state.R[:, :-1], state.R[:, -1])
            plain = problem.weighted(scales)
            step = np.linalg.norm(plain[:, columns[:-1]] @ (new.values - solution.values))
            done = bool(step <= self.tolerance * np.linalg.norm(plain[:, -1]))
            solution = new
        if not done and status[0].ok:
            status = (Status.NOT_CONVERGED, f"still moving after {iterations} iterations")
        elif status[0] is not Status.NO_TORQUE:
            status = status_of(problem, solution)
        return self._result(problem, solution, scales, state, status, iterations)

    def _pass(self, problem: Problem, values: Array, scales: Array) -> _Pass:
        columns, groups = list(problem.kept), len(scales)
        part = Accumulator(len(columns) + 1)
        histograms = [MedianResidual(2.0 * factor.peak) for factor in problem.factors]
        sums = np.zeros((3, groups))
        with one_thread():
            for block in checked_blocks(problem.rows):
                g, s = block.group, scales[block.group]
                rows = np.column_stack([block.W[:, columns], block.y])
                residual = rows[:, -1] - rows[:, :-1] @ values
                mass = np.ones(len(residual)) if block.weight is None else block.weight
                weight = self.loss.weight(s * residual)
                histograms[g].add(residual, block.weight)
                sums[:, g] += [
                    mass.sum(), mass @ (weight * s * residual) ** 2, mass @ self.loss.slope(s * residual)
                ]  # fmt: skip
                part.add(rows * (s * np.sqrt(mass * weight))[:, None])
            count = np.maximum(sums[0], 1.0)
            sigma = np.array([h.sigma() for h in histograms])
            return _Pass(part.result(), sigma, sums[1] / count, sums[2] / count)

    @staticmethod
    def _scales(problem: Problem, sigma: Array) -> Array:
        total = sum(factor.count for factor in problem.factors)
        floor = SCALE_FLOOR * problem.torque_norm / np.sqrt(total)
        return np.asarray(1.0 / np.maximum(sigma, floor)) if floor > 0.0 else np.ones(len(sigma))

    def _result(
        self,
        problem: Problem,
        solution: LinearSolution,
        scales: Array,
        state: _Pass,
        status: tuple[Status, str],
        iterations: int,
    ) -> Estimate:
        columns = list(problem.kept)
        # bread (sum psi' x x')^-1 and meat (sum psi^2 x x'), both per group from the factors (Huber 1981, section 7.6)
        slope = np.maximum(state.slope, np.finfo(float).eps)
        bread = solve_linear(
            problem.weighted(scales * np.sqrt(slope))[:, columns], np.zeros(len(problem.parameters) + 1)
        )
        meat = triangle(problem.weighted(scales * np.sqrt(state.psi2))[:, columns]) @ bread.gain
        left = problem.freedom - solution.rank
        correction = problem.freedom / left if left > 0.0 else 1.0
        return finish(
            self.method,
            problem,
            solution.values,
            scales,
            gain=bread.gain,
            rank=solution.rank,
            condition=solution.condition,
            determined=solution.determined,
            covariance=correction * meat.T @ meat if left > 0.0 else None,
            status=status,
            settings={"loss": self.loss.name, "tuning": self.loss.tuning, "sigma": (1.0 / scales).tolist()},
            iterations=iterations,
            score=Score(bread.gain, scales, loss=self.loss),
        )
