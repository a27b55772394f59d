from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from tests.identification.synthetic import FRICTION, PARAMETERS, Base, guess, make_problem, make_rows, truth

from dalembert.errors import EstimationError
from dalembert.identification.bounded import Bounded
from dalembert.identification.constraints import Constraints, Equality
from dalembert.identification.ols import Ols
from dalembert.identification.problem import Problem, Status
from dalembert.identification.rows import ArrayRows
from dalembert.identification.wls import Wls


def plain_problem(W: np.ndarray, y: np.ndarray, constraints: Constraints, **options: object) -> Problem:
    names = tuple(f"x{i}" for i in range(W.shape[1]))
    base = Base(names, tuple(range(len(names))), (), np.zeros((len(names), 0)))
    return Problem.of(ArrayRows.of(W, y, names), base, constraints=constraints, **options)


def test_inside_all_bounds_it_is_weighted_least_squares():
    problem = make_problem(make_rows(noise=0.01))
    bounded, wls = Bounded().estimate(problem), Wls().estimate(problem)
    assert bounded.settings["at bound"] == []
    np.testing.assert_allclose(bounded.values, wls.values, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(bounded.sigma, wls.sigma, rtol=1e-6)


def test_agrees_with_scipy_on_bounds(rng):
    for seed in range(10):
        local = np.random.default_rng(seed)
        W = local.standard_normal((60, 8)) @ np.diag(10.0 ** local.uniform(-2, 2, 8))
        y = W @ local.standard_normal(8) + local.standard_normal(60)
        lower, upper = local.uniform(-1.0, 0.2, 8), local.uniform(0.3, 1.0, 8)
        constraints = Constraints(bounds={f"x{i}": (lower[i], upper[i]) for i in range(8)})
        estimate = Bounded(weighting="unit").estimate(plain_problem(W, y, constraints))
        expected = lsq_linear(W, y, (lower, upper), method="bvls", tol=1e-14)
        np.testing.assert_allclose(estimate.standard, expected.x, rtol=1e-8, atol=1e-9)
        at = [f"x{i}" for i in range(8) if expected.active_mask[i]]
        assert sorted(estimate.settings["at bound"]) == sorted(at)


def test_agrees_with_slsqp_on_equalities_and_ties(rng):
    W = rng.standard_normal((80, 6))
    y = W @ np.array([1.0, 2.0, 2.5, -1.0, 0.5, 3.0]) + 0.3 * rng.standard_normal(80)
    constraints = Constraints(
        fixed={"x5": 2.8},
        ties=(("x1", "x2"),),
        bounds={"x3": (0.0, np.inf)},
        equalities=(Equality((("x0", 1.0), ("x4", -2.0)), 0.1),),
    )
    estimate = Bounded(weighting="unit").estimate(plain_problem(W, y, constraints))
    expected = minimize(
        lambda x: np.sum((W @ x - y) ** 2),
        np.ones(6),
        jac=lambda x: 2.0 * W.T @ (W @ x - y),
        bounds=[(None, None)] * 3 + [(0.0, None)] + [(None, None)] * 2,
        constraints=[
            {"type": "eq", "fun": lambda x: np.array([x[5] - 2.8, x[1] - x[2], x[0] - 2.0 * x[4] - 0.1])},
        ],
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(estimate.standard, expected.x, rtol=1e-5, atol=1e-5)
    assert np.sum((W @ estimate.standard - y) ** 2) <= expected.fun * (1.0 + 1e-12)
    x = estimate.standard
    assert x[5] == 2.8
    assert x[1] == pytest.approx(x[2], rel=1e-13)
    assert x[0] - 2.0 * x[4] == pytest.approx(0.1, rel=1e-12)
    assert x[3] == pytest.approx(0.0, abs=1e-12)


def test_masses_and_friction_do_not_go_below_zero():
    estimate = Bounded().estimate(make_problem(make_rows(samples=40, noise=2.0, seed=4)))
    standard = dict(zip(PARAMETERS, estimate.standard, strict=True))
    for name in ("M_arm", "M_hand", "XX_arm", "YY_arm", "ZZ_arm", *FRICTION):
        assert standard[name] >= -1e-12
    assert estimate.settings["at bound"]
    free = Ols().estimate(make_problem(make_rows(samples=40, noise=2.0, seed=4)))
    assert estimate.relative_error >= free.relative_error
    tied = [i for i, n in enumerate(estimate.names) if n in estimate.settings["at bound"]]
    assert np.all(estimate.sigma[[i for i in tied if estimate.names[i] in FRICTION]] < 1e-9)


def test_a_stage_keeps_the_values_of_an_earlier_one():
    """Two stages, as the 3PRRR does: friction from the first, held in the second [Fontes17]."""
    rows = make_rows(noise=0.05)
    first = Bounded().estimate(make_problem(rows))
    known = {n: v for n, v in zip(PARAMETERS, first.standard.tolist(), strict=True) if n in FRICTION}
    problem = make_problem(make_rows(noise=0.05, seed=9), constraints=Constraints().fixing(known))
    second = Bounded().estimate(problem)
    for name, value in known.items():
        assert second.standard[PARAMETERS.index(name)] == pytest.approx(value, rel=1e-12)
    assert second.sigma[[second.names.index(n) for n in FRICTION]].max() < 1e-12


def test_what_the_torque_does_not_see_goes_to_the_prior():
    rows = make_rows(noise=0.0)
    blind = Bounded().estimate(make_problem(rows, guess()))
    W = np.concatenate([b.W for b in rows.data])
    np.testing.assert_allclose(W @ blind.standard, W @ truth(), rtol=1e-6, atol=1e-6)
    exact = Bounded().estimate(make_problem(rows))
    np.testing.assert_allclose(exact.standard, truth(), rtol=1e-6, atol=1e-7)


def test_no_solution_is_a_status():
    constraints = Constraints(
        bounds={"x0": (1.0, 2.0), "x1": (1.0, 2.0)}, equalities=(Equality((("x0", 1.0), ("x1", 1.0))),)
    )
    estimate = Bounded().estimate(plain_problem(np.eye(3), np.ones(3), constraints))
    assert estimate.status is Status.INFEASIBLE
    assert np.isfinite(estimate.values).all()
    with pytest.raises(EstimationError, match="positive 'mass'"):
        Bounded(positive=("mass",)).estimate(make_problem(make_rows()))
