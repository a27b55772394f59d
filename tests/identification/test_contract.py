"""Every estimator through the same contract, on one fixture with a known exact answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.synthetic import (
    PARAMETERS,
    base_set,
    beta,
    guess,
    make_problem,
    make_rows,
    map_blocks,
    nominal,
    truth,
)

from dalembert.errors import EstimationError
from dalembert.identification.bounded import Bounded
from dalembert.identification.irls import Irls
from dalembert.identification.iv import Iv
from dalembert.identification.ols import Ols
from dalembert.identification.physical import Physical
from dalembert.identification.problem import Estimate, Problem, Status
from dalembert.identification.robust import Tukey
from dalembert.identification.rows import ArrayRows, RowBlock
from dalembert.identification.sdp import Sdp
from dalembert.identification.tls import Tls
from dalembert.identification.wls import Wls

ESTIMATORS = [
    Ols(),
    Wls(),
    Irls(),
    Irls(Tukey()),
    Tls(),
    Iv(),
    Bounded(),
    Physical(),
    Sdp(),
    Sdp(regularisation="entropic"),
]
every = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: f"{e.method}-{e.loss.name}" if isinstance(e, Irls) else e.method
)


def close(a: Estimate, b: Estimate, tolerance: float = 1e-8) -> None:
    scale = np.abs(b.values).max()
    assert np.abs(a.values - b.values).max() <= tolerance * scale
    assert a.status == b.status
    assert (a.rank, len(a.groups)) == (b.rank, len(b.groups))
    assert a.relative_error == pytest.approx(b.relative_error, rel=1e-6, abs=1e-9)
    if b.sigma is None:
        assert a.sigma is None
    else:
        np.testing.assert_allclose(a.sigma, b.sigma, rtol=1e-5, atol=1e-12 * b.sigma.max())


def finite(estimate: Estimate) -> None:
    assert np.isfinite(estimate.values).all()
    assert np.isfinite([estimate.relative_error, estimate.weighted_error, estimate.condition, estimate.cost]).all()
    for matrix in (estimate.covariance, estimate.score.gain, estimate.standard):
        assert matrix is None or np.isfinite(matrix).all()
    assert all(np.isfinite([g.rms, g.relative, g.scale]).all() for g in estimate.groups)


@every
def test_exact_data_give_the_exact_answer(estimator):
    estimate = estimator.estimate(make_problem(make_rows()))
    assert estimate.status is Status.CONVERGED
    np.testing.assert_allclose(estimate.values, beta(truth()), rtol=1e-6, atol=1e-6)
    assert estimate.relative_error < 1e-7
    assert estimate.rank == len(base_set().independent)
    finite(estimate)


@every
def test_weight_two_is_the_row_twice(estimator):
    rows = make_rows(noise=0.05, seed=3)

    def weigh(block: RowBlock) -> RowBlock:
        return replace(block, weight=np.where(np.arange(len(block.y)) % 3 == 0, 2.0, 1.0))

    def double(block: RowBlock) -> RowBlock:
        pick = np.repeat(np.arange(len(block.y)), np.where(np.arange(len(block.y)) % 3 == 0, 2, 1))
        return RowBlock(block.W[pick], block.y[pick], block.group, block.sample[pick], block.run)

    weighted, doubled = map_blocks(rows, weigh), map_blocks(rows, double)
    close(
        estimator.estimate(make_problem(weighted, guess())),
        estimator.estimate(make_problem(doubled, guess())),
        1e-7,
    )


@every
def test_row_order_does_not_matter(estimator):
    rows = make_rows(noise=0.05, seed=3)
    rng = np.random.default_rng(8)

    def shuffle(block: RowBlock) -> RowBlock:
        pick = rng.permutation(len(block.y))
        return RowBlock(block.W[pick], block.y[pick], block.group, block.sample[pick], block.run)

    shuffled = map_blocks(rows, shuffle)
    shuffled = replace(shuffled, data=shuffled.data[::-1])
    close(
        estimator.estimate(make_problem(shuffled, guess())),
        estimator.estimate(make_problem(rows, guess())),
        1e-7,
    )


@every
def test_scaling_a_column_scales_its_value(estimator):
    rows, name, factor = make_rows(noise=0.05, seed=3), "Fv_j2", 1e4
    column = PARAMETERS.index(name)

    def scale(block: RowBlock) -> RowBlock:
        W = block.W.copy()
        W[:, column] *= factor
        return replace(block, W=W)

    prior = guess()
    scaled_prior = replace(prior, values={**prior.values, name: prior.values[name] / factor})
    plain = estimator.estimate(make_problem(rows, prior))
    scaled = estimator.estimate(make_problem(map_blocks(rows, scale), scaled_prior))
    back = np.where([n == name for n in scaled.names], factor, 1.0)
    np.testing.assert_allclose(scaled.values * back, plain.values, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(scaled.sigma * back, plain.sigma, rtol=1e-5, atol=1e-9)


@every
def test_inputs_and_results_are_read_only(estimator):
    rows = make_rows(noise=0.05)
    for block in rows.data:
        block.W.setflags(write=False)
        block.y.setflags(write=False)
    before = [(block.W.copy(), block.y.copy()) for block in rows.data]
    estimate = estimator.estimate(make_problem(rows))
    for block, (W, y) in zip(rows.data, before, strict=True):
        assert np.array_equal(block.W, W)
        assert np.array_equal(block.y, y)
    with pytest.raises(ValueError, match="read-only"):
        estimate.values[0] = 1.0


@every
def test_a_parameter_the_log_does_not_excite_is_reported(estimator):
    column = PARAMETERS.index("Fc_j3")

    def silence(block: RowBlock) -> RowBlock:
        W = block.W.copy()
        W[:, column] = 0.0
        return replace(block, W=W)

    estimate = estimator.estimate(make_problem(map_blocks(make_rows(noise=0.05), silence)))
    assert estimate.status is Status.RANK_DEFICIENT
    assert estimate.rank == len(estimate.names) - 1
    assert "Fc_j3" in estimate.message
    assert estimate.status.remedy
    assert not estimate.determined[estimate.names.index("Fc_j3")]
    assert estimate.determined.sum() == len(estimate.names) - 1
    finite(estimate)


@every
def test_two_parameters_that_move_together_are_both_reported(estimator):
    first, second = PARAMETERS.index("Fc_j3"), PARAMETERS.index("Fv_j3")

    def merge(block: RowBlock) -> RowBlock:
        W = block.W.copy()
        W[:, second] = 3.0 * W[:, first]
        return replace(block, W=W)

    estimate = estimator.estimate(make_problem(map_blocks(make_rows(noise=0.05), merge)))
    assert estimate.status is Status.RANK_DEFICIENT
    assert {n for n, ok in zip(estimate.names, estimate.determined, strict=True) if not ok} == {
        "Fc_j3",
        "Fv_j3",
    }
    finite(estimate)


@every
def test_a_log_too_short_is_reported(estimator):
    estimate = estimator.estimate(make_problem(make_rows(samples=5, noise=0.05)))
    assert estimate.status is Status.TOO_FEW_ROWS
    assert "15" in estimate.message
    finite(estimate)


@every
def test_zero_torque_is_reported(estimator):
    rows = map_blocks(make_rows(), lambda block: replace(block, y=np.zeros_like(block.y)))
    estimate = estimator.estimate(make_problem(rows))
    assert estimate.status is Status.NO_TORQUE
    finite(estimate)


@every
def test_no_rows_and_nan_rows_raise(estimator):
    empty = ArrayRows(PARAMETERS, ("j1",), ())
    with pytest.raises(EstimationError, match="no rows"):
        estimator.estimate(make_problem(empty))
    rows = make_rows()

    def spoil(block: RowBlock) -> RowBlock:
        y = block.y.copy()
        y[4] = np.inf if block.group == 2 else y[4]
        return replace(block, y=y)

    with pytest.raises(EstimationError, match=r"block 2 .*'j3', row 4"):
        estimator.estimate(make_problem(map_blocks(rows, spoil)))


@every
def test_block_size_does_not_change_the_result(estimator):
    rows = make_rows(noise=0.05, seed=3)
    plain = estimator.estimate(make_problem(rows, guess()))
    for size in (1, 37, 149):
        other = estimator.estimate(make_problem(replace(rows, block_rows=size), guess()))
        close(other, plain, 1e-9)


@every
def test_the_truth_lies_in_its_own_intervals(estimator):
    """50 seeds of white noise: 3 sigma must cover every parameter nearly always, 1 sigma about two times in three."""
    hits, wide = [], []
    for seed in range(50 if estimator.method in ("ols", "wls", "tls", "iv") else 12):
        estimate = estimator.estimate(make_problem(make_rows(noise=0.05, seed=seed), nominal()))
        gap = np.abs(estimate.values - beta(truth()))
        hits.append(np.mean(gap <= estimate.sigma))
        wide.append(np.mean(gap <= 3.0 * estimate.sigma))
    assert np.mean(wide) > 0.98
    assert np.mean(hits) > 0.6


def test_group_weights_are_those_of_their_own_noise():
    estimate = Wls().estimate(make_problem(make_rows(samples=2000, noise=0.05)))
    np.testing.assert_allclose([1.0 / g.scale for g in estimate.groups], [0.05, 0.2, 0.35], rtol=0.05)
    assert estimate.sigma_rho == pytest.approx(1.0, rel=0.05)


def test_weighting_lowers_the_error_it_claims_to_lower():
    gaps = {}
    for estimator in (Ols(), Wls()):
        runs = [estimator.estimate(make_problem(make_rows(noise=0.05, seed=s))).values for s in range(20)]
        gaps[estimator.method] = np.sqrt(np.mean((np.array(runs) - beta(truth()))[:, :14] ** 2))  # inertial
    assert gaps["wls"] < 0.6 * gaps["ols"]


def test_dof_share_counts_whitened_rows_once():
    rows = make_rows(noise=0.05)
    plain = Ols().estimate(make_problem(rows))
    shared = Ols().estimate(make_problem(replace(rows, dof_share=2.0 / 3.0)))
    k, n = len(plain.names), 450
    assert shared.freedom == pytest.approx(n * 2 / 3 - k)
    np.testing.assert_allclose(shared.sigma, plain.sigma * np.sqrt((n - k) / (n * 2 / 3 - k)), rtol=1e-12)


def test_a_problem_refuses_another_base_set():
    with pytest.raises(EstimationError, match="does not match"):
        Problem.of(make_rows(), replace(base_set(), names=("a",)))
    with pytest.raises(EstimationError, match="did you mean 'Fc_j1'"):
        make_problem(make_rows()).restrict(["Fc_j11"])
