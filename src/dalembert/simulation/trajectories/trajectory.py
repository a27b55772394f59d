"""What a trajectory is: the motion of named coordinates over a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.model import Model, build_model
from dalembert.motion import Closer
from dalembert.robot import Limit, Robot

__all__ = ["MOTORS", "Motion", "Trajectory", "follower_of", "home_of", "limit_of", "names_of"]

Array = NDArray[np.float64]

MOTORS = "motors"  # in place of coordinates: the positions of the motors


class Motion(Protocol):
    """Position, velocity and acceleration (n, k) at times ``t`` (n,) [s]."""

    def __call__(self, t: ArrayLike, /) -> tuple[Array, Array, Array]: ...


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A motion of ``coordinates`` (as many as the robot's mobilities, or the word "motors") from 0 to ``duration`` [s].

    ``periodic``: it may go on beyond its duration; otherwise ``rests``: it stays where it ended.
    """

    motion: Motion
    coordinates: tuple[str, ...] | str
    duration: float
    periodic: bool = False
    rests: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0.0):
            raise UsageError(f"trajectory: duration {self.duration} s, expected a positive number")

    def __call__(self, t: ArrayLike, /) -> tuple[Array, Array, Array]:
        """See :class:`Motion`."""
        return self.motion(t)

    def check(self, duration: float) -> None:
        """Refuse a duration the motion does not cover."""
        if duration > self.duration * (1.0 + 1e-9) and not (self.periodic or self.rests):
            raise UsageError(
                f"trajectory: {duration:g} s asked for, the motion lasts {self.duration:g} s; ask for at most that"
            )


def names_of(model: Model, coordinates: tuple[str, ...] | str) -> tuple[str, ...]:
    """The names behind ``coordinates``: those of the measured positions for the word "motors"."""
    if coordinates == MOTORS:
        return tuple(model.robot.readings)
    return tuple(coordinates)


def limit_of(robot: Robot, name: str) -> Limit:
    """Bounds of a coordinate or motor: its own, and those of a motor that turns with this coordinate alone."""
    found = robot.limits.get(name, Limit())
    for motor in robot.motors:
        (turned, ratio), *others = motor.turns
        if turned != name or others or motor.name not in robot.limits:
            continue
        own = robot.limits[motor.name]
        ends = sorted((own.lower / ratio, own.upper / ratio))
        found = Limit(
            max(found.lower, ends[0]), min(found.upper, ends[1]), min(found.velocity, own.velocity / abs(ratio)),
            min(found.acceleration, own.acceleration / abs(ratio)), min(found.jerk, own.jerk / abs(ratio)),
        )  # fmt: skip
    return found


def home_of(model: Model, coordinates: tuple[str, ...] | str) -> Array:
    """Where these coordinates are at home (k,)."""
    if coordinates == MOTORS:
        return np.asarray(model.robot.sensor_map() @ model.home)
    return np.array([model.home[model.coordinates.index(name)] for name in coordinates])


def follower_of(model: Model, coordinates: tuple[str, ...] | str | None) -> Closer:
    """What finds the robot's configurations from these coordinates (None: the independent ones)."""
    if coordinates == MOTORS:
        return Closer(model, given="sensors", measured=False)
    if coordinates is None or tuple(coordinates) == model.independent:
        return Closer(model, given="independent")
    other = build_model(model.robot, independent=tuple(coordinates), backend=model.backend)
    return Closer(other, given="independent")
