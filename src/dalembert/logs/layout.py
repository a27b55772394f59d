"""From columns to signals: which column of a file makes which column of ``q``, ``tau``, ``qd``, ``qdd``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ForeignColumnsError, LogError, choices
from dalembert.logs.channels import Channel, ChannelMap, TimeChannel
from dalembert.logs.log import Array
from dalembert.logs.table import Table
from dalembert.robot.description import Robot

__all__ = ["Layout", "lay_out"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The signals of a log of this robot in this file, and the columns they need.

    The first of ``columns`` is the time unless ``time`` has a rate; ``signals`` are ordered q, tau, qd, qdd.
    """

    time: TimeChannel
    columns: tuple[str, ...]
    signals: tuple[Channel, ...]
    positions: tuple[str, ...]
    torques: tuple[str, ...]
    velocities: tuple[str, ...]
    accelerations: tuple[str, ...]
    notes: tuple[str, ...]

    def apply(self, raw: Array) -> Array:
        """Signals (m, k) from the columns (m, c) in the order of ``columns``."""
        index = {name: i for i, name in enumerate(self.columns)}
        out = np.empty((len(raw), len(self.signals)))
        for i, channel in enumerate(self.signals):
            column, factor = channel.terms[0]
            np.multiply(raw[:, index[column]], factor, out=out[:, i])
            for column, factor in channel.terms[1:]:
                out[:, i] += factor * raw[:, index[column]]
            if channel.offset:
                out[:, i] += channel.offset
        return out

    def split(self, values: Array) -> tuple[Array, Array, Array | None, Array | None]:
        """``q``, ``tau``, ``qd``, ``qdd`` as contiguous arrays from the signals (m, k)."""
        bounds = np.cumsum([len(self.positions), len(self.torques), len(self.velocities)])
        q, tau, qd, qdd = np.split(values, bounds, axis=1)
        copy = np.ascontiguousarray
        return (
            copy(q),
            copy(tau),
            copy(qd) if self.velocities else None,
            copy(qdd) if self.accelerations else None,
        )


def lay_out(table: Table, where: str, robot: Robot, channels: ChannelMap, *, positions: bool = True) -> Layout:
    """Find every signal of the robot in the file; LogError that names what is missing and what is there.

    Without ``positions`` torques alone make a log, and columns of positions are left out.
    """
    return _Finder(table, where, robot, channels, positions).run()


class _Finder:
    def __init__(self, table: Table, where: str, robot: Robot, channels: ChannelMap, positions: bool) -> None:
        self.table, self.where, self.robot, self.map = table, where, robot, channels
        self.positions = positions
        self.given = {channel.signal: channel for channel in channels.channels}
        self.defaults = self._ordered()
        self.notes: list[str] = []

    def run(self) -> Layout:
        motors, places = self.robot.motor_names, tuple(self.robot.readings) if self.positions else ()
        self._known_columns()
        found = {kind: [n for n in places if self.channel(f"{kind}_{n}")] for kind in ("q", "qd", "qdd")}
        measured = [m for m in motors if m not in self.robot.unmeasured]
        if not found["q"] and not any(self.channel(f"tau_{m}") for m in measured if not self.positions):
            self._wrong_robot()
        self._strangers()
        if self.positions:
            self._missing([f"q_{n}" for n in places if n in motors and n not in found["q"]], "position")
        torques = [m for m in measured if self.channel(f"tau_{m}")]
        self._missing([f"tau_{m}" for m in measured if m not in torques], "torque")
        unseen = (("tau", "unmeasured", self.robot.unmeasured), ("q", "without encoder", self.robot.without_encoder))
        for kind, why, without in unseen:
            for name in without:
                if self.channel(f"{kind}_{name}"):
                    self.notes.append(f"{kind}_{name} is in the file but {why} on robot {self.robot.name!r}: left out")
        names = [f"q_{n}" for n in found["q"]] + [f"tau_{n}" for n in torques]
        names += [f"{kind}_{n}" for kind in ("qd", "qdd") for n in found[kind]]
        signals = tuple(channel for name in names if (channel := self.channel(name)))
        time = self._time()
        used = dict.fromkeys([*([time.column] if time.column else []), *(c for s in signals for c, _ in s.terms)])
        q, qd, qdd = (tuple(found[kind]) for kind in ("q", "qd", "qdd"))
        return Layout(time, tuple(used), signals, q, tuple(torques), qd, qdd, tuple(self.notes))

    def _ordered(self) -> dict[str, str]:
        """Columns of matrices that hold all motors in order, by signal."""
        out = {}
        motors = self.robot.motor_names
        for kind in ("q", "tau", "qd", "qdd"):
            for name, columns in self.table.ordered.items():
                if name.rpartition(".")[2] == kind and len(columns) == len(motors):
                    out.update({f"{kind}_{m}": c for m, c in zip(motors, columns, strict=True)})
        return out

    def channel(self, signal: str) -> Channel | None:
        """How a signal is made: by the channel map, by the column of its name, by its place in a matrix."""
        if signal in self.given:
            return self.given[signal]
        column = signal if signal in self.table.columns else self.defaults.get(signal)
        return Channel(signal, ((column, 1.0),)) if column is not None else None

    def _known_columns(self) -> None:
        for channel in self.map.channels:
            for column, _ in channel.terms:
                if column not in self.table.columns:
                    raise LogError(
                        f"{self.map.file}: {channel.signal}: {self.where} has no column {column!r}; "
                        f"{choices(column, self.table.columns)}"
                    )

    def _time(self) -> TimeChannel:
        time = self.map.time
        if time.column is None or time.column in self.table.columns:
            return time
        nested = [c for c in self.table.columns if c.rpartition(".")[2] == "t"]
        if not self.map.file and len(nested) == 1:
            return TimeChannel(nested[0])
        raise ForeignColumnsError(
            f"{self.where}: no time column {time.column!r}; {choices(time.column, self.table.columns)}"
        )

    def _wrong_robot(self) -> None:
        kind = "q" if self.positions else "tau"
        wanted = _some([f"{kind}_{m}" for m in self.robot.motor_names])
        raise ForeignColumnsError(
            f"{self.where}: no column for any motor of robot {self.robot.name!r}, expected {wanted}, "
            f"found {_some(self.table.columns)}: another robot's log, or it needs a channels file: "
            f"'dalembert check ROBOT LOG' proposes one"
        )

    def _strangers(self) -> None:
        """Columns named like signals the robot does not have: the log of another robot, unless mapped."""
        used = {c for channel in self.map.channels for c, _ in channel.terms}
        own = {*self.robot.motor_names, *self.robot.readings}
        strange = [
            c for c in self.table.columns
            if c.startswith(("q_", "tau_")) and c.partition("_")[2] not in own and c not in used
        ]  # fmt: skip
        if not strange:
            return
        if self.map.file or self.table.lenient:
            self.notes.append(f"columns that belong to no motor of the robot left out: {_some(strange)}")
            return
        raise ForeignColumnsError(
            f"{self.where}: columns {_some(strange)} belong to no motor of robot {self.robot.name!r} "
            f"({_some(self.robot.motor_names)}): another robot's log? To leave them out give a channels file"
        )

    def _missing(self, signals: Sequence[str], what: str) -> None:
        if not signals:
            return
        hint = (
            " (motors without torque measurement are listed under unmeasured)" if what == "torque"
            else " (motors without an encoder are listed under without_encoder)" if self.robot.sensors else ""
        )  # fmt: skip
        valid = choices(signals[0], self.table.columns)
        raise ForeignColumnsError(f"{self.where}: no {what} column {_some(signals)}{hint}; {valid}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
