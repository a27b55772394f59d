"""Channel maps: the numbers they make, in units and on the side the robot needs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.logs.arms import chain

from dalembert.logs import Channel, ChannelMap, TimeChannel, read_channels, read_log

ARM = chain(2)


@pytest.fixture
def file(tmp_path, rng):
    """Columns clock [ms], a, b, c, d; the path and the data."""
    data = np.column_stack([np.arange(100.0) * 2.0, rng.normal(size=(100, 4))])
    path = tmp_path / "log.csv"
    path.write_text("clock,a,b,c,d\n" + "\n".join(",".join(repr(float(x)) for x in row) for row in data))
    return path, dict(zip(("clock", "a", "b", "c", "d"), data.T, strict=True))


def read(file, tmp_path, text):
    channels = tmp_path / "map.yaml"
    channels.write_text("time: {column: clock, unit: ms}\n" + text)
    return read_log(file[0], ARM, channels)


REST = "  tau_j1: c\n  tau_j2: d\n"


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("{column: a}", lambda c: c["a"]),
        ("a", lambda c: c["a"]),
        ("{column: a, unit: deg}", lambda c: np.deg2rad(c["a"])),
        (
            "{column: a, unit: turn, ratio: 100, sign: -1, offset: 3 deg}",
            lambda c: -c["a"] * 2 * math.pi / 100 + math.radians(3),
        ),
        ("{column: a, gain: 2*pi/4096}", lambda c: c["a"] * 2 * math.pi / 4096),
        ("{columns: {a: 1/45, b: -2}, unit: mm}", lambda c: (c["a"] / 45 - 2 * c["b"]) * 1e-3),
        ("a/32 - (b - 3*a)*2 - pi/2", lambda c: c["a"] / 32 - 2 * c["b"] + 6 * c["a"] - math.pi / 2),
        ("-a + 90 deg", lambda c: -c["a"] + math.pi / 2),
    ],
)
def test_position_channels(file, tmp_path, entry, value):
    log = read(file, tmp_path, f"signals:\n  q_j1: {entry}\n  q_j2: b\n" + REST)
    np.testing.assert_allclose(log.q[:, 0], value(file[1]), rtol=1e-14, atol=1e-14)
    assert log.info.period == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("entry", "value", "unknown"),
    [
        ("{column: c, unit: mNm}", lambda c: c["c"] * 1e-3, ()),
        ("{column: c, unit: mA, constant: 0.12 Nm, ratio: 100, sign: -1}", lambda c: -c["c"] * 1e-3 * 0.12 * 100, ()),
        ("{column: c, unit: A, constant: unknown, ratio: 2}", lambda c: c["c"] * 2, ("j1",)),
        ("{column: c, gain: unknown}", lambda c: c["c"], ("j1",)),
        ("45*c + 32*d", lambda c: 45 * c["c"] + 32 * c["d"], ()),
    ],
)
def test_torque_channels(file, tmp_path, entry, value, unknown):
    log = read(file, tmp_path, f"signals:\n  q_j1: a\n  q_j2: b\n  tau_j1: {entry}\n  tau_j2: d\n")
    np.testing.assert_allclose(log.tau[:, 0], value(file[1]), rtol=1e-14)
    assert log.info.unknown_gains == unknown


def test_matrices_move_between_the_sides_of_the_gears(file, tmp_path):
    coupling = np.array([[32.0, 0.0], [32.0, -45.0]])
    log = read(
        file, tmp_path,
        "payload: tool\n"
        "positions: {columns: [a, b], matrix: [[32, 0], [32, -45]], inverse: true, offset: [0, -pi/2], unit: deg}\n"
        "torques: {columns: [c, d], matrix: [[32, 0], [32, -45]], transpose: true, gain: [2, 1], sign: [1, -1]}\n",
    )  # fmt: skip
    columns = file[1]
    motors = np.deg2rad(np.column_stack([columns["a"], columns["b"]]))
    currents = np.column_stack([2 * columns["c"], -columns["d"]])
    np.testing.assert_allclose(log.q @ coupling.T + [0.0, -45.0 * math.pi / 2], motors, atol=1e-13)
    np.testing.assert_allclose(log.tau, currents @ coupling, atol=1e-13)
    # Power is the same on both sides, whatever the motion
    assert log.payload == "tool"
    np.testing.assert_allclose(
        np.sum(np.diff(log.q, axis=0) * log.tau[:-1]), np.sum(np.diff(motors, axis=0) * currents[:-1]), rtol=1e-12
    )


def test_signals_that_are_not_listed_come_from_their_own_columns(tmp_path, rng):
    data = rng.normal(size=(50, 4))
    path = tmp_path / "log.csv"
    rows = "\n".join(",".join(repr(float(x)) for x in row) for row in data)
    path.write_text("angle,q_j2,tau_j1,tau_j2\n" + rows)
    (tmp_path / "m.yaml").write_text("time: {rate: 5000 Hz}\nsignals: {q_j1: {column: angle, sign: -1}}\n")
    log = read_log(path, ARM, tmp_path / "m.yaml")
    np.testing.assert_array_equal(log.q, data[:, :2] * [-1, 1])
    np.testing.assert_allclose(log.t, np.arange(50) / 5000.0)
    assert log.info.rate == pytest.approx(5000.0)


def test_a_map_made_in_python_is_the_map_in_a_file(file, tmp_path):
    text = "time: {column: clock, unit: ms}\nsignals: {q_j1: {column: a, ratio: 2}, q_j2: b, tau_j1: c, tau_j2: d}"
    (tmp_path / "m.yaml").write_text(text)
    channels = (
        Channel("q_j1", (("a", 0.5),)), Channel("q_j2", (("b", 1.0),)),
        Channel("tau_j1", (("c", 1.0),)), Channel("tau_j2", (("d", 1.0),)),
    )  # fmt: skip
    mine = ChannelMap(str(tmp_path / "m.yaml"), TimeChannel("clock", 1e-3), channels)
    assert read_channels(tmp_path / "m.yaml", ARM) == mine
    np.testing.assert_array_equal(read_log(file[0], ARM, mine).q, read_log(file[0], ARM, tmp_path / "m.yaml").q)


def test_a_stated_unit_lets_a_joint_turn_many_times(tmp_path):
    t = np.arange(100.0)
    rows = "\n".join(f"{x},{2 * x},{x},{x % 7},{x % 5}" for x in t)
    (tmp_path / "log.csv").write_text("t,q_j1,q_j2,tau_j1,tau_j2\n" + rows)
    (tmp_path / "m.yaml").write_text("signals: {q_j1: {column: q_j1, unit: rad}, q_j2: {column: q_j2, unit: rad}}")
    assert np.ptp(read_log(tmp_path / "log.csv", ARM, tmp_path / "m.yaml").q[:, 0]) == 198.0
