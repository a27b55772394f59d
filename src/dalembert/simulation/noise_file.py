"""Noise files: what sensors and drives do to the truth, in YAML (docs/simulation.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.robot import Robot
from dalembert.robot.quantity import ANGLE, EFFORT, POSITION, PURE, TIME
from dalembert.robot.yaml_source import Located, parse_file
from dalembert.simulation.per_motor import per_motor
from dalembert.simulation.sensing import Sensing, sensed

__all__ = ["NoiseFile", "read_noise"]

_POSITIONS = ("encoder_step", "position_noise")
_TORQUES = ("torque_noise", "torque_offset")
_RIPPLE = {"amplitude": EFFORT, "order": PURE, "phase": ANGLE}
_KEYS = ("seed", "encoder_counts", *_POSITIONS, "delay", *_TORQUES, "ripple")


@dataclass(frozen=True, slots=True)
class NoiseFile:
    """Sensing, and the seed its noise is drawn from."""

    sensing: Sensing
    seed: int = 0


def read_noise(path: str | Path, robot: Robot) -> NoiseFile:
    """The imperfections of a file for a robot; an error names file, line, what was found and what was expected."""
    found = parse_file(Path(path)).mapping(_KEYS, (), "noise")
    sensors = tuple(sensed(robot))
    given: dict[str, Any] = {}
    for key in _POSITIONS:
        if key in found:
            given[key] = per_motor(found[key], POSITION, sensors, positive=True)
    for key in _TORQUES:
        if key in found:
            given[key] = per_motor(found[key], EFFORT, robot.motor_names, positive=key == "torque_noise")
    if "encoder_counts" in found:
        given["encoder_step"] = _steps(found, sensors)
    if "delay" in found:
        given["delay"] = found["delay"].number(TIME, "a delay in s")
        if given["delay"] < 0.0:
            found["delay"].fail(f"found {given['delay']:g}, expected a delay in s, not negative")
    if "ripple" in found:
        wave = found["ripple"].mapping(_RIPPLE, ("amplitude",), "torque ripple")
        for key, value in wave.items():
            given["ripple" if key == "amplitude" else f"ripple_{key}"] = per_motor(
                value, _RIPPLE[key], robot.motor_names
            )
    return NoiseFile(Sensing(**given), _seed(found))


def _steps(found: Mapping[str, Located], sensors: tuple[str, ...]) -> tuple[float, ...]:
    """Encoder steps from counts per turn of the motor coordinate."""
    item = found["encoder_counts"]
    if "encoder_step" in found:
        item.fail("beside encoder_step, expected one of them")
    counts = per_motor(item, PURE, sensors, positive=True)
    return tuple(2.0 * math.pi / count if count else 0.0 for count in counts)


def _seed(found: Mapping[str, Located]) -> int:
    if "seed" not in found:
        return 0
    value = found["seed"].number(PURE, "a seed")
    if value < 0 or value != round(value):
        found["seed"].fail(f"found {value:g}, expected a whole number that is not negative")
    return round(value)
