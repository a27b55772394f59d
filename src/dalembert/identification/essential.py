"""Essential parameters: the smallest set of base parameters that still explains the torque."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from scipy import stats

from dalembert.errors import EstimationError
from dalembert.identification.problem import Estimate, Estimator, Problem
from dalembert.identification.rows import Array
from dalembert.identification.uncertainty import Robust, robust_covariance
from dalembert.identification.wls import Wls

__all__ = ["Dropped", "Essential", "FTest", "Reduction", "SigmaRatio"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A parameter set to zero: its value before, and the relative torque error with and without it."""

    name: str
    value: float
    error_before: float
    error_after: float
    p_value: float | None = None  # of the whole set dropped so far, under the F-test


@dataclass(frozen=True, slots=True)
class Essential:
    """The essential set with its estimate, what was dropped in order, and the torque accuracy it cost.

    ``error_full`` and ``error_essential``: relative errors with all base parameters and with the essential ones.
    """

    problem: Problem
    estimate: Estimate
    dropped: tuple[Dropped, ...]
    error_full: float
    error_essential: float

    @property
    def cost(self) -> float:
        """Rise of the relative torque error."""
        return self.error_essential - self.error_full

    def __str__(self) -> str:
        """What it cost, in one line."""
        names = ", ".join(d.name for d in self.dropped) or "none"
        return (
            f"{len(self.estimate.names)} essential of {len(self.estimate.names) + len(self.dropped)} base parameters; "
            f"relative torque error {100.0 * self.error_full:.2f} % -> {100.0 * self.error_essential:.2f} %; "
            f"dropped: {names}"
        )


class Reduction(Protocol):
    """A rule that finds the essential set."""

    @property
    def rule(self) -> str:
        """Short name, as the command line spells it."""
        ...

    def reduce(self, problem: Problem) -> Essential:
        """The essential set of a problem."""
        ...


@dataclass(frozen=True, slots=True)
class SigmaRatio:
    """The papers' rule: drop the largest relative sigma until the largest over the smallest is below ``ratio``.

    [Briot15, section 5.3] takes 10, and advises 10 to 30. On data with little noise it drops parameters that matter:
    35 % torque error was seen. The estimate is made again after each one.
    """

    ratio: float = 10.0
    estimator: Estimator = field(default_factory=Wls)
    rule: ClassVar[str] = "sigma-ratio"

    def __post_init__(self) -> None:
        if not self.ratio > 1.0:
            raise EstimationError(f"sigma ratio {self.ratio}, expected a number above 1 (the papers: 10 to 30)")

    def reduce(self, problem: Problem) -> Essential:
        """See :class:`Reduction`."""
        estimate = full = self.estimator.estimate(problem)
        dropped: list[Dropped] = []
        while len(estimate.names) > 1 and estimate.sigma is not None:
            size = np.abs(estimate.values)
            relative = np.where(size > 0.0, estimate.sigma / np.where(size > 0.0, size, 1.0), np.inf)
            relative[~estimate.determined] = np.inf
            worst = int(np.argmax(relative))
            if relative[worst] < self.ratio * relative.min():
                break
            name, value = estimate.names[worst], float(estimate.values[worst])
            problem = problem.restrict(n for n in estimate.names if n != name)
            new = self.estimator.estimate(problem)
            dropped.append(Dropped(name, value, estimate.relative_error, new.relative_error))
            estimate = new
        return Essential(problem, estimate, tuple(dropped), full.relative_error, estimate.relative_error)


@dataclass(frozen=True, slots=True)
class FTest:
    """Drop a parameter only while the whole set dropped so far could be zero: a Wald F-test with robust covariance.

    The parameter whose loss shows least goes first. ``p_value``: a set less likely than this under the hypothesis that
    all of it is zero is kept. The torque error must not rise by more than ``max_cost`` either (relative to itself).
    """

    p_value: float = 0.05
    max_cost: float = 0.02
    estimator: Estimator = field(default_factory=Wls)
    rule: ClassVar[str] = "f-test"

    def __post_init__(self) -> None:
        if not 0.0 < self.p_value < 1.0 or not self.max_cost >= 0.0:
            raise EstimationError(
                f"f-test: p_value {self.p_value}, max_cost {self.max_cost}, expected 0 < p < 1, cost >= 0"
            )

    def reduce(self, problem: Problem) -> Essential:
        """See :class:`Reduction`."""
        full = self.estimator.estimate(problem)
        robust = robust_covariance(problem, full)
        steps = _backward(full, robust)
        estimate, kept_problem, dropped = full, problem, list[Dropped]()
        out: set[str] = set()
        for count, (name, p) in enumerate(steps, start=1):
            if p < self.p_value or count == len(full.names):
                break
            out.add(name)
            smaller = problem.restrict(n for n in full.names if n not in out)
            new = self.estimator.estimate(smaller)
            if new.weighted_error > (1.0 + self.max_cost) * full.weighted_error:
                break
            dropped.append(Dropped(name, estimate.value(name), estimate.relative_error, new.relative_error, p_value=p))
            estimate, kept_problem = new, smaller
        return Essential(kept_problem, estimate, tuple(dropped), full.relative_error, estimate.relative_error)


def _backward(full: Estimate, robust: Robust) -> list[tuple[str, float]]:
    """Parameters in the order of leaving, each with the p-value of all that left so far being zero.

    Elimination on the covariance: when a parameter is set to zero the others move by their regression on it, and the
    Wald statistic grows by ``beta_i^2 / C_ii`` of what is left.
    """
    beta, C = full.values.copy(), np.array(robust.covariance)
    left = [i for i in range(len(beta)) if full.determined[i]]
    # what the log leaves open explains nothing: it goes first
    out = [(name, 1.0) for name, ok in zip(full.names, full.determined, strict=True) if not ok]
    wald, count = 0.0, 0
    floor = _floor(C)
    while left:
        ratio = [beta[i] ** 2 / C[i, i] if C[i, i] > floor[i] else np.inf for i in left]
        i = left.pop(int(np.argmin(ratio)))
        if not C[i, i] > floor[i]:
            break
        wald, count = wald + float(beta[i] ** 2 / C[i, i]), count + 1
        column = C[:, i] / C[i, i]
        beta = beta - column * beta[i]
        C = C - np.outer(column, C[i])
        # Hotelling's scaling: a covariance from so many degrees of freedom makes count F-distributed ratios
        freedom = max(robust.freedom - count + 1.0, 1.0)
        statistic = wald / count * freedom / max(robust.freedom, 1.0)
        out.append((full.names[i], float(stats.f.sf(statistic, count, freedom))))
    return out


def _floor(C: Array) -> Array:
    """Variances below this are rounding of those eliminated before."""
    return np.asarray(1e-12 * np.diag(C))
