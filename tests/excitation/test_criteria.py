"""Criteria: gradients by the information matrix, values from their definitions, what scaling may not change."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import UsageError
from dalembert.excitation.criteria import (
    CRITERIA,
    Chosen,
    Condition,
    Context,
    Criterion,
    SmallestEigenvalue,
    condition_number,
    criterion_of,
    stages,
)

B = 7
NAMES = ("Fv_a", "Fc_a", "ZZR_link", "MX_link", "MR_tool", "MX_tool", "Ia_a")
EVERY: dict[str, Criterion] = {name: make() for name, make in CRITERIA.items()} | {
    "chosen": Chosen(("M*_tool",)),
    "condition, sharp": Condition(sharpness=120.0),
}
every = pytest.mark.parametrize("criterion", EVERY.values(), ids=EVERY.keys())


@pytest.fixture
def context(rng):
    w = rng.standard_normal((40, B)) * 10.0 ** np.arange(-2.0, 2.0, 4.0 / B)
    return Context(NAMES, w.T @ w / 40, rng.standard_normal((3, B)))


@pytest.fixture
def m(rng):
    """Columns of different sizes, as SI units make them."""
    w = rng.standard_normal((50, B)) * 10.0 ** rng.uniform(-1.0, 1.0, B)
    return w.T @ w


@every
def test_gradient_equals_differences(criterion, m, context, rng):
    _, slope = criterion.value(m, context)
    assert np.abs(slope - slope.T).max() <= 1e-12 * np.abs(slope).max()
    for _ in range(5):
        # a relative change of the columns keeps M definite
        a = rng.standard_normal((B, B))
        root = np.sqrt(np.diag(m))
        direction = (a + a.T) * np.outer(root, root)
        h = 1e-5
        high, low = (criterion.value(m + s * h * direction, context)[0] for s in (1.0, -1.0))
        expected = float((slope * direction).sum())
        scale = float((np.abs(slope) * np.abs(direction)).sum())
        assert abs((high - low) / (2.0 * h) - expected) < 1e-6 * max(scale, 1.0)


def test_values_are_those_of_the_definitions(m, context):
    covariance = np.linalg.inv(m)
    value = {name: c.value(m, context)[0] for name, c in EVERY.items()}
    assert value["logdet"] == pytest.approx(-np.linalg.slogdet(m)[1], rel=1e-10)
    assert value["torque"] == pytest.approx(np.log(np.trace(covariance @ context.reference)), rel=1e-8)
    sizes = np.maximum(np.abs(context.priors), context.scale)
    each = [np.log((np.diag(covariance) / s**2).sum()) for s in sizes]
    assert value["relative"] == pytest.approx(np.log(np.exp(each).mean()), rel=1e-8)
    assert max(each) <= value["relative-worst"] <= max(each) + np.log(3) / 20.0
    tool = [4, 5]
    assert value["chosen"] == pytest.approx(np.linalg.slogdet(covariance[np.ix_(tool, tool)])[1], rel=1e-8)


def test_smoothed_eigenvalues_tend_to_the_true_ones(m, context):
    scaled = m * np.outer(context.scale, context.scale)
    smallest = -np.log(np.linalg.eigvalsh(scaled)[0])
    for sharpness in (4.0, 40.0, 400.0):
        value = SmallestEigenvalue(sharpness).value(m, context)[0]
        assert smallest - 1e-9 <= value <= smallest + np.log(B) / sharpness
        for normalised in (False, True):
            value = Condition(normalised, sharpness).value(m, context)[0]
            exact = np.log(condition_number(m, normalised))
            assert exact - 1e-9 <= value <= exact + np.log(B) / sharpness


def test_condition_numbers_are_those_of_the_observation_matrix(rng):
    w = rng.standard_normal((60, B)) * 10.0 ** rng.uniform(-1.0, 1.0, B)
    assert condition_number(w.T @ w) == pytest.approx(np.linalg.cond(w), rel=1e-6)
    unit = w / np.linalg.norm(w, axis=0)
    assert condition_number(w.T @ w, normalised=True) == pytest.approx(np.linalg.cond(unit), rel=1e-6)
    assert condition_number(np.diag([1.0, 0.0])) == np.inf


@pytest.mark.parametrize("name", ["logdet", "torque", "chosen", "relative", "smallest", "condition-normalised"])
def test_units_of_the_parameters_do_not_decide_which_motion_is_better(name, m, context, rng):
    """In other units every column is scaled, and what is believed of the parameters with it."""
    s = 10.0 ** rng.uniform(-2.0, 2.0, B)
    other = m * np.outer(rng.uniform(0.5, 2.0, B), np.ones(B))
    other = (other + other.T) / 2.0 + 0.1 * np.diag(np.diag(m))
    scaled = Context(NAMES, context.reference * np.outer(s, s), context.priors / s)
    criterion = EVERY[name]
    gains = [
        criterion.value(a * np.outer(f, f), c)[0] - criterion.value(b * np.outer(f, f), c)[0]
        for a, b, f, c in ((m, other, np.ones(B), context), (m, other, s, scaled))
    ]
    assert gains[0] == pytest.approx(gains[1], rel=1e-6)


@every
def test_more_samples_are_never_worse(criterion, m, context):
    if isinstance(criterion, Condition):
        assert criterion.value(4.0 * m, context)[0] == pytest.approx(criterion.value(m, context)[0], rel=1e-9)
    else:
        assert criterion.value(4.0 * m, context)[0] < criterion.value(m, context)[0]


@every
def test_a_parameter_without_effect_is_infinitely_bad(criterion, m, context):
    m = m.copy()
    m[2], m[:, 2] = 0.0, 0.0
    # rounding may leave an eigenvalue of 1e-16 instead of zero: a condition number of 1e8
    assert criterion.value(m, context)[0] > (np.log(1e7) if isinstance(criterion, Condition) else 1e300)


@every
def test_a_criterion_says_what_it_minimises(criterion):
    assert criterion.name
    assert len(criterion.meaning) > 20
    assert stages(criterion)[-1].name == criterion.name


def test_names_of_criteria():
    assert criterion_of("torque").name == "torque"
    with pytest.raises(UsageError, match="did you mean 'logdet'"):
        criterion_of("logdte")
    with pytest.raises(UsageError, match="no parameters named"):
        criterion_of("chosen")
    with pytest.raises(UsageError, match="M_tool: criterion 'torque' takes none"):
        criterion_of("torque", ["M_tool"])
    own = Condition(sharpness=7.0)
    assert criterion_of(own) is own


def test_chosen_parameters_by_name_pattern_and_regrouped_name():
    among = Chosen(("M*_tool",)).among(NAMES)
    assert [n for n, a in zip(NAMES, among, strict=True) if a] == ["MR_tool", "MX_tool"]
    assert Chosen(("M_tool",)).among(NAMES).sum() == 1
    with pytest.raises(UsageError, match="'M_hand' matches no base parameter"):
        Chosen(("M_hand",)).among(NAMES)


def test_relative_errors_need_prior_values(m):
    with pytest.raises(UsageError, match="needs prior values"):
        CRITERIA["relative"]().value(m, Context(NAMES, np.eye(B), np.zeros((0, B))))
