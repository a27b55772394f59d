"""Torque constants as unknowns, found from a weighed payload [Briot15, 4.3]."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.identification.recovery import model_of, preload, true_base

from dalembert.errors import EstimationError
from dalembert.excitation import Fourier
from dalembert.identification.constraints import Constraints
from dalembert.identification.drive import calibrated
from dalembert.identification.fit import Fit
from dalembert.identification.identify import Identification, identify
from dalembert.logs import Log
from dalembert.model import Model, build_model
from dalembert.parameters import BodyInertia, inertial_names
from dalembert.robot import with_payload
from dalembert.simulation.synthetic import random_recording
from dalembert.validation import validate

MASS = 5.37
GAINS = {"m1": 0.61, "m2": 0.118, "m3": 2.4, "m4": 0.83}
WEIGHED = Constraints(fixed={"M_load": MASS})


@cache
def loaded_model() -> Model:
    return build_model(with_payload(model_of("dualv").robot, "load"))


def loaded_values() -> np.ndarray:
    ten = BodyInertia(MASS, (-0.02, 0.0, 0.02), (0.01, 0.0, 0.0, 0.012, 0.0, 0.02)).parameters()
    values = dict(model_of("dualv").robot.nominal) | dict(zip(inertial_names("load"), ten, strict=True))
    return np.array([values[name] for name in loaded_model().parameters])


@cache
def logs(seed: int = 3, motion: Fourier = Fourier(10, 10.0), rate: float = 1000.0) -> tuple[Log, Log]:  # noqa: B008
    """DualV without and with a payload, preloaded, torques in N m."""
    rng = np.random.default_rng(seed)
    free = random_recording(model_of("dualv"), rng, family=motion, rate=rate, preload=preload, name="free")
    carried = random_recording(
        loaded_model(), rng, family=motion, rate=rate, preload=preload, pi=loaded_values(), payload="load",
        name="loaded",
    )  # fmt: skip
    return free.log, carried.log


def in_amperes(log: Log, motors: tuple[str, ...]) -> Log:
    """The log with the torque of some motors divided by their true constant."""
    factors = np.array([1.0 / GAINS[name] if name in motors else 1.0 for name in log.info.torques])
    return replace(log, info=replace(log.info, unknown_gains=motors), tau=log.tau * factors)


@cache
def found(motors: tuple[str, ...]) -> Identification:
    return identify(model_of("dualv"), [in_amperes(log, motors) for log in logs()], constraints=WEIGHED)


@pytest.mark.parametrize("motors", [tuple(GAINS), ("m2", "m3")])
def test_gains_are_found_from_the_weighed_mass(motors):
    gains = found(motors).provenance["gains"]
    assert list(gains) == list(motors)
    for name, gain in gains.items():
        assert gain["value"] == pytest.approx(GAINS[name], rel=2e-3)
        assert 0.0 < gain["sigma"] < 2e-3 * gain["value"]
        assert abs(gain["value"] - GAINS[name]) < 3.0 * gain["sigma"]


@pytest.mark.slow
def test_uncertain_gains_are_counted_in_every_parameter():
    """Over six experiments gains miss by their sigma, and intervals of what they scale hold the truth.

    With gains taken as known, four of ten intervals of Coulomb friction missed.
    """
    misses, held, motors = [], [], tuple(GAINS)
    for seed in range(6):
        every = [in_amperes(log, motors) for log in logs(seed, Fourier(5, 5.0), 400.0)]
        fit = identify(model_of("dualv"), every, constraints=WEIGHED)
        gains, truth = fit.provenance["gains"], true_base(fit, loaded_values())
        misses += [(gains[name]["value"] - GAINS[name]) / gains[name]["sigma"] for name in motors]
        low, high = fit.robust.intervals(fit.estimate.values).T
        held += [
            lo <= t <= hi
            for name, lo, t, hi in zip(fit.estimate.names, low, truth, high, strict=True)
            if name.startswith("Fc_")
        ]
    assert 0.5 < np.sqrt(np.mean(np.square(misses))) < 1.5
    assert np.mean(held) > 0.85


def test_the_fit_is_that_of_torques_in_newton_metres():
    free = identify(model_of("dualv"), list(logs()), constraints=WEIGHED)
    for ours, theirs in zip(found(tuple(GAINS)).parameters, free.parameters, strict=True):
        assert ours.name == theirs.name
        assert abs(ours.value - theirs.value) < 0.02 * abs(theirs.value) + 3.0 * (theirs.sigma_robust or 0.0)


def test_a_stored_fit_scores_logs_in_amperes():
    fit = Fit.from_json(found(tuple(GAINS)).fit.to_json())
    assert "torque constants" in str(fit)
    scored = validate(fit, [in_amperes(log, tuple(GAINS)) for log in logs()])
    assert scored.relative_error == pytest.approx(fit.relative_error, rel=1e-3)


def test_what_is_missing_is_said_in_one_line():
    amperes = [in_amperes(log, tuple(GAINS)) for log in logs()]
    with pytest.raises(EstimationError, match=r"constants of m1, m2, m3, m4 are unknown: expected a weighed body"):
        identify(model_of("dualv"), amperes)
    with pytest.raises(EstimationError, match=r"log 'loaded': unknown torque constants of no motor"):
        identify(model_of("dualv"), [amperes[0], logs()[1]], constraints=WEIGHED)
    with pytest.raises(EstimationError, match=r"log 'free': the torque constants of m1, m2, m3, m4 are unknown"):
        calibrated(amperes[0], {})
