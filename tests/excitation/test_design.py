"""Designs are better than chance, continue what is known, split payloads, and come out the same again."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from tests.excitation.designs import FAMILIES, QUICK, design_of, designed
from tests.excitation.robots import arm, model_of

from dalembert.errors import UsageError
from dalembert.excitation import (
    CRITERIA,
    Effort,
    Fourier,
    Limits,
    Progress,
    design_excitation,
    interior_point,
    random_fourier,
    search,
)
from dalembert.excitation.belief import beliefs_of
from dalembert.excitation.given import known_information
from dalembert.excitation.task import Task
from dalembert.identification.base import base_parameters
from dalembert.identification.prepare import prepare_problem
from dalembert.identification.prior import Prior
from dalembert.model import build_model
from dalembert.simulation.synthetic import perfect_tracking


@pytest.mark.parametrize("criterion", CRITERIA)
def test_each_criterion_is_best_at_what_it_asks(criterion):
    """Optimised for a criterion a motion does better by it than the best of many random ones, all limits kept."""
    found = designed("arm", criterion=criterion)
    chance = designed("arm", criterion=criterion, method="random", candidates=60)
    assert found.criterion == chance.criterion == criterion
    assert found.value < chance.value
    assert min(m.slack for m in (*found.margins, *chance.margins)) >= 0.0
    assert found.value == pytest.approx(CRITERIA[criterion]().value(found.information, _context(found))[0], rel=1e-9)


def _context(design):
    beliefs, _ = beliefs_of(design.model, None)
    return Task.of(design.model, design.family, design.limits, beliefs).weighed(design.noise, 0.0).context()


def test_more_candidates_are_never_worse():
    values = [designed("arm", method="random", candidates=n).value for n in (1, 5, 25)]
    assert values[0] >= values[1] >= values[2]
    assert designed("arm", method="random", candidates=25).search.starts >= 1


def test_the_seed_decides_and_nothing_else():
    again = designed("arm")
    assert np.array_equal(again.coefficients, design_of("arm").coefficients)
    other = designed("arm", effort=replace(QUICK, seed=1))
    assert not np.allclose(other.coefficients, again.coefficients)


def test_parallel_starts_find_at_least_what_one_does():
    seen: list[Progress] = []
    design = designed("arm", effort=Effort(starts=3, budget=1e9, iterations=20, threads=2), watch=seen.append)
    alone = designed("arm", effort=Effort(starts=1, budget=1e9, iterations=20, threads=1))
    assert design.value <= alone.value + 1e-9
    assert design.search.starts == 3 == max(p.finished for p in seen)
    values = [value for _, value in design.search.history]
    assert values == sorted(values, reverse=True)
    assert np.isfinite([p.value for p in seen if p.finished]).all()


def test_a_long_start_gives_signs_of_life(monkeypatch):
    seen: list[Progress] = []
    monkeypatch.setattr(search, "_SILENT", 0.0)
    designed("arm", effort=Effort(starts=1, budget=1e9, iterations=20, threads=1), watch=seen.append)
    first, *_, last = seen
    assert (first.finished, first.value) == (0, np.inf)
    assert last.finished == 1 and np.isfinite(last.value)


def test_without_a_budget_a_busy_machine_and_its_threads_change_nothing(monkeypatch):
    """Every look at the clock finds hours gone by."""
    quiet = designed("arm", effort=Effort(starts=3, budget=np.inf, iterations=10, threads=1))
    late = count(0.0, 1e4)
    for module in (search, interior_point):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(late)))
    busy = designed("arm", effort=Effort(starts=3, budget=np.inf, iterations=10, threads=2))
    assert next(late) > 1e5
    assert np.array_equal(busy.coefficients, quiet.coefficients)
    cut = designed("arm", effort=Effort(starts=3, budget=1.0, iterations=10, threads=1))
    assert cut.search.starts == 1 < quiet.search.starts


def test_a_budget_used_up_still_gives_a_motion_within_the_limits():
    design = designed("arm", effort=Effort(starts=50, budget=1e-6, threads=1))
    assert design.search.starts == 1
    assert min(m.slack for m in design.margins) >= 0.0


def test_a_warm_start_goes_on_where_the_other_ended():
    first = design_of("arm")
    second = designed("arm", warm=first)
    assert second.value <= first.value + 1e-6
    # started from what was good, little is left to do: most of the coefficients stay
    assert np.abs(second.coefficients - first.coefficients).max() < 0.5 * np.abs(first.coefficients).max()
    with pytest.raises(UsageError, match=r"coefficients of shape \(3, 5\), expected \(3, 7\)"):
        designed("arm", family=Fourier(3, 3.0), warm=first)


def test_a_free_base_frequency_is_at_least_as_good_as_the_slowest():
    slow = designed("arm", family=Fourier(2, 6.0), noise=0.1)
    free = designed("arm", family=Fourier(2, 6.0), noise=0.1, free_frequency=True)
    assert free.value <= slow.value
    assert free.ride.repeat * free.family.duration == pytest.approx(6.0)
    assert free.ride.repeat > 1  # with two harmonics a faster round shows more


def test_repeating_a_motion_adds_its_information():
    once, thrice = (designed("arm", noise=0.1, repeat=k) for k in (1, 3))
    assert thrice.ride.record[1] - thrice.ride.record[0] == pytest.approx(9.0)
    assert np.allclose(thrice.information, 3.0 * once.information, rtol=1e-9)
    assert np.allclose(thrice.sigma, once.sigma / np.sqrt(3.0), rtol=1e-6)


def test_noise_scales_the_sigmas_and_no_motion():
    low, high = (designed("arm", noise=s) for s in (0.1, 0.4))
    assert np.allclose(high.coefficients, low.coefficients, atol=1e-3)
    assert np.allclose(high.sigma, 4.0 * low.sigma, rtol=1e-2)


def test_speed_is_rewarded():
    plain, fast = (designed("arm", criterion="condition", speed=w) for w in (0.0, 20.0))

    def rms(design):
        t = np.linspace(*design.ride.record, 2000)
        limits = np.array([design.limits.motion[n].velocity for n in ("turn", "lift", "reach")])
        return np.sqrt(((design(t)[1] / limits) ** 2).mean())

    assert rms(fast) > 1.05 * rms(plain)


def test_chosen_parameters_are_known_better_than_by_the_whole():
    chosen = designed("arm", criterion="chosen", parameters=["M*_rod"])
    plain = design_of("arm")
    which = [k for k, p in enumerate(plain.parameters) if p.name.startswith("M") and p.name.endswith("_rod")]
    assert len(which) == 4

    def volume(design):
        covariance = np.linalg.inv(design.information)
        return np.linalg.slogdet(covariance[np.ix_(which, which)])[1]

    assert volume(chosen) < volume(plain)
    assert chosen.criteria["logdet"] > plain.criteria["logdet"]


# --- what is known already -------------------------------------------------------------------------------------------


def test_the_next_motion_adds_to_the_one_before():
    first = design_of("arm")
    second = designed("arm", given=[first], noise=first.noise)
    total = np.linalg.inv(first.information + second.information)
    assert np.allclose(second.sigma, np.sqrt(np.diag(total)), rtol=1e-6)
    assert (second.sigma < first.sigma).all()
    assert second.value < first.value - 0.9 * len(first.columns) * np.log(2.0)  # nearly as good as doing it twice


def test_a_recorded_log_is_continued_where_it_is_weak():
    """A log that hardly turned the column: the next motion makes up for it."""
    model = model_of("arm")
    rng = np.random.default_rng(0)
    path = random_fourier(model, Fourier(3, 3.0), rng, [0.02, 0.5, 0.08])
    noise = designed("arm").noise
    log, _ = perfect_tracking(model, path, 3.0, 500.0, rng)
    log = replace(log, tau=log.tau + rng.standard_normal(log.tau.shape) * noise.values)
    prepared = prepare_problem(model, log)
    fresh = designed("arm", noise=noise)
    following = designed("arm", given=[prepared], noise=noise)
    known = known_information([prepared], following.base)
    by_chance = -np.linalg.slogdet(fresh.information + known)[1]
    assert following.value == pytest.approx(-np.linalg.slogdet(following.information + known)[1], rel=1e-9)
    assert following.value < by_chance  # a better addition to this log than a motion designed without it
    # it turns the column more, of which the log says least
    turn = following.columns.index("ZZ_column")
    assert following.information[turn, turn] > fresh.information[turn, turn]


def test_a_log_of_another_robot_is_refused():
    other = model_of("crane")
    log, _ = perfect_tracking(
        other, random_fourier(other, Fourier(2, 2.0), np.random.default_rng(0), 0.05), 2.0, 200.0,
        np.random.default_rng(0),
    )  # fmt: skip
    with pytest.raises(UsageError, match="is none of the design's; expected the same robot"):
        designed("arm", given=[prepare_problem(other, log)])


def test_a_prior_counts_as_much_as_it_says(rng):
    """Sigmas with a prior are those of a posterior, computed here on the standard parameters."""
    model = model_of("arm")
    base = base_parameters(model)
    known = {name: 10.0 ** rng.uniform(-3, -1) for name in model.parameters}
    design = designed("arm", noise=0.5, given=[Prior({}, known)])
    mapping = np.zeros((base.n_base, len(base.names)))
    mapping[:, list(base.independent)] = np.eye(base.n_base)
    mapping[:, list(base.dependent)] = base.K
    weight = np.diag([1.0 / known[name] ** 2 for name in base.names])
    posterior = np.linalg.inv(mapping.T @ design.information @ mapping + weight)
    expected = np.sqrt(np.diag(mapping @ posterior @ mapping.T))
    assert np.allclose(design.sigma, expected, rtol=1e-6)


def test_a_prior_of_one_parameter_says_nothing_of_a_sum_it_is_part_of():
    """ZZ of the column stands for a sum: knowing one summand alone does not help, knowing all does."""
    model = model_of("arm")
    base = base_parameters(model)
    row = [p.startswith("ZZR") for p in base.base_names].index(True)
    names = [
        base.names[base.independent[row]],
        *(base.names[j] for j, k in zip(base.dependent, base.K[row], strict=True) if k),
    ]
    plain = designed("arm", noise=0.5)
    some, every = (designed("arm", noise=0.5, given=[Prior({}, dict.fromkeys(n, 1e-6))]) for n in (names[:1], names))
    assert some.sigma[row] == pytest.approx(plain.sigma[row], rel=0.3)
    assert every.sigma[row] < 1e-5 * len(names)
    with pytest.raises(UsageError, match="no scale says how well"):
        designed("arm", given=[Prior({"M_rod": 2.0})])


# --- payloads --------------------------------------------------------------------------------------------------------


def test_a_run_with_a_payload_shows_all_ten_of_it():
    empty = design_of("arm")
    loaded = designed("arm", payload="tool", payload_mass=1.5, given=[empty], noise=empty.noise)
    assert loaded.payload == "tool"
    names = [p.name for p in loaded.parameters]
    assert len([n for n in names if n.endswith("_tool")]) >= 6
    mass = next(p for p in loaded.parameters if p.name in ("M_tool", "MR_tool"))
    assert mass.value == pytest.approx(1.5)
    assert mass.shown
    # without a run that does not carry it, it cannot be told from the rod it is fixed to
    with pytest.raises(UsageError, match="cannot be told from 'rod'"):
        designed("arm", payload="tool", noise=empty.noise)


def test_torque_limits_count_the_payload():
    limits = Limits.of(arm()).widened(torque=dict.fromkeys("abc", 18.0))
    empty = designed("arm", limits=limits)
    light, heavy = (
        designed("arm", limits=limits, payload="tool", payload_mass=m, given=[empty], noise=empty.noise)
        for m in (0.0, 3.0)
    )
    assert min(m.slack for m in heavy.margins) >= 0.0
    t = np.linspace(0.0, light.duration, 2000)
    tau = heavy.model.inverse_dynamics(*light(t))  # the light run, made with the heavy payload
    assert np.abs(tau).max() > 0.9 * 18.0


def test_beliefs_are_kept_when_a_payload_is_added():
    model = model_of("arm")
    other = model.nominal() * 1.3
    design = designed("arm", payload="tool", payload_mass=0.5, given=[design_of("arm")], priors=[other])
    friction = next(p for p in design.parameters if p.name == "Fv_a")
    assert friction.value == pytest.approx(1.3 * model.robot.nominal["Fv_a"])


# --- tied bodies -----------------------------------------------------------------------------------------------------


def test_tied_bodies_have_one_set_of_parameters():
    """Crane legs tied: fewer parameters, known better, and the prior values those of the legs' mean."""
    robot = replace(model_of("crane").robot, symmetric=(("crank1", "crank2"), ("rod1", "rod2")))
    model = build_model(robot)
    apart, tied = (
        design_excitation(model, FAMILIES["fourier"], method="random", candidates=1, noise=0.1, symmetric=s)
        for s in (False, True)
    )
    assert len(tied.parameters) < len(apart.parameters)
    crank = next(p for p in tied.parameters if p.name.startswith("ZZ") and p.name.endswith("_crank"))
    assert crank.sigma < min(p.sigma for p in apart.parameters if p.name.startswith("ZZ") and "_crank" in p.name)
    base = tied.base
    mean = base.ties.matrix.T @ model.nominal() / base.ties.matrix.sum(axis=0)
    assert [p.value for p in tied.parameters if p.value is not None] == pytest.approx(
        [v for v, p in zip(base.project(mean), tied.parameters, strict=True) if p.value is not None]
    )
