"""Limits are kept between the points they were searched on, from rest to rest, whatever the family and coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.excitation.designs import FAMILIES, QUICK, design_of, designed, limits_of, used
from tests.excitation.robots import crane, model_of, rig
from tests.helpers.pinocchio_bridge import to_pinocchio
from tests.helpers.robots import effort_values

from dalembert.excitation import Capsule, Clearance, Limits, Margin, PointToPoint, Shares, Tilt, design_excitation
from dalembert.excitation.constraints.singularity import singularity_at
from dalembert.model import build_model
from dalembert.motion import Closer, singularity_margins
from dalembert.robot import Limit

ROUNDING = 1e-9


@pytest.mark.parametrize(
    ("name", "family"), [("arm", f) for f in FAMILIES] + [("rig", "fourier"), ("crane", "fourier")]
)
def test_every_limit_on_a_grid_ten_times_finer(name, family):
    design = design_of(name, family)
    shares = used(design)
    assert not {limit: share for limit, share in shares.items() if share > 1.0 + ROUNDING}
    # and the design does use what it may: nothing is gained by staying far from every limit
    assert max(shares.values()) > 0.97
    assert not any("rest at home" in note for note in design.notes)


def test_torque_by_another_engine():
    """Pinocchio finds the arm's torques within their limits, and near the values the design reports."""
    design = design_of("arm")
    model, robot = design.model, design.model.robot
    engine = to_pinocchio(robot, model.nominal())
    values = effort_values(robot, model.nominal())
    t = np.linspace(0.0, design.duration, 400)
    back = np.linalg.inv(robot.motor_map().T)
    states = zip(*design(t), strict=True)
    tau = np.array([back @ (engine.rnea(y, yd, ydd) + engine.effort(values, y, yd, ydd)) for y, yd, ydd in states])
    bound = design.limits.shares.torque * np.array([design.limits.torque[name] for name in robot.motor_names])
    assert (np.abs(tau) <= bound * (1.0 + ROUNDING)).all()
    inside = (t >= design.ride.record[0]) & (t <= design.ride.record[1])
    for k, name in enumerate(robot.motor_names):
        reported = max(abs(m.value) for m in design.margins if f"torque of {name} " in m.name)
        assert np.abs(tau[inside, k]).max() <= reported * (1.0 + 1e-3)
        assert np.abs(tau[inside, k]).max() > 0.97 * reported


def test_torque_up_to_the_instant_a_motor_turns_back():
    """There dry friction lets go: the torque before it, however near, is within its limit, and near it."""
    slow = replace(rig().limits["p1"], jerk=6.0)
    design = designed("rig", limits=Limits.of(rig()).widened(motion={**rig().limits, "p1": slow}))
    model, t = design.model, np.linspace(0.0, design.duration, 4000)
    closer = Closer(model, given="independent")
    speed = closer.motion(*design(t)).yd @ model.robot.motor_map().T
    turns = t[np.flatnonzero((np.diff(np.sign(speed), axis=0) != 0).any(axis=1))]
    near = (turns[:, None] + np.linspace(0.0, t[1], 1000)).ravel()
    motion = closer.motion(*design(near), near)
    bound = design.limits.shares.torque * np.array([design.limits.torque[name] for name in model.robot.motor_names])
    shares = np.abs(model.inverse_dynamics(motion.y, motion.yd, motion.ydd)) / bound
    assert 0.97 < shares.max() <= 1.0 + ROUNDING


def test_torque_where_motors_stand_still_between_two_moves():
    """Friction turns round in two steps there, at a sample and after it: neither is taken for torque still to come."""
    limits = limits_of("arm")
    dry = model_of("arm").robot.nominal["Fc_a"]
    bound = 1.6 * dry / limits.shares.torque  # less than friction and its jump together
    design = designed("arm", family=PointToPoint(3, 8.0), limits=limits.widened(torque={"a": bound}))
    assert 0.9 < used(design)["torque of a"] <= 1.0 + ROUNDING


def test_margins_are_those_of_the_record():
    """What a design reports as nearest to its limits is what the check by other means finds."""
    design = design_of("arm")
    shares = used(design)
    for name in ("lift", "turn", "reach"):
        for kind in ("position", "velocity"):
            least = min(m.slack for m in design.margins if m.name.startswith(f"{kind} of {name} "))
            assert 1.0 - least <= shares[f"{kind} of {name}"] + 1e-3


def test_shares_leave_room(rng):
    shares = Shares(position=0.6, velocity=0.5, acceleration=0.5, torque=0.5)
    design = designed("arm", limits=Limits.of(model_of("arm").robot, shares))
    motion = design(np.linspace(0.0, design.duration, 3000))
    limit = model_of("arm").robot.limits["lift"]
    assert np.abs(motion[0][:, 1] - 0.2).max() <= 0.6 * 1.2 + ROUNDING
    assert np.abs(motion[1][:, 1]).max() <= 0.5 * limit.velocity + ROUNDING


@pytest.mark.parametrize("coordinates", [("pose.x", "pose.y"), ("q1", "q2")])
def test_singularity_margins_in_task_and_joint_space(coordinates):
    """Measured by ``motion``, not by the design's own smoothed measure, which is below."""
    model = build_model(replace(crane(), independent=coordinates, limits={
        **crane().limits, "q2": Limit(-0.1, 1.9, velocity=6.0, acceleration=80.0)}))  # fmt: skip
    home = singularity_margins(model, model.home)
    asked = Margin(
        closure=0.6 * float(home.closure[0]), motors=0.6 * float(home.motors[0]), condition=20.0,
        platform=0.6 * float(singularity_at(model, "platform", model.home)[0]),
    )  # fmt: skip
    limits = Limits.of(model.robot).widened(singularity=asked)
    design = design_excitation(model, FAMILIES["fourier"], limits=limits, effort=QUICK)
    t = np.linspace(0.0, design.duration, 2000)
    kept = singularity_margins(model, Closer(model, given="independent").positions(design.ride(t)[0], t))
    assert kept.closure.min() >= asked.closure
    assert kept.motors.min() >= asked.motors
    # the margin is what the design had to keep, or it asked for nothing
    assert min(kept.closure.min() / asked.closure, kept.motors.min() / asked.motors) < 1.3


def gap_and_height(design, clearance):
    """Least distance of the pairs' surfaces, and least height of the moving capsules, from points along them."""
    model = design.model
    poses = np.asarray(model.poses_kernel()(design(np.linspace(0.0, design.duration, 1500))[0])["poses"])
    points, radius = {}, {c.name: c.radius for c in clearance.capsules}
    for c in clearance.capsules:
        line = np.linspace(c.start, c.end, 40)
        if c.body == "base":
            points[c.name] = np.broadcast_to(line, (len(poses), 40, 3))
        else:
            pose = poses[:, model.robot.body_names.index(c.body)]
            points[c.name] = pose[:, None, 9:] + np.einsum("nij,kj->nki", pose[:, :9].reshape(-1, 3, 3), line)
    gaps = [
        np.linalg.norm(points[a][:, :, None] - points[b][:, None], axis=3).min() - radius[a] - radius[b]
        for a, b in clearance.pairs
    ]
    heights = [points[c.name][:, :, 2].min() - c.radius for c in clearance.capsules if c.body != "base"]
    return min(gaps), min(heights)


def tilted(design):
    """Largest angle between the x axes of the arm's column and rod, from the bodies' rotations."""
    robot = design.model.robot
    poses = np.asarray(design.model.poses_kernel()(design(np.linspace(0.0, design.duration, 1500))[0])["poses"])
    x = [poses[:, robot.body_names.index(b), :9].reshape(-1, 3, 3)[:, :, 0] for b in ("column", "rod")]
    return np.arccos(np.clip((x[0] * x[1]).sum(axis=1), -1.0, 1.0)).max()


def test_clearances_floor_and_ball_joints():
    """Distances recomputed from points along the links, tilt from the bodies' rotations."""
    clearance = Clearance(
        (Capsule("arm", "upper", (0, 0, 0), (0.3, 0, 0), 0.03), Capsule("mast", "base", (0.25, 0.45, 0), (0.25, 0.45, 1), 0.05),
         Capsule("tool", "rod", (0, 0, 0), (0.15, 0, 0), 0.02)),
        (("tool", "mast"), ("arm", "mast")), distance=0.04, floor=0.05,
    )  # fmt: skip
    tilt = Tilt("knee", "column", (1, 0, 0), "rod", (1, 0, 0), 0.9)
    limits = Limits.of(model_of("arm").robot).widened(clearance=clearance, tilt=(tilt,))
    # searched to the end, where nothing is gained by staying far from what is in the way
    free, design = design_of("arm"), designed("arm", limits=limits, effort=replace(QUICK, iterations=100))
    assert gap_and_height(free, clearance)[0] < 0.0  # without these limits straight through the mast
    assert tilted(free) > 0.9
    gap, height = gap_and_height(design, clearance)
    assert clearance.distance <= gap < clearance.distance + 0.02
    assert height >= 0.05 + 0.04
    assert 0.99 * 0.9 < tilted(design) <= 0.9 + ROUNDING


def test_jerk_of_a_passive_joint():
    """A limit twenty times below what the motion would have without it is used nearly whole."""
    free = used(design_of("rig"), finer=40)
    tight = replace(rig().limits["p1"], jerk=0.5)
    assert free["jerk of p1"] * rig().limits["p1"].jerk > 10.0 * tight.jerk  # without it
    design = designed("rig", limits=Limits.of(rig()).widened(motion={**rig().limits, "p1": tight}))
    shares = used(design, finer=40)
    assert 0.8 < shares["jerk of p1"] <= 1.0 + 1e-4  # by differences of the acceleration
    reported = max(abs(m.value) for m in design.margins if m.name.startswith("jerk of p1 "))
    assert reported == pytest.approx(shares["jerk of p1"] * tight.jerk, rel=1e-2)


def test_limits_hold_under_every_prior():
    """With the arm twice as heavy as believed the torque stays within its limits when both are given as priors."""
    model = model_of("arm")
    heavy = model.nominal().copy()
    masses = [k for k, name in enumerate(model.parameters) if name[:2] in ("M_", "MX", "MY", "MZ", "ZZ", "YY", "XX")]
    heavy[masses] *= 2.0
    torque = dict.fromkeys(model.robot.motor_names, 25.0)
    limits = Limits.of(model.robot).widened(torque=torque)
    one, both = (designed("arm", limits=limits, priors=p) for p in ([model.nominal()], [model.nominal(), heavy]))
    peaks = []
    for design in (one, both):
        m = Closer(model, given="independent").motion(*design(np.linspace(0.0, design.duration, 3000)))
        peaks.append(np.abs(model.inverse_dynamics(m.y, m.yd, m.ydd, heavy)).max())
    assert peaks[1] <= 0.9 * 25.0 * (1.0 + 1e-6) < peaks[0]
