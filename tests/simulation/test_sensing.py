"""What the log holds of the torque a controller commanded."""

from __future__ import annotations

import numpy as np
import pytest
from tests.simulation.motions import lively
from tests.simulation.test_mujoco import described

from dalembert.model import build_model
from dalembert.simulation import ComputedTorque, Options, Simulator
from dalembert.simulation.sensing import averaged


@pytest.mark.parametrize("every", [1, 2, 5])
def test_averages_are_those_of_the_held_torque(every: int, rng: np.random.Generator) -> None:
    held = np.repeat(rng.standard_normal((8, 3)), every, axis=0)
    fine = np.repeat(held, 1000, axis=0)
    around = [fine[max(1000 * i - 500 * every, 0) : 1000 * i + 500 * every].mean(axis=0) for i in range(len(held))]
    np.testing.assert_allclose(averaged(held, every), around, atol=1e-12)


def test_logged_torque_is_in_step_with_the_motion() -> None:
    """The error of the log against the motion's own torque falls with the square of the period, not with the period."""
    model = build_model(described("five-bar"))
    pi = np.where([name.startswith(("Fc_", "Fs_")) for name in model.parameters], 0.0, model.vector("nominal"))
    errors = []
    for rate in (1000.0, 2000.0):
        path = lively(model, 2.0, rate=rate)
        result = Simulator(model, ComputedTorque(), Options(control_rate=rate)).run(path, pi)
        truth = result.truth
        ydd = np.gradient(truth.yd, 1.0 / rate, axis=0)  # the held torque makes it jump: its mean over two periods
        expected = model.torque_kernel()(truth.y, truth.yd, ydd, pi, np.zeros(model.n))["tau"]
        settled = slice(int(0.5 * rate), -10)
        errors.append(np.abs(result.log.tau - expected)[settled].max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)
