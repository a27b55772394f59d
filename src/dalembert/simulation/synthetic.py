"""A log as a robot would record it that follows its reference exactly: torque from the model, sensors imperfect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.excitation import Fourier, FourierPath, fourier_within_limits
from dalembert.logs import Log, make_log
from dalembert.model import Model, Parameters
from dalembert.motion import Closer, Motion
from dalembert.simulation.sensing import Sensing

__all__ = ["Recording", "Sensing", "perfect_tracking", "random_recording"]

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
    measured = [k for k, motor in enumerate(model.robot.motor_names) if motor not in model.robot.unmeasured]
    q, logged = seen.positions(theta, rng), seen.torques(np.asarray(tau), rng)[:, measured]
    log = make_log(model.robot, rate, q, logged, name=name)
    return (log.with_payload(payload) if payload else log), motion


@dataclass(frozen=True, slots=True)
class Recording:
    """A log with what it was made from: the path, the true motion and the motor torques (n, n_motors) behind it."""

    log: Log
    path: FourierPath
    motion: Motion
    torque: Array


def random_recording(
    model: Model,
    rng: np.random.Generator,
    *,
    family: Fourier | None = None,
    path: FourierPath | None = None,
    periods: float = 1.0,
    rate: float = 1000.0,
    torque_noise: float = 0.01,
    encoder_step: float = 1e-5,
    pi: Parameters = "nominal",
    preload: Callable[[Array], Array] | None = None,
    payload: str = "",
    name: str = "simulated",
) -> Recording:
    """A random Fourier motion within the robot's limits (or a ``path``), recorded with noise.

    ``torque_noise``: white, as a share of each motor's RMS torque. ``encoder_step`` [rad or m].
    """
    path = path or fourier_within_limits(model, family or Fourier(), rng)
    duration = periods * path.family.duration
    exact, motion = perfect_tracking(
        model, path, duration, rate, rng, pi=pi, preload=preload, payload=payload, name=name
    )  # fmt: skip
    sensing = Sensing(encoder_step, torque_noise * np.sqrt(np.mean(exact.tau**2, axis=0)))
    seen = replace(exact, q=sensing.positions(exact.q), tau=sensing.torques(exact.tau, rng))
    return Recording(seen, path, motion, exact.tau)
