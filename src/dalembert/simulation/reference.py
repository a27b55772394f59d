"""A reference: where motors and robot should be at every tick of the controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.model import Model
from dalembert.simulation.trajectories.trajectory import Trajectory, follower_of

__all__ = ["Reference", "make_reference"]

Array = NDArray[np.float64]
_APART = 1e-2  # [rad or m] between positions asked for and those closed loops allow: sensors and calibration leave less
_MOST_TICKS = 20_000_000  # some GB of reference; five and a half hours at 1 kHz
Path = Callable[[ArrayLike], tuple[Array, Array, Array]]


@dataclass(frozen=True, slots=True)
class Reference:
    """Motor positions and rates ``q qd qdd`` (ticks, n), tree coordinates and rates ``y yd ydd`` (ticks, n_y), times
    ``t`` (ticks,) [s] at the controller's ``rate`` [Hz].
    """

    rate: float
    t: Array
    q: Array
    qd: Array
    qdd: Array
    y: Array
    yd: Array
    ydd: Array

    @property
    def duration(self) -> float:
        """Time from the first to the last tick [s]."""
        return (len(self.t) - 1) / self.rate


def make_reference(model: Model, path: Path, duration: float | None = None, rate: float = 1000.0) -> Reference:
    """Ticks of a path: position, velocity and acceleration at given times.

    The path moves the coordinates named by its attribute ``coordinates``, as many as mobilities; without it, the
    model's independent ones. The word "motors" says motor positions.
    """
    duration = float(getattr(path, "duration", 0.0)) if duration is None else duration
    if not (np.isfinite(duration) and duration > 0.0 and np.isfinite(rate) and rate > 0.0):
        raise UsageError(f"reference: {duration} s at {rate} Hz, expected a positive duration and rate")
    if duration * rate > _MOST_TICKS:
        raise UsageError(f"reference: {duration:g} s at {rate:g} Hz, expected at most {_MOST_TICKS} ticks")
    if isinstance(path, Trajectory):
        path.check(duration)
    t = np.arange(round(duration * rate) + 1) / rate
    x, xd, xdd = path(t)
    follower = follower_of(model, getattr(path, "coordinates", None))
    motion = follower.motion(x, xd, xdd, t)
    _check_given(motion.y @ follower.sensors.T, x, t)
    turns = model.robot.motor_map().T
    arrays = [motion.y @ turns, motion.yd @ turns, motion.ydd @ turns, motion.y, motion.yd, motion.ydd]
    for array in (t, *arrays):
        array.setflags(write=False)
    return Reference(rate, t, *cast("list[Array]", [np.ascontiguousarray(a) for a in arrays]))


def _check_given(reached: Array, asked: Array, t: Array) -> None:
    """Refuse positions that no configuration has, as motors of an over-actuated robot may be given."""
    apart = np.abs(reached - asked).max(axis=1)
    worst = int(np.argmax(apart))
    if apart[worst] > _APART:
        raise UsageError(
            f"reference: at t = {t[worst]:.6g} s the positions do not belong together, the nearest that do are "
            f"{apart[worst]:.3g} rad or m away; expected those of closed loops, or as many coordinates as mobilities"
        )
