"""Closed loops against a KKT system built on Pinocchio, by its own constraint dynamics, and by energy."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from tests.helpers.closed import Closed, closed, closed_names, robot_named
from tests.helpers.pinocchio_bridge import engine_constraints, to_pinocchio
from tests.helpers.robots import random_parameters

from dalembert.model import build_model
from dalembert.motion import random_states, subset_conditions
from dalembert.robot import Loop, LoopKind

pytestmark = pytest.mark.slow  # some twenty robots, each with its kernels
NAMES = closed_names()
each_robot = pytest.mark.parametrize("name", NAMES)


def size(*arrays: np.ndarray) -> float:
    return max(1.0, *(float(np.abs(a).max(initial=0.0)) for a in arrays))


@each_robot
def test_states_are_closed_and_admissible_for_the_referee(name: str) -> None:
    """C N = 0 and closed loops, as an independent engine sees them; as many mobilities as it counts."""
    robot = closed(name)
    maps, _ = robot.model.velocity_maps(robot.states.y)
    # turns of unit size around lengths of order one: closure to 1e-12 m or rad leaves 1e-12 in any form of the loop
    for k, (y, yd, ydd) in enumerate(robot.samples()):
        f, j, drift = robot.engine.constraints(y, yd)
        assert np.abs(f).max() < 2e-12
        assert np.abs(j @ maps[k]).max() < 1e-12 * size(maps[k]) * size(j)
        assert np.abs(j @ ydd + drift).max() < 1e-11 * size(ydd, drift) * size(j)
        assert robot.engine.null_space(y, yd).shape[1] == robot.model.r
        assert np.linalg.matrix_rank(maps[k]) == robot.model.r


@each_robot
def test_own_jacobian_annihilates_admissible_velocities(name: str) -> None:
    robot = closed(name)
    maps, _ = robot.model.velocity_maps(robot.states.y)
    c = robot.model.loops_kernel()(robot.states.y)["C"].reshape(len(maps), -1, robot.model.n_y)
    assert np.abs(c @ maps).max() < 1e-12 * size(maps)


@each_robot
def test_second_order_motion_leaves_the_loops_at_third_order(name: str) -> None:
    """y + yd h + ydd h^2 / 2 opens the loops as h^3: an error in yd would show as h, one in ydd as h^2."""
    robot = closed(name)
    for y, yd, ydd in robot.samples():
        fast = size(yd, np.sqrt(np.abs(ydd)))

        def opened(h: float, y: np.ndarray = y, yd: np.ndarray = yd, ydd: np.ndarray = ydd) -> float:
            return float(np.abs(robot.engine.constraints(y + h * yd + h**2 / 2 * ydd, yd)[0]).max())

        h = 2e-3 / fast
        coarse, fine = opened(h), opened(h / 2)
        # a robot whose loops are linear in y stays closed to rounding; otherwise 8 up to the next order
        assert coarse < 1e-13 or coarse / fine == pytest.approx(8.0, rel=0.25) or coarse < 1e-11 < fine * 100


@each_robot
def test_forward_dynamics_equal_the_kkt_system(name: str, rng: np.random.Generator) -> None:
    robot = closed(name)
    model, states = robot.model, robot.states
    tau = 5.0 * rng.standard_normal((len(states.y), model.n))
    found = model.forward_kernel()(states.y, states.yd, tau, robot.pi)["ydd"]
    rotor, still = robot.rotor_mass(), np.zeros(model.n_y)
    transmission = model.robot.motor_map()
    for k, (y, yd, _) in enumerate(robot.samples()):
        applied = transmission.T @ tau[k] - robot.engine.effort(robot.values, y, yd, still)
        expected = robot.engine.forward(y, yd, applied, rotor)
        # 6e-14 is seen; a system of condition 1e8 (rotors behind gears of 500) may leave 1e-10 in the referee
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-10 * size(expected))


def _held_by_points_or_welds(name: str) -> bool:
    kinds = {LoopKind.POINT, LoopKind.WELD}
    return all(isinstance(loop, Loop) and loop.kind in kinds for loop in robot_named(name).loops)


@pytest.mark.parametrize("name", [name for name in NAMES if _held_by_points_or_welds(name)])
def test_forward_dynamics_equal_pinocchios_constraint_dynamics(name: str, rng: np.random.Generator) -> None:
    """Its proximal solver, with nothing of ours but the description."""
    robot = closed(name)
    model, states, engine = robot.model, robot.states, robot.engine
    bare = model.robot.with_efforts(())
    if bare.loops != robot_named(name).loops:
        pytest.skip("idle mobilities held by couplings, which Pinocchio's contacts do not know")
    if np.linalg.cond(engine.mass(states.y[0])) > 1e14:
        pytest.skip("massless bodies: Pinocchio needs an invertible mass matrix of the opened tree")
    pi = robot.pi[: len(bare.parameters())]
    own = build_model(bare, backend="numpy")
    tau = 5.0 * rng.standard_normal((len(states.y), model.n))
    found = own.forward_kernel()(states.y, states.yd, tau, pi)["ydd"]
    constraints = pin.StdVec_RigidConstraintModel()
    data = pin.StdVec_RigidConstraintData()
    for constraint in engine_constraints(engine):
        constraints.append(constraint)
        data.append(constraint.createData())
    transmission = model.robot.motor_map()
    pin.initConstraintDynamics(engine.model, engine.data, constraints, data)
    for k, (y, yd, _) in enumerate(robot.samples()):
        proximal = pin.ProximalSettings(1e-14, 1e-10, 1000)
        q, v, applied = (z[engine.order] for z in (y, yd, transmission.T @ tau[k]))
        expected = engine.ours(
            pin.constraintDynamics(engine.model, engine.data, q, v, applied, constraints, data, proximal)
        )
        # 1e-13 is seen where rows are independent; redundant rows leave the proximal iteration its own tolerance
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-9 * size(expected))


def projections(robot: Closed) -> list[str]:
    model = robot.model
    chosen = ["platform"]
    if model.n >= model.r:
        chosen.append("whitened")
        graded = subset_conditions(model, robot.states.y)
        # subsets near singularities of their own lose digits by their condition [theory.md, case 2]
        chosen += [f"actuators:{','.join(s)}" for s, condition in graded.items() if condition < 1e3][:3]
    if model.n == model.r:
        chosen.append("actuators")
    return chosen


def loaded_torque(robot: Closed, rng: np.random.Generator) -> np.ndarray:
    """Motor torques of the states by the referee, with a random preload of the same size where n > r."""
    transmission = robot.model.robot.motor_map()
    out = []
    for y, yd, ydd in robot.samples():
        free = robot.engine.null_space(y, yd)
        j_inv = transmission @ free
        u, sigma, vt = np.linalg.svd(j_inv)
        tau = u[:, : len(sigma)] @ ((vt @ free.T @ robot.tree_torque(y, yd, ydd)) / sigma)
        inner = u[:, len(sigma) :] @ rng.standard_normal(len(u) - len(sigma))
        out.append(tau + np.abs(tau).max() * inner)
    return np.array(out)


@each_robot
def test_projected_torques_equal_w_pi_whatever_the_preload(name: str, rng: np.random.Generator) -> None:
    robot = closed(name)
    model, s = robot.model, robot.states
    if model.n < model.r:
        pytest.skip("fewer motors than mobilities")
    tau = loaded_torque(robot, rng)
    sigma = rng.uniform(0.3, 3.0, model.n)
    for projection in projections(robot):
        out = model.regressor_kernel(projection)(s.y, s.yd, s.ydd, sigma)
        left = out["L"].reshape(len(tau), -1, model.n)
        gamma = np.einsum("nij,nj->ni", left, tau)
        # 1e-10 of the torques that make up gamma: the projection's own size multiplies their rounding
        bound = 1e-10 * size(left) * size(tau)
        np.testing.assert_allclose(out["W"] @ robot.pi, gamma, rtol=0, atol=bound, err_msg=projection)
        if not np.array_equal(sigma, np.ones(model.n)) and projection != "whitened":
            inverse = model.inverse_kernel(projection)(s.y, s.yd, s.ydd, robot.pi)["gamma"]
            np.testing.assert_allclose(inverse, gamma, rtol=0, atol=bound, err_msg=projection)


@each_robot
def test_friction_of_a_motor_stands_in_its_own_row_alone(name: str) -> None:
    """Not merely as a zero of rounding: a slow joint masks every row its dry friction is said to be in."""
    robot = closed(name)
    model, column = robot.model, {p: k for k, p in enumerate(robot.model.parameters)}
    if model.default_projection != "actuators":
        pytest.skip("motor torques are not the rows of this model")
    rows, columns = model.regressor_kernel("actuators").nonzeros["W"]
    single = {motor.turns[0][0]: k for k, motor in enumerate(robot.robot.motors) if len(motor.turns) == 1}
    for effort in robot.robot.efforts:
        terms = getattr(effort.on, "terms", ())
        if len(terms) == 1 and terms[0][0] in single:
            for parameter in effort.parameters:
                assert set(rows[columns == column[parameter]]) <= {single[terms[0][0]]}, parameter


@each_robot
def test_motor_torque_is_of_minimum_norm_and_keeps_the_preload_apart(name: str, rng: np.random.Generator) -> None:
    robot = closed(name)
    model, s = robot.model, robot.states
    if model.n < model.r:
        pytest.skip("fewer motors than mobilities")
    tau = model.torque_kernel()(s.y, s.yd, s.ydd, robot.pi, np.zeros(model.n))["tau"]
    preload = rng.standard_normal(model.n)
    loaded = model.torque_kernel()(s.y, s.yd, s.ydd, robot.pi, preload)["tau"]
    for k, (y, yd, ydd) in enumerate(robot.samples()):
        free = robot.engine.null_space(y, yd)
        j_inv = model.robot.motor_map() @ free
        right = free.T @ robot.tree_torque(y, yd, ydd)
        expected = np.linalg.lstsq(j_inv.T, right, rcond=None)[0]
        np.testing.assert_allclose(tau[k], expected, rtol=0, atol=1e-10 * size(tau, right))
        inner = preload - j_inv @ np.linalg.lstsq(j_inv, preload, rcond=None)[0] if model.n > model.r else 0.0
        np.testing.assert_allclose(loaded[k] - tau[k], inner * np.ones(model.n), rtol=0, atol=1e-10 * size(tau, right))


OVER = [name for name in NAMES if closed(name).model.n > closed(name).model.r]


@pytest.mark.parametrize("name", OVER)
def test_whitened_model_is_generalised_least_squares_of_any_projection(name: str, rng: np.random.Generator) -> None:
    """Cost and normal equations equal (Gamma - W pi)' (J' Sigma J)^-1 (Gamma - W pi), rows keep each motor apart."""
    robot = closed(name)
    model, s = robot.model, robot.states
    sigma = rng.uniform(0.3, 3.0, model.n)
    tau = loaded_torque(robot, rng) + sigma * rng.standard_normal((len(s.y), model.n))
    white = model.regressor_kernel("whitened")(s.y, s.yd, s.ydd, sigma)
    plain = model.regressor_kernel("platform")(s.y, s.yd, s.ydd, sigma)
    left = plain["L"].reshape(len(tau), -1, model.n)
    for k in range(len(tau)):
        residual = left[k] @ tau[k] - plain["W"][k] @ robot.pi
        covariance = left[k] @ np.diag(sigma**2) @ left[k].T
        ours = white["L"][k] @ tau[k] - white["W"][k] @ robot.pi
        cost = residual @ np.linalg.solve(covariance, residual)
        # the condition of J_inv squares in the normal form the referee uses
        assert ours @ ours == pytest.approx(cost, rel=1e-8)
        normal = plain["W"][k].T @ np.linalg.solve(covariance, plain["W"][k])
        np.testing.assert_allclose(white["W"][k].T @ white["W"][k], normal, rtol=0, atol=1e-9 * np.abs(normal).max())
        inner = np.linalg.svd(left[k])[2][model.r :]  # preloads
        assert np.abs(white["L"][k] @ inner.T).max() < 1e-11


@pytest.mark.parametrize("name", OVER)
def test_whitened_model_does_not_depend_on_the_independent_velocities(name: str, rng: np.random.Generator) -> None:
    robot = closed(name)
    s = robot.states
    others = [c for c in robot.model.coordinates if c not in robot.model.independent]
    maps = np.stack([robot.model.velocity_maps(s.y)[0]])[0]
    rows = {c: robot.model.coordinates.index(c) for c in robot.model.coordinates}
    found = 0
    sigma = rng.uniform(0.3, 3.0, robot.model.n)
    w = robot.model.regressor_kernel("whitened")(s.y, s.yd, s.ydd, sigma)["W"]
    for _ in range(40):
        chosen = tuple(rng.choice([*robot.model.independent, *others], robot.model.r, replace=False))
        if np.linalg.cond(maps[:, [rows[c] for c in chosen]]).max() > 50 or found == 2:
            continue
        found += 1
        other = build_model(robot_named(name), independent=chosen, backend="numpy")
        assert other.independent == chosen
        theirs = other.regressor_kernel("whitened")(s.y, s.yd, s.ydd, sigma)["W"]
        # 1e-10: rounding times the conditions of both choices
        np.testing.assert_allclose(theirs, w, rtol=0, atol=1e-10 * np.abs(w).max())
    assert found


def _step(robot: Closed, y: np.ndarray, v: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """One Runge-Kutta step of free motion on (y, v), loops closed again at its end."""
    model = robot.model
    tau = np.zeros(model.n)

    def rate(y: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        yd = model.velocity_maps(y)[0][0] @ v
        return yd, model.forward_kernel()(y, yd, tau, robot.pi)["vd"][0]

    a = rate(y, v)
    b = rate(y + dt / 2 * a[0], v + dt / 2 * a[1])
    c = rate(y + dt / 2 * b[0], v + dt / 2 * b[1])
    d = rate(y + dt * c[0], v + dt * c[1])
    y = y + dt / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
    v = v + dt / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
    for _ in range(3):
        y = model.correction_kernel()(y)["y"][0]
    return y, v


FALLING = ["four-bar-axis", "five-bar", "redundant-planar", "delta-body", "rssr-universal", "6ups-point"]


@pytest.mark.parametrize("name", FALLING)  # the catalog's: tests/simulation/test_conservation.py
def test_free_motion_conserves_energy_at_fourth_order(name: str) -> None:
    """No friction: the drift of kinetic plus potential energy falls sixteen-fold when the step is halved."""
    robot = _conservative(name)
    y, v = robot.model.home, np.full(robot.model.r, 0.3)
    drifts = []
    for n in (25, 50):
        drifts.append(_drift(robot, y, v, 0.25, n))
    energy = abs(drifts[0][1])
    assert drifts[0][0] < 1e-3 * energy
    # higher orders bend the ratio of 16 (a method of order 5 in energy gives 32)
    assert 11.0 < drifts[0][0] / drifts[1][0] < 45.0 or drifts[0][0] < 1e-12 * energy


def _conservative(name: str) -> Closed:
    from tests.helpers.robots import ball_rod

    robot = (ball_rod("universal") if name == "rssr-universal" else robot_named(name)).with_efforts(())
    model = build_model(robot)
    pi = random_parameters(robot, np.random.default_rng(3))
    return Closed(model.robot, model, to_pinocchio(robot, pi), pi, random_states(model, 1, np.random.default_rng(0)))


def _drift(robot: Closed, y: np.ndarray, v: np.ndarray, time: float, n: int) -> tuple[float, float]:
    def energy(y: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        yd = robot.model.velocity_maps(y)[0][0] @ v
        out = robot.model.energy_kernel()(y, yd, robot.pi)
        kinetic, potential = float(out["T"].ravel()[0]), float(out["V"].ravel()[0])
        assert kinetic == pytest.approx(robot.engine.kinetic(y, yd), rel=1e-10)
        return kinetic + potential, kinetic

    start, size_ = energy(y, v)
    worst = 0.0
    for _ in range(n):
        y, v = _step(robot, y, v, time / n)
        now, kinetic = energy(y, v)
        worst, size_ = max(worst, abs(now - start)), max(size_, kinetic)
    return worst, size_


@each_robot
def test_energy_equals_pinocchios_with_rotors(name: str) -> None:
    """Also potential energy's slope: -dV/dt is the power of the referee's gravity torque."""
    robot = closed(name)
    s = robot.states
    out = robot.model.energy_kernel()(s.y, s.yd, robot.pi)
    rotor = robot.rotor_mass()
    for k, (y, yd, _) in enumerate(robot.samples()):
        kinetic = robot.engine.kinetic(y, yd) + yd @ rotor @ yd / 2
        assert out["T"].ravel()[k] == pytest.approx(kinetic, rel=1e-11)


@each_robot
def test_rates_kernel_takes_motor_rates_back_to_the_state(name: str) -> None:
    robot = closed(name)
    model, s = robot.model, robot.states
    sensors = model.robot.sensor_map()
    if np.linalg.matrix_rank(sensors @ model.velocity_maps(s.y)[0][0]) < model.r:
        pytest.skip("motors do not determine the motion")
    out = model.rates_kernel()(s.y, s.yd @ sensors.T, s.ydd @ sensors.T, np.ones(len(sensors)))
    # yd to the condition of T_s N; ydd to its square, for the bias of that yd is divided by T_s N again
    condition = max(np.linalg.cond(sensors @ k) for k in model.velocity_maps(s.y)[0])
    np.testing.assert_allclose(out["yd"], s.yd, rtol=0, atol=(1e-13 + 1e-15 * condition) * 10 * size(s.yd))
    np.testing.assert_allclose(out["ydd"], s.ydd, rtol=0, atol=(1e-12 + 1e-16 * condition**2) * 10 * size(s.ydd))
