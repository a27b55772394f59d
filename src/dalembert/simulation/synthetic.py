"""A log as a robot would record it that follows its reference exactly: torque from the model, sensors imperfect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.logs import Log, make_log
from dalembert.model import Model, Parameters
from dalembert.motion import Closer, Motion

__all__ = ["Sensing", "perfect_tracking"]

Array = NDArray[np.float64]
Path = Callable[[ArrayLike], tuple[Array, Array, Array]]


@dataclass(frozen=True, slots=True)
class Sensing:
    """What sensors do to the truth: encoder step [rad or m], torque noise sigma [N m or N], each per motor or one."""

    encoder_step: ArrayLike = 0.0
    torque_noise: ArrayLike = 0.0

    def positions(self, theta: Array) -> Array:
        """Positions as the encoders count them."""
        step = np.broadcast_to(np.asarray(self.encoder_step, dtype=float), theta.shape[1])
        safe = np.where(step > 0.0, step, 1.0)
        return np.where(step > 0.0, np.round(theta / safe) * safe, theta)

    def torques(self, tau: Array, rng: np.random.Generator) -> Array:
        """Torques with white noise."""
        return tau + np.asarray(self.torque_noise, dtype=float) * rng.standard_normal(tau.shape)


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
    log = make_log(model.robot, rate, seen.positions(theta), seen.torques(np.asarray(tau), rng), name=name)
    return (log.with_payload(payload) if payload else log), motion
