"""What cannot be simulated ends in a status that says where and what to do, and in finite numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.closed_loop.experiments import Recorded, recorded, tuned

from dalembert.closed_loop.didim import Didim
from dalembert.errors import EstimationError, UsageError
from dalembert.excitation import Fourier, FourierPath
from dalembert.identification.identify import Identification, identify
from dalembert.identification.prior import Prior
from dalembert.model import build_model
from dalembert.robot import load_robot
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation import Options, Pd, Simulator, Trajectory, make_reference

SIGNALS = SignalSettings(decimate=20, mask=SlowMask(0.05, "relative"))


def didim(made: Recorded, log=None, model=None, prior=None, **settings) -> Identification:
    """An identification of a SCARA's log with something wrong about it."""
    given = {"controller": made.law, "reference": made.path, "inertia": made.guess} | settings
    fit = identify(model or made.blind, log or made.log, estimator=Didim(**given), signals=SIGNALS, prior=prior)
    assert "NaN" not in json.dumps(fit.to_dict(), allow_nan=False)
    return fit


def refused(fit: Identification, status: str, *words: str) -> None:
    """The fit has this status, says why, and what to do."""
    assert fit.status == status, fit.message
    assert fit.remedy
    for word in words:
        assert word in fit.message, fit.message


@pytest.fixture(scope="module")
def made() -> Recorded:
    return recorded("scara")


@pytest.mark.parametrize("factor", [0.01, 0.1, 0.5, 10.0, 1000.0])
def test_gains_that_are_not_the_logs(made, factor):
    law = tuned(tuple(factor * np.array(made.guess)))
    inertia = tuple(factor * np.array(made.guess))  # in step with the gains: only the true ones tell
    fit = didim(made, controller=law, inertia=inertia)
    assert fit.status in ("simulation unlike the log", "simulation diverged")
    assert "gains" in fit.message and "controller" in fit.remedy
    assert np.abs(made.z_scores(fit)).max() < 50.0  # the values are those of a step that was simulated


def test_a_diverging_initial_guess(made):
    wrong = {name: -value if name.startswith(("M_", "ZZ_", "Ia_")) else value for name, value in made.truth.items()}
    refused(
        didim(made, start="prior", prior=Prior(wrong)),
        "simulation diverged",
        "step 1",
        "the controller's gains",
        "of 5 s",
    )
    nothing = dict.fromkeys(made.truth, 0.0)
    fit = didim(made, start="prior", prior=Prior(nothing))
    refused(fit, "simulation diverged", "step 1")
    assert fit.parameters == () and fit.relative_error == 1.0


def test_an_inertia_far_from_what_the_gains_were_tuned_on(made):
    for factor in (1e-3, 1e3):
        refused(didim(made, inertia=tuple(factor * np.array(made.guess))), "simulation diverged", "scaled gains")


def test_a_saturated_motor(made):
    robot = load_robot("scara")
    limits = 0.95 * np.abs(made.log.tau).max(axis=0)
    low = replace(
        robot, motors=tuple(replace(m, torque_limit=float(t)) for m, t in zip(robot.motors, limits, strict=True))
    )
    true = build_model(low)
    log = Simulator(true, made.law, Options(), tuned="nominal").run(make_reference(true, made.path, 5.0)).log
    refused(didim(made, log=log, model=build_model(replace(low, nominal={}))), "motors saturated", "torque limit")


def test_a_reference_that_leaves_the_workspace():
    made = recorded("dualv")
    swing = FourierPath(Fourier(1, 5.0), np.zeros(3), np.array([[0.6], [0.0], [0.0]]), np.zeros((3, 1)))
    fit = didim(made, reference=Trajectory(swing, ("pose.x", "pose.y", "pose.angle"), 5.0))
    refused(fit, "left workspace", "cannot be followed", "t = 0.2")
    assert fit.parameters == ()
    far = FourierPath(Fourier(1, 5.0), np.array([5.0, 0.0, 0.0]), np.zeros((3, 1)), np.zeros((3, 1)))
    with pytest.raises(EstimationError, match="left workspace: the reference of log"):
        didim(made, reference=far)


def test_another_reference_than_the_logs(made):
    path = recorded("scara", seed=7).path
    fit = didim(made, reference=path)
    assert fit.status != "converged"
    assert fit.message and fit.remedy


def test_steps_that_do_not_settle_say_how_the_error_moves(made):
    refused(didim(made, steps=1), "not converged", "after 1 steps", "%")


def test_what_cannot_be_reenacted_is_refused_before(made):
    for settings, words in (
        ({"inertia": (1.0, 2.0)}, "2 inertias, expected 4"),
        ({"inertia": (1.0, -1.0, 1.0, 1.0)}, "positive numbers"),
        ({"start": "rugular"}, "did you mean 'regular'"),
        ({"jacobian": "none"}, "choose from simple, exact"),
        ({"offset": 0.0123456}, "whole number"),
        ({"steps": 0}, "at least one step"),
        ({"transient": -1.0}, "at least 0"),
    ):
        with pytest.raises(UsageError, match=words):
            didim(made, **settings)
    with pytest.raises(EstimationError, match="no reference; choose from other"):
        didim(made, reference={"other": made.path})
    with pytest.raises(EstimationError, match="start=prior: no value of"):
        didim(made, start="prior")
    with pytest.raises(EstimationError, match="gains of j1, j2, j3, j4 were tuned on is not known; expected inertia"):
        didim(made, inertia=())
    with pytest.raises(EstimationError, match="expected gains as numbers"):
        didim(made, controller=Pd(bandwidth=20.0))
    with pytest.raises(EstimationError, match="nothing is left"):
        didim(made, transient=6.0)
