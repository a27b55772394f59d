"""``dalembert check``: what is wrong with a log, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.console import AsJson, RobotName, Settings, command, emit, load, steps
from dalembert.cli.options import RepairOption, repair_of
from dalembert.errors import ForeignColumnsError, LogError, UsageError

if TYPE_CHECKING:
    from dalembert.logs import ChannelMap, Guess
    from dalembert.robot import Robot
    from dalembert.validation.check import LogCheck

__all__ = ["check"]


def check(
    robot: RobotName,
    log: Annotated[str, typer.Argument(metavar="LOG", help="log: .csv, .parquet, .mat, .mcap, .bag or a bag's folder")],
    channels: Annotated[
        Path | None, typer.Option("--channels", metavar="FILE", help="which column is which signal, in which unit")
    ] = None,
    write_channels: Annotated[
        Path | None,
        typer.Option(
            "--write-channels",
            metavar="FILE",
            help="write a channels file: columns told by their names; units, signs and order as the torque asks for",
        ),
    ] = None,
    repair: RepairOption = None,
    force: Annotated[bool, typer.Option("--force", help="write over a channels file that is there")] = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Compare a log with its robot before identifying: columns, units, signs, rates, limits, loops, delays."""
    from dalembert.logs import load_log
    from dalembert.validation.check import check_log

    if write_channels is not None:
        _writable(write_channels, force)
    described = load(robot, settings)
    with steps("check") as progress:
        progress("reading the log")
        columns = _columns(described, log, channels)
        if columns.missing:
            raise _incomplete(described, log, columns, write_channels)
        source = load_log(log, described, columns.channels, repair_of(repair or ()))
        found = check_log(described, source, progress=progress)
    columns = columns.mended(described, found)
    if write_channels is not None:
        _write(write_channels, described, log, columns, found)
    asked = _Asked(robot, log, channels, write_channels, tuple(repair or ()), tuple(settings or ()))
    step = asked.next_step(described, columns, found)
    data = {
        **found.to_dict(), "proposal": columns.entries(described), "currents": list(columns.currents),
        "channels": str(write_channels) if write_channels else None, "next": step,
    }  # fmt: skip
    emit(as_json, data, *_shown(described, columns, found, write_channels, step))
    if found.left or (write_channels is None and columns.proposed):
        raise typer.Exit(1)


# --- columns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Columns:
    """The channel map a log is read by; ``guess`` where its columns were told by their names; ``changed`` signals."""

    channels: ChannelMap
    guess: Guess | None = None
    changed: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        return self.guess.missing if self.guess else ()

    @property
    def currents(self) -> tuple[str, ...]:
        return self.guess.currents if self.guess else ()

    @property
    def proposed(self) -> bool:
        """True when the log needs a channels file that is not there yet."""
        return self.guess is not None or bool(self.changed)

    def mended(self, robot: Robot, found: LogCheck) -> _Columns:
        """The map with what the check puts right."""
        from dalembert.validation.check import mended_channels

        new = mended_channels(self.channels, robot, found)
        old = {channel.signal: channel for channel in self.channels.channels}
        return replace(self, channels=new, changed=tuple(c.signal for c in new.channels if c != old[c.signal]))

    def entries(self, robot: Robot) -> dict[str, str]:
        """Entries of the channels file that is proposed, by signal."""
        from dalembert.logs import channel_text

        shown = [c for c in self.channels.channels if self.guess or c.signal in self.changed]
        return {channel.signal: channel_text(channel, robot) for channel in shown}


def _columns(robot: Robot, log: str, channels: Path | None) -> _Columns:
    """Columns by the channels file, by the robot's own names, or by what their names look like."""
    from dalembert.logs import guess_channels, laid_out

    try:
        return _Columns(laid_out(log, robot, channels))
    except ForeignColumnsError:
        if channels is not None:
            raise
    guess = guess_channels(log, robot)
    return _Columns(guess.channels, guess)


def _incomplete(robot: Robot, log: str, columns: _Columns, target: Path | None) -> LogError:
    """Not every signal has a column: what was found goes into the channels file, the rest is for a person."""
    lost = ", ".join(columns.missing)
    if target is None:
        hint = (
            f"--write-channels FILE writes what was found ({len(columns.channels.channels)} signals), to be completed"
        )
        return LogError(f"{log}: no column looks like {lost}; {hint}")
    _write(target, robot, log, columns, None)
    return LogError(f"{log}: no column looks like {lost}; {target} is written: name their columns in it")


# --- files -----------------------------------------------------------------------------------------------------------


def _writable(path: Path, force: bool) -> None:
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"--write-channels {path}: found ending {path.suffix!r}, expected .yaml")
    if path.exists() and not force:
        raise UsageError(f"--write-channels {path}: is there already; --force writes over it")
    if not path.parent.is_dir():
        raise UsageError(f"--write-channels {path}: no folder {path.parent}")


def _write(path: Path, robot: Robot, log: str, columns: _Columns, found: LogCheck | None) -> None:
    from dalembert.logs import channels_text
    from dalembert.robot.interchange import write_atomically

    head = [f"Columns of {Path(log).name} for robot {robot.name}, proposed by 'dalembert check'. See docs/own-log.md."]
    if columns.guess:
        head += columns.guess.notes
        head += [f"Not used: {', '.join(columns.guess.unused)}"] if columns.guess.unused else []
        head += [f"FILL IN: a column for {', '.join(columns.missing)}"] if columns.missing else []
    head += [f"Mended: {finding.text}" for finding in (found.findings if found else ()) if finding.mended]
    fill = dict.fromkeys(columns.currents, "a current: FILL IN gain: torque constant [Nm/A] times gear ratio")
    write_atomically(path, channels_text(columns.channels, robot, head, fill))


# --- words -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """The command as it was called, to print the next one."""

    robot: str
    log: str
    channels: Path | None
    written: Path | None
    repair: tuple[str, ...]
    settings: tuple[str, ...]

    def next_step(self, robot: Robot, columns: _Columns, found: LogCheck) -> str:
        again = [*(word for text in self.repair for word in ("--repair", text))]
        again += [word for text in self.settings for word in ("--set", text)]
        file = self.written or self.channels
        known = ["--channels", file] if file else []
        if columns.proposed and self.written is None:
            given = ["--channels", self.channels] if self.channels else []
            return command("check", self.robot, self.log, *given, "--write-channels", _free("channels.yaml"), *again)
        if found.left:
            return command("check", self.robot, self.log, *known, *again)
        return command("identify", self.robot, self.log, *known, *again, "-o", f"{robot.name}-fit")


def _free(name: str) -> Path:
    """That file name, or with the first number that is free."""
    path, k = Path(name), 1
    while path.exists():
        k += 1
        path = Path(f"{Path(name).stem}-{k}{Path(name).suffix}")
    return path


def _shown(robot: Robot, columns: _Columns, found: LogCheck, written: Path | None, step: str) -> list[str]:
    lines: list[Any] = []
    if columns.guess:
        lines.append("columns are not named like the robot's signals; told by their names:")
        lines += [f"  {signal}: {text}" for signal, text in columns.entries(robot).items()]
        lines += [f"  ({note})" for note in columns.guess.notes]
    lines.append(str(found))
    if columns.changed and not columns.guess:
        lines.append("proposal for the channels file:")
        lines += [f"  {signal}: {text}" for signal, text in columns.entries(robot).items()]
    if columns.currents:
        lines.append(
            f"{', '.join(columns.currents)} are currents: fill in gain, the torque constant times the gear ratio"
        )
    if written is not None:
        lines.append(f"written: {written}")
    if found.left:
        lines.append("mend what is marked FAULT, then")
    return [*lines, f"next: {step}"]
