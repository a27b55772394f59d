"""Exact gradients against central differences, through the loops, for every criterion and every limit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.excitation.robots import model_of

from dalembert.excitation import (
    CRITERIA,
    Box,
    Capsule,
    Clearance,
    Cone,
    Cylinder,
    Fourier,
    HalfSpace,
    Hemisphere,
    Limits,
    Margin,
    Sphere,
    Tilt,
    Workspace,
    criterion_of,
)
from dalembert.excitation.belief import Belief
from dalembert.excitation.criteria import Criterion
from dalembert.excitation.setup import Setup
from dalembert.excitation.starts import random_start
from dalembert.excitation.task import Task
from dalembert.identification.constraints import Constraints
from dalembert.identification.prior_file import Known
from dalembert.robot import Limit
from dalembert.robot.quantity import effort_unit, position_units

FAMILY = Fourier(2, 3.0)
NAMES = ("arm", "crane")
STEP = 1e-5  # of unknowns of order one: the difference's own error is about STEP^2 and 1e-16 / STEP


@cache
def task_of(name: str) -> Task:
    model = model_of(name)
    nominal = Belief.of(model, model.nominal())
    return Task.of(model, FAMILY, Limits.of(model.robot), (nominal,)).weighed(None, 200.0)


def motion(task: Task, seed: int = 5) -> np.ndarray:
    return random_start(task.setup, task.centre, np.random.default_rng(seed))


def differences(values, z: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Derivative along a direction, error of fourth order."""
    at = {s: np.asarray(values(z + s * STEP * direction)) for s in (-2, -1, 1, 2)}
    return (8.0 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12.0 * STEP)


def criteria(name: str) -> dict[str, Criterion]:
    body = {"arm": "*_rod", "crane": "*_tip"}[name]
    return {key: criterion_of(key) for key in CRITERIA} | {"chosen": criterion_of("chosen", [body])}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("key", [*CRITERIA, "chosen"])
@pytest.mark.parametrize("name", NAMES)
def test_the_objective(name, key, masked, rng):
    task = task_of(name)
    objective = replace(task.objective(criteria(name)[key], 1, 0.3), masked=masked)
    problem = task.setup.problem(objective)
    z = motion(task)
    value, gradient = problem.objective(z)
    assert np.isfinite(value)
    for _ in range(3):
        direction = rng.standard_normal(len(z))
        direction /= np.linalg.norm(direction)
        found = differences(lambda z: problem.objective(z)[0], z, direction)
        assert abs(found - gradient @ direction) < 1e-6 * np.linalg.norm(gradient)


def shapes(body: str, at: tuple[float, float, float]) -> tuple[Workspace, ...]:
    """Every region, none of them near its edge; the motion need not be inside for the derivative to be right."""
    regions = (
        Box((-2, -2, -2), (2, 2, 2)), Sphere((0.1, 0.2, 0.0), 3.0), Hemisphere((0, 0, -1), 3.0, (0, 0.6, 0.8)),
        Cylinder((0.1, 0, 0), 3.0, (0, 1, 1), -3.0, 3.0), Cone((0, -4, 0), (0, 1, 0.2), 1.2), HalfSpace((1, 2, 2), 5.0),
    )  # fmt: skip
    return tuple(Workspace(region, body, at) for region in regions)


def everything(name: str) -> Setup:
    """All limits there are, on one robot."""
    model = model_of(name)
    robot = model.robot
    bodies = {"arm": ("column", "rod"), "crane": ("rod1", "crank2")}[name]
    first, last = bodies
    limits = Limits(
        {
            **robot.limits,
            **{m: Limit(-9.0, 9.0, velocity=9.0, acceleration=90.0, jerk=9000.0) for m in robot.motor_names},
        },
        dict.fromkeys(robot.motor_names, 80.0),
        workspace=shapes(last, (0.05, 0.1, -0.2)),
        singularity=Margin(closure=0.01 if name == "crane" else None, motors=0.01, platform=0.01, condition=1e4),
        clearance=Clearance(
            (Capsule("a", first, (0, 0, 0), (0.1, 0.05, 0.02), 0.02), Capsule("b", last, (0, 0.1, 0.1), (0.2, 0, 0.3), 0.01),
             Capsule("c", "base", (1, 0, 0.4), (1, 1, -0.4), 0.05)),
            (("a", "b"), ("b", "c")), 0.001, -5.0,
        ),
        tilt=(Tilt("joint", first, (0, 0, 1), last, (0.3, 0.1, 1.0), 3.0),),
    )  # fmt: skip
    bounded = Known(constraints=Constraints(bounds={"M_*": (0.5, 4.0), "Fv_*": (0.0, 1.0)}))
    beliefs = (Belief.of(model, model.nominal()), Belief.of(model, bounded))
    return Setup(model, FAMILY, task_of(name).setup.information, limits, beliefs)


@pytest.mark.parametrize("name", NAMES)
def test_every_limit(name, rng):
    setup, task = everything(name), task_of(name)
    names = {n for group in setup.coarse.groups for n in group.names}
    kinds = ("position", "velocity", "acceleration", "jerk", "torque", "box", "sphere", "hemisphere", "cylinder", "cone",
             "half-space", "clearance", "height", "tilt", "parallel", "serial", "condition")  # fmt: skip
    assert not [kind for kind in kinds if not any(kind in n for n in names)]
    assert ("loops" in " ".join(names)) is (name == "crane")
    z = motion(task)
    base = setup.coarse(z)
    assert np.isfinite(base).all()
    slope = setup.coarse.slope()
    for _ in range(2):
        direction = rng.standard_normal(len(z))
        direction /= np.linalg.norm(direction)
        exact = slope.times(direction)
        found = differences(setup.coarse, z, direction)
        worst: dict[str, float] = {}
        for label, a, b in zip(_labels(setup), exact, found, strict=True):
            worst[label] = max(worst.get(label, 0.0), abs(a - b))
        size = {label: max(1e-3, np.abs(exact[[k for k, name in enumerate(_labels(setup)) if name == label]]).max())
                for label in worst}  # fmt: skip
        assert not {label: e for label, e in worst.items() if e > 1e-6 * size[label]}


def _labels(setup: Setup) -> list[str]:
    """The quantity each slack belongs to, in their order."""
    n = len(setup.coarse.grid.times)
    out = []
    for group in setup.coarse.groups:
        for finite in (np.isfinite(group.upper), np.isfinite(group.lower)):
            kept = [name for name, here in zip(group.names, finite, strict=True) if here]
            out += kept * n
    return out


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_in_its_three_forms(name, rng):
    setup, task = everything(name), task_of(name)
    z = motion(task)
    setup.coarse(z)
    slope = setup.coarse.slope()
    rows = np.stack([slope.times(e) for e in np.eye(len(z))], axis=1)
    weights = rng.uniform(0.0, 2.0, len(rows))
    assert np.abs(slope.transposed(weights) - rows.T @ weights).max() < 1e-9 * np.abs(rows.T @ weights).max()
    condensed = (rows * weights[:, None]).T @ rows
    assert np.abs(slope.condensed(weights) - condensed).max() < 1e-9 * np.abs(condensed).max()


@pytest.mark.parametrize("name", NAMES)
def test_torques_stay_within_what_the_bounds_allow(name, rng):
    """Interval arithmetic: whatever the parameters within their bounds, the torque is within the two edges."""
    model, task = model_of(name), task_of(name)
    bounded = Known(constraints=Constraints(bounds={"M_*": (0.5, 4.0), "Fv_*": (0.0, 1.0)}))
    belief = Belief.of(model, bounded)
    limits = Limits.of(model.robot)
    setup = Setup(model, FAMILY, task.setup.information, limits, (belief,))
    z = motion(task)
    x = setup.coarse.grid.derivatives(z)
    values = dict(zip([n for s in setup.sources for n in s.names],
                      np.concatenate([v for g, v in zip(setup.coarse.groups, setup.coarse.quantities(z), strict=True)
                                      if g in setup.sources], axis=1).T, strict=True))  # fmt: skip
    m = setup.coarse.states.motion(*x[:3])
    reached, units = np.zeros(model.n), position_units(model.robot)
    for _ in range(200):
        share = rng.integers(0, 2, len(belief.values))
        pi = np.where(share, belief.lower, belief.upper)
        tau = model.inverse_dynamics(m.y, m.yd, m.ydd, pi)
        for k, motor in enumerate(model.robot.motor_names):
            label = f"torque of {motor} [{effort_unit(units[motor])}]"
            high, low = (values[f"{label} at its {edge}"] for edge in ("highest", "lowest"))
            assert (tau[:, k] <= high + 1e-9).all()
            assert (tau[:, k] >= low - 1e-9).all()
            reached[k] = max(reached[k], float(((tau[:, k] - low) / (high - low)).max()))
    # the edges are not far off: random corners of the box come near them
    assert reached.min() > 0.75
