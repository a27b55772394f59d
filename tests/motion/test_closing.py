"""Motor angles -> full configuration: a path walked by the referee is found again from home and the angles alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.helpers.closed import Closed, closed, closed_names, robot_named
from tests.helpers.robots import five_bar, four_bar, planar_2r, redundant_planar

from dalembert.errors import ClosureError
from dalembert.model import build_model
from dalembert.motion import Closer, close_motion

pytestmark = pytest.mark.slow  # some twenty robots
NAMES = closed_names()


def close_by_referee(robot: Closed, y: np.ndarray) -> np.ndarray:
    """Minimum-norm Newton on the referee's constraints."""
    still = np.zeros(len(y))
    for _ in range(12):
        f, j, _ = robot.engine.constraints(y, still)
        if np.abs(f).max() < 1e-15:
            break
        y = y - np.linalg.lstsq(j, f, rcond=1e-10)[0]
    return y


def walk(robot: Closed, n: int, stride: float, rng: np.random.Generator) -> np.ndarray:
    """A smooth path from home over the referee's own null space; it turns away where motors lose their hold."""
    model = robot.model
    y, out = model.home.copy(), [model.home.copy()]
    still = np.zeros(len(y))
    heading = rng.standard_normal(len(y))
    sensors = model.robot.sensor_map()
    grip = np.linalg.svd(sensors @ robot.engine.null_space(y, still), compute_uv=False)[-1]
    for k in range(n - 1):
        if k % 40 == 0:
            heading = heading + rng.standard_normal(len(y))
        free = robot.engine.null_space(y, still)
        step = free @ (free.T @ heading)
        trial = close_by_referee(robot, y + stride * step / np.abs(step).max())
        free = robot.engine.null_space(trial, still)
        held = np.linalg.svd(sensors @ free, compute_uv=False)[-1]
        if free.shape[1] != model.r or held < 0.2 * grip:
            heading = -heading
            trial = y
        y = trial
        out.append(y)
    return np.array(out)


@pytest.mark.parametrize("name", NAMES)
def test_positions_recover_the_path_from_home_and_motor_angles(name: str, rng: np.random.Generator) -> None:
    robot = closed(name)
    sensors = robot.model.robot.sensor_map()
    if len(sensors) < robot.model.r:
        pytest.skip("motors do not determine the motion")
    path = walk(robot, 240, 0.02, rng)
    assert np.abs(path - path[0]).max() > 0.2
    found = Closer(robot.model).positions(path @ sensors.T)
    # 1e-12 in the loops; in y times the inverse grip of motors and loops, and a fifth of home's grip is allowed
    for y in found:
        assert np.abs(robot.engine.constraints(y, np.zeros(len(y)))[0]).max() < 2e-12
    np.testing.assert_allclose(found, path, rtol=0, atol=1e-9)
    c = robot.model.loops_kernel()(found)["c"]
    assert np.abs(c).max() < 1e-12


def test_a_crank_turns_round_and_round() -> None:
    """A four-bar that satisfies Grashof: five turns, samples coarse and fine, on one assembly mode."""
    model = build_model(four_bar("axis"), backend="numpy")
    for n in (60, 3000):
        theta = np.linspace(model.home[0], model.home[0] + 10 * np.pi, n)[:, None]
        y = Closer(model).positions(theta)
        # the coupler counter-rotates once a turn, the rocker swings: nothing jumps
        np.testing.assert_allclose(y[-1] - y[0], [10 * np.pi, -10 * np.pi, 0.0], rtol=0, atol=1e-10)
        assert np.ptp(y[:, 2]) < np.pi
        assert np.abs(np.diff(y, axis=0)).max() < 4 * 10 * np.pi / n


def five_bar_angles(model, n: int, reach: float) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Cranks driven apart until the rods stretch to a share ``reach`` of the singular span, and back, ten times."""
    home = model.home[[0, 2]]
    rng = np.linspace(0.0, 20 * np.pi, n)
    # tips of the cranks 0.9 m apart stretch both rods: cranks at pi and 0 would need 1.1 m
    span = reach * 0.9
    opening = np.arccos((span - 0.5) / 0.6)
    apart = 0.5 * (1 - np.cos(rng))
    q1, q2 = np.pi - opening, opening
    return (1 - apart)[:, None] * home + apart[:, None] * [q1, q2]


@pytest.mark.parametrize("reach", [0.9, 0.999, 0.99999])
def test_long_motion_close_to_a_singularity_stays_on_its_branch(reach: float) -> None:
    """Where the rods stretch out, two assembly modes meet: sigma falls to 0.01, and the elbows must not flip."""
    model = build_model(five_bar(efforts=False), backend="numpy")
    angles = five_bar_angles(model, 6001, reach)
    theta = angles * [20.0, -15.0]
    y = Closer(model).positions(theta)
    np.testing.assert_allclose(y[:, [0, 2]], angles, rtol=0, atol=1e-12)
    np.testing.assert_allclose(y[-1], model.home, rtol=0, atol=1e-10)
    # the tip above the line between the crank tips, as at home
    tip = np.sin(y[:, 0]) * 0.3 + 0.45 * np.sin(y[:, 0] + y[:, 1])
    left, right = 0.3 * np.sin(y[:, 0]), 0.3 * np.sin(y[:, 2])
    assert (tip - (left + right) / 2).min() > 0.0


def test_a_planned_motion_out_of_reach_is_not_called_measured() -> None:
    model = build_model(five_bar(efforts=False), backend="numpy")
    angles = five_bar_angles(model, 2001, 1.02)
    with pytest.raises(ClosureError, match=r"at the positions asked for .*out of reach") as caught:
        Closer(model, measured=False).positions(angles * [20.0, -15.0])
    assert "measured" not in str(caught.value)
    with pytest.raises(ClosureError, match=r"asked for"):
        Closer(model, given="independent").positions(np.array([model.home[:2], [50.0, -50.0]]))


def test_beyond_the_singularity_sample_time_and_error_are_named() -> None:
    model = build_model(five_bar(efforts=False), backend="numpy")
    angles = five_bar_angles(model, 2001, 1.02)
    t = 0.01 * np.arange(2001)
    with pytest.raises(ClosureError) as caught:
        Closer(model).positions(angles * [20.0, -15.0], t)
    message = str(caught.value)
    assert "\n" not in message and "at the positions measured" in message
    span = 0.5 - 0.3 * np.cos(angles[:, 0]) + 0.3 * np.cos(angles[:, 1])
    first = int(np.argmax(span > 0.9))
    named = int(message.split("sample ")[1].split(" ")[0])
    assert abs(named - first) <= 1
    assert f"t = {t[named]:.6g} s" in message
    for word in (model.robot.name, "last error", "singular value"):
        assert word in message


def test_a_lost_sample_is_named_itself() -> None:
    model = build_model(five_bar(efforts=False), backend="numpy")
    theta = np.tile(model.home[[0, 2]] * [20.0, -15.0], (500, 1)) + np.linspace(0, 0.5, 500)[:, None]
    bad = theta.copy()
    bad[300] = np.nan
    with pytest.raises(ClosureError, match="sample 300"):
        Closer(model).positions(bad)
    bad[300] = [np.pi * 20.0, 0.0]  # both cranks out: the rods cannot meet
    with pytest.raises(ClosureError, match="sample 300"):
        Closer(model).positions(bad)


# --- rates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_rates_equal_finite_differences_of_positions(name: str, rng: np.random.Generator) -> None:
    robot = closed(name)
    model = robot.model
    maps = model.velocity_maps(model.home)[0][0]
    size = 0.1 / np.abs(maps).max()
    index = [model.coordinates.index(c) for c in model.independent]
    h, n = 2e-3, 41
    t = h * (np.arange(n) - n // 2)
    rate, phase = rng.uniform(1.0, 3.0, model.r), rng.uniform(0, 2 * np.pi, model.r)
    z = size * np.sin(np.outer(t, rate) + phase) + model.home[index]
    zd = size * rate * np.cos(np.outer(t, rate) + phase)
    zdd = -size * rate**2 * np.sin(np.outer(t, rate) + phase)
    motion = close_motion(model, z, zd, zdd, given="independent")
    first = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60 / h
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / 180 / h**2
    yd = np.stack([np.convolve(column, first[::-1], "valid") for column in motion.y.T], axis=1)
    ydd = np.stack([np.convolve(column, second[::-1], "valid") for column in motion.y.T], axis=1)
    # sixth order of step 2e-3: rounding of 1e-15 grows to 1e-12 and 1e-9, truncation stays below
    np.testing.assert_allclose(motion.yd[3:-3], yd, rtol=0, atol=1e-10 * max(1.0, np.abs(yd).max()))
    np.testing.assert_allclose(motion.ydd[3:-3], ydd, rtol=0, atol=3e-8 * max(1.0, np.abs(ydd).max()))


# --- more sensors than mobilities --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in NAMES if closed(n).model.n > closed(n).model.r])
def test_reconciliation_is_the_weighted_least_squares_optimum(name: str, rng: np.random.Generator) -> None:
    """Noisy motor angles: no admissible motion lowers the weighted mismatch, and another solver ends there too."""
    robot = closed(name)
    model = robot.model
    sensors = model.robot.sensor_map()
    path = walk(robot, 120, 0.01, rng)
    scale = np.abs(sensors).max(axis=1)
    theta = path @ sensors.T + 2e-3 * scale * rng.standard_normal((120, len(sensors)))
    weight = rng.uniform(0.5, 2.0, len(sensors)) / scale
    closer = Closer(model, weight)
    y = closer.positions(theta)
    for k in range(0, 120, 12):
        free = robot.engine.null_space(y[k], np.zeros(model.n_y))
        left = weight * (theta[k] - sensors @ y[k])
        assert np.abs(robot.engine.constraints(y[k], np.zeros(model.n_y))[0]).max() < 2e-12
        # steps end at 1e-13: the gradient is that small beside mismatches of 1e-3
        assert np.abs((weight[:, None] * (sensors @ free)).T @ left).max() < 1e-11

    def residual(step: np.ndarray, k: int, free: np.ndarray) -> np.ndarray:
        moved = close_by_referee(robot, y[k] + free @ step)
        return weight * (theta[k] - sensors @ moved)

    free = robot.engine.null_space(y[60], np.zeros(model.n_y))
    best = least_squares(residual, np.full(model.r, 1e-3), args=(60, free), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    # a minimum is flat: its place is found to the root of the cost's rounding
    np.testing.assert_allclose(best.x, 0.0, rtol=0, atol=1e-7)
    assert np.sum((weight * (theta[60] - sensors @ y[60])) ** 2) <= 2 * best.cost * (1 + 1e-9)


def test_weight_zero_leaves_a_sensor_out(rng: np.random.Generator) -> None:
    """Three of four motors trusted: the fourth may read anything."""
    model = build_model(redundant_planar(), backend="numpy")
    closer = Closer(model)
    base = closer.positions(np.tile(model.robot.motor_map() @ model.home, (50, 1)))
    t = np.linspace(0, 1, 50)[:, None]
    z = np.hstack([0.05 * np.sin(3 * t), 0.04 * np.cos(2 * t) - 0.04, 0.1 * np.sin(t)])
    y = Closer(model, given="independent").positions(z + base[0, :3])
    theta = y @ model.robot.motor_map().T
    theta[:, 3] = rng.uniform(-1, 1, 50)
    found = Closer(model, [1.0, 1.0, 1.0, 0.0]).positions(theta)
    np.testing.assert_allclose(found, y, rtol=0, atol=1e-10)


def test_rates_of_an_over_measured_robot_are_least_squares(rng: np.random.Generator) -> None:
    model = build_model(redundant_planar(), backend="numpy")
    y = model.home[None]
    weight = rng.uniform(0.5, 2.0, 4)
    rate, acceleration = rng.standard_normal((2, 1, 4))
    yd, ydd = Closer(model, weight).rates(y, rate, acceleration)
    jacobian = weight[:, None] * model.velocity_maps(y)[1][0]
    v = np.linalg.lstsq(jacobian, weight * rate[0], rcond=None)[0]
    np.testing.assert_allclose(yd[0], model.velocity_maps(y)[0][0] @ v, rtol=0, atol=1e-12)
    g = model.velocity_kernel()(y, yd)["g"][0]
    vd = np.linalg.lstsq(jacobian, weight * (acceleration[0] - model.robot.motor_map() @ g), rcond=None)[0]
    np.testing.assert_allclose(ydd[0], model.velocity_maps(y)[0][0] @ vd + g, rtol=0, atol=1e-11)


# --- what is not a loop ------------------------------------------------------------------------------------------------


def test_a_tree_needs_no_continuation(rng: np.random.Generator) -> None:
    """Angles far from home, many turns: the linear map is all there is."""
    robot = planar_2r()
    geared = replace(robot, motors=(replace(robot.motors[0], turns=(("q1", 45.0),)),
                                    replace(robot.motors[1], turns=(("q1", 32.0), ("q2", 32.0)))))  # fmt: skip
    model = build_model(geared, backend="numpy")
    theta = rng.uniform(-3000, 3000, (50, 2))
    y = Closer(model).positions(theta)
    np.testing.assert_allclose(y, np.linalg.solve(geared.motor_map(), theta.T).T, rtol=1e-13, atol=1e-12)


def test_shapes_are_checked() -> None:
    model = build_model(five_bar(), backend="numpy")
    with pytest.raises(ClosureError, match=r"found shape \(5, 3\), expected \(samples, 2\)"):
        Closer(model).positions(np.zeros((5, 3)))
    assert Closer(model).positions(np.zeros((0, 2))).shape == (0, 4)


def test_one_sample_is_as_good_as_many() -> None:
    model = build_model(robot_named("delta-body"), backend="numpy")
    theta = model.home[[model.coordinates.index(f"q{k}") for k in range(3)]] + [0.1, -0.05, 0.2]
    one = Closer(model).positions(theta[None])
    many = Closer(model).positions(np.tile(theta, (40, 1)))
    np.testing.assert_allclose(many, np.tile(one, (40, 1)), rtol=0, atol=1e-13)
