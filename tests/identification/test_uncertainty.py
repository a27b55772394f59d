"""Intervals that hold what they promise: autocorrelated residuals, several runs, friction shapes that were fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.recovery import model_of
from tests.identification.synthetic import GROUPS, PARAMETERS, beta, make_problem, regressor, truth

from dalembert.excitation import Fourier
from dalembert.identification.friction import MODELS, CoordinateMotion, friction_coordinates
from dalembert.identification.identify import Identification, identify
from dalembert.identification.rows import ArrayRows
from dalembert.identification.uncertainty import effective_freedom, robust_covariance
from dalembert.identification.wls import Wls
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation.synthetic import random_recording


def coloured(samples: int, rng: np.random.Generator, colour: float) -> np.ndarray:
    """AR(1) noise of unit variance, the same disturbance in all three groups in part."""
    own, shared = rng.standard_normal((3, samples)), rng.standard_normal(samples)
    noise = np.sqrt(0.5) * (own + shared)
    for k in range(1, samples):
        noise[:, k] = colour * noise[:, k - 1] + np.sqrt(1.0 - colour**2) * noise[:, k]
    return noise.reshape(-1)


def test_intervals_cover_under_autocorrelated_noise_that_joints_share():
    """Newey and West's worry: with AR(1) residuals of 0.8 the papers' sigma misses the truth every third time."""
    W, group, sample = regressor(300, 5)
    robust, plain = [], []
    for seed in range(60):
        y = W @ truth() + 0.5 * coloured(300, np.random.default_rng(seed), 0.8)
        problem = make_problem(ArrayRows.of(W, y, PARAMETERS, group=group, groups=GROUPS, sample=sample))
        estimate = Wls().estimate(problem)
        low, high = robust_covariance(problem, estimate).intervals(estimate.values).T
        robust.append((low <= beta(truth())) & (beta(truth()) <= high))
        plain.append(np.abs(estimate.values - beta(truth())) <= 1.96 * estimate.sigma)
    assert 0.90 <= np.mean(robust) <= 0.98
    assert np.mean(plain) < 0.85


@pytest.mark.parametrize(("noise", "counted"), [((1.0, 1.0, 1.0), (2.5, 3.0)), ((1.0, 0.01, 0.01), (1.0, 1.8))])
def test_degrees_of_freedom_are_those_of_the_runs_the_noise_is_in(noise, counted):
    """Three runs alike count three times; where the scatter is one run's, two quiet ones add little."""
    W, group, sample = regressor(200, 5)
    data = []
    for k, size in enumerate(noise):
        y = W @ truth() + size * coloured(200, np.random.default_rng(k), 0.0)
        data += ArrayRows.of(W, y, PARAMETERS, group=group, groups=GROUPS, sample=sample, run=f"run{k}").data
    problem = make_problem(ArrayRows(PARAMETERS, GROUPS, tuple(data)))
    found = robust_covariance(problem, Wls().estimate(problem))
    each = effective_freedom(found.bandwidth["run0"] / 200)
    assert counted[0] < np.median(found.freedom) / each < counted[1]
    assert each < found.freedom.min() and found.freedom.max() < 3.0 * each


LAW = MODELS["stribeck"]
SHAPE = 0.15  # Stribeck speed as a share of the top speed
LEVELS = (0.3, 0.3, 0.48)  # Fv at top speed, Fc and Fs as shares of the rigid torque's RMS


def with_stribeck(seed: int) -> tuple[Identification, dict[str, float]]:
    """A SCARA with Stribeck friction in every joint, identified with that law, and the true friction."""
    model = model_of("scara")
    rigid = np.array(
        [
            0.0 if name.startswith(("Fv_", "Fc_")) else v
            for name, v in zip(model.parameters, model.nominal(), strict=True)
        ]
    )
    recording = random_recording(
        model, np.random.default_rng(seed), family=Fourier(5, 5.0), rate=500.0, pi=rigid, torque_noise=0.0
    )
    motion, tau, true = recording.motion, recording.log.tau.copy(), {}
    for k, on in enumerate(friction_coordinates(model.robot)):
        top, size = np.abs(motion.yd[:, k]).max(), float(np.sqrt(np.mean(recording.torque[:, k] ** 2)))
        law = LAW.with_shape([SHAPE * top])
        values = size * np.array(LEVELS) / [top, 1.0, 1.0]
        tau[:, k] += law.columns(CoordinateMotion(motion.y[:, k], motion.yd[:, k], motion.ydd[:, k], 2e-3)) @ values
        true |= dict(zip(law.names(on), values, strict=True)) | {f"vs_{on}": SHAPE * top}
    noise = 0.01 * np.sqrt(np.mean(tau**2, axis=0))
    log = replace(recording.log, tau=tau + noise * np.random.default_rng(seed + 1000).standard_normal(tau.shape))
    return identify(model, log, friction=LAW, signals=SignalSettings(mask=SlowMask())), true


def test_fitted_speeds_are_counted_as_unknowns():
    """With Stribeck speeds taken as known, intervals of friction cover 69 % here instead of 95 %."""
    values, speeds, given = [], [], []
    for seed in range(12):
        fit, true = with_stribeck(seed)
        shapes = fit.provenance["shapes"]
        known = robust_covariance(fit.prepared.problem, fit.estimate).sigma
        for name, value in true.items():
            if name in shapes:
                speeds.append(abs(shapes[name]["value"] - value) < 2.2 * shapes[name]["sigma"])
                assert shapes[name]["unit"] == ("m/s" if name == "vs_j3" else "rad/s")
            else:
                values.append(fit[name].low <= value <= fit[name].high)
                given.append(abs(fit[name].value - value) < 2.2 * known[fit.estimate.names.index(name)])
    assert 0.90 <= np.mean(values) <= 0.98
    assert np.mean(speeds) >= 0.85
    assert np.mean(given) < 0.80


def test_a_speed_the_log_does_not_show_does_not_spoil_the_rest():
    """Where friction is Coulomb's a Stribeck speed means nothing: it is known to the range searched, no better."""
    recording = random_recording(model_of("scara"), np.random.default_rng(2), family=Fourier(5, 5.0), rate=500.0)
    plain = identify(model_of("scara"), recording.log, friction="coulomb", signals=SignalSettings(mask=SlowMask()))
    shaped = identify(model_of("scara"), recording.log, friction=LAW, signals=SignalSettings(mask=SlowMask()))
    for shape in shaped.provenance["shapes"].values():
        assert shape["sigma"] > 0.2 * shape["value"]
    for name in ("ZZR_inner_arm", "MXR_outer_arm", "ZZ_flange"):
        assert shaped[name].sigma_robust < 2.0 * plain[name].sigma_robust
        assert np.isfinite(shaped[name].sigma_robust)
