"""How many intervals of one experiment hold the truth if they are right: known where their errors are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dalembert.identification.uncertainty import Robust
from dalembert.studies.laboratory import least_inside


def robust(covariance: np.ndarray, freedom: float) -> Robust:
    return Robust(covariance, np.full(len(covariance), freedom), {}, 100)


def test_independent_intervals_are_a_binomial_count() -> None:
    for count in (10, 28, 60):
        found = least_inside(robust(np.diag(np.arange(1.0, count + 1.0)), 1e6), draws=40000)
        assert abs(found - stats.binom.ppf(0.01, count, 0.95)) <= 1  # draws can fall to either side of a step


def test_intervals_tied_to_each_other_miss_all_at_once() -> None:
    tied = robust(np.ones((20, 20)), 1e6)
    assert least_inside(tied) == 0  # once in twenty
    assert least_inside(tied, risk=0.1) == 20


@pytest.mark.parametrize("freedom", [3.0, 10.0])
def test_sigmas_known_from_little_miss_together(freedom: float) -> None:
    independent = stats.binom.ppf(0.01, 40, 0.95)
    assert least_inside(robust(np.eye(40), freedom)) < independent - 2
    # each interval alone misses with 5 %; shares of 40 000 draws scatter by 0.1 %
    alone = robust(np.eye(1), freedom)
    assert [least_inside(alone, risk, draws=40000) for risk in (0.045, 0.055)] == [0, 1]
