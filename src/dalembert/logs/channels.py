"""The channel map: which columns of a file are which signals of the robot, in which units, on which side of
the gears.

    time: {column: time_ms, unit: ms}            # or a column's name, or {rate: 5000 Hz} where there is none
    payload: tool                                # label of what the robot carried
    signals:
      q_j1: {column: enc1, unit: deg, sign: -1, offset: 3 deg}
      q_j2: motor_2/32 - pi/2                    # a linear expression of columns
      q_j3: {columns: {motor_3: 1/45, motor_4: -1/45}, unit: deg}
      tau_j1: {column: current_1, unit: mA, constant: 0.12 Nm, ratio: 100}
      tau_j2: {column: current_2, unit: A, constant: unknown}
    positions: {columns: [a1, a2], matrix: [[32, 0], [32, 32]], inverse: true, offset: [0, -pi/2]}
    torques: {columns: [i1, i2], matrix: [[32, 0], [32, 32]], transpose: true, gain: [0.1, 0.2]}

A signal is ``sign * gain * constant * ratio^p * unit * column + offset``: p is -1 for positions, velocities
and accelerations and +1 for torques, ``ratio`` being turns of what was measured per turn of the robot's
motor. The short forms list all motors (or those named under ``of``) at once: signal = matrix * columns +
offset, the matrix inverted or transposed first. Signals that are not listed are taken from the columns of
their own name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.errors import LogError, RobotError, choices
from dalembert.logs.linear import linear_form
from dalembert.robot.description import Robot
from dalembert.robot.expression import names_in, parse, summands
from dalembert.robot.quantity import ANY, EFFORT, EITHER, POSITION, PURE, RATE, Quantity
from dalembert.robot.yaml_source import Located, parse_file

__all__ = ["ELECTRIC", "Channel", "ChannelMap", "TimeChannel", "read_channels", "signal_names"]

KINDS: Mapping[str, str] = {"positions": "q", "torques": "tau", "velocities": "qd", "accelerations": "qdd"}
_DEG, _TURN = math.pi / 180.0, 2.0 * math.pi
UNITS: Mapping[str, Mapping[str, float]] = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": {"rad": 1.0, "mrad": 1e-3, "deg": _DEG, "turn": _TURN, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    "qd": {"rad/s": 1.0, "deg/s": _DEG, "turn/s": _TURN, "rpm": _TURN / 60.0, "m/s": 1.0, "mm/s": 1e-3},
    "qdd": {"rad/s^2": 1.0, "deg/s^2": _DEG, "turn/s^2": _TURN, "m/s^2": 1.0, "mm/s^2": 1e-3},
    "tau": {
        "Nm": 1.0, "mNm": 1e-3, "kNm": 1e3, "N": 1.0, "kN": 1e3, "A": 1.0, "mA": 1e-3, "V": 1.0, "%": 1e-2,
    },
}  # fmt: skip
_OFFSETS = {"q": POSITION, "qd": EITHER["velocity"], "qdd": EITHER["acceleration"], "tau": EFFORT}
ELECTRIC = ("A", "mA", "V", "%")  # not a torque before a constant makes it one


@dataclass(frozen=True, slots=True)
class Channel:
    """A signal as a linear combination of columns: ``sum factor * column + offset``, SI units.

    ``unknown_gain``: the torque is known up to its drive gain, to be identified. ``unit_given``: its unit was
    stated.
    """

    signal: str
    terms: tuple[tuple[str, float], ...]
    offset: float = 0.0
    unknown_gain: bool = False
    unit_given: bool = False


@dataclass(frozen=True, slots=True)
class TimeChannel:
    """Where time is: a column in multiples of ``unit`` [s], or a known ``rate`` [Hz] and no column."""

    column: str | None = "t"
    unit: float = 1.0
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class ChannelMap:
    """A channel map read for one robot; ``file`` is where it stands, for messages."""

    file: str = ""
    time: TimeChannel = TimeChannel()
    channels: tuple[Channel, ...] = ()
    payload: str | None = None
    topic: str | None = None


def signal_names(robot: Robot) -> tuple[str, ...]:
    """Every signal a log of this robot may have: ``q_``, ``qd_``, ``qdd_`` of motors and sensors, ``tau_`` of
    motors.
    """
    places = tuple(robot.readings)
    motion = tuple(f"{kind}_{name}" for kind in ("q", "qd", "qdd") for name in places)
    return (*motion, *(f"tau_{name}" for name in robot.motor_names))


def read_channels(path: str | Path, robot: Robot) -> ChannelMap:
    """The channel map in a YAML file; LogError with file and line when it does not fit its grammar or the
    robot.
    """
    try:
        return _Reader(robot).whole(parse_file(Path(path)))
    except RobotError as error:
        raise LogError(str(error)) from None


class _Reader:
    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.signals = signal_names(robot)
        self.channels: dict[str, Channel] = {}

    def whole(self, root: Located) -> ChannelMap:
        keys = ("time", "signals", *KINDS, "payload", "topic")
        parts = root.mapping(keys, what="a channel map")
        time = self.time(parts["time"]) if "time" in parts else TimeChannel()
        for section, kind in KINDS.items():
            if section in parts:
                self.matrix(kind, parts[section])
        for name, value in (parts["signals"].entries() if "signals" in parts else {}).items():
            if name not in self.signals:
                value.fail(f"robot {self.robot.name!r} has no signal {name!r}; {choices(name, self.signals)}")
            self.add(value, self.signal(name, value))
        payload = parts["payload"].text() if "payload" in parts else None
        topic = parts["topic"].text() if "topic" in parts else None
        return ChannelMap(root.file, time, tuple(self.channels.values()), payload, topic)

    def add(self, at: Located, channel: Channel) -> None:
        if channel.signal in self.channels:
            at.fail(f"{channel.signal!r} is given twice, expected it once")
        self.channels[channel.signal] = channel

    def time(self, at: Located) -> TimeChannel:
        if at.is_text:
            return TimeChannel(at.text("a column"))
        parts = at.mapping(("column", "unit", "rate"), what="a column with its unit, or a rate")
        if ("rate" in parts) == ("column" in parts):
            at.fail("found both or neither of column and rate, expected one of them")
        if "rate" in parts:
            return TimeChannel(None, rate=parts["rate"].positive(RATE, "a rate in Hz"))
        return TimeChannel(parts["column"].text("a column"), self.unit("t", parts.get("unit")))

    def unit(self, kind: str, at: Located | None) -> float:
        if at is None:
            return 1.0
        found = at.raw("a unit").replace(" ", "")
        if found not in UNITS[kind]:
            at.fail(f"found unit {found!r}; {choices(found, UNITS[kind])}")
        return UNITS[kind][found]

    def signal(self, name: str, at: Located) -> Channel:
        """One entry of ``signals``."""
        kind = name.partition("_")[0]
        if at.is_text:
            text = at.raw("a linear expression of columns")
            try:
                terms, offset = linear_form(text)
            except RobotError as error:
                at.fail(str(error))
            for term in summands(parse(text)):
                if not names_in(term):
                    at.check(at.dimension(term), _OFFSETS[kind])
            if not terms:
                at.fail(f"found {text!r}, which names no column; expected a linear expression of columns")
            return Channel(name, terms, offset)
        keys = (
            "column",
            "columns",
            "unit",
            "sign",
            "gain",
            "ratio",
            "offset",
            *(("constant",) if kind == "tau" else ()),
        )
        parts = at.mapping(keys, what="a signal")
        if ("column" in parts) == ("columns" in parts):
            at.fail("found both or neither of column and columns, expected one of them")
        if "column" in parts:
            terms = ((parts["column"].text("a column"), 1.0),)
        else:
            terms = tuple((c, value.number(ANY)) for c, value in parts["columns"].entries("column: factor").items())
        factor, unknown = self.factor(kind, parts, at)
        if unknown and len(terms) > 1:
            at.fail(f"a gain to be identified needs one column, found {len(terms)}")
        offset = parts["offset"].number(_OFFSETS[kind]) if "offset" in parts else 0.0
        return Channel(name, tuple((c, f * factor) for c, f in terms), offset, unknown, "unit" in parts)

    def factor(self, kind: str, parts: Mapping[str, Located], at: Located) -> tuple[float, bool]:
        """Product of unit, sign, gain, torque constant and gear ratio; whether the gain is unknown."""
        factor, unknown = self.unit(kind, parts.get("unit")), False
        unit = parts["unit"].raw() if "unit" in parts else ""
        if unit in ELECTRIC and "constant" not in parts and "gain" not in parts:
            at.fail(
                f"a torque in {unit} needs its constant in Nm per {'A' if unit == 'mA' else unit}; "
                "expected constant: NUMBER or unknown"
            )
        for key in ("gain", "constant"):
            if key not in parts:
                continue
            if kind == "tau" and parts[key].raw("a number or unknown") == "unknown":
                unknown = True
            else:
                factor *= self.nonzero(parts[key])
        if "sign" in parts:
            sign = parts["sign"].number(PURE)
            if sign not in (1.0, -1.0):
                parts["sign"].fail(f"found {sign:g}, expected 1 or -1")
            factor *= sign
        if "ratio" in parts:
            ratio = self.nonzero(parts["ratio"])
            factor = factor * ratio if kind == "tau" else factor / ratio
        return factor, unknown

    def nonzero(self, at: Located) -> float:
        value = at.number(ANY)
        if value == 0.0:
            at.fail("found 0, expected a number that is not zero")
        return value

    def matrix(self, kind: str, at: Located) -> None:
        """The short form: all signals of one kind at once."""
        keys = ("columns", "of", "matrix", "inverse", "transpose", "offset", "unit", "gain", "sign")
        parts = at.mapping(keys, required=("columns",), what="columns and a matrix")
        columns = [c.text("a column") for c in parts["columns"].items("a list of columns")]
        names = self.names(kind, parts.get("of"))
        matrix = self.coefficients(parts, len(names), len(columns), at)
        scale = np.full(len(columns), self.unit(kind, parts.get("unit")))
        for key in ("gain", "sign"):
            if key in parts:
                scale = scale * self.row(parts[key], ANY, len(columns))
        matrix = matrix * scale
        offsets = self.row(parts["offset"], _OFFSETS[kind], len(names)) if "offset" in parts else np.zeros(len(names))
        for i, name in enumerate(names):
            terms = tuple((c, float(f)) for c, f in zip(columns, matrix[i], strict=True) if f != 0.0)
            if not terms:
                at.fail(f"the row of {kind}_{name} is zero, expected at least one column to count")
            self.add(at, Channel(f"{kind}_{name}", terms, float(offsets[i]), unit_given="unit" in parts))

    def names(self, kind: str, at: Located | None) -> tuple[str, ...]:
        motors = self.robot.motor_names
        if at is None:
            without = self.robot.unmeasured if kind == "tau" else self.robot.without_encoder
            return tuple(m for m in motors if m not in without)
        valid = motors if kind == "tau" else tuple(self.robot.readings)
        names = tuple(item.text() for item in at.items("a list of motors"))
        for name, item in zip(names, at.items(), strict=True):
            if name not in valid:
                item.fail(f"robot {self.robot.name!r} has no {name!r}; {choices(name, valid)}")
        return names

    def row(self, at: Located, of: Quantity, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """A list of n numbers, or one for all."""
        if at.is_text:
            return np.full(n, at.number(of))
        return np.array(at.numbers(of, n, f"a list of {n} numbers"))

    def coefficients(
        self, parts: Mapping[str, Located], rows: int, columns: int, at: Located
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """The matrix that makes signals from columns, shape (rows, columns)."""
        if "matrix" not in parts:
            if rows != columns:
                at.fail(f"found {columns} columns, expected {rows}, or a matrix")
            return np.eye(rows)
        inverse = "inverse" in parts and parts["inverse"].boolean()
        turned = "transpose" in parts and parts["transpose"].boolean()
        lines = parts["matrix"].items("a list of rows")
        width = len(lines[0].items("a list of numbers")) if lines else 0
        matrix = np.array([line.numbers(ANY, width, f"a row of {width} numbers") for line in lines]).reshape(
            len(lines), width
        )
        if turned:
            matrix = matrix.T
        if inverse:
            if matrix.shape[0] != matrix.shape[1]:
                parts["matrix"].fail(f"found {matrix.shape[0]} x {matrix.shape[1]}, expected a square matrix to invert")
            condition = float(np.linalg.cond(matrix))
            if not condition < 1e12:
                parts["matrix"].fail(f"the matrix has condition {condition:.3g}, expected one that can be inverted")
            matrix = np.linalg.inv(matrix)
        if matrix.shape != (rows, columns):
            parts["matrix"].fail(
                f"found {matrix.shape[0]} x {matrix.shape[1]}, expected {rows} x {columns}: "
                "a row per signal, a number per column"
            )
        return np.asarray(matrix, dtype=np.float64)
