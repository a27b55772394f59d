"""Control laws: one contract for all, and for each what control theory says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import bilinear, lfilter
from tests.simulation.arms import sliders, standing
from tests.simulation.motions import lively
from tests.simulation.test_mujoco import described

from dalembert.errors import UsageError
from dalembert.model import Model, build_model
from dalembert.robot import Robot
from dalembert.simulation import (
    AugmentedPd,
    Cascade,
    ComputedTorque,
    FeedForward,
    Law,
    Options,
    Pd,
    Pid,
    Preload,
    Reference,
    Sensing,
    Simulation,
    Simulator,
    Status,
    StressFree,
    Target,
    motor_inertia,
    read_controller,
)
from dalembert.simulation.controllers.contract import Loop
from dalembert.simulation.plant import Plant
from dalembert.simulation.stepper import Evaluated

Array = NDArray[np.float64]

LAWS: dict[str, Law] = {
    "pd": Pd(30.0),
    "filtered pd": Pd(30.0, derivative_cutoff=300.0),
    "pid": Pid(30.0),
    "cascade": Cascade(30.0),
    "feed-forward": FeedForward(Pd(30.0)),
    "augmented-pd": AugmentedPd(Pid(30.0)),
    "computed-torque": ComputedTorque(30.0),
    "stress-free": StressFree(Cascade(30.0)),
    "preload": Preload(ComputedTorque(30.0)),
}
MODEL_BASED = ("feed-forward", "augmented-pd", "computed-torque")
every_law = pytest.mark.parametrize("name", list(LAWS))


@cache
def dualv(backend: str = "auto") -> Model:
    """Over-actuated, closed, without dry friction: every law has all its parts here."""
    return build_model(described("dualv"), backend=backend)  # type: ignore[arg-type]


@cache
def simulator(name: str, rate: float = 1000.0) -> Simulator:
    return Simulator(dualv(), LAWS[name], Options(control_rate=rate))


def displaced(model: Model, by: float) -> tuple[Array, Array]:
    """A closed configuration off home, at rest."""
    y = model.home + by * model.velocity_maps(model.home)[0][0] @ np.ones(model.r)
    for _ in range(6):
        y = model.correction_kernel()(y)["y"][0]
    return y, np.zeros(model.r)


# --- the contract ----------------------------------------------------------------------------------------------------


@every_law
def test_a_robot_that_stands_where_it_should_needs_no_torque(name: str) -> None:
    """No gravity in the DualV's plane, no preload asked for."""
    run = simulator(name).run(standing(dualv(), 0.05))
    assert np.abs(run.truth.tau).max() < 1e-10
    assert np.abs(run.truth.y - dualv().home).max() < 1e-12


@every_law
def test_a_displaced_robot_is_brought_back(name: str) -> None:
    """Thirty Hz well damped: after 0.3 s exp(-0.7 * 188 * 0.3) = 1e-17 is left, of an integral exp(-0.1 * 188 * 0.3)."""
    run = simulator(name).run(standing(dualv(), 0.3), start=displaced(dualv(), 0.02))
    error = np.abs(run.truth.error).max(axis=1)
    integral = name in ("pid", "cascade", "augmented-pd", "stress-free")
    assert error[0] > 0.01
    assert error[-1] < (1e-2 if integral else 1e-9) * error[0]


@every_law
def test_a_law_forgets_between_runs_and_gives_the_same_without_a_compiler(name: str) -> None:
    reference = lively(dualv(), 0.05)
    start = displaced(dualv(), 0.01)
    first, again = (simulator(name).run(reference, start=start, preload=[3.0, -1.0, 2.0, 0.5]) for _ in range(2))
    np.testing.assert_array_equal(first.truth.tau, again.truth.tau)
    python = Simulator(dualv("numpy"), LAWS[name]).run(reference, start=start, preload=[3.0, -1.0, 2.0, 0.5])
    assert first.compiled and not python.compiled
    # rounding, times the gains: kp of 6000 N m/rad
    np.testing.assert_allclose(python.truth.tau, first.truth.tau, rtol=0, atol=1e-9 * np.abs(first.truth.tau).max())


@every_law
def test_scale_of_the_feedback(name: str) -> None:
    """At zero nothing answers an error but the model; torque at twice the scale differs from it by twice as much."""
    reference, start = standing(dualv(), 0.003), displaced(dualv(), 0.01)
    none, once, twice = (simulator(name).run(reference, start=start, scale=k).truth.tau[0] for k in (0.0, 1.0, 2.0))
    assert np.abs(none).max() < 1e-9
    np.testing.assert_allclose(twice, 2.0 * once, rtol=1e-9)


@pytest.mark.parametrize("name", MODEL_BASED)
def test_a_model_leaves_only_what_holding_the_torque_costs(name: str) -> None:
    """Error of an exact model: the torque stands half a period behind, so it falls with the period; PD's does not."""
    errors = [
        np.abs(simulator(k, rate).run(lively(dualv(), 1.0, rate=rate)).truth.error).max()
        for k in (name, "pd")
        for rate in (1000.0, 2000.0)
    ]
    assert errors[0] / errors[1] > 1.7
    assert errors[2] / errors[3] < 1.2
    assert errors[0] < 0.05 * errors[2]


@pytest.mark.parametrize("name", MODEL_BASED)
def test_a_wrong_model_shows(name: str) -> None:
    reference = lively(dualv(), 1.0)
    right = simulator(name).run(reference)
    wrong = simulator(name).run(reference, controller_pi=0.7 * dualv().nominal())
    assert np.abs(wrong.truth.error).max() > 10.0 * np.abs(right.truth.error).max()


# --- one motor on a line: closed forms ---------------------------------------------------------------------------------


def on_a_line(law: Law, options: Options | None = None, *, robot: Robot | None = None) -> Simulator:
    """Masses of 2 and 3 kg."""
    return Simulator(build_model(robot or sliders({})), law, options)


def released(law: Law, rate: float, seconds: float = 0.5) -> Simulation:
    """Both masses let go 1 cm off, at rest."""
    simulator = on_a_line(law, Options(control_rate=rate))
    return simulator.run(standing(simulator.model, seconds, rate), start=([0.01, 0.01], [0.0, 0.0]))


def test_inertia_of_a_motor_is_what_it_moves() -> None:
    model = build_model(sliders({}))
    np.testing.assert_allclose(motor_inertia(model, model.nominal(), model.home), [[2.0, 3.0]])


@pytest.mark.parametrize("law", [Pd(2.0, 0.7), ComputedTorque(2.0, 0.7), Pd(2.0, 1.5)], ids=["pd", "ct", "slow"])
def test_bandwidth_and_damping_place_the_poles(law: Pd | ComputedTorque) -> None:
    """x'' + 2 D w x' + w^2 x = 0, up to the time between ticks."""
    w, d = 2.0 * np.pi * law.bandwidth, law.damping
    poles = np.roots([1.0, 2.0 * d * w, w**2])
    errors = []
    for rate in (2000.0, 4000.0):
        run = released(law, rate)
        a = 0.01 * poles[1] / (poles[1] - poles[0])  # x(0) = 1 cm, x'(0) = 0
        exact = (a * np.exp(poles[0] * run.truth.t) + (0.01 - a) * np.exp(poles[1] * run.truth.t)).real
        errors.append(np.abs(run.truth.y - exact[:, None]).max())
    assert errors[1] < 2e-3 * 0.01
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


LOAD = 2.0 * 9.81 * np.sin(0.3)  # weight of the first mass along its slope


def settled(law: Law) -> float:
    """What is left of the error of the first mass on its slope after 3 s."""
    simulator = on_a_line(law, robot=sliders({}, slope=0.3))
    return float(simulator.run(standing(simulator.model, 3.0)).truth.error[-1, 0])


def test_pd_gives_way_to_a_load_and_integrals_do_not() -> None:
    kp = 2.0 * (2.0 * np.pi * 10.0) ** 2
    assert settled(Pd(10.0)) == pytest.approx(-LOAD / kp, rel=1e-9)
    assert settled(Pd(10.0, kp=(500.0, 500.0), kd=(40.0, 40.0))) == pytest.approx(-LOAD / 500.0, rel=1e-9)
    assert abs(settled(Pid(10.0))) < 1e-6 * LOAD / kp
    assert abs(settled(Cascade(10.0))) < 1e-6 * LOAD / kp
    assert abs(settled(FeedForward(Pd(10.0)))) < 1e-9 * LOAD / kp


@pytest.mark.parametrize("feed", [0.0, 0.4, 1.0])
def test_cascade_lags_by_the_velocity_it_is_not_fed(feed: float) -> None:
    """Constant velocity: the velocity loop's integral leaves no velocity error, so kp e = (1 - feed) v."""
    simulator = on_a_line(Cascade(10.0, velocity_feed=feed))
    still = standing(simulator.model, 3.0)
    v = 0.2
    moving = still.t[:, None] * [[v, v]]
    rate = np.full_like(still.qd, v)
    run = simulator.run(Reference(still.rate, still.t, moving, rate, 0.0 * rate, moving, rate, 0.0 * rate))
    lag = (1.0 - feed) * v / (2.0 * np.pi * 10.0 / 1.4)
    np.testing.assert_allclose(run.truth.error[-1], lag, rtol=1e-5, atol=1e-8)


def ticks(law: Law, model: Model, errors: Array, rate: float = 1000.0) -> tuple[Array, Array]:
    """Torques and states of a law given position errors (ticks, n)."""
    loop = Loop(Plant(model), 1.0 / rate, motor_inertia(model, model.nominal(), model.home)[0], model.nominal())
    program = Evaluated(loop.program(law.write(loop)))
    none, torques, states = np.zeros(model.n), [], []
    x = np.zeros(loop.program(law.write(loop)).inputs[0].size)
    for error in errors:
        tau, following = program(
            x[: program._in[0].size], -error, none, none, none, none, none, model.home, model.nominal(),
            loop.packed_gains()[: program._in[-2].size], np.ones(model.n),
        )  # fmt: skip
        torques.append(tau.copy())
        x = following.copy()
        states.append(x)
    return np.array(torques), np.array(states)


def test_derivative_filter_is_tustins() -> None:
    """s w / (s + w) by the bilinear transform, sample by sample."""
    model, cutoff, rate = build_model(sliders({})), 40.0, 1000.0
    t = np.arange(400) / rate
    error = np.sin(2.0 * np.pi * 13.0 * t) + 0.3 * np.sin(2.0 * np.pi * 170.0 * t)
    law = Pd(kp=(0.0, 0.0), kd=(1.0, 2.0), derivative_cutoff=cutoff)
    torque, _ = ticks(law, model, np.stack([error, error], axis=1), rate)
    w = 2.0 * np.pi * cutoff
    expected = lfilter(*bilinear([w, 0.0], [1.0, w], rate), error)
    np.testing.assert_allclose(torque, np.stack([expected, 2.0 * expected], axis=1), atol=1e-9 * np.abs(expected).max())


def test_integral_stops_at_the_motors_limit() -> None:
    """A minute against a wall: the integral holds no more than the motor gives, and lets go within a second."""
    robot = sliders({})
    robot = replace(robot, motors=tuple(replace(m, torque_limit=10.0) for m in robot.motors))
    model = build_model(robot)
    wall, free = np.full((6000, 2), 0.05), np.full((1000, 2), -0.05)
    law = Pid(kp=(100.0, 100.0), kd=(0.0, 0.0), ki=(500.0, 500.0))
    torque, _ = ticks(law, model, np.concatenate([wall, free]), 100.0)
    assert torque[5999] == pytest.approx([15.0, 15.0])  # kp e + 10
    released = torque[6000:, 0]
    assert released[0] == pytest.approx(-5.0 + 10.0 - 500.0 * 0.05 / 100.0)
    assert np.argmax(released < 0.0) < 25


# --- torque beyond the feedback ------------------------------------------------------------------------------------------


def strain(run: Simulation) -> tuple[Array, Array]:
    """Torques and their share in the null space of J_inv' at the true configuration."""
    j = dualv().velocity_maps(run.truth.y)[1]
    tau = run.truth.tau
    moving = np.einsum("kij,kj->ki", j @ np.linalg.pinv(j), tau)
    return tau, tau - moving


def test_stress_free_torque_strains_nothing() -> None:
    """Encoders that disagree by their steps make four drives fight; what moves the robot stays."""
    reference, rough = lively(dualv(), 0.5), Sensing(encoder_step=1e-4)
    fighting = simulator("cascade").run(reference, sensing=rough)
    tau, inner = strain(fighting)
    assert np.abs(inner).max() > 0.01 * np.abs(tau).max()
    tau, inner = strain(simulator("stress-free").run(reference, sensing=rough))
    # the robot is located to the encoders' steps, so J_inv is known to 1e-4
    assert np.abs(inner).max() < 1e-3 * np.abs(tau).max()
    tau, inner = strain(simulator("stress-free").run(reference))
    assert np.abs(inner).max() < 1e-9 * np.abs(tau).max()


def test_preload_strains_as_prescribed_and_moves_nothing() -> None:
    reference, asked = lively(dualv(), 0.5), np.array([6.0, -2.0, 3.0, 1.0])
    plain = simulator("preload").run(reference)
    for wave in (np.ones_like(reference.t), np.sin(20.0 * reference.t)):
        prescribed = np.outer(wave, asked)
        loaded = simulator("preload").run(reference, preload=lambda t, p=prescribed: p)
        j = dualv().velocity_maps(loaded.truth.y)[1]
        inside = prescribed - np.einsum("kij,kj->ki", j @ np.linalg.pinv(j), prescribed)
        assert np.abs(inside).max() > 1.0
        # the law's own torque is of minimum norm: what strains is the preload, at a robot located to 1e-9 rad
        np.testing.assert_allclose(strain(loaded)[1], inside, rtol=0, atol=1e-8)
        # held for a tick, it is off the null space by as far as the robot moves meanwhile
        assert np.abs(loaded.truth.y - plain.truth.y).max() < 1e-3 * np.ptp(plain.truth.y)


def test_torque_is_cut_at_the_limit_and_the_run_says_so() -> None:
    robot = sliders({})
    robot = replace(robot, motors=tuple(replace(m, torque_limit=3.0) for m in robot.motors))
    far = ([0.05, 0.0], [0.0, 0.0])
    cut = on_a_line(Pd(10.0), robot=robot)
    run = cut.run(standing(cut.model, 0.2), start=far)
    assert run.status is Status.SATURATED and "limit" in run.reason and run.remedy
    assert np.abs(run.truth.tau).max() == 3.0
    lifted = cut.run(standing(cut.model, 0.2), start=far, saturation=False)
    assert lifted.status is Status.OK and np.abs(lifted.truth.tau).max() > 100.0
    # thrown at 3 N on 2 kg
    np.testing.assert_allclose(run.truth.y[20, 0], 0.05 - 0.5 * 1.5 * 0.02**2, rtol=1e-6)
    seldom = cut.run(standing(cut.model, 3.0), start=([1e-3, 0.0], [0.0, 0.0]))
    assert seldom.status is Status.OK and "limit" in seldom.reason  # cut, but hardly ever: said all the same


# --- in Python -------------------------------------------------------------------------------------------------------


class PythonPd:
    """Pd as a user writes it."""

    def __init__(self, kp: Array, kd: Array, period: float) -> None:
        self.kp, self.kd, self.period = kp, kd, period
        self.seen: list[float] = []
        self.last: Array | None = None

    def reset(self) -> None:
        self.seen, self.last = [], None

    def torque(self, t: float, q: Array, target: Target) -> Array:
        self.seen.append(t)
        error = target.q - q
        rate = 0.0 * error if self.last is None else (error - self.last) / self.period
        self.last = error
        return self.kp * error + self.kd * rate


def test_a_controller_in_python_is_the_law_it_writes() -> None:
    reference = lively(dualv(), 0.2, rate=500.0)
    options = Options(control_rate=500.0)
    inertia, w = motor_inertia(dualv(), dualv().nominal(), dualv().home)[0], 2.0 * np.pi * 30.0
    mine = PythonPd(inertia * w**2, 1.4 * w * inertia, 1.0 / 500.0)
    simulated = Simulator(dualv(), mine, options)
    for _ in range(2):  # reset between runs
        run = simulated.run(reference)
        expected = simulator("pd", 500.0).run(reference)
        np.testing.assert_allclose(run.truth.tau, expected.truth.tau, rtol=0, atol=1e-10)
        np.testing.assert_allclose(mine.seen, reference.t)


class Broken:
    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer

    def reset(self) -> None:
        pass

    def torque(self, t: float, q: Array, target: Target) -> Array:
        return self.answer() if t > 0.01 else np.zeros(2)  # type: ignore[return-value]


def test_a_controller_that_gives_no_number_ends_the_run() -> None:
    """Everything before is kept, and finite."""
    simulator = on_a_line(Broken(lambda: np.array([np.nan, 0.0])))  # type: ignore[arg-type]
    run = simulator.run(standing(simulator.model, 0.1))
    assert run.status is Status.DIVERGED and run.remedy
    assert np.isfinite(run.truth.y).all() and 0.005 < run.truth.t[-1] < 0.015


@pytest.mark.parametrize("answer", [[1.0, 2.0, 3.0], "much", None, [[1.0, 2.0]]], ids=str)
def test_a_controller_that_gives_something_else_is_told_what_is_expected(answer: object) -> None:
    simulator = on_a_line(Broken(lambda: answer))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"controller .*expected 2 torques"):
        simulator.run(standing(simulator.model, 0.1))


# --- files -----------------------------------------------------------------------------------------------------------

FILES = {
    "pd": Pd(),
    "controller: pd\nbandwidth: 10 Hz\ndamping: 0.9\nderivative_cutoff: 200": Pd(10.0, 0.9, 200.0),
    "controller: pd\nkp: 5\nkd: {m2: 2, m1: 1, m3: 3, m4: 4}": Pd(kp=(5.0,) * 4, kd=(1.0, 2.0, 3.0, 4.0)),
    "controller: pid\nki: [1, 2, 3, 4]": Pid(ki=(1.0, 2.0, 3.0, 4.0)),
    "controller: cascade\nvelocity_feed: 0.5\nkv: 3": Cascade(velocity_feed=0.5, kv=(3.0,) * 4),
    "controller: feed-forward": FeedForward(),
    "controller: augmented-pd\nfeedback: {controller: cascade, bandwidth: 5}": AugmentedPd(Cascade(5.0)),
    "controller: computed-torque\nstress_free: true": StressFree(ComputedTorque()),
    "controller: pd\npreload: [1, 2, 3, 4]\nstress_free: true": Preload(StressFree(Pd())),
}


@pytest.mark.parametrize("text", list(FILES))
def test_a_file_says_its_law(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    found = read_controller(tmp_path / "c.yaml", dualv().robot)
    assert found.law == FILES[text]


def test_a_file_says_what_is_around_its_law(tmp_path: Path) -> None:
    text = "controller: pd\nrate: 500 Hz\nsaturation: false\npreload: {m1: 1, m2: 2, m3: 3, m4: 4}\nmodel: fit.json\n"
    (tmp_path / "c.yaml").write_text(text)
    found = read_controller(tmp_path / "c.yaml", dualv().robot)
    assert (found.rate, found.saturation, found.preload) == (500.0, False, (1.0, 2.0, 3.0, 4.0))
    assert found.model == tmp_path / "fit.json"


WRONG = {
    "controller: pdd": (1, ["'pdd'", "choose from pd, pid", "did you mean 'pd'"]),
    "bandwidth: 3": (1, ["'controller' is missing", "choose from pd"]),
    "controller: pd\nbandwith: 3": (2, ["'bandwith'", "did you mean 'bandwidth'"]),
    "controller: pd\nbandwidth: -3 Hz": (1, ["bandwidth -3", "expected a positive number"]),
    "controller: pd\ndamping: .nan": (2, ["found '.nan'", "expected a finite number"]),
    "controller: pd\nkp: [1, 2]": (2, ["found a list of 2", "one each for m1, m2, m3, m4"]),
    "controller: pd\nkp: {m1: 1}": (2, ["'m2' is missing"]),
    "controller: pd\nkd: -1": (2, ["found -1", "not negative"]),
    "controller: pd\nki: 1": (2, ["unknown key 'ki'", "choose from"]),
    "controller: feed-forward\nfeedback: {controller: computed-torque}": (2, ["choose from pd, pid, cascade"]),
    "controller: computed-torque\nrate: 0": (2, ["found 0", "greater than zero"]),
    "controller: pd\nbandwidth: 70 mm": (2, ["found '70 mm' in m", "expected a rate in Hz"]),
    "controller: pd\ndamping: 1 kg": (2, ["found '1 kg' in kg", "expected a number without unit"]),
    "controller: pd\nkp: {m1: 1, m2: 1, m3: 2 N, m4: 1}": (2, ["found '2 N' in N", "a stiffness in Nm/rad, N/m"]),
    "controller: cascade\nkp: 30 Nm": (2, ["found '30 Nm' in Nm", "expected a rate in Hz"]),
    "controller: pd\npreload: 3 deg": (2, ["found '3 deg' in rad", "expected a torque or a force in Nm"]),
    "controller: pd\nsaturation: perhaps": (2, ["found 'perhaps'", "expected true or false"]),
    "controller: pd\npreload: [1, 2, 3]": (2, ["found a list of 3"]),
    "- pd": (1, ["expected a controller"]),
    "": (1, ["expected one mapping"]),
}


@pytest.mark.parametrize("text", list(WRONG))
def test_a_wrong_file_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    from dalembert.errors import DalembertError

    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(DalembertError) as caught:
        read_controller(path, dualv().robot)
    line, words = WRONG[text]
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}:") and "\n" not in message
    for word in words:
        assert word in message
