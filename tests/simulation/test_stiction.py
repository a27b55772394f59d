"""Dry friction: rest is rest, break-away at the right torque, sliding as calculus says, no chatter."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot
from tests.simulation.arms import energy, pushed, sliders

from dalembert.model import build_model
from dalembert.robot import select_efforts

CREEP = 1e-9  # [rad or m] in 10 s


def friction_everywhere(name: str, level: float):
    """A catalog robot with the same dry friction on every joint, passive ones too; its parameters."""
    robot = select_efforts(catalog_robot(name), friction="all")
    values = dict(robot.nominal)
    values |= {p: level for e in robot.efforts for p in e.parameters if p.startswith("Fc")}
    values |= {p: 0.01 for e in robot.efforts for p in e.parameters if p.startswith("Fv")}
    model = build_model(robot)
    return model, np.array([values.get(p, 0.0) for p in model.parameters])


def test_held_below_the_limit_and_released_above() -> None:
    robot = sliders({"a": 5.0, "b": 4.0})
    held = pushed(robot, lambda t: [4.999999, -3.999999], 10.0)
    assert np.abs(held.truth.y).max() < CREEP
    free = pushed(robot, lambda t: [5.000001, 0.0], 10.0)
    assert free.truth.y[-1, 0] == pytest.approx(0.5 * 1e-6 / 2.0 * 100.0, rel=1e-6)
    assert np.abs(free.truth.y[:, 1]).max() < CREEP


def test_breaks_away_when_the_ramp_reaches_the_limit() -> None:
    result = pushed(sliders({"a": 5.0, "b": 4.0}), lambda t: [2.0 * t, 0.0], 4.0)
    moving = np.flatnonzero(result.truth.v[:, 0] > 0.0)
    assert result.truth.t[moving[0]] == pytest.approx(2.5, abs=2.1e-3)
    # torque is held for a tick: x'' = (2 t_k - 5) / 2 on each
    lift = np.maximum(2.0 * result.truth.t[:-1] - 5.0, 0.0) / 2.0 * 1e-3
    assert result.truth.v[-1, 0] == pytest.approx(lift.sum(), rel=1e-9)


def test_slides_to_rest_and_stays() -> None:
    v, w = 3.0005, -2.0005  # each stops inside a step
    result = pushed(sliders({"a": 5.0, "b": 6.0}), lambda t: [0.0, 0.0], 10.0, speed=[v, w])
    assert result.truth.y[-1, 0] == pytest.approx(v**2 * 2.0 / (2 * 5.0), abs=1e-12)  # v^2 m / 2F
    assert result.truth.y[-1, 1] == pytest.approx(-(w**2) * 3.0 / (2 * 6.0), abs=1e-12)
    assert (result.truth.v[-1] == 0.0).all()
    late = result.truth.y[result.truth.t > 1.3]
    assert np.ptp(late, axis=0).max() < 1e-15
    assert result.counts["events"] == 2 and result.counts["chatter"] == 0


def test_slope_holds_up_to_its_angle() -> None:
    limit = 2.0 * 9.81 * np.sin(0.2)
    held = pushed(sliders({"a": limit * 1.000001, "b": 100.0}, slope=0.2), lambda t: [0.0, 0.0], 10.0)
    assert np.abs(held.truth.y).max() < CREEP
    slips = pushed(sliders({"a": limit * 0.999, "b": 100.0}, slope=0.2), lambda t: [0.0, 0.0], 1.0)
    assert slips.truth.y[-1, 0] == pytest.approx(0.5 * 0.001 * limit / 2.0, rel=1e-6)


def test_relative_friction_carries_the_other_mass() -> None:
    """One mass is pushed, the other goes along by the friction between them until that gives way."""
    together = pushed(sliders({}, between=6.0), lambda t: [9.0, 0.0], 2.0)
    assert np.abs(together.truth.y[:, 0] - together.truth.y[:, 1]).max() < 1e-12
    assert together.truth.v[-1, 0] == pytest.approx(9.0 / 5.0 * 2.0, rel=1e-9)
    apart = pushed(sliders({}, between=6.0), lambda t: [20.0, 0.0], 2.0)
    assert apart.truth.v[-1] == pytest.approx([(20.0 - 6.0) / 2.0 * 2.0, 6.0 / 3.0 * 2.0], rel=1e-9)


def test_three_frictions_at_once_share_the_load() -> None:
    """Held by line and by each other: the whole moves when the sum of the line's frictions is exceeded."""
    robot = sliders({"a": 5.0, "b": 4.0}, between=100.0)
    assert np.abs(pushed(robot, lambda t: [8.9999, 0.0], 10.0).truth.y).max() < CREEP
    moved = pushed(robot, lambda t: [9.5, 0.0], 1.0)
    assert moved.truth.v[-1] == pytest.approx([0.1, 0.1], rel=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "bs23"])
def test_stick_slip_loses_exactly_what_friction_takes(method: str) -> None:
    robot = sliders({"a": 5.0, "b": 4.0}, between=3.0)
    model = build_model(robot)
    result = pushed(model, lambda t: [12.0 * np.sin(7.0 * t), 9.0 * np.sin(3.0 * t)], 10.0, method=method)
    assert result.counts["chatter"] == 0 and result.counts["events"] > 30
    balance = energy(model, result, model.nominal())
    assert np.ptp(balance) < 1e-6 * np.abs(result.truth.work).max()
    stuck = result.truth.v[:, 0] == 0.0
    assert 0.02 < stuck.mean() < 0.9


@pytest.mark.parametrize("name", ["dualv", "delta", "orthoglide", "tx40"])
def test_closed_loops_with_friction_on_every_joint_stay_at_rest(name: str) -> None:
    """More frictions than mobilities: the share of each is undetermined, rest is not."""
    model, pi = friction_everywhere(name, 0.5)
    gravity = model.inverse_dynamics(model.home, 0.0 * model.home, 0.0 * model.home, _without_friction(model, pi))[0]
    push = gravity + 0.2
    result = pushed(model, lambda t: list(push), 10.0, pi=pi)
    assert result.completed, result.reason
    assert np.abs(result.truth.y - result.truth.y[0]).max() < CREEP


@pytest.mark.parametrize(("name", "motor"), [("tx40", "j1"), ("scara", "j2"), ("orthoglide", "m2")])
def test_a_drive_breaks_away_at_its_own_friction(name: str, motor: str) -> None:
    """Gravity held, one motor pushes by its Coulomb friction and a millionth more or less. (The Orthoglide's home is
    isotropic: a motor moves its own slide there.)
    """
    model = build_model(catalog_robot(name))
    pi, k = model.nominal(), model.robot.motor_names.index(motor)
    gravity = model.inverse_dynamics(model.home, 0.0 * model.home, 0.0 * model.home, _without_friction(model, pi))[0]
    limit = pi[model.parameters.index(f"Fc_{motor}")]
    for share, moves in ((1.0 - 1e-6, False), (1.0 + 1e-6, True)):
        push = gravity + share * limit * np.eye(model.n)[k]
        result = pushed(model, lambda t, push=push: list(push), 10.0, pi=pi)
        motion = np.abs(result.truth.q - result.truth.q[0]).max(axis=0)
        assert (motion[k] > 1e3 * CREEP) == moves
        assert np.delete(motion, k).max() < (1e-3 * motion[k] if moves else CREEP)
        assert moves or motion[k] < CREEP


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dualv", "delta"])
def test_closed_loops_stick_and_slip_without_chatter(name: str) -> None:
    model, pi = friction_everywhere(name, 0.3)
    gravity = model.inverse_dynamics(model.home, 0.0 * model.home, 0.0 * model.home, _without_friction(model, pi))[0]
    wave = 2.5 * np.arange(1, model.n + 1) / model.n
    result = pushed(model, lambda t: list(gravity + wave * np.sin(40.0 * t)), 1.5, pi=pi)
    assert result.completed, result.reason
    assert result.counts["events"] > 10 and result.counts["chatter"] <= 0.01 * result.counts["steps"]
    assert np.ptp(energy(model, result, pi)) < 1e-5 * np.abs(result.truth.work).max()


def _without_friction(model, pi):
    return np.where([p.startswith(("Fc", "Fv")) for p in model.parameters], 0.0, pi)
