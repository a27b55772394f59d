"""A log as a robot would record it that follows its reference exactly: torque from the model, sensors imperfect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.logs import Log, make_log
from dalembert.model import Model, Parameters
from dalembert.motion import Closer, Motion
from dalembert.simulation.sensing import Sensing

__all__ = ["Sensing", "perfect_tracking"]

Array = NDArray[np.float64]
Path = Callable[[ArrayLike], tuple[Array, Array, Array]]


def perfect_tracking(
    model: Model,
    path: Path,
    duration: float,
    rate: float,
    rng: np.random.Generator,
    *,
    pi: Parameters = "nominal",
    sensing: Sensing | None = None,
    preload: Callable[[Array], Array] | None = None,
    payload: str = "",
    name: str = "simulated",
) -> tuple[Log, Motion]:
    """Log of a motion of the independent coordinates followed exactly, and the true motion.

    ``preload`` (t -> (n, n_motors)) adds internal torques that move nothing. A ``payload`` body that the log does not
    carry must have zero parameters in ``pi``.
    """
    t = np.arange(round(duration * rate) + 1) / rate
    x, xd, xdd = path(t)
    motion = Closer(model, given="independent").motion(x, xd, xdd, t)
    inner = np.zeros(model.n) if preload is None else preload(t)
    tau = model.torque_kernel()(motion.y, motion.yd, motion.ydd, model.vector(pi), inner)["tau"]
    theta = motion.y @ model.robot.sensor_map().T
    seen = sensing or Sensing()
    log = make_log(model.robot, rate, seen.positions(theta, rng), seen.torques(np.asarray(tau), rng), name=name)
    return (log.with_payload(payload) if payload else log), motion
