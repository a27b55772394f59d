"""Instrumental variables: consistent although the columns carry measurement noise (IDIM-IV)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.factor import Accumulator, Factor, combine, one_thread
from dalembert.identification.linear import solve_linear
from dalembert.identification.outcome import finish, own_scales, require_columns, status_of
from dalembert.identification.problem import Estimate, Problem, Score
from dalembert.identification.rows import Rows, checked_blocks

__all__ = ["Iv"]


@dataclass(frozen=True, slots=True)
class Iv:
    """``Z'W beta = Z'y`` with instruments Z: the same rows computed from noise-free (simulated or reference) motion.

    Solved on the triangle of ``[Z W y]``: with ``Z = Q R_z`` the equations are ``(Q'W) beta = Q'y``. Covariance
    ``sigma^2 (Z'W)^-1 Z'Z (W'Z)^-1`` (Janot, Vandanjon and Gautier 2014, eq. 14).
    """

    weighted: bool = True
    method: ClassVar[str] = "iv"

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        require_columns(problem, self.method)
        if problem.instruments is None:
            raise EstimationError("iv: no instruments, expected a second source of the same rows (Problem.instruments)")
        scales = own_scales(problem)[0] if self.weighted else np.ones(len(problem.factors))
        R = combine(_joint_factors(problem, problem.instruments), scales)
        k = len(problem.kept)
        crossed = solve_linear(R[:k, k : 2 * k], R[:k, -1])  # (Q'W) beta = Q'y
        instruments = solve_linear(R[:k, :k], R[:k, -1])
        status = status_of(problem, crossed if crossed.rank <= instruments.rank else instruments)
        # (Z'W)^-1 = (Q'W)^-1 R_z^-T: what a score of the instruments becomes
        gain = crossed.inverse @ instruments.inverse.T
        return finish(
            self.method,
            problem,
            crossed.values,
            scales,
            gain=crossed.gain,
            rank=crossed.rank,
            condition=crossed.condition,
            determined=crossed.determined & instruments.determined,
            status=status,
            settings={"weighted": self.weighted},
            score=Score(gain, scales, instruments=True),
        )


def _joint_factors(problem: Problem, instruments: Rows) -> tuple[Factor, ...]:
    """Factor of ``[Z W y]`` per group, kept columns only, in one pass over both sources."""
    columns = list(problem.kept)
    if tuple(instruments.parameters) != problem.parameters:
        raise EstimationError("iv: the instruments have other columns than the rows, expected the same parameters")
    groups = len(problem.factors)
    parts = [Accumulator(2 * len(columns) + 1) for _ in range(groups)]
    with one_thread():
        pairs = zip_longest(checked_blocks(problem.rows), checked_blocks(instruments))
        for number, (block, other) in enumerate(pairs):
            if block is None or other is None or block.group != other.group or len(block.y) != len(other.y):
                raise EstimationError(
                    f"iv: block {number} of the instruments does not match that of the rows, "
                    "expected the same groups and numbers of rows in the same order"
                )
            rows = np.column_stack([other.W[:, columns], block.W[:, columns], block.y])
            if block.weight is not None:
                rows *= np.sqrt(block.weight)[:, None]
            parts[block.group].add(rows)
        return tuple(
            Factor(part.result(), f.count, f.rows, f.peak) for part, f in zip(parts, problem.factors, strict=True)
        )
