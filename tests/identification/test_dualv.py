"""DualV, one motor more than mobilities: a payload weighed by every projection, and what whitening gains [Briot15]."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from tests.identification.recovery import model_of, preload, true_base

from dalembert.excitation import Fourier
from dalembert.identification.base import base_parameters
from dalembert.identification.identify import Identification, identify
from dalembert.identification.ols import Ols
from dalembert.model import Model, build_model
from dalembert.parameters import BodyInertia, inertial_names
from dalembert.robot import load_robot, with_payload
from dalembert.simulation.synthetic import Recording, perfect_tracking, random_recording

MASS = 5.37  # [kg], weighed [Briot15, section 5.3]; zz 1.61e-2, mx -1.27e-1 as identified there (table 2, case 1)
LOAD = BodyInertia(MASS, (-0.127 / MASS, 0.0, 0.02), (0.01, 0.0, 0.0, 0.012, 0.0, 1.61e-2 - 0.127**2 / MASS))
MOTORS = ("m1", "m2", "m3", "m4")
PROJECTIONS = ("platform", "whitened", *(f"actuators:{','.join(s)}" for s in itertools.combinations(MOTORS, 3)))


@cache
def loaded_model() -> Model:
    return build_model(with_payload(load_robot("dualv"), "load"))


def loaded_values() -> np.ndarray:
    load = dict(zip(inertial_names("load"), LOAD.parameters(), strict=True))
    return np.array([(load | dict(model_of("dualv").robot.nominal))[name] for name in loaded_model().parameters])


def recordings(seed: int) -> tuple[Recording, Recording]:
    """20 s without and 20 s with the payload, preloaded in a way the model does not know."""
    rng, motion = np.random.default_rng(seed), Fourier(15, 20.0)
    free = random_recording(model_of("dualv"), rng, family=motion, preload=preload, name="free")
    loaded = random_recording(
        loaded_model(), rng, family=motion, preload=preload, pi=loaded_values(), payload="load", name="loaded"
    )
    return free, loaded


@cache
def found(projection: str) -> Identification:
    return identify(model_of("dualv"), [r.log for r in recordings(0)], projection=projection)


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_the_payload_is_weighed_to_1_in_1000(projection):
    """The mass is an unknown like any other; 28 base parameters, 4 of them the payload's [Briot15, eq. 49]."""
    fit = found(projection)
    assert fit.estimate.value("M_load") == pytest.approx(MASS, rel=1e-3)
    assert [name for name in fit.estimate.names if name.endswith("_load")] == [
        "ZZ_load", "MX_load", "MY_load", "M_load"
    ]  # fmt: skip
    assert len(fit.estimate.names) == 28
    low, high = fit.robust.intervals(fit.estimate.values).T
    truth = true_base(fit, loaded_values())
    assert np.mean((low <= truth) & (truth <= high)) > 0.85


def test_whitened_does_not_depend_on_the_independent_velocities():
    """Platform twist, or the rates of any three cranks: the same estimate to 1e-8."""
    logs = [r.log for r in recordings(0)]
    plain = found("whitened")
    size = np.maximum(np.abs(plain.estimate.values), plain.robust.sigma)
    for cranks in (("q11", "q12", "q13"), ("q12", "q13", "q14")):
        model = build_model(load_robot("dualv"), independent=cranks)
        assert model.independent == cranks != model_of("dualv").independent
        other = identify(model, logs)
        assert other.prepared.rigid.projection == "whitened"
        assert other.estimate.names == plain.estimate.names
        np.testing.assert_allclose(other.estimate.values / size, plain.estimate.values / size, atol=1e-8)
        np.testing.assert_allclose(other.robust.sigma, plain.robust.sigma, rtol=1e-6)


def covariance(model: Model, motion, projection: str, sigma: np.ndarray) -> np.ndarray:
    """Exact covariance of least squares on the rows of a projection when motor k has white noise sigma_k."""
    kernel = model.regressor_kernel(projection)
    out = kernel(motion.y, motion.yd, motion.ydd, sigma)
    W, L = out["W"][:, :, list(base_parameters(model).independent)], out["L"]
    pinv = np.linalg.pinv(W.reshape(-1, W.shape[2])).reshape(W.shape[2], *W.shape[:2])
    gain = np.einsum("pnk,nkm->pnm", pinv, L) * sigma
    return np.einsum("pnm,qnm->pq", gain, gain)


@pytest.mark.parametrize("sigma", [(1.0, 1.0, 1.0, 1.0), (1.0, 0.3, 2.0, 0.7)], ids=["equal", "different"])
def test_whitened_variance_is_below_both_cases_of_the_paper(sigma):
    """Gauss and Markov: case 1 and case 2 minus whitened is positive semidefinite, whatever is estimated."""
    model, sigma = model_of("dualv"), np.array(sigma)
    motion = recordings(0)[0].motion
    cut = slice(0, len(motion.y), 40)
    motion = type(motion)(*(getattr(motion, n)[cut] for n in ("y", "yd", "ydd", "closure", "mismatch")))
    white = covariance(model, motion, "whitened", sigma)
    assert len(white) == 24
    scale = 1.0 / np.sqrt(np.diag(white))
    for projection in PROJECTIONS:
        if projection != "whitened":
            gap = (covariance(model, motion, projection, sigma) - white) * np.outer(scale, scale)
            assert np.linalg.eigvalsh(gap).min() > -1e-8
            assert np.diag(gap).max() > 0.01  # and it is less for some


@pytest.mark.slow
def test_whitened_scatters_least_over_many_logs():
    """The same through the whole pipeline: 40 logs of one motion with noise of their own, motors unlike in noise."""
    model, motion = model_of("dualv"), Fourier(5, 5.0)
    path = random_recording(model, np.random.default_rng(3), family=motion).path
    noise = 0.05 * np.array([1.0, 0.3, 2.0, 0.7])
    spread = {}
    for projection in ("whitened", "platform", "actuators:m1,m2,m3"):
        values = []
        for seed in range(40):
            rng = np.random.default_rng(seed)
            exact, _ = perfect_tracking(model, path, motion.duration, 500.0, rng, preload=preload)
            log = type(exact)(exact.info, exact.t, exact.q, exact.tau + noise * rng.standard_normal(exact.tau.shape))
            values.append(identify(model, log, projection=projection, estimator=Ols()).estimate.values)
        spread[projection] = np.std(values, axis=0)
    for projection in ("platform", "actuators:m1,m2,m3"):
        ratio = spread["whitened"] / spread[projection]
        assert np.sqrt(np.mean(ratio**2)) < 0.95
        assert ratio.max() < 1.25  # a ratio of two sigmas from 40 logs is known to 10 %
