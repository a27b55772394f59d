"""Every catalog tree against Pinocchio, efforts and transmissions included; every catalog loop is in test_loops."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot, catalog_trees
from tests.helpers.pinocchio_bridge import to_pinocchio
from tests.helpers.robots import effort_values, random_parameters

from dalembert.model import build_model

TREE = 1e-10  # of the largest torque, see test_trees


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", catalog_trees())
def test_catalog_trees_equal_pinocchio(name: str, backend: str, rng: np.random.Generator) -> None:
    robot = catalog_robot(name)
    model = build_model(robot, backend=backend)
    pi = random_parameters(robot, rng)
    engine, values = to_pinocchio(robot, pi), effort_values(robot, pi)
    y = rng.uniform(-np.pi, np.pi, (5, model.n_y))
    yd, ydd = rng.standard_normal((2, 5, model.n_y))
    tree = [engine.rnea(*s) + engine.effort(values, *s) for s in zip(y, yd, ydd, strict=True)]
    # motors turn with joints: theta = T y, so joint torques are T' tau
    tau = np.linalg.solve(robot.motor_map().T, np.array(tree).T).T
    out = model.regressor_kernel("actuators")(y, yd, ydd, np.ones(model.n))
    np.testing.assert_allclose(out["W"] @ pi, tau, rtol=0, atol=TREE * np.abs(tau).max())
    np.testing.assert_allclose(model.inverse_dynamics(y, yd, ydd, pi), tau, rtol=0, atol=TREE * np.abs(tau).max())
    back = model.forward_dynamics(y, yd, tau, pi)
    # rotors keep M well conditioned: a few digits are lost between the joint inertias of 1e-2 and 10 kg m^2
    np.testing.assert_allclose(back, ydd, rtol=0, atol=1e-9 * np.abs(ydd).max())
