"""What cannot be met is one line that names the limit, found before any search; nothing is written."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.excitation.designs import QUICK, design_of, designed
from tests.excitation.robots import arm, crane, model_of

from dalembert.cli.main import run
from dalembert.errors import ModelError, UsageError
from dalembert.excitation import (
    Box,
    BSpline,
    Capsule,
    Clearance,
    Fourier,
    Infeasible,
    Limits,
    Margin,
    PointToPoint,
    Shares,
    Sphere,
    Tilt,
    Workspace,
    design_excitation,
)
from dalembert.model import build_model
from dalembert.robot import Limit, load_robot

ARM, CRANE = Limits.of(arm()), Limits.of(crane())


def moved(limits: Limits, **motion: Limit) -> Limits:
    return limits.widened(motion={**limits.motion, **motion})


CASES = {
    "home outside a joint's range": ("arm", moved(ARM, lift=Limit(0.5, 1.4, 3.0, 20.0)), "position of lift .* is 0.2, limit at least 0.5"),
    "home outside the workspace": ("arm", ARM.widened(workspace=(Workspace(Sphere((2.0, 0.0, 0.0), 0.5)),)),
                                   r"at rest at home: workspace of rod, sphere: distance from the centre \[m\] is 1.\d+, limit at most 0.5"),
    "home in the corner of a box": ("crane", CRANE.widened(workspace=(Workspace(Box((-1, -1, -1), (1, 0.2, 1))),)),
                                    "workspace of tip, box y .* limit at most 0.2"),
    "torque that friction alone exceeds": ("arm", ARM.widened(torque={"a": 1e-3}), "moving ever so little: torque of a .* limit at (most|least)"),
    "torque that does not hold the arm": ("arm", ARM.widened(torque={"b": 0.5}), "torque of b .* limit at (most|least)"),
    "singularity margin no posture has": ("crane", CRANE.widened(singularity=Margin(motors=50.0)),
                                          "parallel singularity margin .* is .*, limit at least 50"),
    "condition number below one": ("crane", CRANE.widened(singularity=Margin(condition=0.9)), "condition number .* at most 0.9"),
    "links that overlap": ("arm", ARM.widened(clearance=Clearance(
        (Capsule("a", "upper", (0, 0, 0), (0.3, 0, 0), 0.1), Capsule("b", "rod", (0, 0, 0), (0.2, 0, 0), 0.1)), (("a", "b"),))),
                           "clearance of a and b"),
    "below the floor": ("arm", ARM.widened(clearance=Clearance((Capsule("a", "rod", (0, 0, 0), (0.1, 0, 0), 0.1),), floor=2.0)),
                        "height of a over the floor .* at least 2"),
    "a ball joint beyond its play": ("arm", ARM.widened(tilt=(Tilt("knee", "column", (1, 0, 0), "rod", (0, 0, 1), 0.2),)), "tilt knee"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "limits", "found"), CASES.values(), ids=CASES.keys())
def test_a_limit_that_cannot_be_met_is_named(name, limits, found):
    with pytest.raises(Infeasible, match=found) as raised:
        design_excitation(model_of(name), Fourier(2, 3.0), limits=limits, effort=QUICK)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("family", [Fourier(3, 0.02), BSpline(6, 0.02), PointToPoint(3, 0.02)])
def test_too_short_a_duration_says_which_limit_and_how_long(family):
    with pytest.raises(
        Infeasible, match=r"duration 0.02 s is too short: with acceleration of .* times as long"
    ) as raised:
        designed("arm", family=family)
    # the advice is enough: at that duration the same family is searched
    times = float(str(raised.value).rpartition("take ")[2].split()[0])
    design = designed("arm", family=replace(family, duration=1.1 * times * 0.02), noise=0.1, rate=1e5)
    assert design.value < 0.0


def test_fewer_samples_than_parameters():
    with pytest.raises(Infeasible, match=r"4\.5 samples at 5 Hz are fewer equations than the 20 base parameters"):
        designed("arm", family=Fourier(2, 0.9), rate=5.0, noise=0.1)


def test_a_coordinate_that_nothing_limits():
    robot = replace(arm(), limits={name: limit for name, limit in arm().limits.items() if name == "lift"})
    bare = replace(robot, motors=tuple(replace(m, torque_limit=float("inf")) for m in robot.motors))
    with pytest.raises(UsageError, match="nothing limits turn, reach"):
        design_excitation(build_model(bare), Fourier(2, 3.0), effort=QUICK)


def test_limits_that_contradict_themselves():
    with pytest.raises(UsageError, match="limits of 'lift': position from 1 to 0, expected lower < upper"):
        moved(ARM, lift=Limit(1.0, 0.0))
    with pytest.raises(UsageError, match="limits of 'lift': velocity -1, expected a positive number"):
        moved(ARM, lift=Limit(velocity=-1.0))
    with pytest.raises(UsageError, match=r"no coordinate or motor 'lifft'; .*did you mean 'lift'"):
        designed("arm", limits=moved(ARM, lifft=Limit(0.0, 1.0)))
    with pytest.raises(UsageError, match="torque: no motor 'd'"):
        designed("arm", limits=ARM.widened(torque={"d": 1.0}))
    with pytest.raises(UsageError, match=r"share of velocity: 1\.5, expected 0 < share <= 1"):
        Shares(velocity=1.5)
    with pytest.raises(UsageError, match="singularity: closure: robot 'arm' has no loops"):
        designed("arm", limits=ARM.widened(singularity=Margin(closure=0.1)))
    rig = model_of("rig")
    with pytest.raises(UsageError, match="declares no platform; name a body"):
        Limits.of(rig.robot).widened(workspace=(Workspace(Sphere((0, 0, 0), 1.0)),)).check(rig.robot)


def test_motors_that_are_held_back_by_their_joints_are_limited():
    """Motor a turns with its joint, b with two joints: what limits those limits it, times its ratios."""
    robot, limits = arm(), ARM.widened(torque={})
    a, b, c = robot.motors
    assert [limits.motor_rate(m, "acceleration") for m in (a, b, c)] == pytest.approx([25.0, 20.0 + 2 * 6.0, 5 * 6.0])
    assert limits.motor_rate(b, "velocity") == 3.5  # its own
    loose = moved(limits, reach=replace(limits.motion["reach"], acceleration=float("inf")))
    notes = [n for own in (limits, loose) for n in designed("arm", limits=own).notes if "is limited" in n]
    assert notes == ["neither acceleration nor torque of b, c is limited: only the velocity keeps them down"]


def test_settings_that_make_no_sense():
    design = design_of("arm")
    nan = np.full_like(design.coefficients, np.nan)
    for options, found in (
        ({"warm": design, "family": BSpline(5, 3.0)}, "design to start from: fourier of .*, expected b-spline of"),
        ({"warm": nan}, "coefficients to start from: some are not finite"),
        ({"warm": design, "method": "random"}, "method 'random' with a motion to start from"),
        ({"method": "random", "candidates": 0}, "candidates 0, expected at least one"),
        ({"repeat": 1.5}, "repeat 1.5, expected a whole number"),
        ({"priors": [np.full(len(design.model.parameters), np.nan)]}, "prior: value of XX_column is nan"),
        ({"criterion": "chosen", "parameters": "Q*"}, r"'Q\*' matches no base parameter"),
    ):
        with pytest.raises(UsageError, match=found):
            designed("arm", **options)


def test_too_few_unknowns_to_tell_parameters_apart():
    with pytest.raises(Infeasible, match="cannot be told apart by it, nor by what is given; take more harmonics"):
        design_excitation(build_model(load_robot("scara")), PointToPoint(1, 8.0), noise=1.0, effort=QUICK)


def test_clearances_that_keep_nothing_or_name_nothing():
    def ball(name: str, body: str = "rod") -> Capsule:
        return Capsule(name, body, (0, 0, 0), (0.1, 0, 0), 0.1)

    with pytest.raises(UsageError, match="clearance: no capsule 'x'; choose from a"):
        Clearance((ball("a"),), (("a", "x"),))
    with pytest.raises(UsageError, match="2 capsules are named 'a'"):
        Clearance((ball("a"), ball("a", "upper")), (("a", "a"),))
    with pytest.raises(UsageError, match="pair of 'a' and itself"):
        Clearance((ball("a"),), (("a", "a"),))
    with pytest.raises(UsageError, match="nothing is kept apart from capsule 'b'"):
        Clearance((ball("a"), ball("b"), ball("c")), (("a", "c"),))
    for floor, distance in ((0.0, 0.0), (None, 0.1)):
        with pytest.raises(UsageError, match="clearance: no capsules"):
            Clearance(floor=floor, distance=distance)
    for clearance in (
        Clearance((ball("a", "bod"),), floor=-1.0),
        Clearance((ball("a"), ball("b", "bod")), (("a", "b"),)),
    ):
        with pytest.raises(UsageError, match=r"capsule '[ab]': no body 'bod'; .*did you mean 'rod'"):
            designed("arm", limits=ARM.widened(clearance=clearance))


STILL = """
name: still
bodies:
  - {name: a, joint: {name: qa, type: revolute}, inertia: {mass: 1, tensor: [1, 1, 1]}}
  - {name: b, at: [1, 0, 0], joint: {name: qb, type: revolute}, inertia: {mass: 1, tensor: [1, 1, 1]}}
loops:
  - {name: L, type: point, between: [{body: a, at: [0.6, 0.5, 0]}, {body: b, at: [-0.4, 0.5, 0]}]}
motors: [qa]
"""


def test_a_robot_with_no_independent_motion(tmp_path: Path):
    (tmp_path / "still.yaml").write_text(STILL)
    from dalembert.robot import load_robot

    with pytest.raises(ModelError, match="the loops leave no motion at home"):
        build_model(load_robot(tmp_path / "still.yaml"))


ARM_FILE = """
name: pendulum
gravity: [0, -9.81, 0]
bodies:
  - name: rod
    joint: {name: q, type: revolute, efforts: {viscous: 0.1, coulomb: 0.1}}
    inertia: {mass: 1, com: [0.2, 0, 0], tensor: [0.01, 0.02, 0.02]}
motors: [q]
platform: rod
limits:
  q: {lower: -2, upper: 2, velocity: 5, acceleration: 30}
"""
TYPED = {
    "still": ("excite still.yaml -o out", "no motion at home (0 degrees of freedom)"),
    "short": ("excite arm.yaml -o out --duration 0.01", "duration 0.01 s is too short"),
    "home": ("excite arm.yaml -o out --limits home.yaml", "position of q [rad] is 0, limit at least 1"),
    "workspace": ("excite arm.yaml -o out --limits work.yaml", "workspace of rod, box x [m] is 0, limit at least 2"),
    "file": ("excite arm.yaml -o out --limits none.yaml", "none.yaml:1: No such file"),
    "key": ("excite arm.yaml -o out --limits key.yaml", "key.yaml:1: unknown key 'motin'"),
    "shape": ("excite arm.yaml -o out --limits shape.yaml", "shape.yaml:1:"),
    "family": ("excite arm.yaml -o out --family spline", "did you mean 'b-spline'"),
    "criterion": ("excite arm.yaml -o out --criterion det", "choose from logdet"),
    "starts": ("excite arm.yaml -o out --starts 0", "'--starts': found '0'"),
    "coordinates": ("excite arm.yaml -o out --coordinates qq", "no coordinate, joint or motor 'qq'"),
    "given": ("excite arm.yaml -o out --given prior.yaml", "no scale says how well a parameter is known"),
    "warm": ("excite arm.yaml -o out --warm nowhere", "nowhere: no design to start from"),
    "noise": ("excite arm.yaml -o out --noise noise.yaml", "noise.yaml:1: torque_noise"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "found"), TYPED.values(), ids=TYPED.keys())
def test_the_command_says_it_in_one_line_and_writes_nothing(line, found, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = {
        "still.yaml": STILL, "arm.yaml": ARM_FILE, "home.yaml": "motion: {q: {lower: 1}}\n",
        "work.yaml": "workspace: [{shape: box, lower: [2, -1, -1], upper: [3, 1, 1]}]\n",
        "key.yaml": "motin: {q: {lower: 1}}\n", "shape.yaml": "workspace: [{shape: ball, radius: 1}]\n",
        "prior.yaml": "values: {Fv_q: 2}\n", "noise.yaml": "torque_noise: -1\n",
    }  # fmt: skip
    for name, text in files.items():
        Path(name).write_text(text)
    monkeypatch.setattr(sys, "argv", ["dalembert", *line.split(), "--budget", "1"])
    with pytest.raises(SystemExit) as stopped:
        run()
    assert stopped.value.code == 2
    said = [text for text in capsys.readouterr().err.splitlines() if text.startswith("error:")]
    assert len(said) == 1
    assert found in said[0]
    assert not Path("out").exists()
