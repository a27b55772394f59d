"""Random admissible states and singularity margins."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.closed import closed
from tests.helpers.robots import five_bar, planar_2r, redundant_planar

from dalembert.model import build_model
from dalembert.motion import random_configurations, random_states, singularity_margins, subset_conditions


@pytest.mark.parametrize("name", ["five-bar", "redundant-planar", "delta-body", "parallelogram"])
def test_random_states_are_closed_spread_and_repeatable(name: str) -> None:
    robot = closed(name)
    model = robot.model
    y = random_configurations(model, 200, np.random.default_rng(0))
    assert np.array_equal(y, random_configurations(model, 200, np.random.default_rng(0)))
    still = np.zeros(model.n_y)
    assert max(np.abs(robot.engine.constraints(k, still)[0]).max() for k in y) < 2e-12
    # a walk of 24 strides of up to 0.12 goes somewhere, and every walk somewhere else
    assert np.median(np.abs(y - model.home).max(axis=1)) > 0.15
    assert len(np.unique(y.round(9), axis=0)) == 200


def test_states_of_a_tree_are_all_around() -> None:
    model = build_model(planar_2r(), backend="numpy")
    s = random_states(model, 2000, np.random.default_rng(0), speed=2.0)
    assert np.abs(s.y).max(axis=0) == pytest.approx([np.pi, np.pi], rel=0.01)
    np.testing.assert_array_equal(s.yd, s.v)
    assert s.v.std() == pytest.approx(2.0, rel=0.05)


def test_margins_fall_to_zero_where_rods_stretch_out() -> None:
    """Five-bar with both rods on one line: the motors lose hold of the tip. A tree has nothing to be singular."""
    model = build_model(five_bar(efforts=False), backend="numpy")
    home = singularity_margins(model, model.home)
    # tips of the cranks 0.9 m apart, 0.45 m rods between them: cos(opening) = 2/3
    worst = []
    for share in (0.9999, 0.999999):  # close enough for the margin to be linear in the sine
        opening = np.arccos((0.9 * share - 0.5) / 0.6)
        half = np.arccos(share)
        y = np.array([np.pi - opening, half - (np.pi - opening), opening, np.pi - half - opening])
        assert np.abs(model.loops_kernel()(y)["c"]).max() < 1e-12
        margins = singularity_margins(model, y)
        worst.append((margins.motors[0], margins.closure[0]))
    # sin of the angle between the rods falls tenfold from one share to the other
    assert worst[0][0] / worst[1][0] == pytest.approx(10.0, rel=0.05)
    assert min(c for _, c in worst) > 0.1 < home.closure[0]
    tree = singularity_margins(build_model(planar_2r(), backend="numpy"), np.zeros((3, 2)))
    assert np.isinf(tree.closure).all()
    np.testing.assert_allclose(tree.condition, 1.0)


def test_margins_are_singular_values_of_t_n() -> None:
    """Condition is that of T N; the motors' hold is that on orthonormal admissible velocities, by the referee."""
    robot = closed("redundant-planar")
    s = robot.states
    maps, jacobian = robot.model.velocity_maps(s.y)
    np.testing.assert_allclose(jacobian, robot.model.robot.motor_map() @ maps, rtol=0, atol=1e-13)
    margins = singularity_margins(robot.model, s.y)
    sigma = np.linalg.svd(jacobian, compute_uv=False)
    free = [robot.engine.null_space(y, yd) for y, yd, _ in robot.samples()]
    held = [np.linalg.svd(robot.model.robot.motor_map() @ k, compute_uv=False)[-1] for k in free]
    np.testing.assert_allclose(margins.motors, held, rtol=1e-10)
    np.testing.assert_allclose(margins.condition, sigma[:, 0] / sigma[:, -1])


def test_every_choice_of_motors_is_graded() -> None:
    """Four choices of three of four motors, best first; none better conditioned than a bound by all four."""
    model = build_model(redundant_planar(), backend="numpy")
    y = random_configurations(model, 50, np.random.default_rng(1))
    graded = subset_conditions(model, y)
    assert len(graded) == 4
    assert list(graded.values()) == sorted(graded.values())
    jacobian = model.velocity_maps(y)[1]
    names = list(model.robot.motor_names)
    for chosen, worst in graded.items():
        rows = [names.index(name) for name in chosen]
        assert worst == pytest.approx(max(np.linalg.cond(j[rows]) for j in jacobian), rel=1e-9)
