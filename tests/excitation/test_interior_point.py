"""The method on problems with known answers: quadratic, curved, with many constraints, always inside."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from dalembert.excitation.interior_point import Stop, minimise

CLOSE = Stop(gap=1e-7, progress=1e-10, iterations=300)


@dataclass
class Dense:
    """A slope as a matrix."""

    rows: np.ndarray

    def times(self, z):
        return self.rows @ z

    def transposed(self, weights):
        return self.rows.T @ weights

    def condensed(self, weights):
        return (self.rows.T * weights) @ self.rows


@dataclass
class Posed:
    """A problem of functions, which remembers the least slack it was led to accept."""

    value: object
    constraints: object
    seen: list[np.ndarray] = field(default_factory=list)

    def objective(self, z):
        self.seen.append(z.copy())
        return self.value(z)

    def slacks(self, z):
        self.at = z
        return self.constraints(z)[0]

    def slope(self, z):
        return Dense(self.constraints(z)[1])


def test_quadratic_with_linear_limits(rng):
    """Against the conditions of Karush, Kuhn and Tucker: no descent direction along the active limits."""
    a = rng.standard_normal((12, 6))
    h, g = a.T @ a, 5.0 * rng.standard_normal(6)
    rows, bound = rng.standard_normal((80, 6)), rng.uniform(0.3, 1.0, 80)
    problem = Posed(lambda z: (0.5 * z @ h @ z + g @ z, h @ z + g), lambda z: (bound - rows @ z, -rows))
    found = minimise(problem, np.zeros(6), CLOSE)
    slack = bound - rows @ found.z
    assert slack.min() > 0.0
    active = slack < 1e-4
    assert active.any()
    multipliers, residual = np.linalg.lstsq(rows[active].T, -(h @ found.z + g), rcond=None)[:2]
    assert multipliers.min() > -1e-3
    assert np.linalg.norm(rows[active].T @ multipliers + h @ found.z + g) < 1e-3 * np.linalg.norm(g)
    del residual


def test_rosenbrock_in_a_disc():
    """The minimum of Rosenbrock's function in the unit disc about the origin: (0.7864, 0.6177)."""

    def value(z):
        x, y = z
        f = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        return f, np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])

    problem = Posed(value, lambda z: (np.array([1.0 - z @ z]), -2.0 * z[None]))
    found = minimise(problem, np.array([-0.5, 0.3]), Stop(gap=1e-8, progress=1e-12, iterations=500))
    assert found.z == pytest.approx([0.78641515, 0.61769831], abs=1e-4)
    assert all(z @ z < 1.0 for z in problem.seen)  # it never looked outside


def test_a_start_outside_is_said():
    problem = Posed(lambda z: (float(z @ z), 2 * z), lambda z: (np.array([1.0 - z @ z]), -2.0 * z[None]))
    found = minimise(problem, np.array([2.0, 0.0]), CLOSE)
    assert found.iterations == 0
    assert found.reason == "the start is not feasible"


def test_states_that_do_not_exist_are_stepped_round():
    """Slacks of nan - a loop that cannot close - bound the step like a violated limit."""

    def constraints(z):
        s = np.array([1.0 - z[0]]) if z[0] < 0.8 else np.array([np.nan])
        return s, np.array([[-1.0, 0.0]])

    problem = Posed(lambda z: (float(-z[0] + z[1] ** 2), np.array([-1.0, 2 * z[1]])), constraints)
    found = minimise(problem, np.array([0.0, 0.5]), CLOSE)
    assert 0.75 < found.z[0] < 0.8
    assert np.isfinite(found.value)


def test_stops_at_the_iterations_allowed():
    problem = Posed(lambda z: (float(z @ z), 2 * z), lambda z: (np.array([9.0 - z @ z]), -2.0 * z[None]))
    found = minimise(problem, np.array([2.0, 0.0]), Stop(gap=1e-9, progress=1e-12, iterations=2))
    assert found.iterations == 2
    assert found.reason == "iterations used up"
