"""What sensors and drives do to the truth, and what the log holds of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.simulation.arms import Open, sliders, standing
from tests.simulation.motions import lively
from tests.simulation.test_mujoco import described

from dalembert.errors import DalembertError, UsageError
from dalembert.model import build_model
from dalembert.simulation import (
    ComputedTorque,
    Options,
    Pd,
    Reference,
    Sensing,
    Simulation,
    Simulator,
    read_noise,
)
from dalembert.simulation.sensing import averaged


@pytest.mark.parametrize("every", [1, 2, 5])
def test_averages_are_those_of_the_held_torque(every: int, rng: np.random.Generator) -> None:
    held = np.repeat(rng.standard_normal((8, 3)), every, axis=0)
    fine = np.repeat(held, 1000, axis=0)
    around = [fine[max(1000 * i - 500 * every, 0) : 1000 * i + 500 * every].mean(axis=0) for i in range(len(held))]
    np.testing.assert_allclose(averaged(held, every), around, atol=1e-12)


def test_logged_torque_is_in_step_with_the_motion() -> None:
    """The error of the log against the motion's own torque falls with the square of the period, not with the period."""
    model = build_model(described("five-bar"))
    pi = np.where([name.startswith(("Fc_", "Fs_")) for name in model.parameters], 0.0, model.vector("nominal"))
    errors = []
    for rate in (1000.0, 2000.0):
        path = lively(model, 2.0, rate=rate)
        result = Simulator(model, ComputedTorque(), Options(control_rate=rate)).run(path, pi)
        truth = result.truth
        ydd = np.gradient(truth.yd, 1.0 / rate, axis=0)  # the held torque makes it jump: its mean over two periods
        expected = model.torque_kernel()(truth.y, truth.yd, ydd, pi, np.zeros(model.n))["tau"]
        settled = slice(int(0.5 * rate), -10)
        errors.append(np.abs(result.log.tau - expected)[settled].max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)


# --- what the sensors do -------------------------------------------------------------------------------------------------


@cache
def scene() -> tuple[Simulator, Reference]:
    """A DualV under feedback on its way; every imperfection is judged against the truth of the same run."""
    model = build_model(described("dualv"))
    return Simulator(model, Pd(20.0)), lively(model, 0.5)


def seen(sensing: Sensing, seed: int = 0, **options: object) -> Simulation:
    simulator, reference = scene()
    if options:
        simulator = Simulator(simulator.model, Pd(20.0), Options(**options))  # type: ignore[arg-type]
    run = simulator.run(reference, sensing=sensing, rng=np.random.default_rng(seed))
    assert run.completed, run.reason
    return run


def test_perfect_sensors_log_the_truth() -> None:
    run = seen(Sensing())
    np.testing.assert_array_equal(run.log.q, run.truth.q)
    np.testing.assert_allclose(run.log.tau, averaged(run.truth.tau, 1), atol=1e-14)
    np.testing.assert_allclose(run.log.t, run.truth.t, atol=1e-12)


def test_encoders_count_in_whole_steps() -> None:
    steps = np.array([1e-4, 2e-4, 0.0, 5e-4])
    run = seen(Sensing(encoder_step=steps))
    off = run.log.q - run.truth.q
    assert (np.abs(off) <= steps / 2 * (1 + 1e-9) + 1e-15).all()
    for k in (0, 1, 3):
        counts = run.log.q[:, k] / steps[k]
        np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
        assert np.abs(off[:, k]).max() > 0.4 * steps[k]
    # the controller sees no more than the log: feedback acts on the steps
    assert np.abs(np.diff(run.truth.tau, axis=0)).max() > 3.0 * np.abs(np.diff(seen(Sensing()).truth.tau, axis=0)).max()


@pytest.mark.parametrize("delay", [1e-3, 2.4e-3])
def test_readings_are_late(delay: float) -> None:
    """By whole and broken samples: what is read is where the motor was, on the line between two samples."""
    run = seen(Sensing(delay=delay))
    then = np.maximum(run.truth.t - delay, 0.0)
    expected = np.stack([np.interp(then, run.truth.t, column) for column in run.truth.q.T], axis=1)
    np.testing.assert_allclose(run.log.q, expected, atol=1e-12)
    assert np.abs(run.log.q - run.truth.q).max() > 1e-4


def test_noise_has_its_size_and_its_seed() -> None:
    sigma, tau = np.array([1e-6, 2e-6, 0.0, 4e-6]), np.array([0.1, 0.0, 0.2, 0.3])
    sensing = Sensing(position_noise=sigma, torque_noise=tau, torque_offset=[0.0, 0.5, 0.0, -1.0])
    run = seen(sensing)
    q, torque = run.log.q - run.truth.q, run.log.tau - averaged(run.truth.tau, 1)
    # 500 samples: sigma to 3 %, mean to sigma / 22, both within four of theirs
    np.testing.assert_allclose(q.std(axis=0), sigma, rtol=0.13)
    np.testing.assert_allclose(torque.std(axis=0), tau, rtol=0.13, atol=1e-12)
    np.testing.assert_allclose(torque.mean(axis=0), [0.0, 0.5, 0.0, -1.0], atol=4 * 0.3 / np.sqrt(501))
    again, other = seen(sensing), seen(sensing, seed=1)
    np.testing.assert_array_equal(again.log.tau, run.log.tau)
    assert np.abs(other.log.tau - run.log.tau).max() > 0.1


def test_ripple_moves_the_robot_and_is_not_in_the_log() -> None:
    """A mass on a line with no command, driven by A sin(n x + p) alone: m v^2 / 2 = A (cos(n x0 + p) - cos(n x + p)) / n."""
    model = build_model(sliders({}))
    a, n, p = 3.0, 40.0, 0.7
    sensing = Sensing(ripple=[a, 0.0], ripple_order=n, ripple_phase=p)
    simulator = Simulator(model, Open(lambda t: [0.0, 0.0]), ripple=sensing.ripples(2))
    run = simulator.run(standing(model, 1.0), sensing=sensing)
    x, v = run.truth.y[:, 0], run.truth.v[:, 0]
    assert np.ptp(x) > 0.05
    np.testing.assert_allclose(v**2, a * (np.cos(p) - np.cos(n * x + p)) / n, atol=1e-8)
    assert np.abs(run.truth.y[:, 1]).max() == 0.0
    assert np.abs(run.log.tau).max() == 0.0
    assert run.truth.work[-1, 0] == pytest.approx(v[-1] ** 2, rel=1e-6)  # the motors' work, ripple included: m = 2 kg
    with pytest.raises(UsageError, match="ripple must be given to the Simulator"):
        Simulator(model, Open(lambda t: [0.0, 0.0])).run(standing(model, 0.1), sensing=sensing)


@pytest.mark.parametrize(("control", "log"), [(1000.0, 250.0), (500.0, 2000.0), (400.0, 1000.0)])
def test_a_log_has_its_own_rate(control: float, log: float) -> None:
    model = scene()[0].model
    reference = lively(model, 0.5, rate=control)
    run = Simulator(model, Pd(20.0), Options(control_rate=control, log_rate=log)).run(reference)
    assert run.log.info.rate == log and run.log.info.samples == round(0.5 * log) + 1
    both = np.isin((run.truth.t * 1e6).round(), (run.log.t * 1e6).round())
    np.testing.assert_allclose(run.truth.q[both], run.log.q, atol=1e-15)
    held = np.abs(np.diff(run.truth.tau, axis=0)).max(axis=1) > 0
    rate = round(1 / (run.truth.t[1] - run.truth.t[0]))
    assert set(np.flatnonzero(held) + 1) <= set(
        range(0, len(run.truth.t), round(rate / control))
    )  # steps at ticks only


def test_what_is_not_measured_is_not_logged() -> None:
    robot = replace(described("dualv"), unmeasured=("m2",))
    model = build_model(robot)
    run = Simulator(model, Pd(20.0)).run(lively(model, 0.1), sensing=Sensing(torque_offset=[1.0, 5.0, 2.0, 3.0]))
    assert run.log.info.torques == ("m1", "m3", "m4")
    np.testing.assert_allclose(
        (run.log.tau - averaged(run.truth.tau, 1)[:, [0, 2, 3]]).mean(axis=0), [1.0, 2.0, 3.0], atol=1e-12
    )


@pytest.mark.parametrize(
    "given", [{"delay": -1.0}, {"encoder_step": np.nan}, {"torque_noise": [-1.0, 0.0, 0.0, 0.0]}, {"ripple": np.inf}]
)
def test_impossible_sensors_are_refused(given: dict[str, object]) -> None:
    (name,) = given
    with pytest.raises(UsageError, match=f"sensing: {name}"):
        Sensing(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["encoder_step", "position_noise"])
def test_as_many_numbers_as_sensors(field: str) -> None:
    with pytest.raises(UsageError, match=rf"sensing: {field} has shape \(3,\), expected one number or \(4,\)"):
        seen(Sensing(**{field: [1e-6, 1e-6, 1e-6]}))  # type: ignore[arg-type]


NOISE = """\
seed: 7
encoder_counts: {m1: 1000, m2: 0, m3: 2000, m4: 4000}
position_noise: 1 um
delay: 0.2 ms
torque_noise: [0.1, 0.2, 0.3, 0.4]
torque_offset: -10 mNm
ripple: {amplitude: 0.2, order: 12, phase: 30 deg}
"""


def test_a_noise_file_says_what_it_means(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(NOISE)
    found = read_noise(tmp_path / "n.yaml", described("dualv"))
    turn = 2 * np.pi
    assert found.seed == 7
    np.testing.assert_allclose(found.sensing.steps(4), [turn / 1000, 0.0, turn / 2000, turn / 4000])
    assert found.sensing.position_noise == (1e-6,) * 4 and found.sensing.delay == pytest.approx(2e-4)
    assert found.sensing.torque_noise == (0.1, 0.2, 0.3, 0.4)
    np.testing.assert_allclose(found.sensing.torque_offset, -0.01)
    wave = found.sensing.ripples(4)
    assert wave is not None and wave.order == (12.0,) * 4
    np.testing.assert_allclose(wave.phase, np.pi / 6)


WRONG = {
    "sead: 1": ["'sead'", "did you mean 'seed'"],
    "seed: 1.5": ["found 1.5", "a whole number"],
    "delay: -1 ms": ["found -0.001", "not negative"],
    "delay: 1 kg": ["delay: found '1 kg' in kg", "expected a time in s, ms"],
    "seed: 1 s": ["found '1 s' in s", "expected a number without unit"],
    "position_noise: 1 ms": ["found '1 ms' in s", "expected an angle or a length in rad"],
    "torque_noise: {m1: 1, m2: 1, m3: 1 mm, m4: 1}": ["torque_noise.m3: found '1 mm' in m", "a torque or a force"],
    "ripple: {amplitude: 1, phase: 2 m}": ["ripple.phase: found '2 m' in m", "expected an angle in rad, deg, turn"],
    "encoder_counts: -3": ["found -3", "not negative"],
    "{encoder_counts: 10, encoder_step: 1}": ["beside encoder_step", "one of them"],
    "torque_noise: [1, 2]": ["found a list of 2", "one each for m1, m2, m3, m4"],
    "torque_noise: {m9: 1}": ["'m9'", "choose from m1, m2, m3, m4"],
    "position_noise: .inf": ["found '.inf'", "a finite number"],
    "ripple: 3": ["found '3'", "amplitude, order, phase"],
    "ripple: {order: 3}": ["'amplitude' is missing"],
}


@pytest.mark.parametrize("text", list(WRONG))
def test_a_wrong_noise_file_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text(text)
    with pytest.raises(DalembertError) as caught:
        read_noise(path, described("dualv"))
    message = str(caught.value)
    assert message.startswith(f"{path}:1:") and "\n" not in message
    for word in WRONG[text]:
        assert word in message
