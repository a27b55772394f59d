"""Essential parameters: the smallest set of base parameters that still explains the torque."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from scipy import linalg, stats

from dalembert.errors import EstimationError
from dalembert.identification.problem import Estimate, Estimator, Problem
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
    """Drop a parameter only while the whole set dropped so far could be zero: an F-test on the rise of the squared
    residual, with the robust covariance.

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

    Setting parameters to zero in a least-squares fit moves the others by their regression on them, in the covariance
    ``P`` of that fit, and raises its squared residual by ``beta' P^-1 beta``. The one whose robust t ratio is smallest
    leaves next. Where residuals are autocorrelated that rise is a sum of chi-squares weighted by the eigenvalues of
    ``P^-1 C``, C the robust covariance; an F variable of the same mean and variance stands for it (Rao and Scott 1981).
    A Wald statistic in C itself would invert a covariance estimated with few degrees of freedom: dropping more
    parameters than those, nothing would ever be missed.
    """
    if full.covariance is None:
        return []
    # what the log leaves open explains nothing: it goes first
    out = [(name, 1.0) for name, ok in zip(full.names, full.determined, strict=True) if not ok]
    beta, P, C = full.values.copy(), np.array(full.covariance), np.array(robust.covariance)
    floor, left = 1e-12 * np.diag(P), [int(i) for i in np.flatnonzero(full.determined)]
    gone: list[int] = []
    while left:
        variance = np.diag(C)
        ratio = [beta[i] ** 2 / variance[i] if P[i, i] > floor[i] and variance[i] > 0.0 else np.inf for i in left]
        if not np.isfinite(min(ratio)):
            break
        i = left.pop(int(np.argmin(ratio)))
        gone.append(i)
        out.append((full.names[i], _p_value(full, robust, gone)))
        moved = P[:, i] / P[i, i]
        beta = beta - moved * beta[i]
        C = C - np.outer(moved, C[i]) - np.outer(C[:, i], moved) + C[i, i] * np.outer(moved, moved)
        P = P - np.outer(moved, P[i])
    return out


def _p_value(full: Estimate, robust: Robust, gone: list[int]) -> float:
    """Probability of a rise of the squared residual as large as that, were all of these parameters zero."""
    assert full.covariance is not None
    where, beta = np.ix_(gone, gone), full.values[gone]
    half = linalg.cho_factor(full.covariance[where])
    rise = float(beta @ linalg.cho_solve(half, beta))
    weights = linalg.cho_solve(half, robust.covariance[where])
    mean, square = float(np.trace(weights)), float(np.sum(weights * weights.T))
    count = mean**2 / square
    return float(stats.f.sf(rise / mean, count, count * float(np.mean(robust.freedom[gone]))))
