"""Fixed, zero and tied parameters under the methods that estimate base parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.synthetic import PARAMETERS, base_set, beta, make_problem, make_rows, truth

from dalembert.errors import EstimationError
from dalembert.identification.bounded import Bounded
from dalembert.identification.constraints import Constraints, Equality
from dalembert.identification.freedom import base_freedom
from dalembert.identification.irls import Irls
from dalembert.identification.iv import Iv
from dalembert.identification.linear import solve_linear
from dalembert.identification.ols import Ols
from dalembert.identification.problem import Problem
from dalembert.identification.substitution import Constrained, keeping
from dalembert.identification.tls import Tls
from dalembert.identification.uncertainty import robust_covariance
from dalembert.identification.wls import Wls

LINEAR = pytest.mark.parametrize("method", [Ols(), Wls(), Irls(), Tls(), Iv()], ids=lambda m: m.method)
VALUE = dict(zip(PARAMETERS, truth().tolist(), strict=True))


def problem_with(constraints: Constraints, noise: float = 0.05) -> Problem:
    return replace(make_problem(make_rows(noise=noise, seed=3)), constraints=constraints)


@LINEAR
def test_exact_certainties_leave_the_exact_answer(method):
    spec = Constraints(
        fixed={"Fv_j1": VALUE["Fv_j1"], "XX_hand": VALUE["XX_hand"]},
        equalities=(Equality((("Fc_j1", 1.0), ("Fc_j2", -1.0)), VALUE["Fc_j1"] - VALUE["Fc_j2"]),),
    )
    found = keeping(method, spec).estimate(problem_with(spec, noise=0.0))
    np.testing.assert_allclose(found.values, beta(truth()), rtol=1e-6, atol=1e-6)
    assert found.rank == len(found.names) - 2  # XX_hand is regrouped with YY_hand, which is free


@LINEAR
def test_what_is_certain_has_no_spread_and_the_others_less(method):
    spec = Constraints(fixed={"Fv_j1": 3.3}, zero=("Fc_j2",))
    found = keeping(method, spec).estimate(problem_with(spec))
    free = method.estimate(problem_with(Constraints()))
    assert found.value("Fv_j1") == pytest.approx(3.3) and found.value("Fc_j2") == pytest.approx(0.0, abs=1e-12)
    given = [found.names.index(name) for name in ("Fv_j1", "Fc_j2")]
    assert found.sigma is not None and free.sigma is not None
    assert (found.sigma[given] < 1e-12).all() and found.determined.all()
    robust = robust_covariance(problem_with(spec), found)
    assert (robust.sigma[given] < 1e-12).all() and (np.delete(robust.sigma, given) > 0.0).all()


def test_ols_is_least_squares_on_what_is_free():
    """The same numbers as solving for the free columns by hand, sigma included."""
    spec = Constraints(fixed={"Fv_j1": 3.3}, ties=(("Fc_j2", "Fc_j3"),))
    problem = problem_with(spec)
    found = keeping(Ols(), spec).estimate(problem)
    names = list(problem.names)
    R = problem.weighted(np.ones(3))
    A, y = R[:, list(problem.kept)], R[:, -1]
    one, two, three = (names.index(n) for n in ("Fv_j1", "Fc_j2", "Fc_j3"))
    A = A.copy()
    A[:, two] += A[:, three]
    free = [k for k in range(len(names)) if k not in (one, three)]
    by_hand = solve_linear(A[:, free], y - 3.3 * A[:, one])
    np.testing.assert_allclose(found.values[free], by_hand.values, rtol=1e-9)
    assert found.values[three] == pytest.approx(found.values[two])
    sigma = by_hand.residual / np.sqrt(problem.freedom - len(free)) * np.sqrt(np.diag(by_hand.gain))
    np.testing.assert_allclose(found.sigma[free], sigma, rtol=1e-9)


def test_agrees_with_bounded_least_squares_where_no_bound_holds():
    spec = Constraints(fixed={"Fv_j1": 2.9, "M_hand": VALUE["M_hand"]}, zero=("MZ_arm",), ties=(("Fc_j1", "Fc_j2"),))
    problem = problem_with(spec)
    inner = Bounded(positive=(), weighting="unit").estimate(problem)
    found = keeping(Ols(), spec).estimate(problem)
    np.testing.assert_allclose(found.values, inner.values, rtol=1e-5, atol=1e-6)


def test_a_parameter_that_is_regrouped_restricts_nothing():
    spec = Constraints(fixed={"XX_arm": 5.0})
    left = base_freedom(problem_with(spec))
    assert left.whole and len(left.pivots) == len(base_set().independent)
    found, free = (m.estimate(problem_with(spec)) for m in (keeping(Wls(), spec), Wls()))
    np.testing.assert_array_equal(found.values, free.values)


def test_methods_that_take_constraints_themselves_are_left_alone():
    spec = Constraints(fixed={"Fv_j1": 1.0})
    assert isinstance(keeping(Bounded(), spec), Bounded)
    assert isinstance(keeping(Wls(), Constraints()), Wls)
    assert isinstance(keeping(Wls(), spec), Constrained)
    with pytest.raises(EstimationError, match=r"wls: M_arm cannot be bounded.*bounded, physical, sdp"):
        keeping(Wls(), Constraints(bounds={"M_arm": (0.0, 1.0)}))
    with pytest.raises(EstimationError, match="no parameter to estimate"):
        keeping(Ols(), spec).estimate(problem_with(Constraints(fixed=VALUE)))
