"""Broken logs and channel maps: one line each, saying what is wrong, where, and what to choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from tests.logs.arms import chain, wave

from dalembert.errors import LogError
from dalembert.logs import open_log, read_log, write_log

ARM = chain(2)
N = 200
SIGNALS = ("q_j1", "q_j2", "tau_j1", "tau_j2")


def table(folder: Path, change=None, names="t,q_j1,q_j2,tau_j1,tau_j2", fmt="%.9g", n=N):
    """A sound CSV log of the arm, changed."""
    log = wave(ARM, n)
    data = np.column_stack([log.t, log.q, log.tau])
    if change is not None:
        data = change(data)
    lines = [names, *(",".join(fmt % x for x in row) for row in data)]
    path = folder / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def text(folder: Path, change):
    path = table(folder)
    path.write_text(change(path.read_text()))
    return path


def put(row, column, value):
    def change(data):
        data[row, column] = value
        return data

    return change


def at(selection, value):
    def change(data):
        data[selection] = value
        return data

    return change


def parquet(folder, columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), folder / "log.parquet")
    return folder / "log.parquet"


def blob(folder, name, data):
    (folder / name).write_bytes(data)
    return folder / name


def mat(folder, **variables):
    scipy.io.savemat(folder / "log.mat", variables)
    return folder / "log.mat"


def replaced(line, new):
    def change(content):
        lines = content.splitlines()
        lines[line - 1] = new(lines[line - 1])
        return "\n".join(lines) + "\n"

    return change


LOGS = {
    "no file": (lambda f: f / "none.csv", r"none\.csv: no such file"),
    "empty file": (lambda f: blob(f, "log.csv", b""), r"empty file, expected a header and rows"),
    "unknown suffix": (lambda f: blob(f, "log.xlsx", b"x"), r"unknown log format '\.xlsx'; choose from \.csv"),
    "header only": (lambda f: table(f, lambda d: d[:0]), r"a header and no rows"),
    "one row": (lambda f: table(f, lambda d: d[:1]), r"1 rows, expected at least 2"),
    "no header": (
        lambda f: text(f, lambda c: c.partition("\n")[2]),
        r"first line holds numbers \(0\), expected column names",
    ),
    "column twice": (lambda f: table(f, names="t,q_j1,q_j1,tau_j1,tau_j2"), r"column 'q_j1' appears twice"),
    "text value": (
        lambda f: text(f, replaced(12, lambda s: s.rpartition(",")[0] + ",abc")),
        r"line 12, column 'tau_j2': found 'abc', expected a number",
    ),
    "short line": (
        lambda f: text(f, replaced(7, lambda s: s.rpartition(",")[0])),
        r"line 7: 4 values, expected 5 as in the header",
    ),
    "long line": (lambda f: text(f, replaced(7, lambda s: s + ",1")), r"line 7: 6 values, expected 5"),
    "binary": (lambda f: blob(f, "log.csv", bytes(range(256)) * 9), r"not text \(it holds null bytes\)"),
    "NaN": (
        lambda f: table(f, at((slice(20, 23), 3), np.nan)),
        r"missing values in 'tau_j1' \(3 NaN, 0 infinite, first in row 21\), expected numbers; repair: missing=drop",
    ),
    "infinite": (lambda f: table(f, put(5, 1, np.inf)), r"'q_j1' \(0 NaN, 1 infinite, first in row 6\)"),
    "empty cell": (
        lambda f: text(f, replaced(9, lambda s: s.rpartition(",")[0] + ",")),
        r"'tau_j2' \(1 NaN, 0 infinite, first in row 8\)",
    ),
    "missing time": (lambda f: table(f, put(9, 0, np.nan)), r"missing values in 't' \(1 NaN"),
    "repeated stamps": (
        lambda f: table(f, lambda d: np.insert(d, 50, d[50], axis=0)),
        r"1 repeated time stamp, at row 52, expected increasing stamps; repair: duplicates=drop",
    ),
    "decreasing stamps": (
        lambda f: table(f, lambda d: d[[*range(60), 61, 60, *range(62, N)]]),
        r"time decreases 1 time, at row 62.*repair: order=sort",
    ),
    "backwards": (lambda f: table(f, lambda d: d[::-1]), r"time does not advance"),
    "time stands still": (lambda f: table(f, at((slice(None), 0), 1.0)), r"time does not advance"),
    "gap": (
        lambda f: table(f, lambda d: np.delete(d, slice(80, 85), axis=0)),
        r"1 gap of 5 samples in all, before row 81, expected a steady 1000 Hz; repair: gaps=longest, fill or split",
    ),
    "jitter": (
        lambda f: table(f, lambda d: d + np.random.default_rng(0).uniform(-3e-4, 3e-4, d.shape) * [1, 0, 0, 0, 0]),
        r"off a uniform (1000|999)\.?\d* Hz grid by up to \d\d\.?\d* % of the period, expected at most 5 %; repair: ",
    ),
    "no time": (lambda f: table(f, names="time,q_j1,q_j2,tau_j1,tau_j2"), r"no time column 't'; choose from time"),
    "no torque": (
        lambda f: table(f, names="t,q_j1,q_j2,tau_j1,tau_2"),
        r"columns tau_2 belong to no motor of robot 'arm'",
    ),
    "torque misspelt": (
        lambda f: table(f, names="t,q_j1,q_j2,tau_j1,x"),
        r"no torque column tau_j2 .*; choose from t, q_j1",
    ),
    "position misspelt": (
        lambda f: table(f, names="t,q_j1,Q_j2,tau_j1,tau_j2"),
        r"no position column q_j2.*did you mean",
    ),
    "another robot": (
        lambda f: table(f, names="t,q_m1,q_m2,tau_m1,tau_m2"),
        r"no column for any motor of robot 'arm', expected q_j1, q_j2, found t, q_m1.*another robot's log, or it needs",
    ),
    "a larger robot": (lambda f: write_log(wave(chain(3)), f / "log.csv"), r"columns q_j3, tau_j3 belong to no motor"),
    "constant torque": (
        lambda f: table(f, at((slice(None), 4), 1.5)),
        r"'tau_j2' is constant \(1\.5, 200 rows\) while its motor moves",
    ),
    "degrees": (
        lambda f: table(f, lambda d: d * [1, 180 / np.pi * 4, 1, 1, 1], n=1500),
        r"'q_j1' moves by \d+.* expected rad; in degrees\? give its unit",
    ),
    "text in parquet": (
        lambda f: parquet(f, {"t": [0.0, 1.0], **{c: ["a", "b"] for c in SIGNALS}}),
        r"column 'q_j1' holds string, expected numbers",
    ),
    "null in parquet": (
        lambda f: parquet(f, {"t": [0.0, 1.0, 2.0], **{c: [0.1, None, 0.2] for c in SIGNALS}}),
        r"'q_j1' \(1 NaN.*first in row 2\)",
    ),
    "no parquet": (lambda f: blob(f, "log.parquet", b"PAR1 nonsense"), r"not a Parquet file"),
    "no mat": (lambda f: blob(f, "log.mat", b"nonsense" * 40), r"not a MATLAB file"),
    "no hdf5": (lambda f: blob(f, "log.mat", b"MATLAB 7.3" + b"x" * 2000), r"not a MATLAB 7\.3 file|need h5py"),
    "mat without numbers": (lambda f: mat(f, who="arm"), r"no numeric variables"),
    "mat of another length": (
        lambda f: mat(f, t=np.arange(50.0)[:, None], q=np.ones((50, 2)), tau=np.ones((49, 2))),
        r"no torque column tau_j1, tau_j2",
    ),
    "mat of another robot": (
        lambda f: mat(f, t=np.arange(50.0)[:, None], q=np.ones((50, 3)), tau=np.ones((50, 3))),
        r"no column for any motor.*found t, q\(1\), q\(2\), q\(3\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOGS)
def test_broken_logs_are_refused_in_one_line(tmp_path, case):
    make, expected = LOGS[case]
    path = make(tmp_path)
    with pytest.raises(LogError, match=expected) as caught:
        read_log(path, ARM)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    with pytest.raises(LogError) as streamed:  # the same words from the block reader
        open_log(path, ARM)
    assert str(streamed.value) == message


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x89MCAP0\r\n broken"])
@pytest.mark.parametrize("name", ["log.mcap", "log.bag"])
def test_broken_bags_are_refused_in_one_line(tmp_path, name, content):
    with pytest.raises(LogError, match=r"empty file|not an MCAP file|not a ROS bag|need the extra mcap") as caught:
        read_log(blob(tmp_path, name, content), ARM)
    assert "\n" not in str(caught.value)


MAPS = {
    "no file": (None, r"map\.yaml:1: No such file"),
    "not yaml": ("signals: {", r"map\.yaml:\d+: not YAML"),
    "a list": ("- a", r"map\.yaml:1: found a list of 1, expected a channel map"),
    "unknown section": ("signal: {}", r":1: unknown key 'signal'; choose from time, signals.*did you mean 'signals'"),
    "unknown signal": ("signals:\n  q_j9: a", r":2: signals\.q_j9: robot 'arm' has no signal 'q_j9'; choose from q_j1"),
    "unknown key": ("signals:\n  q_j1: {colum: a}", r":2: unknown key 'colum'|:2: signals\.q_j1: unknown key 'colum'"),
    "no column": ("signals:\n  q_j1: {unit: deg}", r":2: .*found both or neither of column and columns"),
    "unknown column": ("signals:\n  q_j1: {column: enc}", r"q_j1: .* has no column 'enc'; choose from t, a, b"),
    "unknown unit": (
        "signals:\n  q_j1: {column: a, unit: degree}",
        r":2: .*found unit 'degree'; choose from rad.*did you mean 'deg'",
    ),
    "torque unit of a position": ("signals:\n  q_j1: {column: a, unit: Nm}", r":2: .*found unit 'Nm'; choose from rad"),
    "current without constant": (
        "signals:\n  tau_j1: {column: c, unit: mA}",
        r":2: .*a torque in mA needs its constant in Nm per A; expected constant: NUMBER or unknown",
    ),
    "zero gain": ("signals:\n  q_j1: {column: a, gain: 0}", r":2: .*found 0, expected a number that is not zero"),
    "zero ratio": ("signals:\n  q_j1: {column: a, ratio: 0}", r":2: .*found 0"),
    "sign": ("signals:\n  q_j1: {column: a, sign: 2}", r":2: .*found 2, expected 1 or -1"),
    "not linear": ("signals:\n  q_j1: a*b", r":2: .*'a\*b' is not linear in its columns"),
    "no column in the expression": ("signals:\n  q_j1: 2*pi", r":2: .*names no column"),
    "division by zero": ("signals:\n  q_j1: a/0", r":2: .*divides by zero"),
    "bad expression": ("signals:\n  q_j1: a +", r":2: .*unexpected 'end'"),
    "unknown gain of two columns": (
        "signals:\n  tau_j1: {columns: {c: 1, d: 1}, gain: unknown}",
        r":2: .*a gain to be identified needs one column, found 2",
    ),
    "twice": ("positions: {columns: [a, b]}\nsignals:\n  q_j1: a", r":3: .*'q_j1' is given twice"),
    "matrix size": ("positions: {columns: [a, b], matrix: [[1, 0]]}", r":1: .*found 1 x 2, expected 2 x 2"),
    "ragged matrix": (
        "positions:\n  columns: [a, b]\n  matrix: [[1, 0], [1]]",
        r":3: .*found a list of 1, expected a row of 2 numbers",
    ),
    "singular matrix": ("positions: {columns: [a, b], matrix: [[1, 1], [1, 1]], inverse: true}", r":1: .*condition"),
    "matrix to invert": (
        "positions: {columns: [a, b], matrix: [[1, 1]], inverse: true}",
        r":1: .*1 x 2, expected a square",
    ),
    "too few columns": ("torques: {columns: [c]}", r":1: .*found 1 columns, expected 2, or a matrix"),
    "offsets": ("positions: {columns: [a, b], offset: [1]}", r":1: .*expected a list of 2 numbers"),
    "motor": ("positions: {columns: [a], of: [j7]}", r":1: .*has no 'j7'; choose from j1, j2"),
    "time without anything": ("time: {unit: ms}", r":1: time: found both or neither of column and rate"),
    "unit of a zero": ("signals: {q_j1: 2*raw - 3 kg}", r":1: signals.q_j1: .*in kg, expected an angle or a length"),
    "unit of an offset": ("signals: {tau_j1: {column: c, offset: 3 deg}}", r":1: .*in rad, expected a torque or a force"),
    "unit of the rate": ("time: {rate: 5 ms}", r":1: .*found '5 ms' in s, expected a rate in Hz"),
    "rate": ("time: {rate: -5 Hz}", r":1: .*found -5, expected a rate in Hz greater than zero"),
    "time column": (
        "time: clock\npositions: {columns: [a, b]}\ntorques: {columns: [c, d]}",
        r"no time column 'clock'; choose from t",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MAPS)
def test_broken_channel_maps_are_refused_in_one_line(tmp_path, case):
    content, expected = MAPS[case]
    path = table(tmp_path, names="t,a,b,c,d")
    channels = tmp_path / "map.yaml"
    if content is not None:
        channels.write_text(content)
    with pytest.raises(LogError, match=expected) as caught:
        read_log(path, ARM, channels)
    assert "\n" not in str(caught.value)
