"""Gauss-Newton steps on a simulated output, with its exact Jacobian: output error as such."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.attempts import Attempts
from dalembert.closed_loop.bench import standard_values
from dalembert.closed_loop.descent import Limits, Reached, moved
from dalembert.closed_loop.output import Gap, Output, gaps, linearised
from dalembert.identification.prepare import Prepared, Progress, along
from dalembert.identification.problem import Estimate, Estimator, Problem, Status

__all__ = ["Refinement"]

Array = NDArray[np.float64]

_EXACT = 1e-6  # relative output error at which nothing is left to refine
_RISE = 1.001  # of the output error, above which a step is halved: less is rounding


@dataclass
class Refinement:
    """Steps that lessen the error of an output, made by ``observe`` along each simulated motion.

    ``errors``: relative output error of each simulation. ``problem`` is the linear one of the last step.
    """

    attempts: Attempts
    prepared: Prepared
    estimator: Estimator
    limits: Limits
    observe: Callable[[Prepared], Output]
    progress: Progress
    errors: list[float] = field(default_factory=list)
    problem: Problem | None = None

    def go(self, at: Reached) -> Reached:
        """From where other steps ended."""
        values, best, scales = at.values, np.inf, None
        before: Array | None = None
        for step in range(1, self.limits.steps + 1):
            found = self.attempts.simulate(values, before, step=step)
            if found is None:
                assert self.attempts.failure is not None
                return replace(at, status=self.attempts.failure[0], message=self.attempts.failure[1])
            prepared = along(self.prepared, moved(self.prepared, found.runs))
            output = self.observe(prepared)
            left = gaps(prepared, found.runs, output)
            error = _weighted(left, scales)
            if before is not None and error > _RISE * best:
                values = 0.5 * (found.values + before)
                continue
            self.errors.append(_weighted(left, None) / _measured(left))
            self.progress(f"refining, step {step}: error of the simulated output {100.0 * self.errors[-1]:.3g} %")
            self.problem = linearised(self.attempts.bench, prepared, found.values, output, left)
            estimate = self.estimator.estimate(self.problem)
            scales, before, values = estimate.score.scales, found.values, standard_values(prepared, estimate)
            best = _weighted(left, scales)
            at = Reached(Status.NOT_CONVERGED, "", prepared, values, estimate, found.runs)
            if self.errors[-1] <= _EXACT or self._moved(estimate, before, values) <= self.limits.tolerance * best:
                return replace(at, status=Status.CONVERGED)
        return replace(at, message=f"after {self.limits.steps} refining steps the parameters still move")

    def _moved(self, estimate: Estimate, before: Array, values: Array) -> float:
        """Weighted norm of what the step adds to the output."""
        assert self.problem is not None
        R = self.problem.weighted(estimate.score.scales)
        return float(np.linalg.norm(R[:, :-1] @ (values - before)))


def _weighted(left: list[list[Gap]], scales: Array | None) -> float:
    """Norm of all gaps, each row group multiplied by its scale."""
    total = np.array([[np.sum(gap.kept.values**2) for gap in groups] for groups in left]).sum(axis=0)
    return float(np.sqrt(np.sum(total if scales is None else total * scales**2)))


def _measured(left: list[list[Gap]]) -> float:
    return float(np.sqrt(sum(gap.size**2 for groups in left for gap in groups)))
