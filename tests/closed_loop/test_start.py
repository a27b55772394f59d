"""What the first simulation starts from, and gains that fit a robot which is not there yet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.closed_loop.experiments import Recorded, recorded, tuned

from dalembert.closed_loop.bench import Bench, Experiment
from dalembert.closed_loop.descent import stand_ins
from dalembert.closed_loop.didim import Didim
from dalembert.closed_loop.start import regular_parameters
from dalembert.errors import EstimationError
from dalembert.identification.prepare import prepare_problem
from dalembert.model import build_model
from dalembert.robot import EffortKind, load_robot
from dalembert.signals import SignalSettings
from dalembert.simulation import ComputedTorque, FeedForward, Law, Pd, StressFree, motor_inertia


def around_home(model, rng, n=20, spread=0.2):
    """Configurations near home that a tree may take."""
    return model.home + spread * rng.standard_normal((n, model.n_y))


def test_rotors_of_one_give_the_papers_mass_matrix(rng):
    """[Gautier11, eq. 28 and section V]: one on every joint, two on joint 5, which also carries the rotor of motor 6."""
    model = build_model(load_robot("tx40"))
    y = around_home(model, rng)
    wanted = np.eye(6)
    wanted[4, 4], wanted[4, 5], wanted[5, 4] = 2.0, 1.0, 1.0
    M = model.mass_matrix(y, regular_parameters(model, y))
    np.testing.assert_allclose(M, np.broadcast_to(wanted, M.shape), atol=1e-12)


@pytest.mark.parametrize("name", ["dualv", "orthoglide", "delta"])
def test_rotors_of_one_make_loops_regular(name):
    """``M_v = J_inv' J_inv``, and every motor feels one where there are as many motors as mobilities."""
    model = build_model(load_robot(name))
    y = model.home[None]
    pi = regular_parameters(model, y)
    J = model.velocity_maps(y)[1][0]
    np.testing.assert_allclose(model.mass_matrix(y, pi)[0], J.T @ J, atol=1e-12)
    if model.n == model.r:
        np.testing.assert_allclose(motor_inertia(model, pi, y)[0], 1.0, atol=1e-12)


def test_a_robot_without_rotors_gets_bodies_of_one(rng):
    robot = load_robot("tx40")
    efforts = tuple(e for e in robot.efforts if e.kind is not EffortKind.ROTOR)
    bare = build_model(replace(robot, efforts=efforts, nominal={}))
    assert not any(name.startswith("Ia") for name in bare.parameters)
    y = around_home(bare, rng)
    assert np.linalg.eigvalsh(bare.mass_matrix(y, regular_parameters(bare, y))).min() > 1e-3
    with pytest.raises(EstimationError, match="no rotor and no body resists"):
        regular_parameters(bare, y, without=bare.robot.body_names)


def bench_of(made: Recorded, law: Law, tuned_on) -> tuple[Bench, np.ndarray]:
    """A bench on which the controller's parameters are the true ones times ``tuned_on``."""
    known = build_model(replace(made.blind.robot, nominal={n: tuned_on * v for n, v in made.truth.items()}))
    signals = SignalSettings(decimate=20)
    prepared = prepare_problem(known, Didim(law, made.path).begin(known, [made.log], signals)[0], signals=signals)
    bench = Bench(prepared, law, [Experiment(s.reference, s.info.rate, "") for s in stand_ins(prepared)])
    return bench, np.array([made.truth[name] for name in prepared.problem.parameters])


@pytest.mark.parametrize("law", [Pd(), tuned((1.0, 2.0, 3.0, 4.0)), FeedForward(Pd()), StressFree(Pd())])
def test_feedback_is_scaled_by_the_inertia_it_is_to_move(law):
    """[Gautier11, section III B]: by the estimated inertia over the one it was tuned on."""
    bench, values = bench_of(recorded("scara"), law, 1.0)
    for factor in (0.5, 3.0):
        scaling = bench.scaling(factor * values, ())
        np.testing.assert_allclose(scaling.factor, factor, rtol=1e-9)
    np.testing.assert_allclose(bench.scaling(values, (1.0,) * 4).factor, largest(bench, values), rtol=1e-9)


def largest(bench: Bench, values) -> np.ndarray:
    """The largest inertia of each motor along the reference."""
    return motor_inertia(bench.model, bench.pi(values, ""), bench.configurations).max(axis=0)


def test_computed_torque_scales_itself():
    """Its feedback is multiplied by the mass matrix of the estimate already."""
    bench, values = bench_of(recorded("scara"), ComputedTorque(), 1.0)
    for factor in (0.5, 3.0):
        np.testing.assert_allclose(bench.scaling(factor * values, ()).factor, 1.0, rtol=1e-9)


def test_an_estimate_without_inertia_is_not_scaled_to():
    bench, values = bench_of(recorded("scara"), Pd(), 1.0)
    assert bench.scaling(-values, ()) is None
    assert bench.scaling(0.0 * values, ()) is None
