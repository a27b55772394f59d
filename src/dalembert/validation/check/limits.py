"""Coordinates and motors beyond the limits of the robot file."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dalembert.robot import Robot
from dalembert.robot.quantity import position_units
from dalembert.validation.check.finding import Finding, Level

__all__ = ["outside", "within_limits"]

Array = NDArray[np.float64]

SLACK, FASTER = 0.02, 1.1  # of the range, times the speed: controllers overshoot, encoders have zeros of their own


def _places(robot: Robot, y: Array) -> dict[str, Array]:
    """Values (n,) of each coordinate and motor, from those of the coordinates (n, n_y)."""
    motors = dict(zip(robot.motor_names, robot.motor_map() @ y.T, strict=True))
    return motors | dict(zip(robot.coordinates, y.T, strict=True))


def outside(robot: Robot, y: Array, slack: float) -> dict[str, tuple[float, float]]:
    """Range of each coordinate or motor that leaves its limits by more than ``slack`` of their distance."""
    places, out = _places(robot, y), {}
    for name, limit in robot.limits.items():
        low, high = float(places[name].min()), float(places[name].max())
        room = slack * (limit.upper - limit.lower) if math.isfinite(limit.upper - limit.lower) else 0.0
        if low < limit.lower - room or high > limit.upper + room:
            out[name] = (low, high)
    return out


def within_limits(robot: Robot, y: Array, yd: Array) -> Iterator[Finding]:
    """A finding for each coordinate or motor beyond its limits along the log, ``y yd`` (n, n_y)."""
    units = position_units(robot)
    for name, (low, high) in outside(robot, y, SLACK).items():
        limit = robot.limits[name]
        text = (
            f"{name} moves from {low:.4g} to {high:.4g} {units[name]}, its limits are {limit.lower:.4g} to "
            f"{limit.upper:.4g} {units[name]}"
        )
        mend = "zero or sign of the position, its unit, or the robot file's limits"
        yield Finding(Level.SUSPECT, "limits", text, mend)
    speeds = _places(robot, np.abs(yd))
    for name, limit in robot.limits.items():
        fast = float(speeds[name].max())
        if fast > FASTER * limit.velocity:
            text = f"{name} is as fast as {fast:.4g} {units[name]}/s, its limit is {limit.velocity:.4g} {units[name]}/s"
            mend = "unit of positions or of the time, or the robot file's limits"
            yield Finding(Level.SUSPECT, "limits", text, mend)
