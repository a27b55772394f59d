"""What signals show by themselves: rates, stretches held or clipped, columns that are the same, limits, rest."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dalembert.logs import Log
from dalembert.logs.checks import turn_ratios
from dalembert.logs.guess import angular_places
from dalembert.robot import Robot
from dalembert.robot.quantity import effort_unit, position_units
from dalembert.validation.check.finding import Finding, Level

__all__ = ["inspect"]

Array = NDArray[np.float64]

SLOW, SHORT = 50.0, 2.0  # [Hz, s] of a log: below it little is left above the motion, or of it
STILL = 0.05  # rad or m of joint motion that tells nothing
HELD = 0.5  # share of samples that repeat the one before while the motor moves: logged faster than measured
CLIPPED = 0.02  # share of samples at exactly the largest torque
SPIKE = 30.0  # robust standard deviations of the second difference
SLACK = 1.02  # a limit is passed by more than this: controllers overshoot, encoders have zeros of their own


def inspect(log: Log, robot: Robot) -> Iterator[Finding]:
    """Findings that need no model."""
    info = log.info
    yield from (Finding(Level.NOTE, "reading", note) for note in info.notes)
    if info.rate < SLOW:
        mend = f"is the time in ms? Else record at {2 * SLOW:g} Hz or more"
        yield Finding(Level.SUSPECT, "rate", f"sampled at {info.rate:.4g} Hz for {info.duration:.4g} s", mend)
    elif info.duration < SHORT:
        yield Finding(Level.SUSPECT, "rate", f"only {info.duration:.3g} s long", "record ten seconds or more")
    yield from _same(log.q, [f"q_{name}" for name in info.positions])
    yield from _same(log.tau, [f"tau_{name}" for name in info.torques])
    yield from _resting(log, robot)
    for k, name in enumerate(info.positions):
        yield from _held(f"q_{name}", log.q[:, k])
        yield from _spikes(f"q_{name}", log.q[:, k])
    for k, name in enumerate(info.torques):
        yield from _clipped(robot, name, log.tau[:, k])
    yield from _rates(log)


def _same(values: Array, names: list[str]) -> Iterator[Finding]:
    """Columns that are one and the same."""
    for i in range(len(names)):
        for j in range(i):
            if np.ptp(values[:, i]) > 0.0 and np.array_equal(values[:, i], values[:, j]):
                mend = "one of them is taken from the wrong column"
                yield Finding(Level.FAULT, "columns", f"{names[j]} and {names[i]} are the same values throughout", mend)


def _resting(log: Log, robot: Robot) -> Iterator[Finding]:
    turning, ratios = angular_places(robot), turn_ratios(robot)
    for k, name in enumerate(log.info.positions):
        moved = float(np.ptp(log.q[:, k])) / ratios.get(name, 1.0)
        if moved < STILL * (1.0 if turning[name] else 0.2):
            size = f"{math.degrees(moved):.2g} deg" if turning[name] else f"{1e3 * moved:.2g} mm"
            text = f"q_{name} moves by {size}: nearly nothing can be learnt about it"
            yield Finding(Level.SUSPECT, "motion", text, "record a motion of all joints: dalembert excite ROBOT")


def _held(name: str, q: Array) -> Iterator[Finding]:
    step = np.diff(q)
    moving = np.abs(step) > 0.0
    if not moving.any():
        return
    # between two changes of a moving joint: how many samples repeat the one before
    at = np.flatnonzero(moving)
    gaps = np.diff(at)
    typical = float(np.median(gaps)) if len(gaps) else 1.0
    fine = float(np.median(np.abs(step[moving]))) > 3.0 * float(np.min(np.abs(step[moving])))  # no encoder step alone
    if fine and typical >= 2.0 and float(np.mean(~moving)) > HELD:
        text = f"{name} changes every {typical:g} samples only: it was measured slower than it was logged"
        yield Finding(Level.SUSPECT, "rate", text, "keep one sample of so many, or log at the measuring rate")


def _spikes(name: str, q: Array) -> Iterator[Finding]:
    if len(q) < 16:
        return
    jerk = np.diff(q, 2)
    size = 1.4826 * float(np.median(np.abs(jerk - np.median(jerk))))
    bound = SPIKE * max(size, 1e-3 * float(np.ptp(q)))
    wild = np.flatnonzero(np.abs(jerk) > bound)
    if len(wild):
        text = f"{name} jumps by {float(np.abs(jerk[wild]).max()):.3g} in sample {int(wild[0]) + 1}"
        more = f" and {len(wild) // 3} more" if len(wild) > 3 else ""
        mend = "an angle wrapped at a turn must be unwrapped, a lost sample interpolated"
        yield Finding(Level.FAULT, "jumps", text + more, mend)


def _clipped(robot: Robot, name: str, tau: Array) -> Iterator[Finding]:
    limit, unit = next(m.torque_limit for m in robot.motors if m.name == name), effort_unit(position_units(robot)[name])
    top = float(np.abs(tau).max(initial=0.0))
    share = float(np.mean(np.abs(tau) == top))
    if top > 0.0 and share > CLIPPED and len(np.unique(tau)) > 20:
        text = f"tau_{name} is at exactly {top:.4g} {unit} in {100 * share:.2g} % of the samples: the drive's limit"
        yield Finding(Level.SUSPECT, "limits", text, "torque that is cut off biases every parameter: move less")
    if top > SLACK * limit:
        text = f"tau_{name} reaches {top:.4g} {unit}, above its limit of {limit:.4g} {unit}"
        yield Finding(Level.SUSPECT, "limits", text, "unit, torque constant or gear ratio; or torque_limit in the file")


def _rates(log: Log) -> Iterator[Finding]:
    """Logged velocities beside the slope of the positions."""
    info = log.info
    if log.qd is None:
        return
    slope = np.gradient(log.q, info.period, axis=0)
    for k, name in enumerate(info.velocities):
        if name not in info.positions:
            continue
        own, logged = slope[:, info.positions.index(name)], log.qd[:, k]
        power = float(own @ own)
        factor = float(own @ logged) / power if power > 0.0 else 1.0
        if abs(factor - 1.0) > 0.1 and np.abs(own).max() > 0.0:
            guess = "deg/s?" if abs(abs(factor) / (180.0 / math.pi) - 1.0) < 0.1 else "unit or sign?"
            text = f"qd_{name} is {factor:.3g} times the slope of q_{name}: {guess}"
            yield Finding(Level.NOTE, "velocity", text, "logged velocities are not used: positions are differentiated")
