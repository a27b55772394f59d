"""DIDIM finds the truth of simulated experiments from their torques alone, on trees and loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.closed_loop.experiments import Recorded, recorded

from dalembert.closed_loop.cloe import Cloe
from dalembert.closed_loop.didim import Didim
from dalembert.closed_loop.instruments import SimulatedIv
from dalembert.errors import EstimationError
from dalembert.identification.constraints import Constraints
from dalembert.identification.essential import FTest
from dalembert.identification.identify import identify
from dalembert.identification.sdp import Sdp
from dalembert.logs import make_log
from dalembert.model import build_model
from dalembert.parameters import is_physical
from dalembert.robot import load_robot
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation import Options, Simulator, make_reference
from dalembert.studies.laboratory import Laboratory

SIGNALS = SignalSettings(decimate=20, mask=SlowMask(0.05, "relative"))


@pytest.fixture(scope="module")
def scara() -> Recorded:
    return recorded("scara")


def plain(made: Recorded, **settings) -> Didim:
    """DIDIM from rotors of one, told the inertia that the gains were tuned on."""
    return Didim(made.law, made.path, inertia=made.guess, **settings)


def close_to_truth(made: Recorded, fit) -> None:
    """Errors are what their sigmas say."""
    z = made.z_scores(fit)
    assert np.mean(np.abs(z) < 2.0) > 0.85
    assert np.abs(z).max() < 5.0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps"), [("tx40", 5), ("dualv", 5), ("orthoglide", 8)])
def test_truth_is_found_from_rotors_of_one(name, steps):
    made = recorded(name)
    fit = identify(made.blind, made.log, estimator=plain(made), signals=SIGNALS)
    assert fit.status == "converged"
    assert fit.estimate.iterations <= steps
    close_to_truth(made, fit)
    if name == "tx40":
        idim = identify(made.blind, made.log, signals=replace(SIGNALS, cutoff=50.0))
        assert fit.relative_error < 1.1 * idim.relative_error


@pytest.mark.parametrize("start", ["regular", "reference"])
def test_positions_are_not_used(scara, start):
    """Not one bit of the result changes when the log's positions are another motion's, or are not there."""
    rng = np.random.default_rng(0)
    fits = []
    for q in (scara.log.q, rng.standard_normal(scara.log.q.shape)):
        log = make_log(scara.blind.robot, scara.log.info.rate, q, scara.log.tau)
        fits.append(identify(scara.blind, log, estimator=plain(scara, start=start), signals=SIGNALS))
    assert fits[0].status == "converged"
    assert fits[0].parameters == fits[1].parameters
    close_to_truth(scara, fits[0])


def test_steps_end_when_the_error_stays_not_when_it_falls(scara):
    """The paper's (26) lacks an absolute value: a falling error would end the steps at once."""
    fit = identify(scara.blind, scara.log, estimator=plain(scara, tolerance=1e-3), signals=SIGNALS)
    errors = np.array(fit.provenance["settings"]["torque_errors"])
    change = np.abs(np.diff(errors)) / errors[:-1]
    assert change[-1] < 1e-3
    assert (change[:-1] > 1e-3).all()
    assert errors[1] < errors[0]


def test_noise_free_logs_give_the_parameters_to_many_digits():
    made = recorded("scara", noise=0.0, encoder=0.0)
    fit = identify(made.blind, made.log, estimator=plain(made, tolerance=1e-4), signals=SIGNALS)
    assert fit.relative_error < 2e-4
    true = np.array(list(made.base(fit).values()))
    found = np.array([p.value for p in fit.parameters])
    assert np.linalg.norm(found - true) < 2e-3 * np.linalg.norm(true)


@pytest.mark.slow
def test_exact_sensitivities_lessen_the_simulated_error():
    made = recorded("tx40")
    fit = identify(made.blind, made.log, estimator=plain(made, jacobian="exact"), signals=SIGNALS)
    errors = fit.provenance["settings"]["output_errors"]
    assert fit.status == "converged"
    assert errors[-1] < 0.99 * errors[0]
    close_to_truth(made, fit)


def test_positions_as_the_output(scara):
    fit = identify(scara.blind, scara.log, estimator=Cloe(scara.law, scara.path, inertia=scara.guess), signals=SIGNALS)
    assert (fit.status, fit.method) == ("converged", "cloe")
    errors = fit.provenance["settings"]["output_errors"]
    assert errors[-1] < errors[0]
    close_to_truth(scara, fit)
    torque_only = make_log(scara.blind.robot, 1000.0, scara.log.q, scara.log.tau)
    info = replace(torque_only.info, positions=())
    with pytest.raises(EstimationError, match="has no position of j1"):
        identify(
            scara.blind, replace(torque_only, info=info, q=np.zeros((info.samples, 0))),
            estimator=Cloe(scara.law, scara.path, inertia=scara.guess),
        )  # fmt: skip


def test_instruments_from_the_simulation_take_the_noise_of_positions_out():
    """Coarse encoders and a high cutoff bias least squares; instruments do not share that noise."""
    made = recorded("scara", encoder=5e-4)
    signals = SignalSettings(cutoff=80.0, decimate=5, mask=SlowMask(0.05, "relative"))
    off = {}
    for estimator in (None, SimulatedIv(made.law, made.path, inertia=made.guess)):
        fit = identify(made.blind, made.log, estimator=estimator, signals=signals)
        assert fit.status == "converged"
        off[fit.method] = made.z_scores(fit)
    assert np.abs(off["wls"]).max() > 10.0  # sigmas: the bias of a small inertia on coarse encoders
    assert np.abs(off["iv"]).max() < 4.0


def test_a_payload_is_separated_by_logs_with_and_without():
    made = recorded("dualv")
    load = {"M_load": 3.0, "MX_load": 0.1, "XX_load": 0.01, "YY_load": 0.01, "ZZ_load": 0.02}
    lab = Laboratory.of(load_robot("dualv"), made.law, made.sensing, 3, payloads={"load": load})
    logs = [lab.record(made.path, 5.0, name=payload or "empty", payload=payload) for payload in ("", "load")]
    fit = identify(made.blind, logs, estimator=plain(made), signals=SIGNALS)
    assert fit.status == "converged"
    for name in ("M_load", "MX_load", "ZZ_load"):
        assert abs(fit[name].value - load[name]) < 5.0 * fit[name].sigma_robust


def test_options_of_the_other_methods_are_kept(scara):
    """Fixed values hold, essential parameters are those of the last motion, standard ones those of the method inside."""
    fixed = {"Fv_j1": scara.truth["Fv_j1"]}
    held = identify(
        scara.blind, scara.log, estimator=plain(scara), signals=SIGNALS, constraints=Constraints(fixed=fixed)
    )
    assert held.status == "converged"
    assert held["Fv_j1"].value == pytest.approx(fixed["Fv_j1"], abs=1e-12)
    few = identify(scara.blind, scara.log, estimator=plain(scara), signals=SIGNALS, essential=FTest())
    assert (few.status, few.method) == ("converged", "didim")
    assert few.provenance["settings"]["scaled_steps"] >= 1
    assert few.relative_error < 1.5 * held.relative_error
    known = build_model(replace(scara.blind.robot, nominal=scara.truth))
    inside = plain(scara, estimator=Sdp())
    physical = identify(known, scara.log, estimator=inside, signals=SIGNALS)
    assert physical.status == "converged"
    for body in ("inner_arm", "flange"):
        assert is_physical(physical.estimate.body(body))


def test_a_log_may_start_later_than_its_reference(scara):
    first = 400
    later = scara.log.part(first, scara.log.info.samples, "later")
    fit = identify(scara.blind, later, estimator=plain(scara, offset=first / 1000.0), signals=SIGNALS)
    assert fit.status == "converged"
    close_to_truth(scara, fit)


def test_rates_of_log_and_controller_may_differ():
    made = recorded("scara")
    true = build_model(load_robot("scara"))
    reference = make_reference(true, made.path, 5.0, 1000.0)
    run = Simulator(true, made.law, Options(1000.0, 500.0)).run(reference)
    fit = identify(made.blind, run.log, estimator=plain(made), signals=replace(SIGNALS, decimate=10))
    assert fit.status == "converged"
    assert fit.relative_error < 2e-3


class Own:
    """A user's controller: PD gains times position errors, in Python."""

    def __init__(self, inertia: tuple[float, ...]) -> None:
        self.kp, self.kd = 120.0**2 * np.array(inertia), 1.4 * 120.0 * np.array(inertia)
        self.last = None

    def reset(self) -> None:
        self.last = None

    def torque(self, t, q, target):
        error = target.q - q
        change = 0.0 if self.last is None else (error - self.last) * 1000.0
        self.last = error
        return self.kp * error + self.kd * change


def test_a_controller_in_python_starts_from_the_reference():
    made = recorded("scara")
    true = build_model(load_robot("scara"))
    law, path = Own(made.guess), made.path
    reference = make_reference(true, path, 1.5)
    log = Simulator(true, law).run(reference).log
    fit = identify(made.blind, log, estimator=Didim(law, path, start="reference"), signals=SIGNALS)
    assert fit.status == "converged"
    assert fit.relative_error < 0.01
    with pytest.raises(EstimationError, match=r"start=regular: a controller in Python .* expected start=reference"):
        identify(made.blind, log, estimator=Didim(law, path), signals=SIGNALS)
