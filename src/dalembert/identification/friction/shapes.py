"""Nonlinear friction shapes by variable projection: linear coefficients eliminated, few speeds searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import least_squares, minimize

from dalembert.errors import EstimationError
from dalembert.identification.friction.term import Shape
from dalembert.identification.linear import solve_linear
from dalembert.identification.rows import Array

__all__ = ["Answer", "ShapeFit", "fit_shapes", "projected_residual"]

# What the caller gives at a shape vector: the norm left by the best linear coefficients, the residual and its Jacobian
# (m, shapes), or the residual alone. That one must be of the rows themselves: in the coordinates of a triangle, which
# turn from one shape to the next, it has no derivative.
Answer = float | Array | tuple[Array, Array]

_LEVELS = (0.1, 0.5, 2.0)  # starts, as multiples of each symbol's scale: a decade and more, where minima differ
_POLISHED = 2  # starts that are followed down
# A log fixes a speed to a few percent at best: steps of 0.1 %, or norms that change by 1e-6, are the end of the search.
_STEP_TOLERANCE, _NORM_TOLERANCE = 1e-3, 1e-6


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """``values`` (shapes,); ``cost``: norm of the residual there; ``at_bound``: shapes that the log leaves open.

    ``starts``: (shape vector, norm) of the grid, best first. ``spread``: relative difference in norm between the minima
    reached from different starts (large: a rugged cost, look at the shapes).
    """

    values: Array
    cost: float
    at_bound: tuple[int, ...]
    converged: bool
    evaluations: int
    starts: tuple[tuple[Array, float], ...]
    spread: float


def projected_residual(R: Array, linear: int, slopes: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
    """Residual of ``y`` after the best linear coefficients, and its Jacobian by Kaufman's formula, on a triangle.

    ``R`` (m, m): factor of ``[W dPhi y]``: ``linear`` columns, then one column of slopes for every pair of ``slopes`` =
    (column of W it is the slope of, shape parameter), then the torque. Returns (m,) and (m, shapes):
    ``r = P b``, ``J = -P dPhi x`` with P the projector off the columns of W.
    """
    solution = solve_linear(R[:, :linear], R[:, -1])
    basis = solution.left
    residual = R[:, -1] - basis @ (basis.T @ R[:, -1])
    moved = np.zeros((len(R), 1 + max((shape for _, shape in slopes), default=-1)))
    for at, (column, shape) in enumerate(slopes):
        moved[:, shape] += R[:, linear + at] * solution.values[column]
    return residual, basis @ (basis.T @ moved) - moved


class _Cost:
    """The caller's function over logarithms of the shapes, with the last answer kept."""

    def __init__(self, evaluate: Callable[[Array], Answer]) -> None:
        self.evaluate = evaluate
        self.calls = 0
        self._at: Array | None = None
        self._last: Answer = 0.0

    def answer(self, logs: Array) -> Answer:
        if self._at is None or not np.array_equal(logs, self._at):
            self._last, self._at = self.evaluate(np.exp(logs)), logs.copy()
            self.calls += 1
        return self._last

    def residual(self, logs: Array) -> Array:
        given = self.answer(logs)
        return np.atleast_1d(np.asarray(given[0] if isinstance(given, tuple) else given, dtype=float))

    def jacobian(self, logs: Array) -> Array:
        given = self.answer(logs)
        assert isinstance(given, tuple)
        return np.asarray(given[1] * np.exp(logs))

    def norm(self, logs: Array) -> float:
        return float(np.linalg.norm(self.residual(logs)))


def _grid(shapes: Sequence[Shape]) -> list[Array]:
    """Starts: the present values; all shapes of one symbol at one level, every combination over the symbols."""
    symbols = list(dict.fromkeys(shape.symbol for shape in shapes))
    current = np.array([shape.value if shape.value > 0.0 else shape.scale for shape in shapes])
    starts = [current]
    for levels in product(_LEVELS, repeat=len(symbols)):
        level = dict(zip(symbols, levels, strict=True))
        starts.append(np.array([shape.scale * level[shape.symbol] for shape in shapes]))
    return starts


def _polish(cost: _Cost, start: Array, bounds: tuple[Array, Array]) -> tuple[Array, bool]:
    """One bounded descent: Levenberg-Marquardt in a trust region, or quasi-Newton where only a norm is known."""
    given = cost.answer(start)
    if not isinstance(given, tuple) and np.ndim(given) == 0:
        found = minimize(
            lambda z: math.log(max(cost.norm(z), 1e-300)),
            start,
            method="L-BFGS-B",
            bounds=list(zip(*bounds, strict=True)),
            options={"eps": 1e-4, "ftol": _NORM_TOLERANCE**2},
        )
        return np.asarray(found.x), bool(found.success)
    jacobian: Any = cost.jacobian if isinstance(given, tuple) else "2-point"
    step = None if isinstance(given, tuple) else 1e-4
    found = least_squares(
        cost.residual, start, jac=jacobian, bounds=bounds, xtol=_STEP_TOLERANCE,
        ftol=_NORM_TOLERANCE, gtol=None, diff_step=step, max_nfev=60,
    )  # fmt: skip
    return np.asarray(found.x), bool(found.success)


def fit_shapes(evaluate: Callable[[Array], Answer], shapes: Sequence[Shape], *, grid: bool = True) -> ShapeFit:
    """Shapes (s,) that leave the smallest residual once the linear coefficients are gone [Golub and Pereyra 1973].

    Searched as logarithms between the bounds of ``shapes``, from the best of a small grid of starts, or from their
    present values alone.
    """
    if not shapes:
        raise EstimationError("friction shapes: none to fit, expected a model with shape parameters")
    limits = np.array([[shape.lower, shape.upper] for shape in shapes])
    if not (np.isfinite(limits).all() and (limits[:, 0] > 0.0).all() and (limits[:, 0] < limits[:, 1]).all()):
        raise EstimationError("friction shapes: bounds are not set; call scaled(MotionScale.of(motions)) first")
    low, high = np.log(limits[:, 0]), np.log(limits[:, 1])
    cost = _Cost(evaluate)
    inside = 1e-3 * (high - low)
    every = _grid(shapes) if grid else _grid(shapes)[:1]
    starts = [np.clip(np.log(start), low + inside, high - inside) for start in every]
    ranked = sorted(((start, cost.norm(start)) for start in starts), key=lambda pair: pair[1])
    minima = []
    for start, _ in ranked[:_POLISHED]:
        found, converged = _polish(cost, start, (low, high))
        minima.append((found, cost.norm(found), converged))
    best, norm, converged = min(minima, key=lambda minimum: minimum[1])
    near = (best - low < 1e-2 * (high - low)) | (high - best < 1e-2 * (high - low))
    spread = max(value for _, value, _ in minima) / norm - 1.0 if norm > 0.0 else 0.0
    return ShapeFit(
        values=np.exp(best),
        cost=norm,
        at_bound=tuple(int(i) for i in np.flatnonzero(near)),
        converged=converged,
        evaluations=cost.calls,
        starts=tuple((np.exp(start), value) for start, value in ranked),
        spread=float(spread),
    )
