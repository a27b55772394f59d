"""Logs that are damaged in a known way: the damage is named, put right where a channels file can, and nothing else is."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot
from tests.logs.arms import SHARED
from tests.logs.test_tx40 import CHANNELS
from tests.validation.damage import exchanged, flipped, late, recorded, reread

from dalembert.logs import Channel, ChannelMap, Log, guess_channels, load_log, read_log
from dalembert.model import build_model
from dalembert.validation.check import Level, LogCheck, check_log, mended_channels

KINDS = ("serial", "loops", "over-actuated")
DEG = 180.0 / math.pi


def look(kind: str, log: Log) -> LogCheck:
    known = recorded(kind)
    return check_log(known.robot, log, model=known.model)


def said(found: LogCheck, *levels: Level) -> str:
    return " | ".join(f.text for f in found.findings if f.level in (levels or tuple(Level)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_log_raises_no_alarm(kind: str) -> None:
    found = look(kind, recorded(kind).log)
    assert found.findings == () and not found.mends
    # the noise is 5 % of a motor's torque; what of it moves something may be half of it, on the Delta and under preload
    assert found.errors is not None and float(found.errors.max()) < 0.15
    assert "nothing looks wrong" in str(found)


# Damage by robot: how positions and torques are recorded, and the words that name it. Motors: serial pan, lift, bend;
# loops m4, m1, m2, m3; over-actuated m1 to m4.
N = {"serial": 3, "loops": 4, "over-actuated": 4}

DAMAGE = [
    ("serial", {"A": DEG * np.eye(3)}, "all positions are in degrees"),
    ("serial", {"A": np.diag([1.0, DEG, 1.0])}, "q_lift is in degrees"),
    ("serial", {"C": flipped(3, 1)}, "tau_lift has the wrong sign"),
    ("serial", {"C": -np.eye(3)}, "all torques have the wrong sign"),
    ("serial", {"A": flipped(3, 2)}, "q_bend has the wrong sign"),
    ("serial", {"C": exchanged(3, 1, 2)}, "tau_lift and tau_bend are exchanged"),
    ("serial", {"A": exchanged(3, 0, 1)}, "q_pan and q_lift are exchanged"),
    ("serial", {"A": exchanged(3, 1, 2), "C": exchanged(3, 1, 2)}, "motors lift and bend are exchanged"),
    ("serial", {"A": DEG * flipped(3, 2), "C": flipped(3, 1)}, "tau_lift has the wrong sign"),
    ("loops", {"A": DEG * np.eye(4)}, "all positions are in degrees"),
    ("loops", {"C": flipped(4, 1)}, "tau_m1 has the wrong sign"),
    ("loops", {"A": flipped(4, 1)}, "q_m1 has the wrong sign"),
    ("loops", {"C": exchanged(4, 1, 2)}, "tau_m1 and tau_m2 are exchanged"),
    ("over-actuated", {"A": DEG * np.eye(4)}, "all positions are in degrees"),
    ("over-actuated", {"C": flipped(4, 0)}, "tau_m1 has the wrong sign"),
    ("over-actuated", {"C": exchanged(4, 1, 2)}, "tau_m2 and tau_m3 are exchanged"),
]
SLOWER = [
    ("loops", {"A": exchanged(4, 1, 2)}, "q_m1 and q_m2 are exchanged"),
    ("loops", {"A": DEG * np.eye(4), "C": -np.eye(4)}, "all torques have the wrong sign"),
    ("over-actuated", {"A": flipped(4, 1)}, "q_m2 has the wrong sign"),
    ("over-actuated", {"A": flipped(4, 0, 1)}, "q_m1, q_m2 have the wrong sign"),
]


@pytest.mark.parametrize(
    ("kind", "damage", "words"),
    [*(pytest.param(*case, id=f"{case[0]}: {case[2]}") for case in DAMAGE),
     *(pytest.param(*case, id=f"{case[0]}: {case[2]}", marks=pytest.mark.slow) for case in SLOWER)],
)  # fmt: skip
def test_columns_read_wrongly_are_put_right(kind: str, damage: dict[str, np.ndarray], words: str) -> None:
    clean = recorded(kind).log
    found = look(kind, reread(clean, **damage))
    assert words in said(found, Level.FAULT) and not found.left and found.mends
    mended = reread(reread(clean, **damage), found.change.A, found.change.b, found.change.C)
    np.testing.assert_allclose(mended.q, clean.q, atol=1e-9)
    np.testing.assert_allclose(mended.tau, clean.tau, atol=1e-9)


def test_the_channels_file_reads_the_clean_log_back() -> None:
    known = recorded("serial")
    log = reread(known.log, DEG * exchanged(3, 1, 2), C=exchanged(3, 1, 2) @ flipped(3, 0))
    found = look("serial", log)
    names = known.robot.motor_names
    columns = [Channel(f"{kind}_{m}", ((f"{kind}{k}", 1.0),)) for kind in ("q", "tau") for k, m in enumerate(names)]
    mended = mended_channels(ChannelMap(channels=tuple(columns)), known.robot, found)
    raw = {f"q{k}": log.q[:, k] for k in range(3)} | {f"tau{k}": log.tau[:, k] for k in range(3)}
    for k, name in enumerate(names):
        for kind, truth in (("q", known.log.q), ("tau", known.log.tau)):
            channel = next(c for c in mended.channels if c.signal == f"{kind}_{name}")
            value = sum(factor * raw[column] for column, factor in channel.terms) + channel.offset
            np.testing.assert_allclose(value, truth[:, k], atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "motor", "factor"), [("serial", 1, 2.0), ("serial", 2, 0.1), ("over-actuated", 3, 0.5)]
)
def test_a_torque_out_of_scale_is_measured(kind: str, motor: int, factor: float) -> None:
    C = np.eye(N[kind])
    C[motor, motor] = factor
    found = look(kind, reread(recorded(kind).log, C=C))
    name = recorded(kind).robot.motor_names[motor]
    finding = next(f for f in found.findings if f.check == "scale")
    assert finding.level is Level.SUSPECT and finding.text.startswith(f"tau_{name} is ")
    gain = float(finding.mend.partition("gain: ")[2].split()[0])
    assert gain == pytest.approx(1.0 / factor, rel=0.15)
    assert len([f for f in found.findings if f.check == "scale"]) == 1 and not found.faults


@pytest.mark.parametrize(
    ("kind", "seconds"), [("serial", 0.02), ("serial", -0.04), ("loops", 0.02), ("over-actuated", -0.04)]
)
def test_a_delay_is_measured(kind: str, seconds: float) -> None:
    found = look(kind, late(recorded(kind).log, seconds))
    finding = next(f for f in found.findings if f.check == "delay")
    assert ("after" if seconds > 0 else "before") in finding.text
    size = float(finding.text.partition("logged ")[2].split(" ms")[0])
    assert size == pytest.approx(1e3 * abs(seconds), abs=4.0)  # a sample is 4 ms
    assert not found.faults


def test_a_joint_counted_from_another_zero() -> None:
    found = look("serial", reread(recorded("serial").log, b=np.array([0.0, math.pi / 2, 0.0])))
    assert "q_lift reads zero where the model's joint is at -90 deg" in said(found, Level.FAULT)
    np.testing.assert_allclose(found.change.b, [0.0, -math.pi / 2, 0.0], atol=1e-12)


def test_an_encoder_zero_that_the_loops_betray() -> None:
    found = look("over-actuated", reread(recorded("over-actuated").log, b=np.array([0.0, 0.0, 0.02, 0.0])))
    finding = next(f for f in found.findings if f.check == "closure")
    assert finding.mend.startswith("-0.02 on q_m3 brings them together")


def test_a_log_whose_loops_close_in_no_way() -> None:
    known = recorded("over-actuated")
    found = look("over-actuated", reread(known.log, b=np.array([0.0, 1.0, -1.0, 1.0])))
    assert [f.check for f in found.left] == ["closure"] and found.errors is None and not found.mends
    assert "lengths in the robot file" in str(found)


def test_gravity_along_another_axis() -> None:
    known = recorded("serial")
    on_a_wall = replace(known.robot, gravity=(-9.81, 0.0, 0.0))
    found = check_log(on_a_wall, known.log)
    words = said(found, Level.FAULT, Level.SUSPECT)
    assert "gravity [0, 0, -9.81]" in words


def test_torque_in_another_unit_than_the_masses() -> None:
    found = look("serial", reread(recorded("serial").log, C=1e3 * np.eye(3)))
    assert any(f.check == "nominal" and "mNm" in f.mend for f in found.findings)
    assert all("limit" not in f.text for f in look("serial", recorded("serial").log).findings)
    found = look("serial", reread(recorded("serial").log, C=np.eye(3) / 100))
    assert any(f.check == "nominal" and "before its gear" in f.mend for f in found.findings)


def test_what_signals_show_by_themselves() -> None:
    log = recorded("serial").log
    q, tau = log.q.copy(), log.tau.copy()
    tau[:, 2] = np.clip(tau[:, 2], -1.0, 1.0)
    q[700:, 0] += 2.0 * math.pi
    found = said(look("serial", replace(log, q=q, tau=tau)))
    assert "tau_bend is at exactly 1" in found and "q_pan jumps by" in found and "in sample 699" in found
    same = replace(log, tau=log.tau[:, [0, 0, 2]])
    assert "tau_pan and tau_lift are the same values throughout" in said(look("serial", same), Level.FAULT)
    rests = reread(log, A=np.diag([1.0, 1.0, 0.0]))
    assert "q_bend moves by 0 deg" in said(look("serial", rests), Level.SUSPECT)
    held = replace(log, q=np.repeat(log.q[::5], 5, axis=0)[: len(log.q)])
    assert "changes every 5 samples only" in said(look("serial", held), Level.SUSPECT)
    fast = replace(log, qd=DEG * np.gradient(log.q, log.info.period, axis=0),
                   info=replace(log.info, velocities=log.info.positions))  # fmt: skip
    assert "57.3 times the slope of q_pan: deg/s?" in said(look("serial", fast), Level.NOTE)
    in_ms = replace(log, info=replace(log.info, period=1e3 * log.info.period), t=1e3 * log.t)
    assert "sampled at 0.25 Hz" in said(look("serial", in_ms), Level.SUSPECT)


def test_limits_of_the_robot_file() -> None:
    known = recorded("serial")
    limits = {
        "lift": replace(known.robot.limits["lift"], upper=0.1),
        "bend": replace(known.robot.limits["bend"], velocity=0.1),
    }
    found = said(check_log(replace(known.robot, limits={**known.robot.limits, **limits}), known.log), Level.SUSPECT)
    assert "lift moves from" in found and "bend is as fast as" in found
    motors = tuple(replace(m, torque_limit=0.5) for m in known.robot.motors)
    assert "above its limit of 0.5" in said(check_log(replace(known.robot, motors=motors), known.log), Level.SUSPECT)


def test_a_motor_without_torque_leaves_the_others_checked() -> None:
    known = recorded("serial")
    robot = replace(known.robot, unmeasured=("pan",))
    info = replace(known.log.info, torques=("lift", "bend"))
    found = check_log(robot, replace(known.log, info=info, tau=-known.log.tau[:, 1:]))
    assert found.groups == ("lift", "bend") and "wrong sign" in said(found, Level.FAULT)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the recording is not here: {SHARED}")
def test_the_real_log_is_clean_and_its_damage_is_found(tmp_path: Path) -> None:
    robot = catalog_robot("tx40")
    model = build_model(robot)
    joint = read_log(SHARED / "tx40_train.parquet", robot)
    (tmp_path / "tx40.yaml").write_text(CHANNELS)
    motor = read_log(SHARED / "tx40_train_motor_side.parquet", robot, tmp_path / "tx40.yaml")
    for log in (joint, motor):
        found = check_log(robot, log, model=model)
        assert not [f for f in found.findings if f.level is not Level.NOTE], str(found)
        assert found.errors is not None and float(found.errors.max()) < 0.12
    for damage, words in (
        ({"C": flipped(6, 5)}, "tau_j6 has the wrong sign"),
        ({"A": DEG * np.eye(6)}, "all positions are in degrees"),
        ({"A": exchanged(6, 1, 2), "C": exchanged(6, 1, 2)}, "motors j2 and j3 are exchanged"),
    ):
        assert words in said(check_log(robot, reread(joint, **damage), model=model), Level.FAULT)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the recording is not here: {SHARED}")
def test_the_real_log_of_the_motors_is_not_taken_for_the_joints() -> None:
    robot, path = catalog_robot("tx40"), SHARED / "tx40_train_motor_side.parquet"
    guess = guess_channels(path, robot)
    assert [c.terms[0][0] for c in guess.channels.channels[:2]] == ["motor_angle_1", "motor_angle_2"]
    assert not guess.missing and not guess.unused
    found = check_log(robot, load_log(path, robot, guess.channels))
    assert found.faults and any("before gears" in f.mend for f in found.findings)
    assert any("before its gear" in f.mend for f in found.findings)
