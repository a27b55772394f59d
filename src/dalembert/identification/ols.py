"""Ordinary least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.identification.linear import least_squares
from dalembert.identification.outcome import base_estimate, require_columns
from dalembert.identification.problem import Estimate, Problem

__all__ = ["Ols"]


@dataclass(frozen=True, slots=True)
class Ols:
    """``min |y - W beta|`` over all rows alike, by QR [Briot15, eq. 44]."""

    method: ClassVar[str] = "ols"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        scales = np.ones(len(problem.factors))
        solution = least_squares(problem.weighted(scales), problem.kept)
        return base_estimate(self.method, problem, scales, solution, settings={})
