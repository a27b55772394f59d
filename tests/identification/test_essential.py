"""Essential parameters: what is dropped is not missed, what matters stays, and the price is printed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.identification.recovery import model_of, true_base
from tests.identification.synthetic import PARAMETERS, beta, make_problem, make_rows, map_blocks, truth

from dalembert.errors import EstimationError
from dalembert.excitation import Fourier
from dalembert.identification.essential import FTest, SigmaRatio
from dalembert.identification.identify import Identification, identify
from dalembert.identification.problem import Problem
from dalembert.identification.wls import Wls
from dalembert.simulation.synthetic import random_recording


@cache
def noisy(name: str) -> Identification:
    """A short log with torque noise of 10 %: many base parameters drown in it."""
    recording = random_recording(
        model_of(name), np.random.default_rng(0), family=Fourier(5, 5.0), rate=500.0, torque_noise=0.1
    )
    return identify(model_of(name), recording.log)


def true_error(problem: Problem, names, values, exact: np.ndarray) -> float:
    """Error of the torque without noise, in the weights of the fit, relative to it."""
    R = problem.weighted([1.0] * len(problem.factors))
    every = R[:, list(problem.kept)]
    kept = R[:, [problem.parameters.index(name) for name in names]]
    return float(np.linalg.norm(kept @ values - every @ exact) / np.linalg.norm(every @ exact))


@pytest.mark.parametrize("name", ["tx40", "dualv"])
def test_the_f_test_drops_what_the_log_cannot_tell_and_nothing_else(name):
    """Many parameters go, none worth five of its sigmas, and the true torque is met better without them."""
    fit = noisy(name)
    truth = true_base(fit, model_of(name).nominal())
    found = FTest().reduce(fit.prepared.problem)
    dropped = [item.name for item in found.dropped]
    assert len(dropped) > len(truth) / 4
    sure = {n for n, v, s in zip(fit.estimate.names, truth, fit.robust.sigma, strict=True) if abs(v) > 5.0 * s}
    assert not sure & set(dropped)
    whole = true_error(fit.prepared.problem, fit.estimate.names, fit.estimate.values, truth)
    essential = true_error(fit.prepared.problem, found.estimate.names, found.estimate.values, truth)
    assert essential < whole
    assert found.estimate.weighted_error <= 1.02 * fit.estimate.weighted_error


def test_the_papers_rule_drops_more_and_says_what_it_cost():
    """[Briot15, section 5.3]: on the same log the sigma-ratio rule loses torque that is there."""
    fit = noisy("tx40")
    truth = true_base(fit, model_of("tx40").nominal())
    careful, papers = (rule.reduce(fit.prepared.problem) for rule in (FTest(), SigmaRatio()))
    assert len(papers.dropped) > len(careful.dropped)
    sigma = papers.estimate.sigma / np.abs(papers.estimate.values)
    assert sigma.max() < 10.0 * sigma.min()
    whole = true_error(fit.prepared.problem, fit.estimate.names, fit.estimate.values, truth)
    lost = true_error(fit.prepared.problem, papers.estimate.names, papers.estimate.values, truth)
    assert lost > 3.0 * whole
    for found in (careful, papers):
        assert f"{100 * found.error_full:.2f} % -> {100 * found.error_essential:.2f} %" in str(found)
        assert all(item.name in str(found) for item in found.dropped)


SIZES = np.array([0.05, 0.2, 0.35])  # torque noise of the three groups


def sparse() -> tuple[np.ndarray, set[str]]:
    """Base values of which friction of two groups and all that its log would hardly show are zero; the names of
    these."""
    plain = Wls().estimate(make_problem(make_rows(noise=0.05)))
    values = beta(truth())
    small = np.abs(values) < 10.0 * plain.sigma
    small |= np.array([name in ("Fv_j1", "Fc_j1", "Fv_j3", "Fc_j3") for name in plain.names])
    return np.where(small, 0.0, values), {name for name, zero in zip(plain.names, small, strict=True) if zero}


def test_true_zeros_are_dropped_as_often_as_the_level_says():
    """All of them together in 95 of 100 logs, nothing else ever."""
    values, zeros = sparse()
    columns = list(make_problem(make_rows()).kept)
    assert 6 <= len(zeros) < len(values) - 5
    all_gone = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)

        def torque(block, rng=rng):
            noise = SIZES[block.group] * rng.standard_normal(len(block.y))
            return replace(block, y=block.W[:, columns] @ values + noise)

        found = FTest(max_cost=0.1).reduce(make_problem(map_blocks(make_rows(), torque)))
        dropped = {item.name for item in found.dropped}
        assert dropped <= zeros
        all_gone += dropped == zeros
    assert all_gone >= 33  # at 95 % each, 32 or fewer of 40 have probability 1e-3


def test_what_the_log_leaves_open_goes_first():
    column = PARAMETERS.index("Fc_j3")

    def silence(block):
        W = block.W.copy()
        W[:, column] = 0.0
        return replace(block, W=W)

    found = FTest().reduce(make_problem(map_blocks(make_rows(noise=0.05), silence)))
    assert found.dropped[0].name == "Fc_j3"
    assert found.estimate.status.ok


def test_rules_refuse_settings_without_meaning():
    for wrong in (lambda: FTest(p_value=0.0), lambda: FTest(max_cost=-1.0)):
        with pytest.raises(EstimationError, match="expected 0 < p < 1"):
            wrong()
    with pytest.raises(EstimationError, match="above 1"):
        SigmaRatio(1.0)
