"""Coefficients >= 0, nonlinear shapes by variable projection, and the choice among models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.identification.recovery import model_of

from dalembert.errors import EstimationError
from dalembert.excitation import Fourier
from dalembert.identification.friction import (
    MODELS,
    CoordinateMotion,
    Fold,
    FoldError,
    FrictionModel,
    MotionScale,
    Shape,
    contiguous_folds,
    fit_shapes,
    projected_residual,
    select_friction,
    solve_nonnegative,
)
from dalembert.identification.identify import identify
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation.synthetic import random_recording
from dalembert.validation import validate


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_nonnegative_meets_the_optimality_conditions(seed: int) -> None:
    """Gradient zero on free and active columns, pointing outwards at the bound: necessary and sufficient (convex)."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(60, 8)) * 10.0 ** rng.uniform(-3, 3, 8)
    W[:, 7] = W[:, 6] * 3.0 + 1e-3 * np.linalg.norm(W[:, 6]) * rng.normal(size=60)  # nearly parallel
    y = W @ (rng.normal(size=8) / np.linalg.norm(W, axis=0)) + 0.1 * rng.normal(size=60)
    mask = np.array([False, False, True, True, True, True, True, True])
    R = np.linalg.qr(np.column_stack([W, y]), mode="r")
    found = solve_nonnegative(R[:, :-1], R[:, -1], mask)
    slope = W.T @ (W @ found.values - y) / np.linalg.norm(W, axis=0) / np.linalg.norm(y)
    assert found.converged and np.all(found.values[mask] >= 0.0)
    assert np.abs(slope[list(found.free)]).max(initial=0.0) < 1e-9 and np.all(slope[found.at_bound] > -1e-9)
    assert found.residual == pytest.approx(np.linalg.norm(W @ found.values - y), rel=1e-9)


def test_nonnegative_without_bounds_or_with_open_columns() -> None:
    rng = np.random.default_rng(2)
    W, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    plain = solve_nonnegative(W, y, np.zeros(5, dtype=bool))
    np.testing.assert_allclose(plain.values, np.linalg.lstsq(W, y, rcond=None)[0], atol=1e-12)
    W[:, 1] = W[:, 0]
    W[:, 4] = 0.0
    found = solve_nonnegative(W, y, np.array([False, False, True, True, True]))
    assert found.rank <= 3 and found.values[4] == 0.0 and found.values[0] == pytest.approx(found.values[1])
    with pytest.raises(EstimationError, match="mask"):
        solve_nonnegative(W, y, np.zeros(3, dtype=bool))


def joint(n: int = 4000, seed: int = 0) -> tuple[CoordinateMotion, np.ndarray, FrictionModel]:
    """A joint with Stribeck friction, vs = 0.2 rad/s: motion, torque, model."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) / 500.0
    x, xd, xdd = (
        0.6 * np.sin(1.7 * t) + 0.2 * np.sin(5.1 * t),
        1.02 * np.cos(1.7 * t) + 1.02 * np.cos(5.1 * t),
        -1.734 * np.sin(1.7 * t) - 5.202 * np.sin(5.1 * t),
    )
    motion = CoordinateMotion(x, xd, xdd, 0.002)
    model = MODELS["stribeck"].scaled(MotionScale.of([motion]))
    tau = 0.5 * xdd + model.with_shape([0.2]).columns(motion) @ [1.0, 3.0, 5.0] + 0.1 * rng.normal(size=n)
    return motion, tau, model


def triangle(model: FrictionModel, motion: CoordinateMotion, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    slopes = model.slopes(motion)[:, 1:, 0]  # of Fc and Fs; viscous friction has none
    R = np.linalg.qr(np.column_stack([motion.xdd, model.columns(motion), slopes, tau]), mode="r")
    return projected_residual(R, 4, [(2, 0), (3, 0)])


def test_gradient_of_the_projected_residual() -> None:
    """Kaufman's Jacobian is approximate, the gradient J'r it gives is exact."""
    motion, tau, model = joint(800)
    for vs in (0.05, 0.2, 0.7):
        residual, jacobian = triangle(model.with_shape([vs]), motion, tau)
        h = 1e-5 * vs
        high, low = (np.sum(triangle(model.with_shape([vs + d]), motion, tau)[0] ** 2) for d in (h, -h))
        assert (jacobian.T @ residual)[0] == pytest.approx((high - low) / (4 * h), rel=1e-4)


@pytest.mark.parametrize("kind", ["jacobian", "residual", "norm"])
def test_shapes_find_the_speed(kind: str) -> None:
    motion, tau, model = joint()

    def evaluate(values: np.ndarray) -> float | np.ndarray | tuple[np.ndarray, np.ndarray]:
        residual, jacobian = triangle(model.with_shape(values), motion, tau)
        if kind == "jacobian":
            return residual, jacobian
        if kind == "norm":
            return float(np.linalg.norm(residual))
        W = np.column_stack([motion.xdd, model.with_shape(values).columns(motion)])
        return np.asarray(tau - W @ np.linalg.lstsq(W, tau, rcond=None)[0])

    found = fit_shapes(evaluate, model.shape)
    assert found.converged and found.at_bound == ()
    assert found.values[0] == pytest.approx(0.2, rel=0.05)
    assert found.cost == pytest.approx(0.1 * np.sqrt(len(tau)), rel=0.03)  # the noise, and nothing else
    assert found.cost <= min(cost for _, cost in found.starts) and found.evaluations < 60


def test_shapes_escape_a_local_minimum_and_report_bounds() -> None:
    def rugged(values: np.ndarray) -> np.ndarray:
        z = np.log(values)
        return np.concatenate([np.sqrt(1.2 - np.cos(6.0 * (z - 0.5))), 0.3 * (z - 0.5)])

    shape = Shape("vs", "", 0.15, 0.05, 20.0, 1.0)  # the present value lies in the basin of another minimum
    assert fit_shapes(rugged, [shape]).values[0] == pytest.approx(np.exp(0.5), rel=0.01)
    downhill = fit_shapes(lambda v: np.array([2.0 + np.log(v[0])]), [Shape("vs", "", 1.0, 0.5, 2.0, 1.0)])
    assert downhill.at_bound == (0,)
    with pytest.raises(EstimationError, match="bounds"):
        fit_shapes(lambda v: v, MODELS["smooth"].shape)


def test_folds_cover_everything_once_with_a_guard() -> None:
    runs = {"a": 100, "b": 50}
    folds = contiguous_folds(runs, 4, guard=5)
    for run, n in runs.items():
        sample = np.arange(n)
        held = np.array([fold.held(sample, run) for fold in folds])
        train = np.array([fold.train(sample, run) for fold in folds])
        assert np.all(held.sum(axis=0) == 1) and not np.any(held & train)
        for h, t in zip(held, train, strict=True):
            if h.any():
                distance = np.abs(sample[:, None] - sample[h][None]).min(axis=1)
                np.testing.assert_array_equal(t, distance > 5)
            else:
                assert t.all()
    with pytest.raises(EstimationError, match="too little"):
        contiguous_folds(30, 5, guard=5)


def scores(table: dict[str, list[float]]) -> object:
    """An evaluation that reads relative errors (percent) from a table."""

    def evaluate(model: FrictionModel, fold: Fold) -> FoldError:
        e = (table[model.name][fold.number] / 100.0) ** 2
        return FoldError(0.5 * e, 1.0, e, 1.0)

    return evaluate


def choose(table: dict[str, list[float]]) -> tuple[str, str]:
    folds = contiguous_folds(100, 4, guard=3)
    selection = select_friction([MODELS[name] for name in table], scores(table), folds)  # type: ignore[arg-type]
    assert set(selection.table().split()) >= set(table) and f"* {selection.chosen.name}" in selection.table()
    return selection.chosen.name, selection.reason


def test_the_best_model_wins_when_it_wins_clearly() -> None:
    """Folds differ far more than the models do; paired, the difference is clear."""
    name, reason = choose({"coulomb": [5.0, 9.0, 6.0, 8.0], "sqrt": [4.0, 8.0, 5.0, 7.0]})
    assert name == "sqrt" and "better on 4 of 4 blocks" in reason and "coulomb" in reason


def test_the_simpler_model_wins_within_one_standard_error() -> None:
    name, reason = choose(
        {"dahl+sqrt": [4.0, 6.2, 5.1, 5.0], "sqrt": [4.1, 6.1, 5.0, 5.2], "coulomb": [7.0, 7.0, 7.0, 7.0]}
    )
    assert name == "sqrt" and "within one standard error" in reason and "dahl+sqrt" in reason


def test_selection_refuses_nonsense() -> None:
    folds = contiguous_folds(100, 4, guard=3)
    with pytest.raises(EstimationError, match="0 models"):
        select_friction([], lambda model, fold: FoldError(1, 1, 1, 1), folds)
    with pytest.raises(EstimationError, match="no torque"):
        select_friction([MODELS["none"]], lambda model, fold: FoldError(1, 1, 1, 0), folds)
    with pytest.raises(EstimationError, match="no finite error"):
        select_friction([MODELS["none"]], lambda model, fold: FoldError(1, 1, np.nan, 1), folds)


def test_a_level_at_rest_that_a_mask_hides_is_not_invented() -> None:
    """With slow samples left out, a Stribeck speed among them would leave Fs open: torques of 1e2 N m at standstill."""
    model, rng = model_of("scara"), np.random.default_rng(3)
    first, second = (random_recording(model, rng, family=Fourier(5, 5.0), rate=500.0, name=n) for n in ("a", "b"))
    mask = SlowMask(0.05, "relative")
    fit = identify(model, first.log, friction="stribeck", signals=SignalSettings(mask=mask))
    assert fit.prepared.laws is not None
    slow = fit.prepared.rigid.runs[0].plan.slow
    for (_, law), limit in zip(fit.prepared.laws.laws, slow, strict=True):
        assert all(shape.value >= 0.99 * limit for shape in law.shape)
    found = validate(fit.fit, replace(second.log, tau=second.torque), signals=SignalSettings(decimate=1))
    assert found.raw_relative_error < 0.02
