"""Which column is which signal, told by its name: a first channel map for a log with foreign columns.

Names are read as words: ``axis2_ActPos [deg]`` is axis, 2, act, pos and the unit deg. A word says the kind (pos,
trq, vel, cur ...), the motor's own name or a number says whose. Measured columns go before commanded ones. Nothing is
certain: the map is a proposal to read, and ``dalembert check`` tests it on the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.errors import LogError
from dalembert.logs.channels import UNITS, Channel, ChannelMap, TimeChannel
from dalembert.logs.log import Array
from dalembert.logs.table import Table, open_table
from dalembert.robot.description import Robot
from dalembert.robot.quantity import turning

__all__ = ["Guess", "angular_places", "guess_channels"]

_KINDS: Mapping[str, frozenset[str]] = {
    "t": frozenset({"t", "time", "timestamp", "stamp", "clock", "sec", "secs", "seconds"}),
    "qdd": frozenset({"qdd", "ddq", "acc", "accel", "acceleration", "accelerations"}),
    "qd": frozenset({"qd", "dq", "vel", "velocity", "velocities", "speed", "omega", "rate", "qdot"}),
    "tau": frozenset({
        "tau", "torque", "torques", "trq", "tq", "tor", "moment", "effort", "efforts", "force",
        "i", "iq", "cur", "curr", "current", "currents", "amp", "amps",
    }),
    "q": frozenset({
        "q", "pos", "position", "positions", "angle", "angles", "theta", "phi", "enc", "encoder", "deg", "rad",
    }),
}  # fmt: skip
_CURRENT = frozenset({"i", "iq", "cur", "curr", "current", "currents", "amp", "amps"})
_WANTED = frozenset({
    "cmd", "command", "commanded", "ref", "reference", "desired", "des", "target", "set", "setpoint", "goal", "soll",
})  # fmt: skip
_OTHER = frozenset({
    "err", "error", "tcp", "cartesian", "temp", "temperature", "flange", "pose", "limit", "max", "min", "status", "ff",
    "feedforward", "gripper", "bus", "voltage",
})  # fmt: skip
_SPELLED = {
    "nm": "Nm", "n.m": "Nm", "n*m": "Nm", "mnm": "mNm", "knm": "kNm", "n": "N", "kn": "kN", "a": "A", "ma": "mA",
    "degree": "deg", "degrees": "deg", "°": "deg", "radian": "rad", "radians": "rad", "sec": "s", "seconds": "s",
    "msec": "ms", "usec": "us", "nsec": "ns", "deg/s": "deg/s", "revolutions": "turn", "rev": "turn",
}  # fmt: skip
_UNIT = re.compile(r"[\[({]\s*([^\])}]*?)\s*[\])}]\s*$")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_RATES = (20.0, 2e5)  # [Hz] of any robot's log: tells ms from s


@dataclass(frozen=True, slots=True)
class Guess:
    """A proposed channel map; ``missing`` signals no column was found for, ``unused`` columns, and what was assumed.

    ``currents`` names torques that were logged as motor currents: their constants are for a person to fill in.
    """

    channels: ChannelMap
    missing: tuple[str, ...]
    unused: tuple[str, ...]
    currents: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's name, read."""

    name: str
    words: tuple[str, ...]
    unit: str

    @property
    def kind(self) -> str | None:
        """The first kind one of its words says; a word that is not about joints rules the column out."""
        words = set(self.words)
        if words & _OTHER:
            return None
        by_unit = next((kind for kind, units in UNITS.items() if self.unit in units and kind != "t"), None)
        for kind, known in _KINDS.items():
            if words & known:
                return kind
        return by_unit

    @property
    def number(self) -> int | None:
        """The last number in the name, unit apart."""
        return next((int(word) for word in reversed(self.words) if word.isdigit()), None)


def guess_channels(path: str | Path, robot: Robot) -> Guess:
    """A first channel map for a log whose columns are not named as the robot's signals; LogError when no column looks
    like a position or torque.
    """
    table = open_table(Path(path))
    return _Guesser(table, str(path), robot).run()


def _read(name: str) -> _Column:
    found = _UNIT.search(name)
    plain = name[: found.start()] if found else name
    words = tuple(w.lower() for w in _WORD.findall(plain))
    unit = _SPELLED.get((found[1] if found else "").lower(), found[1] if found else "")
    every = {u for units in UNITS.values() for u in units} - {"t", "m", "s", "A", "N", "V", "min", "%"}
    if not unit and words:
        last = _SPELLED.get(words[-1], words[-1])
        unit = last if last in every and last not in ("turn",) else ""
    return _Column(name, words, unit)


def angular_places(robot: Robot) -> dict[str, bool]:
    """True for motors and sensors that turn, False for those that slide."""
    angle = turning(robot.bodies)
    places = [(m.name, m.turns) for m in robot.motors] + [(s.name, s.reads) for s in robot.sensors]
    return {name: angle[terms[0][0]] for name, terms in places}


class _Guesser:
    def __init__(self, table: Table, where: str, robot: Robot) -> None:
        self.table, self.where, self.robot = table, where, robot
        self.columns = [_read(name) for name in table.columns]
        self.turning = angular_places(robot)
        self.notes: list[str] = []
        self.numbered: dict[int | None, str] = {}  # the motor that each number means, once positions have told

    def run(self) -> Guess:
        motors, sensors = self.robot.motor_names, tuple(s.name for s in self.robot.sensors)
        measured = tuple(m for m in motors if m not in self.robot.unmeasured)
        found: dict[str, _Column] = {}
        for kind, places in (("q", (*motors, *sensors)), ("tau", measured), ("qd", motors), ("qdd", motors)):
            own = self._assigned(kind, places)
            found |= {f"{kind}_{place}": column for place, column in own.items()}
            self.numbered = self.numbered or {c.number: place for place, c in own.items() if c.number is not None}
        if not any(signal.startswith(("q_", "tau_")) for signal in found):
            raise LogError(
                f"{self.where}: no column looks like a position or torque of robot {self.robot.name!r} "
                f"({', '.join(motors[:8])}); found {', '.join(self.table.columns[:12])}: another robot's log, or "
                "name them in a channels file (docs/own-log.md)"
            )
        time = self._time([c for c in self.columns if c not in found.values()])
        used = {c.name for c in found.values()} | ({time.column} if time.column else set())
        wanted = [f"q_{m}" for m in motors] + [f"tau_{m}" for m in measured]
        currents = tuple(s for s, c in found.items() if s.startswith("tau_") and set(c.words) & _CURRENT)
        channels = tuple(self._channel(signal, column) for signal, column in found.items())
        return Guess(
            ChannelMap(self.where, time, channels, self.table.metadata.get("payload")),
            tuple(s for s in wanted if s not in found),
            tuple(c for c in self.table.columns if c not in used), currents, tuple(self.notes),
        )  # fmt: skip

    # --- whose ---------------------------------------------------------------------------------------------------

    def _assigned(self, kind: str, places: Sequence[str]) -> dict[str, _Column]:
        """The column of each motor, as far as there is one."""
        own = [c for c in self.columns if c.kind == kind]
        real = [c for c in own if not set(c.words) & _WANTED]
        if own and not real:
            self.notes.append(f"only commanded columns for {kind}_...: {_some(c.name for c in own)}")
        for candidates in _families(real or own):
            found = self._by_name(candidates, places) or self._by_number(candidates, places)
            if found:
                return found
        return {}

    def _by_name(self, columns: Sequence[_Column], places: Sequence[str]) -> dict[str, _Column]:
        """Columns that hold the motor's own name, word for word."""
        names = {place: tuple(w.lower() for w in _WORD.findall(place)) for place in places}
        out: dict[str, _Column] = {}
        for column in columns:
            holds = [p for p, words in names.items() if _within(words, column.words)]
            best = max(holds, key=lambda p: len(names[p]), default=None)
            if best is not None:
                out.setdefault(best, column)
        return out if len(out) * 2 > len(places) or len(out) == len(columns) else {}

    def _by_number(self, columns: Sequence[_Column], places: Sequence[str]) -> dict[str, _Column]:
        """Columns numbered in the order of the motors, from 0 or 1, or as many unnumbered ones in their order."""
        numbers = [c.number for c in columns]
        like_positions = {self.numbered[n]: c for c, n in zip(columns, numbers, strict=True) if n in self.numbered}
        if len(like_positions) == len(columns):
            return {place: column for place, column in like_positions.items() if place in places}
        if len(columns) < len(places):
            return {}
        if all(n is not None for n in numbers) and len(set(numbers)) == len(numbers):
            columns = sorted(columns, key=lambda c: c.number or 0)
        if len(columns) > len(places):
            self.notes.append(
                f"{len(columns)} columns for {len(places)} motors: {_some(c.name for c in columns)} in order"
            )
        return dict(zip(places, columns, strict=False))

    # --- in which unit -------------------------------------------------------------------------------------------

    def _channel(self, signal: str, column: _Column) -> Channel:
        kind, _, place = signal.partition("_")
        known = UNITS[kind]
        fitting = {u: f for u, f in known.items() if kind == "tau" or _turns(u) == self.turning[place] or kind == "t"}
        return Channel(signal, ((column.name, fitting.get(column.unit, 1.0)),), unit_given=True)

    def _time(self, columns: Sequence[_Column]) -> TimeChannel:
        """The time column, and its unit by its name or by what rates robots are logged at."""
        named = [c for c in columns if c.kind == "t" or c.unit in UNITS["t"]]
        named.sort(key=lambda c: ("t" not in c.words, "time" not in c.words))
        if not named:
            raise LogError(
                f"{self.where}: no column looks like the time, found {', '.join(self.table.columns[:12])}; "
                "a channels file says 'time: NAME', or 'time: {rate: 1000 Hz}' where there is none"
            )
        column = named[0]
        if column.unit in UNITS["t"]:
            return TimeChannel(column.name, UNITS["t"][column.unit])
        step = _step(self.table, column.name)
        for unit in ("s", "ms", "us", "ns"):
            factor = UNITS["t"][unit]
            if step > 0.0 and _RATES[0] <= 1.0 / (factor * step) <= _RATES[1]:
                if unit != "s":
                    self.notes.append(f"{column.name} is in {unit}: {1.0 / (factor * step):.6g} Hz then")
                return TimeChannel(column.name, factor)
        return TimeChannel(column.name)


def _families(columns: Sequence[_Column]) -> list[list[_Column]]:
    """Columns that differ only in numbers and names, those of joints before those of motors; all of them last."""
    by_words: dict[frozenset[str], list[_Column]] = {}
    kinds = frozenset().union(*_KINDS.values())
    for column in columns:
        by_words.setdefault(
            frozenset(w for w in column.words if w in kinds | {"joint", "motor", "act", "actual"}), []
        ).append(column)
    families = sorted(by_words.values(), key=lambda f: ("joint" not in f[0].words, -len(f)))
    return [*families, list(columns)] if len(families) > 1 else families


def _within(words: Sequence[str], whole: Sequence[str]) -> bool:
    return any(tuple(whole[k : k + len(words)]) == tuple(words) for k in range(len(whole) - len(words) + 1))


def _turns(unit: str) -> bool:
    """True for units of angles and their rates."""
    return unit.startswith(("rad", "mrad", "deg", "turn", "rpm"))


def _step(table: Table, column: str) -> float:
    """Typical step of the first rows of a column."""
    first: Array = next(iter(table.batches([column], 4096)), np.zeros((0, 1)))
    return float(np.median(np.diff(first[:, 0]))) if len(first) > 1 else 0.0


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
