"""Sensitivities of the simulated loop: against a closed form, and against themselves where dry friction sticks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from tests.closed_loop.experiments import recorded

from dalembert.closed_loop.attempts import Attempts
from dalembert.closed_loop.bench import Bench, Experiment
from dalembert.closed_loop.descent import moved, stand_ins
from dalembert.closed_loop.didim import Didim
from dalembert.closed_loop.output import PositionOutput, TorqueOutput, slopes
from dalembert.excitation import Fourier, FourierPath
from dalembert.identification.prepare import along, prepare_problem
from dalembert.logs import make_log
from dalembert.model import build_model
from dalembert.robot import Body, Coordinate, Effort, EffortKind, Joint, JointType, Motor, Robot
from dalembert.signals import SignalSettings
from dalembert.simulation import Pd, make_reference

RATE, SECONDS = 1000.0, 2.0
LAW = Pd(kp=(900.0,), kd=(40.0,))
PATH = FourierPath(Fourier(2, SECONDS), np.zeros(1), np.array([[0.1, 0.05]]), np.array([[0.0, 0.02]]))
TRUE = {"M_a": 2.0, "Fv_a": 5.0}


def slider() -> Robot:
    """One mass on a line with viscous friction."""
    body = Body("a", "base", Joint("a", JointType.PRISMATIC, (1.0, 0.0, 0.0)))
    nominal = {f"{s}_a": 0.0 for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ")} | TRUE
    efforts = (Effort("a", EffortKind.VISCOUS, Coordinate((("a", 1.0),))),)
    return Robot("slider", (body,), motors=(Motor("a", (("a", 1.0),)),), efforts=efforts, nominal=nominal)


def exact_loop(mass: complex, viscous: complex) -> tuple[np.ndarray, np.ndarray]:
    """Torque and position of the slider at the ticks, by matrix exponentials; complex parameters give derivatives."""
    T = 1.0 / RATE
    continuous = np.array([[0.0, 1.0, 0.0], [0.0, -viscous / mass, 1.0 / mass], [0.0, 0.0, 0.0]], dtype=complex)
    step = expm(continuous * T)
    t = np.arange(round(SECONDS * RATE) + 1) * T
    wanted, rate, _ = PATH(t)
    state, before = np.array([wanted[0, 0], rate[0, 0]], dtype=complex), None
    torque, position = np.zeros((2, len(t)), dtype=complex)
    for k in range(len(t)):
        error = wanted[k, 0] - state[0]
        change = 0.0 if before is None else (error - before) / T
        before = error
        torque[k], position[k] = 900.0 * error + 40.0 * change, state[0]
        state = step[:2, :2] @ state + step[:2, 2] * torque[k]
    return torque, position


def bench_of(model, log, law, path, values, signals):
    """The bench of one log and its problem along the motion of parameters by name."""
    didim = Didim(law, path)
    sources, _ = didim.begin(model, [log], signals)
    prepared = prepare_problem(model, sources, signals=signals)
    experiments = [Experiment(s.reference, s.info.rate, "") for s in stand_ins(prepared)]
    bench = Bench(prepared, law, experiments)
    at = np.array([values[name] for name in prepared.problem.parameters])
    found = Attempts(bench, ["log"]).simulate(at, step=1)
    assert found is not None
    return bench, along(prepared, moved(prepared, found.runs)), at


@pytest.mark.parametrize(("kind", "signal"), [(TorqueOutput, 0), (PositionOutput, 1)])
def test_sensitivities_of_a_linear_loop_are_those_of_its_closed_form(kind, signal):
    model = build_model(slider())
    reference = make_reference(model, PATH, SECONDS, RATE)
    log = make_log(model.robot, RATE, reference.q, np.ones_like(reference.q))
    signals = SignalSettings(cutoff=0.0, decimate=1)
    bench, prepared, at = bench_of(model, log, LAW, PATH, dict(model.robot.nominal), signals)
    found = slopes(bench, prepared, at, kind(prepared))[0][0]
    small = 1e-30
    by_mass = exact_loop(TRUE["M_a"] + 1j * small, TRUE["Fv_a"])[signal].imag / small
    by_viscous = exact_loop(TRUE["M_a"], TRUE["Fv_a"] + 1j * small)[signal].imag / small
    run, source = prepared.rigid.runs[0], stand_ins(prepared)[0]
    for name, wanted in (("M_a", by_mass), ("Fv_a", by_viscous)):
        if kind is TorqueOutput:  # the log holds the mean of the torque over one tick around the sample
            wanted = 0.5 * (wanted + np.concatenate([wanted[:1], wanted[:-1]]))
        wanted = source.cut(wanted)[run.plan.border : run.plan.border + run.plan.samples]
        mine = found[prepared.problem.names.index(name)]
        np.testing.assert_allclose(mine, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.slow
def test_differences_do_not_depend_on_their_size_where_dry_friction_sticks():
    made = recorded("tx40")
    signals = SignalSettings(decimate=20)
    bench, prepared, at = bench_of(made.blind, made.log, made.law, made.path, made.truth, signals)
    few = replace(prepared, problem=prepared.problem.restrict(["Fc_j4", "Fv_j1", "ZZ_link3", "MX_link2", "Ia_j4"]))
    output = TorqueOutput(few)
    large, small = (slopes(bench, few, at, output, share)[0] for share in (1e-5, 1e-6))
    for j in range(len(few.problem.names)):
        a, b = (np.concatenate([group[j] for group in found]) for found in (large, small))
        assert np.linalg.norm(a - b) < 1e-6 * np.linalg.norm(b)


@pytest.mark.slow
def test_the_papers_jacobian_is_close_to_the_exact_one():
    """[Gautier11, eq. 22]: the motion hardly depends on the parameters, so the columns of W answer for them."""
    made = recorded("tx40")
    bench, prepared, at = bench_of(made.blind, made.log, made.law, made.path, made.truth, SignalSettings(decimate=20))
    names = ["Fv_j1", "Fc_j2", "ZZ_link1", "MX_link2"]
    few = replace(prepared, problem=prepared.problem.restrict(names))
    exact = slopes(bench, few, at, TorqueOutput(few))[0]
    blocks = list(few.rows.blocks())
    for j, column in enumerate(few.problem.kept):
        simple = np.concatenate([block.W[:, column] for g in range(6) for block in blocks if block.group == g])
        off = np.linalg.norm(np.concatenate([group[j] for group in exact]) - simple)
        assert 1e-6 < off / np.linalg.norm(simple) < 0.2, few.problem.names[j]
