"""Reading a log: columns to signals, checks, repairs; the whole of it in memory, or block by block from the
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dalembert.errors import LogError
from dalembert.logs.channels import ChannelMap, read_channels
from dalembert.logs.checks import SLUGGISH, Scan, check_signals
from dalembert.logs.clock import read_clock
from dalembert.logs.layout import Layout, lay_out
from dalembert.logs.log import Array, Block, Log, LogInfo, LogSource, sealed
from dalembert.logs.repair import Piece, Repair, repaired
from dalembert.logs.table import Table, file_hash, open_table
from dalembert.robot.description import Robot

__all__ = ["FileSource", "laid_out", "load_log", "open_log", "read_log", "read_pieces"]

_ROWS = 65536  # rows read at a time
_CLEAN = Repair()
_IN_MEMORY = 256 * 2**20  # bytes of signals above which a clean log is left in its file


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file whose columns have been matched with the robot's signals."""

    path: Path
    table: Table
    layout: Layout
    robot: Robot
    channels: ChannelMap

    def scan(self) -> Scan:
        return Scan(str(self.path), self.layout.columns, [channel.signal for channel in self.layout.signals])

    def stamps(self, raw: Array, first: int) -> Array:
        """Times [s] of rows that start at row ``first``."""
        time = self.layout.time
        if time.column is None:
            return (first + np.arange(len(raw))) / (time.rate or 1.0)
        return raw[:, 0] * time.unit

    def checked(self, scan: Scan) -> tuple[str, ...]:
        """Notes on the signals once all rows were scanned."""
        if scan.rows == 0:
            raise LogError(f"{self.path}: a header and no rows, expected samples")
        given = all(s.unit_given for s in self.layout.signals if s.signal.startswith("q_"))
        return (*self.table.notes, *self.layout.notes, *check_signals(scan, self.robot, given))

    def info(self, samples: int, start: float, period: float, notes: tuple[str, ...]) -> LogInfo:
        layout, payload = self.layout, self.channels.payload
        if period > SLUGGISH and layout.time.unit == 1.0:
            asked = f"one sample every {period:.3g} s: is the time in seconds? Else give its unit in a channels file"
            notes = (*notes, asked)
        return LogInfo(
            name=_stem(self.path), path=str(self.path), sha256=file_hash(self.path), robot=self.robot.name,
            motors=self.robot.motor_names, positions=layout.positions, torques=layout.torques,
            samples=samples,
            start=start, period=period, velocities=layout.velocities, accelerations=layout.accelerations,
            payload=self.table.metadata.get("payload", "") if payload is None else payload,
            unknown_gains=tuple(s.signal.removeprefix("tau_") for s in layout.signals if s.unknown_gain),
            notes=notes,
        )  # fmt: skip


def _stem(path: Path) -> str:
    return path.name.partition(".")[0] or path.name


def _open(path: str | Path, robot: Robot, channels: str | Path | ChannelMap | None, positions: bool = True) -> _Opened:
    path = Path(path)
    found = channels if isinstance(channels, ChannelMap) else ChannelMap()
    if isinstance(channels, str | Path):
        found = read_channels(channels, robot)
    table = open_table(path, found.topic)
    return _Opened(path, table, lay_out(table, str(path), robot, found, positions=positions), robot, found)


def laid_out(path: str | Path, robot: Robot, channels: str | Path | None = None) -> ChannelMap:
    """The channel map a log is read by, complete: every signal it has, by the file or by its own name.

    Units count as given, so that reading with it trusts them.
    """
    opened = _open(path, robot, channels)
    layout = opened.layout
    signals = tuple(replace(channel, unit_given=True) for channel in layout.signals)
    return replace(opened.channels, file=str(channels or path), time=layout.time, channels=signals)


def read_log(
    path: str | Path,
    robot: Robot,
    channels: str | Path | ChannelMap | None = None,
    repair: Repair | None = None,
    *,
    positions: bool = True,
) -> Log:
    """A log in memory, on a uniform time grid, in SI units on the robot's motors.

    Default columns are ``t``, ``q_<motor>``, ``tau_<motor>`` (also ``q_<sensor>``, ``qd_...``, ``qdd_...``);
    anything else is described by a channels file. A log that is not clean is refused with a LogError unless
    ``repair`` says what to do; what was done is in the log's notes. Only jitter below 5 % of the period and
    rounded stamps are put right without being asked. ``positions`` False reads torques alone.
    """
    if repair is not None and repair.gaps == "split":
        raise LogError(f"{path}: gaps=split makes several logs, expected longest or fill; read_pieces returns all")
    return read_pieces(path, robot, channels, repair, positions=positions)[0]


def read_pieces(
    path: str | Path,
    robot: Robot,
    channels: str | Path | ChannelMap | None = None,
    repair: Repair | None = None,
    *,
    positions: bool = True,
) -> tuple[Log, ...]:
    """As :func:`read_log`, with one log per stretch without gaps when ``repair.gaps`` is ``"split"``."""
    repair = _CLEAN if repair is None else repair
    opened = _open(path, robot, channels, positions)
    scan, stamps, values = opened.scan(), [], []
    for raw in opened.table.batches(opened.layout.columns, _ROWS):
        stamps.append(opened.stamps(raw, scan.rows))
        values.append(opened.layout.apply(raw))
        scan.update(raw, values[-1])
    if repair.missing is None:
        scan.refuse_missing()
    notes = opened.checked(scan)
    unit = opened.layout.time.unit
    pieces = repaired(np.concatenate(stamps), np.concatenate(values), repair, unit, str(opened.path))
    return tuple(_log(opened, piece, notes, i if len(pieces) > 1 else None) for i, piece in enumerate(pieces))


def _log(opened: _Opened, piece: Piece, notes: tuple[str, ...], number: int | None) -> Log:
    info = opened.info(len(piece.values), piece.start, piece.period, (*notes, *piece.notes))
    if number is not None:
        info = replace(info, name=f"{info.name}[{number}]")
    q, tau, qd, qdd = opened.layout.split(piece.values)
    return Log(
        info, sealed(info.times(0, info.samples)), sealed(q), sealed(tau),
        None if qd is None else sealed(qd), None if qdd is None else sealed(qdd),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileSource:
    """A log that stays in its file: its samples are read again by every pass over :meth:`blocks`."""

    info: LogInfo
    opened: _Opened

    def with_payload(self, payload: str) -> FileSource:
        """The same log, carrying the payload of that label."""
        return replace(self, info=replace(self.info, payload=payload))

    def blocks(self, size: int) -> Iterator[Block]:
        """The samples in blocks of ``size``, whatever blocks the file is read in."""
        layout, first = self.opened.layout, 0
        waiting: list[Array] = []
        count = 0
        for raw in self.opened.table.batches(layout.columns, min(size, _ROWS)):
            waiting.append(layout.apply(raw))
            count += len(raw)
            while count >= size:
                joined = np.concatenate(waiting) if len(waiting) > 1 else waiting[0]
                yield self._block(joined[:size], first)
                waiting, first, count = [joined[size:]], first + size, count - size
        if count:
            yield self._block(np.concatenate(waiting), first)

    def _block(self, values: Array, first: int) -> Block:
        q, tau, qd, qdd = self.opened.layout.split(values)
        t = self.info.times(first, first + len(values))
        return Block(
            first,
            sealed(t),
            sealed(q),
            sealed(tau),
            None if qd is None else sealed(qd),
            None if qdd is None else sealed(qdd),
        )


def open_log(path: str | Path, robot: Robot, channels: str | Path | ChannelMap | None = None) -> FileSource:
    """A log too long for memory: checked in one pass that keeps only its time stamps, then read block by
    block.

    Nothing is repaired: a log that needs it is read by :func:`read_log`.
    """
    opened = _open(path, robot, channels)
    scan = opened.scan()
    t = np.empty(opened.table.rows or 0)
    for raw in opened.table.batches(opened.layout.columns, _ROWS):
        if scan.rows + len(raw) > len(t):
            t = np.resize(t, 2 * (scan.rows + len(raw)))
        t[scan.rows : scan.rows + len(raw)] = opened.stamps(raw, scan.rows)
        scan.update(raw, opened.layout.apply(raw))
    scan.refuse_missing()
    notes = opened.checked(scan)
    t = t[: scan.rows]
    unit = opened.layout.time.unit
    clock = read_clock(t, unit, str(path))
    if not clock.uniform:
        repaired(t, np.empty((len(t), 0)), _CLEAN, unit, str(path))  # says what is wrong
    return FileSource(opened.info(len(t), clock.start, clock.period, (*notes, *clock.notes())), opened)


def load_log(
    path: str | Path,
    robot: Robot,
    channels: str | Path | ChannelMap | None = None,
    repair: Repair | None = None,
    *,
    positions: bool = True,
) -> LogSource:
    """A log in memory where it fits there well or must be repaired, else read from its file by every pass.

    ``positions`` False reads torques alone, always into memory.
    """
    if positions and repair is None and _bytes(path, robot, channels) > _IN_MEMORY:
        return open_log(path, robot, channels)
    return read_log(path, robot, channels, repair, positions=positions)


def _bytes(path: str | Path, robot: Robot, channels: str | Path | ChannelMap | None) -> int:
    """Memory the signals of a file take; its size where only reading tells how many rows it has."""
    opened = _open(path, robot, channels)
    if opened.table.rows is not None:
        return 8 * opened.table.rows * (1 + len(opened.layout.signals))
    return sum(p.stat().st_size for p in [opened.path, *opened.path.rglob("*")] if p.is_file())
