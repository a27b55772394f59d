"""Weighted least squares: each row group weighted by its own noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dalembert.identification.linear import least_squares
from dalembert.identification.outcome import base_estimate, own_scales, require_columns
from dalembert.identification.problem import Estimate, Problem

__all__ = ["Wls"]


@dataclass(frozen=True, slots=True)
class Wls:
    """Rows of group j divided by the standard deviation of that group's own OLS residual [Briot15, 4.2, eq. 48]."""

    method: ClassVar[str] = "wls"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        scales, sigma = own_scales(problem)
        solution = least_squares(problem.weighted(scales), problem.kept)
        return base_estimate(self.method, problem, scales, solution, settings={"sigma": sigma.tolist()})
