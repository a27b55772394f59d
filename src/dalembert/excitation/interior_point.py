"""A feasible primal-dual interior point method for many inequalities and few unknowns.

``minimise f(z)`` subject to ``s(z) >= 0``. Every iterate is strictly feasible, so the best motion so far can be taken
at any time. The reduced system ``(H + J' diag(l/s) J) dz = -grad f + mu J' (1/s)`` is as small as the unknowns; H is a
damped BFGS approximation of the Lagrangian's Hessian [Nocedal and Wright, Numerical Optimization, 2006, chapters 18
and 19]. IPOPT solves the same barrier problems but factors a system as large as the constraints and needs the
curvature of the constraints it is called with; on these problems it spends 5 to 20 times longer
(benchmarks/bench_excitation.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["Outcome", "Problem", "Slope", "Stop", "minimise"]

Array = NDArray[np.float64]

_TO_BOUNDARY = 0.99  # share of the way to the nearest constraint a step may go
_ARMIJO = 1e-4
_DUAL_BAND = 1e8  # multipliers stay within this factor of mu / s
_DAMPING = 0.2  # Powell's
_SHORTEST = 1e-10  # step length at which a line search gives up


class Slope(Protocol):
    """Derivative J (m, nz) of the slacks, in whatever form is cheap."""

    def times(self, z: Array) -> Array:
        """J z (m,)."""
        ...

    def transposed(self, weights: Array) -> Array:
        """J' weights (nz,)."""
        ...

    def condensed(self, weights: Array) -> Array:
        """J' diag(weights) J (nz, nz)."""
        ...


class Problem(Protocol):
    """What is minimised."""

    def objective(self, z: Array) -> tuple[float, Array]:
        """Value and gradient (nz,); infinite where it cannot be evaluated."""
        ...

    def slacks(self, z: Array) -> Array:
        """s(z) (m,), positive where every limit holds; nan where a state does not exist."""
        ...

    def slope(self, z: Array) -> Slope:
        """Derivative of the slacks at the point they were last evaluated at."""
        ...


@dataclass(frozen=True, slots=True)
class Stop:
    """When to stop: barrier gap ``m mu`` below ``gap`` and little progress, ``iterations``, or ``deadline``
    (``time.monotonic``).
    """

    gap: float = 1e-2
    progress: float = 1e-4
    iterations: int = 500
    deadline: float = np.inf


@dataclass(frozen=True, slots=True)
class Outcome:
    """The best point found, its value, how many iterations it took and why they ended."""

    z: Array
    value: float
    iterations: int
    reason: str


@dataclass(slots=True)
class _Iterate:
    z: Array
    value: float
    gradient: Array
    s: Array
    slope: Slope


class _Quasi:
    """Damped BFGS approximation of a Hessian, scaled at its first update."""

    def __init__(self, size: int) -> None:
        self.matrix = np.eye(size)
        self._fresh = True

    def update(self, step: Array, change: Array) -> None:
        """Change of the Lagrangian's gradient over a step."""
        length = float(step @ step)
        if not (length > 0.0 and np.isfinite(change).all()):
            return
        if self._fresh:
            self.matrix *= max(abs(float(step @ change)) / length, 1e-8)
            self._fresh = False
        along = self.matrix @ step
        curved = float(step @ along)
        product = float(step @ change)
        if product < _DAMPING * curved:
            theta = (1.0 - _DAMPING) * curved / (curved - product)
            change = theta * change + (1.0 - theta) * along
            product = float(step @ change)
        self.matrix += np.outer(change, change) / product - np.outer(along, along) / curved


def minimise(
    problem: Problem,
    start: Array,
    stop: Stop,
    *,
    mu: float | None = None,
    watch: Callable[[float, Array], None] | None = None,
) -> Outcome:
    """Minimise from a strictly feasible ``start``. ``watch`` is given each better value and its point.

    ``mu`` is the first barrier parameter; chosen so that the barrier pulls as hard as the objective unless given.
    """
    return _Method(problem, np.array(start, dtype=float), stop, mu, watch).run()


class _Method:
    def __init__(
        self,
        problem: Problem,
        start: Array,
        stop: Stop,
        mu: float | None,
        watch: Callable[[float, Array], None] | None,
    ) -> None:
        self.problem, self.stop, self.watch = problem, stop, watch
        value, gradient = problem.objective(start)
        s = problem.slacks(start)
        self.at = _Iterate(start, value, gradient, s, problem.slope(start))
        self.best = (value, start)
        pull = np.linalg.norm(self.at.slope.transposed(1.0 / s))
        self.mu = mu if mu is not None else 0.3 * float(np.linalg.norm(gradient)) / max(float(pull), 1e-12)
        self.dual = self.mu / s
        self.quasi = _Quasi(len(start))
        self.iterations = 0

    def run(self) -> Outcome:
        if not (np.isfinite(self.at.value) and self.at.s.min(initial=1.0) > 0.0):
            return Outcome(self.at.z, self.at.value, 0, "the start is not feasible")
        stalled, reason = 0, "iterations used up"
        while self.iterations < self.stop.iterations:
            if time.monotonic() > self.stop.deadline:
                reason = "time used up"
                break
            before = self.best[0]
            moved = self._step()
            self.iterations += 1
            small = before - self.best[0] < self.stop.progress * max(1.0, abs(before) * 1e-3)
            stalled = stalled + 1 if small or not moved else 0
            if len(self.at.s) * self.mu < self.stop.gap and stalled >= 5:
                reason = "converged"
                break
            if stalled >= 25:
                reason = "no further progress"
                break
        return Outcome(self.best[1], self.best[0], self.iterations, reason)

    def _direction(self) -> tuple[Array, Array] | None:
        """Steps of z and of the multipliers."""
        at = self.at
        ratio = self.dual / at.s
        matrix = self.quasi.matrix + at.slope.condensed(ratio)
        right = -at.gradient + at.slope.transposed(self.mu / at.s)
        lift = 0.0
        for _ in range(8):
            try:
                factor = cho_factor(matrix + lift * np.eye(len(right)), check_finite=False)
                break
            except LinAlgError:
                lift = max(10.0 * lift, 1e-8 * float(np.trace(matrix)) / len(right))
        else:
            return None
        dz = cho_solve(factor, right, check_finite=False)
        if not np.isfinite(dz).all():
            return None
        change = self.mu / at.s - self.dual - ratio * at.slope.times(dz)
        return dz, change

    def _step(self) -> bool:
        """One iteration; False when the line search failed."""
        direction = self._direction()
        if direction is None:
            self.quasi = _Quasi(len(self.at.z))
            return False
        dz, change = direction
        at = self.at
        ds = at.slope.times(dz)
        longest = _longest(at.s, ds)
        found = self._search(dz, ds, longest)
        if found is None:
            self.quasi = _Quasi(len(at.z))
            self.mu = max(0.2 * self.mu, self._least())
            self.dual = self.mu / at.s
            return False
        alpha, new = found
        dual = self.dual + _longest(self.dual, change) * change
        self.dual = np.clip(dual, self.mu / (_DUAL_BAND * new.s), _DUAL_BAND * self.mu / new.s)
        before = at.gradient - at.slope.transposed(self.dual)
        after = new.gradient - new.slope.transposed(self.dual)
        self.quasi.update(new.z - at.z, after - before)
        self.at = new
        if new.value < self.best[0]:
            self.best = (new.value, new.z)
            if self.watch:
                self.watch(new.value, new.z)
        self._lower_barrier(alpha, after)
        return True

    def _search(self, dz: Array, ds: Array, longest: float) -> tuple[float, _Iterate] | None:
        """The first step along dz that lowers the barrier function enough and stays inside."""
        at, problem = self.at, self.problem
        slope = float(at.gradient @ dz) - self.mu * float((ds / at.s).sum())
        barrier = at.value - self.mu * float(np.log(at.s).sum())
        slack = 1e-9 * max(1.0, abs(barrier))
        alpha = longest
        while alpha > _SHORTEST:
            z = at.z + alpha * dz
            s = problem.slacks(z)
            if np.isfinite(s).all() and (s > (1.0 - _TO_BOUNDARY) ** 2 * at.s).all():
                value, gradient = problem.objective(z)
                trial = value - self.mu * float(np.log(s).sum())
                if np.isfinite(trial) and trial <= barrier + _ARMIJO * alpha * slope + slack:
                    return alpha, _Iterate(z, value, gradient, s, problem.slope(z))
            alpha *= 0.5
        return None

    def _least(self) -> float:
        return 0.1 * self.stop.gap / max(len(self.at.s), 1)

    def _lower_barrier(self, alpha: float, residual: Array) -> None:
        """Follow the complementarity reached: quickly when steps are long, slowly when they are cut."""
        reached = float(self.dual @ self.at.s) / max(len(self.at.s), 1)
        error = float(np.abs(residual).max())
        if alpha > 0.5 or error < 10.0 * self.mu * len(self.at.s):
            self.mu = max(min(self.mu, max(0.2 * reached, 0.1 * self.mu)), self._least())


def _longest(values: Array, change: Array) -> float:
    """Largest step in (0, 1] that leaves every value its share of itself."""
    falling = change < 0.0
    if not falling.any():
        return 1.0
    return float(min(1.0, (-_TO_BOUNDARY * values[falling] / change[falling]).min()))
