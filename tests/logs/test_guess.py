"""Foreign columns told by their names, and the channels file that says so, read back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.logs.arms import chain

from dalembert.errors import ForeignColumnsError, LogError
from dalembert.logs import Channel, ChannelMap, TimeChannel, channels_text, guess_channels, laid_out, read_channels
from dalembert.robot import Body, Joint, JointType, Motor, Robot

ARM = chain(2)
DEG = math.pi / 180.0


def named(*names: str) -> Robot:
    bodies = tuple(Body(f"{n}_link", "base", Joint(n, JointType.REVOLUTE)) for n in names)
    return Robot("named", bodies, motors=tuple(Motor(n, ((n, 1.0),)) for n in names))


def table(folder: Path, header: str, step: float = 0.001) -> Path:
    """A csv whose first column advances by ``step``."""
    path = folder / "run.csv"
    columns = header.count(",") + 1
    rows = [",".join(repr(k * step if j == 0 else 0.1 * j * k) for j in range(columns)) for k in range(20)]
    path.write_text("\n".join([header, *rows]))
    return path


# header, step of the first column, unit of the time, columns of q_j1 q_j2 tau_j1 tau_j2, factor of the positions
FOUND = [
    ("t,q1,q2,tau1,tau2", 1e-3, 1.0, "q1 q2 tau1 tau2", 1.0),
    ("time_ms,axis1_pos_deg,axis2_pos_deg,axis1_trq,axis2_trq", 1, 1e-3,
     "axis1_pos_deg axis2_pos_deg axis1_trq axis2_trq", DEG),
    ("Timestamp,J1.ActPos[deg],J2.ActPos[deg],J1.SetPos[deg],J2.SetPos[deg],J1.Torque[Nm],J2.Torque[Nm],TCP_x", 1, 1e-3,
     "J1.ActPos[deg] J2.ActPos[deg] J1.Torque[Nm] J2.Torque[Nm]", DEG),
    ("stamp,position_1,position_0,effort_0,effort_1", 1e6, 1e-9, "position_0 position_1 effort_0 effort_1", 1.0),
    ("t,joint_1_position,joint_2_position,motor_1_position,motor_2_position,joint_1_effort,joint_2_effort", 1e-3, 1.0,
     "joint_1_position joint_2_position joint_1_effort joint_2_effort", 1.0),
    ("t,dq1,dq2,angle1 (mrad),angle2 (mrad),torque j2 [N.m],torque j1 [N.m]", 1e-3, 1.0,
     "angle1 (mrad)|angle2 (mrad)|torque j1 [N.m]|torque j2 [N.m]", 1e-3),
]  # fmt: skip


@pytest.mark.parametrize(("header", "step", "unit", "columns", "factor"), FOUND)
def test_columns_are_told_by_their_names(
    header: str, step: float, unit: float, columns: str, factor: float, tmp_path: Path
) -> None:
    path = table(tmp_path, header, step)
    guess = guess_channels(path, ARM)
    known = {channel.signal: channel for channel in guess.channels.channels}
    wanted = columns.split("|") if "|" in columns else columns.split()
    assert [known[s].terms[0][0] for s in ("q_j1", "q_j2", "tau_j1", "tau_j2")] == wanted
    assert known["q_j1"].terms[0][1] == pytest.approx(factor, rel=1e-15)
    assert guess.channels.time.unit == unit and not guess.missing and not guess.currents
    # the file that says so is read back as the same map
    (tmp_path / "channels.yaml").write_text(channels_text(guess.channels, ARM, ["a head"]))
    again = read_channels(tmp_path / "channels.yaml", ARM)
    assert again.time == guess.channels.time
    assert [(c.signal, c.terms, c.offset) for c in again.channels] == [
        (c.signal, c.terms, c.offset) for c in guess.channels.channels
    ]
    assert laid_out(path, ARM, tmp_path / "channels.yaml").channels


def test_motors_are_told_by_their_own_names(tmp_path: Path) -> None:
    robot = named("shoulder_pan", "shoulder_lift", "elbow")
    header = "t,elbow_position,shoulder_lift_position,shoulder_pan_position,elbow_effort,shoulder_lift_effort,shoulder_pan_effort"
    guess = guess_channels(table(tmp_path, header), robot)
    assert all(c.terms[0][0].startswith(c.signal.partition("_")[2]) for c in guess.channels.channels)
    assert len(guess.channels.channels) == 6


def test_currents_and_what_is_missing_are_for_a_person(tmp_path: Path) -> None:
    guess = guess_channels(table(tmp_path, "t,q1,q2,i1,i2,temperature_1"), ARM)
    assert guess.currents == ("tau_j1", "tau_j2") and guess.unused == ("temperature_1",)
    guess = guess_channels(table(tmp_path, "t,q1,q2,voltage"), ARM)
    assert guess.missing == ("tau_j1", "tau_j2")
    with pytest.raises(LogError, match=r"no column looks like a position or torque.*docs/own-log\.md"):
        guess_channels(table(tmp_path, "t,a,b"), ARM)
    with pytest.raises(LogError, match=r"no column looks like the time.*rate: 1000 Hz"):
        guess_channels(table(tmp_path, "q1,q2,tau1,tau2"), ARM)


def test_a_log_with_other_columns_says_that_it_is_foreign(tmp_path: Path) -> None:
    for header in (
        "t,q1,q2,tau1,tau2",
        "t,q_j1,q_j2,tau_j1",
        "time,q_j1,q_j2,tau_j1,tau_j2",
        "t,q_j1,q_j2,q_j9,tau_j1,tau_j2",
    ):
        with pytest.raises(ForeignColumnsError):
            laid_out(table(tmp_path, header), ARM)
    assert len(laid_out(table(tmp_path, "t,q_j1,q_j2,tau_j1,tau_j2"), ARM).channels) == 4


def test_every_kind_of_entry_reads_back(tmp_path: Path, rng: np.random.Generator) -> None:
    channels = ChannelMap(
        time=TimeChannel(None, rate=500.0), payload="tool box",
        channels=(
            Channel("q_j1", (("a", -DEG),), math.radians(-90)), Channel("q_j2", (("a", 1 / 32), ("b: [x]", -0.5)), 0.1),
            Channel("tau_j1", (("true", 1e-3),)), Channel("tau_j2", (("d", float(rng.normal())),), unknown_gain=True),
        ),
    )  # fmt: skip
    (tmp_path / "channels.yaml").write_text(channels_text(channels, ARM))
    again = read_channels(tmp_path / "channels.yaml", ARM)
    assert (again.time, again.payload) == (channels.time, channels.payload)
    for own, back in zip(channels.channels, again.channels, strict=True):
        assert (own.signal, own.unknown_gain) == (back.signal, back.unknown_gain)
        assert dict(own.terms) == pytest.approx(dict(back.terms), rel=1e-15)
        assert own.offset == pytest.approx(back.offset, rel=1e-15, abs=1e-17)
