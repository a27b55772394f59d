"""The scale of robust regression, and that its iterations end."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identification.synthetic import make_problem, make_rows

from dalembert.identification.irls import Irls
from dalembert.identification.problem import Status
from dalembert.identification.robust import MAD_TO_SIGMA, Huber, MedianResidual, Tukey


@pytest.mark.parametrize("size", [1, 2, 7, 400, 4001])
def test_the_median_of_few_residuals_is_exact(size, rng):
    r = rng.standard_normal(size)
    found = MedianResidual(10.0)
    for part in np.array_split(r, 3):
        found.add(part, None)
    assert found.sigma() == pytest.approx(MAD_TO_SIGMA * np.median(np.abs(r)), rel=1e-12)


def test_the_median_of_many_residuals_is_binned_to_half_a_percent(rng):
    r = 3.0 * rng.standard_normal(400_000)
    found = MedianResidual(100.0)
    for part in np.array_split(r, 40):
        found.add(part, None)
    assert found.sigma() == pytest.approx(MAD_TO_SIGMA * np.median(np.abs(r)), rel=5e-3)
    assert not found.kept


def test_a_weight_of_two_is_the_residual_twice(rng):
    r, weight = rng.standard_normal(31), rng.integers(1, 4, 31).astype(float)
    weighted, repeated = MedianResidual(10.0), MedianResidual(10.0)
    weighted.add(r, weight)
    repeated.add(np.repeat(r, weight.astype(int)), None)
    assert weighted.sigma() == pytest.approx(repeated.sigma(), rel=1e-12)


@pytest.mark.parametrize("loss", [Huber(), Tukey()], ids=["huber", "tukey"])
def test_iterations_end(loss):
    """On short logs, where a scale in steps went round in circles every fourth time."""
    for seed in range(40):
        estimate = Irls(loss).estimate(make_problem(make_rows(samples=80, noise=0.05, seed=seed)))
        assert estimate.status is Status.CONVERGED
