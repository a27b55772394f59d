"""Delta-like robots identified from two beliefs that are wrong by factors: complete, physically consistent parameters
whose mass matrix and friction are as right as the paper's own [Gnad24, section VII].
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.recovery import model_of

from dalembert.excitation import Fourier, fourier_within_limits
from dalembert.identification.fitted import fitted
from dalembert.identification.identify import Identification, identify
from dalembert.identification.physical import Physical
from dalembert.identification.sdp import Sdp
from dalembert.model import build_model
from dalembert.parameters import inertial_names, is_physical
from dalembert.simulation.synthetic import random_recording
from dalembert.studies.delta_priors import FAMILIES, heavy, light

pytestmark = pytest.mark.slow
RUNS, FAMILY = 4, Fourier(5, 5.0)
COUPLED = 0.01  # of sqrt(M_ii M_jj): an element smaller than this is measured by what it could be


@pytest.fixture(scope="module", params=FAMILIES)
def case(request):
    """A robot of which nothing is known, logs of it, and a motion it is judged on."""
    name, rng = request.param, np.random.default_rng(5)
    model = model_of(name)
    limits = dict(model.robot.limits)
    # what a drive turns alone may move as far as the drive
    limits |= {c: limits[m.name] for m in model.robot.motors for c, _ in m.turns if c in model.independent}
    paths = [fourier_within_limits(model, FAMILY, rng, limits=limits) for _ in range(RUNS + 1)]
    runs = [random_recording(model, rng, path=path, name=f"run{k}") for k, path in enumerate(paths)]
    blank = build_model(replace(model.robot, nominal={}))
    return name, blank, [run.log for run in runs[1:]], runs[0].motion


@pytest.fixture(scope="module", params=[light, heavy])
def fit(request, case) -> Identification:
    name, model, logs, _ = case
    prior = request.param(name, model.robot)
    constraints = FAMILIES[name].constraints(model_of(name).robot)
    return identify(model, logs, estimator=Physical(), prior=prior, constraints=constraints, symmetric=True)


def parameters(fit: Identification) -> np.ndarray:
    return fitted(fit, fit.prepared.model).pi


def mass_matrices(case, fit: Identification) -> tuple[np.ndarray, np.ndarray]:
    """Found and true, on the drives' coordinates along a motion of its own."""
    name, _, _, motion = case
    model = model_of(name)
    own = tuple(coordinate for motor in model.robot.motors for coordinate, _ in motor.turns)
    drives = build_model(model.robot, independent=own)
    y = motion.y[::20]
    return drives.mass_matrix(y, parameters(fit)), drives.mass_matrix(y, model.nominal())


def test_every_body_could_exist(case, fit):
    model = fit.prepared.model
    known = dict(zip(model.parameters, parameters(fit), strict=True))
    for body in model.robot.bodies:
        if not body.massless:
            assert is_physical([known[name] for name in inertial_names(body.name)]), body.name


def test_the_mass_matrix_is_positive_definite_and_right(case, fit):
    """Its diagonal within 1 %, its other elements within 2 %."""
    found, true = mass_matrices(case, fit)
    assert np.linalg.eigvalsh(found).min() > 0.0
    size = np.abs(true).mean(axis=0)
    possible = np.sqrt(np.outer(np.diag(size), np.diag(size)))
    error = np.abs(found - true).max(axis=0) / np.where(size > COUPLED * possible, size, possible)
    diagonal = np.eye(len(size), dtype=bool)
    assert error[diagonal].max() < 0.01
    assert error[~diagonal].max() < 0.02


def test_friction_is_right_to_2_percent(case, fit):
    true = dict(model_of(case[0]).robot.nominal)
    for name, value in zip(fit.prepared.model.parameters, parameters(fit), strict=True):
        if name.startswith(("Fv_", "Fc_")):
            assert value == pytest.approx(true[name], rel=0.022), name


def test_the_semidefinite_optimum_is_the_same(fit):
    estimate = Sdp().estimate(fit.prepared.problem)
    assert estimate.status.ok
    assert fit.estimate.cost == pytest.approx(estimate.cost, rel=1e-6)
    np.testing.assert_allclose(
        fit.estimate.values, estimate.values, rtol=1e-3, atol=1e-4 * np.abs(estimate.values).max()
    )


def test_what_equal_drives_cancel_is_exactly_zero(case, fit):
    """``Ia_m1 - Ia_m3`` of equal rotors: no rounding with a sigma of its own."""
    cancelled = [p for p in fit.parameters if p.name.startswith("IaR_")]
    assert cancelled or case[0] == "linear-delta"  # whose carriages gravity tells from the rotors
    assert all(p.value == 0.0 and p.sigma == 0.0 for p in cancelled)
