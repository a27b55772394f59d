"""What a simulation may not lose: energy, closed loops, the order of its method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot
from tests.simulation.arms import Open, energy, standing
from tests.simulation.motions import lively
from tests.simulation.test_mujoco import described

from dalembert.model import Model, build_model
from dalembert.robot.load import catalog_names
from dalembert.simulation import ComputedTorque, Options, Simulation, Simulator, energy_imbalance


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog_names())
def test_energy_balance_and_closed_loops_of_every_robot(name: str) -> None:
    """Work of the motors - losses = change of energy, dry friction included, over 10 s; a minute where loops close."""
    robot = catalog_robot(name)
    model = build_model(robot)
    reference = lively(model, 60.0 if robot.loops else 10.0)
    result = Simulator(model, ComputedTorque()).run(reference)
    assert result.completed, result.reason
    assert np.ptp(result.truth.q, axis=0).max() > 0.02
    work = result.truth.work
    assert np.ptp(work[:, 0]) > 0.01 and work[-1, 1] > 0.01  # [J] motors worked, friction took
    assert energy_imbalance(model, result) < 1e-6
    if robot.loops:
        opened = np.abs(model.loops_kernel()(result.truth.y)["c"]).max(axis=1)
        assert opened.max() < 1e-10
        assert opened[-1000:].max() < 1e-12  # and do not drift


def swing(model: Model, duration: float, rate: float = 10.0, **options: object) -> Simulation:
    """From a moving start under torques that change with a rate [Hz], nothing in control."""
    choices = Options(control_rate=rate, **options)  # type: ignore[arg-type]
    gravity = model.inverse_dynamics(model.home, 0.0 * model.home, 0.0 * model.home)[0]
    reach = 0.05 * (1.0 + np.abs(gravity))
    law = Open(lambda t: list(gravity + reach * np.cos(5.0 * t + np.arange(model.n))))
    start = (model.home, 0.1 * np.cos(np.arange(model.r)))
    return Simulator(model, law, choices).run(standing(model, duration, rate), start=start)


@pytest.mark.parametrize("name", ["delta", "five-bar"])
def test_loops_close_when_steps_are_long(name: str) -> None:
    """Closing is Newton's to the end, not one correction whose error depends on the step."""
    model = build_model(described(name))
    result = swing(model, 0.5, max_step=0.02)
    assert result.completed, result.reason
    assert np.abs(model.loops_kernel()(result.truth.y)["c"]).max() < 1e-13


@pytest.mark.parametrize("name", ["dualv", "five-bar", "tx40"])
def test_rk4_has_order_four(name: str) -> None:
    model = build_model(described(name))
    exact = swing(model, 0.5, method="dopri5", tolerance=1e-13).truth
    errors = [np.abs(swing(model, 0.5, max_step=h).truth.y - exact.y).max() for h in (0.01, 0.005, 0.0025)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([4.0, 4.0], abs=0.5), errors


@pytest.mark.parametrize(("method", "order"), [("dopri5", 5), ("bs23", 3)])
@pytest.mark.parametrize("name", ["five-bar", "tx40"])
def test_adaptive_methods_have_their_order(name: str, method: str, order: int) -> None:
    """Error against number of steps: the slope is the order, and a tolerance is kept within a factor of ten."""
    model = build_model(described(name))
    exact = swing(model, 1.0, 1.0, method="dopri5", tolerance=1e-13).truth
    errors, steps = [], []
    for tolerance in (1e-4, 1e-6, 1e-8):
        result = swing(model, 1.0, 1.0, method=method, tolerance=tolerance)
        errors.append(np.abs(result.truth.y - exact.y).max())
        steps.append(result.counts["steps"])
        assert errors[-1] < 10.0 * tolerance
    slope = np.log(errors[1] / errors[2]) / np.log(steps[2] / steps[1])
    assert slope == pytest.approx(order, abs=0.8), (errors, steps)


def test_compiled_and_python_integrators_agree() -> None:
    robot = described("dualv")
    runs = [swing(build_model(robot, backend=backend), 0.3, max_step=0.005) for backend in ("c", "numpy")]
    assert runs[0].compiled and not runs[1].compiled
    for field in ("y", "v", "vd", "work"):
        a, b = (getattr(run.truth, field) for run in runs)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


def test_the_balance_notices_a_wrong_mass() -> None:
    """What the energy test measures is not zero by construction."""
    model = build_model(catalog_robot("dualv"))
    result = Simulator(model, ComputedTorque()).run(lively(model, 1.0))
    other = model.nominal()
    other[model.parameters.index("M_platform")] *= 1.001
    assert energy_imbalance(model, result, other) > 1e-5
    assert np.ptp(energy(model, replace(result), model.nominal())) < 1e-9
