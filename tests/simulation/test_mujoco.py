"""Closed loops against MuJoCo under the same controller.

MuJoCo's loops are soft: they open by a force's worth over a stiffness that grows with the square of 1 / step, the
largest it allows. So its difference to us falls with the square of its own step however good its integrator is, and
with its step for Euler's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot
from tests.robot.mujoco_reference import MODELS, frictionless
from tests.simulation.motions import lively
from tests.simulation.referee import Feedback, MuJoCo

from dalembert.model import Model, build_model
from dalembert.robot import Robot, select_efforts
from dalembert.robot.mjcf_reader import read_mjcf
from dalembert.simulation import Options, Reference, Simulator, motor_inertia

ROBOTS = ["dualv", "delta", "orthoglide", "five-bar"]


def described(name: str) -> Robot:
    """Without what MuJoCo cannot say (offsets) or treats as a soft constraint too (dry friction), limits lifted."""
    robot = read_mjcf(MODELS / "fivebar.xml") if name == "five-bar" else catalog_robot(name)
    robot = select_efforts(frictionless(robot), offsets=False)
    return replace(robot, motors=tuple(replace(m, torque_limit=np.inf) for m in robot.motors))


@cache
def moving(name: str, rate: float, duration: float = 5.0) -> tuple[Model, Reference, Feedback]:
    model = build_model(described(name))
    reference = lively(model, duration, rate=rate)
    inertia, w = motor_inertia(model, model.nominal(), model.home)[0], 2.0 * np.pi * min(10.0, rate / 25.0)
    return model, reference, Feedback(inertia * w**2, 1.4 * inertia * w, 1.0 / rate)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_torques_and_positions_over_five_seconds(name: str, tmp_path: Path) -> None:
    model, reference, controller = moving(name, 1000.0)
    ours = Simulator(model, controller).run(reference)
    assert ours.completed, ours.reason
    engine = MuJoCo(model, tmp_path)
    off, torque, opened = [], [], []
    for substeps in (1, 2):
        theirs = engine.run(reference, controller, substeps)
        off.append(np.abs(theirs.q - ours.truth.q).max())
        torque.append((np.abs(theirs.tau - ours.truth.tau).max(axis=0) / np.abs(ours.truth.tau).max(axis=0)).max())
        opened.append(theirs.opened)
    assert np.abs(ours.truth.error).max() > 1000 * off[0]  # feedback had work to do
    assert off[0] < 1e-5 and torque[0] < 5e-3
    assert off[-1] < 1e-8 and torque[-1] < 5e-5
    # what is left is MuJoCo's: loops that open with the square of its step, and the difference with them
    assert opened[0] / opened[1] == pytest.approx(4.0, rel=0.05)
    assert 2.8 < off[0] / off[1] < 4.5


@pytest.mark.parametrize("name", ["dualv", "five-bar"])
def test_difference_to_euler_falls_with_the_step(name: str, tmp_path: Path) -> None:
    model, reference, controller = moving(name, 1000.0)
    ours = Simulator(model, controller).run(reference)
    engine = MuJoCo(model, tmp_path)
    off = [np.abs(engine.run(reference, controller, k, "EULER").q - ours.truth.q).max() for k in (1, 2, 4)]
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.05) and off[1] / off[2] == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(("name", "substeps"), [("delta", 200), ("dualv", 400)])
def test_difference_falls_with_our_step_as_the_fourth_power(name: str, substeps: int, tmp_path: Path) -> None:
    """Steps long enough for our error to stand above MuJoCo's softness, 2e-11 rad here: torque held for 40 ms."""
    model, reference, controller = moving(name, 25.0)
    theirs = MuJoCo(model, tmp_path).run(reference, controller, substeps)
    off = []
    for step in (0.04, 0.02, 0.01):
        ours = Simulator(model, controller, Options(control_rate=25.0, max_step=step)).run(reference)
        off.append(np.abs(theirs.q - ours.truth.q).max())
    assert 11.0 < off[0] / off[1] < 23.0 and 11.0 < off[1] / off[2] < 23.0, off
