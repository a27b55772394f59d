"""A log beside its robot: everything that can be told to be wrong before any parameter is estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.identification.factor import one_thread
from dalembert.logs import ChannelMap, Log, LogSource
from dalembert.logs.channels import Channel
from dalembert.model import Model, build_model
from dalembert.robot import EffortKind, Robot, select_efforts
from dalembert.validation.check.agreement import disagreement
from dalembert.validation.check.evidence import Evidence, Samples
from dalembert.validation.check.finding import Change, Finding, Level
from dalembert.validation.check.limits import within_limits
from dalembert.validation.check.nominal import against_nominal, gravity_direction
from dalembert.validation.check.reading import UNEXPLAINED, Reading, read_right
from dalembert.validation.check.signals import inspect
from dalembert.validation.check.timing import delay

__all__ = ["LogCheck", "check_log", "mended_channels"]

Array = NDArray[np.float64]
Progress = Callable[[str], None]

LONGEST = 1 << 18  # samples looked at: the start of a longer log
_ORDER = (Level.FAULT, Level.SUSPECT, Level.NOTE)


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What was found in a log, faults first. ``change`` says how its columns should be read instead; ``errors`` is the
    share of each row group's torque that no parameters explain, read like that (None: the loops do not close).
    """

    robot: str
    log: str
    samples: int
    rate: float
    duration: float
    groups: tuple[str, ...]
    errors: Array | None
    findings: tuple[Finding, ...]
    change: Change

    @property
    def faults(self) -> tuple[Finding, ...]:
        """Findings that spoil every parameter."""
        return tuple(f for f in self.findings if f.level is Level.FAULT)

    @property
    def left(self) -> tuple[Finding, ...]:
        """Faults that no channels file puts right."""
        return tuple(f for f in self.faults if not f.mended)

    @property
    def mends(self) -> bool:
        """True when reading the columns as ``change`` says puts something right."""
        return any(f.mended for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        errors = [] if self.errors is None else self.errors.tolist()
        return {
            "robot": self.robot, "log": self.log, "samples": self.samples, "rate": self.rate, "duration": self.duration,
            "faults": len(self.faults), "suspects": sum(f.level is Level.SUSPECT for f in self.findings),
            "unexplained": dict(zip(self.groups, errors, strict=False)),
            "findings": [finding.to_dict() for finding in self.findings],
        }  # fmt: skip

    def __str__(self) -> str:
        """A line for the log, one for each finding, and how much of the torque is explained."""
        lines = [f"{self.log}: {self.samples} samples at {self.rate:.6g} Hz, {self.duration:.4g} s, robot {self.robot}"]
        for finding in self.findings:
            lines.append(f"{finding.level.upper():8}{finding.check:9}{finding.text}")
            mend = finding.mend or ("a channels file puts it right" if finding.mended else "")
            if mend:
                lines.append(f"{'':17}-> {mend}")
        if self.errors is not None:
            said = ", ".join(f"{n} {100 * (1 - e):.3g} %" for n, e in zip(self.groups, self.errors, strict=True))
            lines.append(f"torque explained by the best parameters{' read so' if self.mends else ''}: {said}")
        if not any(f.level is not Level.NOTE for f in self.findings):
            lines.append("nothing looks wrong")
        return "\n".join(lines)


def _silent(_: str) -> None:
    pass


def check_log(robot: Robot, log: LogSource, *, model: Model | None = None, progress: Progress = _silent) -> LogCheck:
    """Compare a log with its robot: units, signs and order of the columns, limits, loops, delays, scales.

    No parameters have to be known. Ways of reading the columns are compared by how much of the torque the best
    parameters leave unexplained; with nominal inertias in the robot file the overall scale is looked at too.
    """
    with one_thread():  # small matrices, many of them
        return _check(robot, log, model, progress)


def _check(robot: Robot, log: LogSource, model: Model | None, progress: Progress) -> LogCheck:
    described = robot if any(e.kind is EffortKind.COULOMB for e in robot.efforts) else _with_friction(robot)
    whole = _start(log)
    findings = list(inspect(whole, robot))
    if whole.info.samples < log.info.samples:
        findings.append(Finding(Level.NOTE, "reading", f"the first {whole.info.samples} samples are looked at"))
    change = Change.none(len(robot.sensor_map()), len(robot.motors))
    groups: tuple[str, ...] = ()
    errors: Array | None = None
    progress("building the model")
    model = model if model is not None and described is robot else build_model(described)
    try:
        evidence = Evidence(model, Samples.of(whole, robot.motor_names), whole.info.torques)
        reading = read_right(evidence, progress)
    except DalembertError as error:
        findings.append(Finding(Level.SUSPECT, "torque", f"torque and positions could not be compared: {error}"))
    else:
        change, errors = reading.change, reading.after
        groups = () if errors is None else evidence.groups(change)
        findings += [*reading.findings, *_after(evidence, reading, progress)]
    findings.sort(key=lambda finding: _ORDER.index(finding.level))
    info = log.info
    return LogCheck(
        robot.name, info.name, info.samples, info.rate, info.duration, groups, errors, tuple(findings), change
    )  # fmt: skip


def _with_friction(robot: Robot) -> Robot:
    return select_efforts(robot, friction="actuated")


def _start(log: LogSource) -> Log:
    """The log in memory, as much of it as is looked at."""
    whole = log if isinstance(log, Log) else next(_logs(log))
    return whole if whole.info.samples <= LONGEST else whole.part(0, LONGEST, name=whole.name)


def _logs(log: LogSource) -> Any:
    for block in log.blocks(LONGEST):
        info = replace(log.info, samples=len(block.t))
        yield Log(info, block.t, block.q, block.tau, block.qd, block.qdd)


def _after(evidence: Evidence, reading: Reading, progress: Progress) -> list[Finding]:
    """What is looked at once the columns are read rightly."""
    change, errors = reading.change, reading.after
    if errors is None:
        return []
    progress("looking for delays")
    found = [*delay(evidence, change), *against_nominal(evidence, change), *disagreement(evidence, change)]
    y, yd, _ = evidence.state(change)
    found += within_limits(evidence.model.robot, y, yd)
    turned = gravity_direction(evidence, reading)
    for name, error in zip(evidence.groups(change), errors, strict=True):
        if error > UNEXPLAINED and not turned:
            text = f"{100 * error:.2g} % of the torque of {name} follows from no parameters"
            mend = (
                "geometry, gear ratios and couplings of the robot file; friction it lacks; contact; a motor that rests"
            )
            found.append(Finding(Level.SUSPECT, "torque", text, mend))
    return [*found, *turned]


def mended_channels(channels: ChannelMap, robot: Robot, check: LogCheck) -> ChannelMap:
    """A channel map that reads the columns as the check found right."""
    change, old = check.change, {channel.signal: channel for channel in channels.channels}
    places = list(robot.readings)
    parts = (("q", places, change.A, change.b), ("tau", robot.motor_names, change.C, np.zeros(len(change.C))))
    new = dict(old)
    for kind, names, matrix, offset in parts:
        for row, name in enumerate(names):
            if (signal := f"{kind}_{name}") in old:
                used = [(old[f"{kind}_{names[k]}"], float(matrix[row, k])) for k in np.flatnonzero(matrix[row])]
                new[signal] = _combined(signal, used, float(offset[row]))
    return replace(channels, channels=tuple(new.values()))


def _combined(signal: str, parts: list[tuple[Channel, float]], offset: float) -> Channel:
    """A linear combination of channels as one."""
    terms: dict[str, float] = {}
    for channel, factor in parts:
        offset += factor * channel.offset
        for column, value in channel.terms:
            terms[column] = terms.get(column, 0.0) + factor * value
    unknown = any(channel.unknown_gain for channel, _ in parts)
    return Channel(signal, tuple(terms.items()), offset, unknown, unit_given=True)
