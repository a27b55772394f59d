"""Presliding: exact states, play, and a joint simulated with another law (LuGre) by another integration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import EstimationError
from dalembert.identification.friction import (
    MODELS,
    CoordinateMotion,
    DahlBank,
    FrictionModel,
    MotionScale,
    solve_nonnegative,
)
from dalembert.identification.friction.presliding import dahl_states, play

paths = st.lists(st.sampled_from([-0.3, -0.02, 0.0, 0.0, 1e-4, 0.05, 0.7]), min_size=1, max_size=40)


@given(steps=paths, z0=st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_states_are_the_recursion(steps: list[float], z0: float) -> None:
    """``z+ = s + (z - s) exp(-|dx|/length)``, sample by sample."""
    lengths = np.array([1e-3, 0.1])
    x = 0.2 + np.cumsum(steps)
    z, expected, last = np.full(2, z0), [], 0.2
    for value in x:
        s = np.sign(value - last)
        z = s + (z - s) * np.exp(-abs(value - last) / lengths)
        expected.append(z)
        last = value
    np.testing.assert_allclose(dahl_states(x, lengths, 0.2, np.full(2, z0)), expected, atol=1e-12)


@given(steps=paths, half=st.sampled_from([0.0, 1e-3, 0.04, 0.5]))
@settings(max_examples=100, deadline=None)
def test_play_is_the_recursion(steps: list[float], half: float) -> None:
    x = 0.2 + np.cumsum(steps)
    u, expected = 0.2, []
    for value in x:
        u = min(max(u, value - half), value + half)
        expected.append(u)
    np.testing.assert_allclose(play(x, half, 0.2, 0.2), expected, atol=1e-14)


def test_large_motion_limit_is_coulomb() -> None:
    """A few lengths after a reversal every state is sign(xd)."""
    t = np.linspace(0, 10, 20001)
    x, xd = np.cos(t), -np.sin(t)
    bank = DahlBank((1e-4, 1e-3))
    motion = CoordinateMotion(x, xd, -x, t[1])
    step = bank.advance(motion, bank.start())
    far = np.abs(xd) > 0.15  # 1 - |cos| > 0.011: eleven times the longest length from the turning point
    np.testing.assert_allclose(step.columns[far], np.sign(xd)[far, None] * np.ones(2), atol=1e-4)
    first = int(np.argmax(step.settled))
    assert 1.0 - x[first] == pytest.approx(-np.log(0.01) * 1e-3, rel=0.05) and step.settled[first:].all()


def test_initial_state_is_forgotten_where_settled() -> None:
    t = np.linspace(0, 10, 5001)
    motion = CoordinateMotion(np.sin(t), np.cos(t), -np.sin(t), t[1])
    low, high = (DahlBank((1e-3, 1e-2), initial=z) for z in (-1.0, 1.0))
    settled = low.advance(motion, low.start()).settled
    gap = np.abs(low.columns(motion) - high.columns(motion)).max(axis=1)
    assert gap[settled].max() <= 0.02 < gap[~settled].max()


def test_dead_band_keeps_the_state_of_a_joint_held_still() -> None:
    """Encoder noise of less than a step unwinds a bank without dead band and leaves one with it alone."""
    rng = np.random.default_rng(1)
    quantum = 1e-4
    moving = np.linspace(0, 1, 1000)
    still = 1.0 + rng.uniform(-0.45, 0.45, 4000) * quantum
    x = np.concatenate([moving, still])
    motion = CoordinateMotion(x, np.gradient(x, 1e-3), np.zeros_like(x), 1e-3, quantum)
    held, washed = (DahlBank((1e-3,), deadband=band).columns(motion)[-1, 0] for band in (None, 0.0))
    assert held > 0.9 and abs(washed) < 0.2


@pytest.mark.parametrize("bad", [{"lengths": (0.0,)}, {"initial": 2.0}, {"deadband": -1.0}])
def test_settings_are_checked(bad: dict[str, object]) -> None:
    with pytest.raises(EstimationError, match="dahl"):
        DahlBank(**bad)  # type: ignore[arg-type]


def test_default_lengths_follow_range_and_encoder() -> None:
    fine, coarse = MotionScale(0.0, 2.0, 1.0), MotionScale(0.0, 2.0, 1.0, quantum=1e-4)
    bank = DahlBank().scaled(fine)
    np.testing.assert_allclose(bank.lengths, 2.0 * np.array([1e-5, 1e-4, 1e-3, 1e-2]))
    assert DahlBank().scaled(coarse).lengths[0] == pytest.approx(2e-4)
    assert DahlBank((0.1,)).scaled(coarse).lengths == (0.1,)


def lugre(x: np.ndarray, xd: np.ndarray, period: float) -> np.ndarray:
    """LuGre friction [Canudas de Wit 1995] over a motion: bristles with Stribeck level and damping, by implicit midpoint
    at 40 steps per sample (time constants of 0.1 ms at full speed).
    """
    fc, fs, vs, stiffness, damping, viscous = 4.0, 5.0, 0.02, 1500.0, 2.0, 1.5
    z, out, steps = 0.0, np.zeros(len(x)), 40
    h = period / steps
    for k in range(len(x)):
        rate = 0.0
        for i in range(steps):
            v = xd[k - 1] + (xd[k] - xd[k - 1]) * (i + 0.5) / steps if k else xd[0]
            g = (fc + (fs - fc) * np.exp(-((v / vs) ** 2))) / stiffness
            a = abs(v) / g
            after = (z * (1 - 0.5 * h * a) + h * v) / (1 + 0.5 * h * a)
            rate, z = (after - z) / h, after
        out[k] = stiffness * z + damping * rate + viscous * xd[k]
    return out


def test_bank_predicts_a_lugre_joint_better_than_sign() -> None:
    """A joint with LuGre friction and a pendulum's gravity; encoder steps and torque noise; second half predicted."""
    rng = np.random.default_rng(4)
    period, n, quantum = 2e-3, 5000, 2e-5
    t = np.arange(n) * period
    x = 0.15 * np.sin(2.1 * t) + 0.05 * np.sin(7.3 * t + 1) + 0.01 * np.sin(19.0 * t)
    xd = 0.315 * np.cos(2.1 * t) + 0.365 * np.cos(7.3 * t + 1) + 0.19 * np.cos(19.0 * t)
    xdd = np.gradient(xd, period)
    tau = 0.8 * xdd + 2.0 * np.cos(x) + lugre(x, xd, period) + 0.05 * rng.normal(size=n)
    seen = np.round(x / quantum) * quantum
    motion = CoordinateMotion(seen, xd, xdd, period, quantum)
    half, held = slice(100, n // 2), slice(n // 2 + 50, n)
    errors = {}
    for name in ("coulomb", "dahl"):
        model: FrictionModel = MODELS[name].scaled(MotionScale.of([motion.cut(slice(0, n // 2))]))
        A = np.column_stack([xdd, np.cos(x), model.columns(motion)])
        solution = solve_nonnegative(A[half], tau[half], [False, False, *model.nonnegative])
        assert solution.converged
        errors[name] = np.linalg.norm(tau[held] - A[held] @ solution.values) / np.linalg.norm(tau[held])
        inertia = solution.values[0]
        errors[name + " inertia"] = abs(inertia - 0.8) / 0.8
    assert errors["dahl"] < 0.5 * errors["coulomb"], errors
    assert errors["dahl inertia"] < 0.5 * errors["coulomb inertia"], errors
