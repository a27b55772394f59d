"""Fixed, zero and tied standard parameters for the methods that estimate base parameters.

The certain part of the base values goes to the torque's side, what is free of them is estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.bounded import Bounded
from dalembert.identification.constraints import Constraints
from dalembert.identification.factor import Factor, triangle
from dalembert.identification.freedom import base_freedom
from dalembert.identification.outcome import finish
from dalembert.identification.physical import Physical
from dalembert.identification.problem import Estimate, Estimator, Problem, Score
from dalembert.identification.rows import Array, RowBlock, Rows
from dalembert.identification.sdp import Sdp

__all__ = ["Constrained", "keeping"]


def keeping(estimator: Estimator, constraints: Constraints) -> Estimator:
    """An estimator that keeps to the constraints: itself where it does so by its nature, or where there are none."""
    if isinstance(estimator, Bounded | Physical | Sdp | Constrained) or constraints == Constraints():
        return estimator
    if constraints.bounds:
        raise EstimationError(
            f"{estimator.method}: {', '.join(constraints.bounds)} cannot be bounded, this method estimates base "
            "parameters; expected one of bounded, physical, sdp"
        )
    return Constrained(estimator)


@dataclass(frozen=True, slots=True)
class Constrained:
    """An estimator of base parameters that keeps to a problem's equalities."""

    inner: Estimator

    @property
    def method(self) -> str:
        """That of the estimator inside."""
        return self.inner.method

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.problem.Estimator`."""
        free = base_freedom(problem)
        if free.whole:
            return self.inner.estimate(problem)
        b0, N = free.start, free.N
        found = self.inner.estimate(_reduced(problem, b0, N, free.pivots))
        gain = N @ found.score.gain @ N.T
        return finish(
            self.method, problem, b0 + N @ found.values, found.score.scales, gain=gain, rank=found.rank,
            condition=found.condition, status=(found.status, found.message), settings=found.settings,
            determined=free.determined(found.determined),
            covariance=None if found.covariance is None else N @ found.covariance @ N.T,
            iterations=found.iterations,
            score=Score(gain, found.score.scales, found.score.loss, found.score.instruments),
        )  # fmt: skip


def _reduced(problem: Problem, b0: Array, N: Array, pivots: tuple[int, ...]) -> Problem:
    """The problem in the free base values alone."""
    columns, names = list(problem.kept), tuple(problem.names[k] for k in pivots)

    def substituted(factor: Factor) -> Factor:
        W, y = factor.R[:, columns], factor.R[:, -1]
        return replace(factor, R=triangle(np.column_stack([W @ N, y - W @ b0])))

    rows = _SubstitutedRows(problem.rows, columns, b0, N, names)
    instruments = None if problem.instruments is None else replace(rows, source=problem.instruments)
    return Problem(
        rows=rows, factors=tuple(substituted(factor) for factor in problem.factors), base=_Alone(names),
        kept=tuple(range(len(names))), instruments=instruments, prior=problem.prior, units=problem.units,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Alone:
    """The base set of columns that are all independent."""

    names: tuple[str, ...]

    @property
    def independent(self) -> tuple[int, ...]:
        return tuple(range(len(self.names)))

    @property
    def dependent(self) -> tuple[int, ...]:
        return ()

    @property
    def K(self) -> Array:
        return np.zeros((len(self.names), 0))


@dataclass(frozen=True, slots=True)
class _SubstitutedRows:
    """Rows ``y - W b0 = (W N) v`` of a source's base columns."""

    source: Rows
    columns: list[int]
    b0: Array
    N: Array
    parameters: tuple[str, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        return self.source.groups

    @property
    def dof_share(self) -> float:
        return self.source.dof_share

    def blocks(self) -> Iterator[RowBlock]:
        for block in self.source.blocks():
            W = block.W[:, self.columns]
            yield replace(block, W=W @ self.N, y=block.y - W @ self.b0)
