"""Less measured than driven [theory.md, section 1]: torques of some motors, encoders on passive joints, passive joints
without a motor. What is not measured leaves the model; what is left finds the truth within its intervals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.closed import closed
from tests.helpers.robots import five_bar, four_bar, planar_2r, random_inertia
from tests.identification.recovery import model_of, preload_of, residuals, true_base
from tests.simulation.motions import lively

from dalembert.errors import ClosureError, ModelError
from dalembert.identification.base import base_parameters
from dalembert.identification.identify import Identification, identify
from dalembert.identification.methods import estimator_named
from dalembert.logs import read_log, write_log
from dalembert.model import Model, build_model
from dalembert.robot import BASE, Body, Coordinate, Effort, EffortKind, Joint, JointType, Motor, Robot, Sensor
from dalembert.simulation import Options, Pd, Sensing, Simulator, simulate
from dalembert.simulation.synthetic import random_recording

FEW = {
    "redundant-planar": ("m2",), "dualv": ("m4",), "five-bar": ("m1",), "orthoglide": ("m3", "m1"), "3prrr": ("crank2",)
}  # fmt: skip


def hidden(name: str, motors: tuple[str, ...]) -> Model:
    robot = replace(closed(name).model.robot, unmeasured=motors)
    return build_model(robot, backend="numpy")


def few(name: str) -> tuple[Model, list[int]]:
    """A closed robot of which some torques are not measured, and the numbers of those motors."""
    known = closed(name).model.robot.motor_names
    motors = tuple(m for m in FEW[name] if m in known) or known[1:2]
    model = hidden(name, motors)
    return model, model.dynamics.motor_rows(motors)


# --- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(FEW))
def test_rows_need_no_torque_that_is_not_measured(name: str, rng: np.random.Generator) -> None:
    """Whatever the hidden motors do, the rows hold, and there are as many as motions these do not take part in."""
    robot, (model, at) = closed(name), few(name)
    s = robot.states
    tau = robot.model.torque_kernel()(s.y, s.yd, s.ydd, robot.pi, rng.standard_normal(model.n))["tau"]
    tau[:, at] = 1e3 * rng.standard_normal((len(tau), len(at)))
    jacobian = model.velocity_maps(s.y)[1]
    left_over = model.r - np.linalg.matrix_rank(jacobian[0][at])
    projections = ["platform", "whitened"] if model.n > model.r else ["platform", "actuators"]
    for projection in projections:
        out = model.regressor_kernel(projection)(s.y, s.yd, s.ydd, rng.uniform(0.3, 3.0, model.n))
        left = out["L"].reshape(len(tau), -1, model.n)
        assert (
            len(model.row_names(projection))
            == left.shape[1]
            == np.reshape(out["W"], (len(tau), -1, 1)).shape[1] / len(model.parameters)
        )
        assert np.abs(left[:, :, at]).max() < 1e-11 * np.abs(left).max()
        gamma = np.einsum("nij,nj->ni", left, np.where(np.isin(np.arange(model.n), at), 0.0, tau))
        w = out["W"].reshape(len(tau), -1, len(model.parameters))
        np.testing.assert_allclose(w @ robot.pi, gamma, rtol=0, atol=1e-9 * max(1.0, np.abs(gamma).max()))
        assert {np.linalg.matrix_rank(k, tol=1e-9 * np.abs(k).max()) for k in left} == {left_over}


@pytest.mark.parametrize("name", ["redundant-planar", "dualv"])
def test_a_hidden_torque_is_one_of_boundless_noise(name: str) -> None:
    """Whitened rows are the limit of those of an ever noisier sensor, in the metric of least squares."""
    robot, (model, at) = closed(name), few(name)
    s, sigma = robot.states, np.linspace(0.5, 2.0, model.n)
    out = model.regressor_kernel("whitened")(s.y, s.yd, s.ydd, sigma)["W"]
    sigma[at] = 1e7
    limit = robot.model.regressor_kernel("whitened")(s.y, s.yd, s.ydd, sigma)["W"]
    for ours, theirs in zip(out, limit, strict=True):
        np.testing.assert_allclose(
            ours.T @ ours, theirs.T @ theirs, rtol=0, atol=1e-8 * np.abs(theirs.T @ theirs).max()
        )


def test_what_a_hidden_motor_alone_feels_is_not_a_base_parameter() -> None:
    """DualV: its crank, its friction and its rotor; the other 21 of 24 stay, in every projection."""
    model = build_model(replace(model_of("dualv").robot, unmeasured=("m2",)), backend="numpy")
    for projection in ("platform", "whitened", "actuators:m1,m2,m3"):
        found = base_parameters(model, projection)
        assert found.n_base == 21 and found.gap > 10
        lost = {found.names[k] for k in found.unidentifiable}
        assert {"Fv_m2", "Fc_m2", "Ia_m2", "ZZ_crank2"} <= lost and "ZZ_rod2" not in lost
    with pytest.raises(ModelError, match=r"needs the torque of m2, which is not measured; name it"):
        base_parameters(model, "actuators:m1,m3,m4")


def test_no_torque_measured_at_all_is_refused() -> None:
    model = build_model(replace(four_bar("axis"), unmeasured=("m",)), backend="numpy")
    with pytest.raises(ModelError, match="no motion is left whose torque is measured"):
        base_parameters(model)


def test_torques_and_motion_of_the_robot_stay_whole(rng: np.random.Generator) -> None:
    """Only rows are left out: inverse and forward dynamics know all motors."""
    robot, (model, _) = closed("five-bar"), few("five-bar")
    s = robot.states
    np.testing.assert_array_equal(
        model.inverse_dynamics(s.y, s.yd, s.ydd, robot.pi), robot.model.inverse_dynamics(s.y, s.yd, s.ydd, robot.pi)
    )


# --- logs ----------------------------------------------------------------------------------------------------------------


def off_torque(fit: Identification, truth: np.ndarray) -> float:
    """Torque that the estimate's error makes in the rows, over the torque of the rows."""
    rows, columns = fit.prepared.problem.rows, fit.prepared.base.independent
    found, best = (residuals(rows, columns, beta) for beta in (fit.estimate.values, truth))
    off = np.array([(found[key][0] - best[key][0], found[key][1]) for key in found])
    return float(np.linalg.norm(off[:, 0]) / np.linalg.norm(off[:, 1]))


def assert_found(fit: Identification, pi: np.ndarray) -> None:
    """No base value is further from the truth than two of its 95 % intervals, the torque of all together 1 %."""
    truth = true_base(fit, pi)
    if fit.robust is not None:
        low, high = fit.robust.intervals(fit.estimate.values).T
        apart = np.abs(fit.estimate.values - truth) / (high - low)
        assert apart.max() < 1.0, dict(zip(fit.estimate.names, apart, strict=True))
    assert off_torque(fit, truth) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("projection", ["whitened", "platform", "actuators:m1,m2,m4"])
def test_dualv_without_one_torque_sensor(projection: str) -> None:
    """Preload and all: the other three find what they feel, and know how well. Eight motions, for the intervals of one
    miss together: whether one holds says little.
    """
    model = build_model(replace(model_of("dualv").robot, unmeasured=("m4",)))
    inside, wide = [], []
    for seed in range(8):
        log = random_recording(model, np.random.default_rng(seed), preload=preload_of("dualv")).log
        assert log.info.torques == ("m1", "m2", "m3") and log.tau.shape[1] == 3
        fit = identify(model, log, projection=projection)
        assert "m4" not in [row.name for row in fit.rows]
        truth = true_base(fit, model.nominal())
        assert fit.robust is not None
        low, high = fit.robust.intervals(fit.estimate.values).T
        inside.append((low <= truth) & (truth <= high))
        wide.append(2.0 * np.abs(fit.estimate.values - truth) / (high - low))
        assert off_torque(fit, truth) < 0.01
    # motions are independent, parameters of one are not: the standard error is that between motions
    share = np.mean(inside, axis=1)
    assert share.mean() > 0.95 - 3.0 * share.std(ddof=1) / np.sqrt(len(share))
    # a parameter missed in 5 of 8, at 5 % each: 2e-5; one of 21 parameters, whatever ties them: 3e-4
    assert np.sum(inside, axis=0).min() > 3
    # and the intervals are no wider than they must be: normal errors in 95 % intervals of 9 degrees of freedom reach
    # 0.8 / 2.26 of the way on average
    assert np.mean(wide) > 0.5 * 0.8 / 2.26


def nominal_five_bar(**changes: object) -> Robot:
    robot = replace(five_bar(), **changes)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    values = np.concatenate([*[random_inertia(rng, 0.1) for _ in robot.bodies], [1e-4, 0.01, 0.02, 0.1] * 2])
    return replace(robot, nominal=dict(zip(robot.parameters(), values.tolist(), strict=True)))


def test_encoders_on_passive_joints_instead_of_motors(tmp_path, rng: np.random.Generator) -> None:
    """A five-bar whose two encoders sit on its elbows: the log has no position of any motor."""
    elbows = (Sensor("e1", (("p1", 1.0),)), Sensor("e2", (("p2", 1.0),)))
    model = build_model(nominal_five_bar(sensors=elbows, without_encoder=("m1", "m2")))
    assert list(model.robot.readings) == ["e1", "e2"]
    run = simulate(model, lively(model, 10.0), Pd(10.0), sensing=Sensing(encoder_step=1e-5, torque_noise=2e-3), rng=rng)
    assert run.completed and np.abs(run.truth.error).max() < 0.3  # its drives still read the motors
    write_log(run.log, tmp_path / "run.csv")
    log = read_log(tmp_path / "run.csv", model.robot)
    assert log.info.positions == ("e1", "e2") and log.info.torques == ("m1", "m2")
    assert_found(identify(model, log), model.nominal())


def cart(sensors: tuple[Sensor, ...] = (Sensor("encoder", (("phi", 1.0),)),)) -> Robot:
    """A driven cart with a pendulum that nothing drives."""
    bodies = (
        Body("cart", BASE, Joint("x", JointType.PRISMATIC, (1.0, 0.0, 0.0))),
        Body("pole", "cart", Joint("phi", JointType.REVOLUTE, (0.0, 1.0, 0.0))),
    )
    efforts = tuple(
        Effort(name, kind, Coordinate(((on, 1.0),)))
        for name, on in (("drive", "x"), ("phi", "phi"))
        for kind in (EffortKind.VISCOUS, EffortKind.COULOMB)[: 2 if name == "drive" else 1]
    )
    pole = {"XX_pole": 0.065, "YY_pole": 0.065, "ZZ_pole": 0.002, "MX_pole": 0.01, "MZ_pole": -0.15, "M_pole": 0.5}
    robot = Robot("cart", bodies, motors=(Motor("drive", (("x", 1.0),)),), sensors=sensors, efforts=efforts,
                  home={"phi": 0.2})  # fmt: skip
    values = pole | {"M_cart": 2.0, "Fv_drive": 1.0, "Fc_drive": 0.5, "Fv_phi": 0.01}
    return replace(robot, nominal={name: values.get(name, 0.0) for name in robot.parameters()})


@pytest.mark.parametrize("method", ["wls", "irls", "ols"])
def test_a_passive_joint_without_torque_tells_as_much_as_a_motor(method: str, rng: np.random.Generator) -> None:
    """Its rows say 0 = W pi: alone they would be met by pi = 0, and must not weigh as if that were their noise."""
    model = build_model(cart())
    run = simulate(model, lively(model, 10.0), Pd(3.0), sensing=Sensing(encoder_step=2e-5, torque_noise=0.05), rng=rng)
    fit = identify(model, run.log, estimator=estimator_named(method))
    assert [row.name for row in fit.rows] == ["x", "phi"]
    assert_found(fit, model.nominal())


def test_a_passive_joint_that_nobody_reads_is_refused_in_one_line() -> None:
    model = build_model(cart(()))
    run = Simulator(model, Pd(3.0), Options()).run(lively(model, 1.0))
    with pytest.raises(ClosureError, match=r"positions of drive determine 1 of 2 mobilities; add 'sensors:'") as caught:
        identify(model, run.log)
    assert "\n" not in str(caught.value)
    assert planar_2r().readings.keys() == {"m1", "m2"}
