"""Central differences: order of convergence, exactness on polynomials, consistency, response."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import UsageError
from dalembert.signals import Differences

ALL = [Differences(a, k) for a in (2, 4, 6) for k in ("twice", "direct")]


@pytest.mark.parametrize("differences", ALL)
def test_order_of_convergence(differences):
    def errors(h):
        t = np.arange(-60, 61) * h
        m = differences.margin
        qd, qdd = differences.both(np.sin(3.0 * t + 0.4), h)
        inner = 3.0 * t[m:-m] + 0.4
        return np.max(np.abs(qd - 3.0 * np.cos(inner))), np.max(np.abs(qdd + 9.0 * np.sin(inner)))

    coarse, fine = errors(0.04), errors(0.02)
    orders = np.log2(np.array(coarse) / np.array(fine))
    # over the same number of samples the stretch halves, so the largest error moves a little
    np.testing.assert_allclose(orders, differences.accuracy, atol=0.2)


@pytest.mark.parametrize("differences", ALL)
def test_exact_on_polynomials_of_their_order(differences, rng):
    t = np.arange(40) * 0.1
    m = differences.margin
    polynomial = np.polynomial.Polynomial(rng.normal(size=differences.accuracy + 1))
    qd, qdd = differences.both(np.column_stack([polynomial(t), -polynomial(t)]), 0.1)
    assert qd.shape == qdd.shape == (40 - 2 * m, 2)
    scale = np.max(np.abs(polynomial(t)))
    np.testing.assert_allclose(qd[:, 0], polynomial.deriv()(t[m:-m]), atol=1e-12 * scale / 0.1)
    np.testing.assert_allclose(qdd[:, 0], polynomial.deriv(2)(t[m:-m]), atol=1e-12 * scale / 0.01)
    np.testing.assert_array_equal(qdd[:, 1], -qdd[:, 0])


@pytest.mark.parametrize("accuracy", [2, 4, 6])
def test_acceleration_is_exactly_the_difference_of_the_velocity(accuracy, rng):
    differences = Differences(accuracy)
    q = rng.normal(size=(100, 3))
    qd, qdd = differences.both(q, 1e-3)
    again = differences.velocity(differences.velocity(q, 1e-3), 1e-3)
    np.testing.assert_array_equal(qdd, again)
    np.testing.assert_array_equal(qd, differences.velocity(q, 1e-3)[accuracy // 2 : -(accuracy // 2)])


@pytest.mark.parametrize("differences", ALL)
@pytest.mark.parametrize("frequency", [1.0, 30.0, 200.0])
def test_stated_response_is_the_response(differences, frequency):
    h = 1e-3
    t = np.arange(2000) * h
    qd, qdd = differences.both(np.sin(2 * np.pi * frequency * t), h)
    m = differences.margin
    velocity, acceleration = differences.gains(frequency, h)
    np.testing.assert_allclose(qd, velocity * np.cos(2 * np.pi * frequency * t)[m:-m], atol=1e-9 / h)
    np.testing.assert_allclose(qdd, -acceleration * np.sin(2 * np.pi * frequency * t)[m:-m], atol=1e-11 / h**2)


def test_too_few_samples_and_unknown_orders_are_refused():
    with pytest.raises(UsageError, match="4 samples to differentiate, expected more than 4"):
        Differences(4).velocity(np.zeros(4), 1.0)
    with pytest.raises(UsageError, match="choose from 2, 4, 6"):
        Differences(3)
    with pytest.raises(UsageError, match="choose from twice, direct"):
        Differences(2, "once")  # type: ignore[arg-type]
