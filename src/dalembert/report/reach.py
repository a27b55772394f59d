"""How far a log reached, against the limits of the robot and against other logs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.report.evidence import Evidence, Track
from dalembert.report.numbers import significant
from dalembert.robot import Limit, Robot
from dalembert.robot.quantity import position_units

__all__ = ["Sensor", "beyond", "ranges", "sensors", "shares"]

Array = NDArray[np.float64]

_FURTHER = 0.05  # of the range reached, by which another log has to leave it to be told
_STATES = (("position", ""), ("speed", "/s"), ("acceleration", "/s²"))


@dataclass(frozen=True, slots=True)
class Sensor:
    """A motor or sensor, the unit of its position and the bounds of the robot's description, if it has any."""

    name: str
    unit: str
    limit: Limit | None


def sensors(robot: Robot) -> tuple[Sensor, ...]:
    """Motors, then sensors, as the columns of a track."""
    units = position_units(robot)
    return tuple(Sensor(name, units[name], _limit(robot, name, turns)) for name, turns in robot.readings.items())


def _limit(robot: Robot, name: str, turns: Sequence[tuple[str, float]]) -> Limit | None:
    """The motor's own bounds, else those of the one coordinate it is."""
    own = robot.limits.get(name)
    if own is None and len(turns) == 1 and turns[0][1] == 1.0:
        own = robot.limits.get(turns[0][0])
    return own


def ranges(tracks: Sequence[Track]) -> tuple[Array, Array]:
    """Least and largest position, speed and acceleration (3, sensors) of several logs together."""
    low = np.min([track.motion.lowest for track in tracks], axis=0)
    high = np.max([track.motion.highest for track in tracks], axis=0)
    return low, high


def beyond(evidence: Evidence) -> tuple[str, ...]:
    """Where logs the fit was tested on left what those of the identification reached."""
    used, tested = ([t for t in evidence.tracks if t.held_out is held] for held in (False, True))
    if evidence.model is None or not used or not tested:
        return ()
    low, high = ranges(used)
    allowed = _FURTHER * (high - low)
    out = []
    for track in tested:
        for k, sensor in enumerate(sensors(evidence.model.model.robot)):
            for state, (what, per) in enumerate(_STATES):
                a, b = track.motion.lowest[state, k], track.motion.highest[state, k]
                if a < low[state, k] - allowed[state, k] or b > high[state, k] + allowed[state, k]:
                    out.append(
                        f"{track.name}: {what} of {sensor.name} {significant(float(a), 3)} … {significant(float(b), 3)}"
                        f" {sensor.unit}{per}"
                    )
    return tuple(out)


def shares(sensor: Sensor, low: Array, high: Array) -> tuple[tuple[float, float] | None, float | None]:
    """Where a motion (3,) lies between the position limits (from, to; 0 to 1), and its share of the speed limit."""
    limit = sensor.limit
    if limit is None:
        return None, None
    width = limit.upper - limit.lower
    position = None
    if math.isfinite(width):
        position = ((low[0] - limit.lower) / width, (high[0] - limit.lower) / width)
    speed = max(-low[1], high[1]) / limit.velocity if math.isfinite(limit.velocity) else None
    return position, speed
