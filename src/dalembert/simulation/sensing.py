"""What sensors and drives do to the truth."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.robot import Robot
from dalembert.robot.description import Terms
from dalembert.simulation.plant import Ripple

__all__ = ["Sensing", "averaged", "sensed"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sensing:
    """Imperfections, each a number for all or one per motor (positions: per motor, then per further sensor).

    Positions: ``encoder_step`` [rad or m], ``position_noise`` sigma [rad or m], ``delay`` [s] of every reading.
    Torques as logged: the mean over one period of the controller around the sample (:func:`averaged`), with
    ``torque_noise`` sigma and ``torque_offset`` [N m or N] of the current's measurement.
    Torques as given: ``ripple`` [N m or N] times ``sin(ripple_order theta + ripple_phase)`` comes on top of the command
    and is not in the log.
    """

    encoder_step: ArrayLike = 0.0
    torque_noise: ArrayLike = 0.0
    position_noise: ArrayLike = 0.0
    delay: float = 0.0
    torque_offset: ArrayLike = 0.0
    ripple: ArrayLike = 0.0
    ripple_order: ArrayLike = 1.0
    ripple_phase: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            values = np.asarray(getattr(self, entry.name), dtype=float)
            signed = entry.name in ("torque_offset", "ripple", "ripple_order", "ripple_phase")
            if not np.isfinite(values).all() or (not signed and (values < 0.0).any()):
                raise UsageError(f"sensing: {entry.name} {values.tolist()}, expected finite numbers >= 0")

    def positions(self, theta: Array, rng: np.random.Generator | None = None) -> Array:
        """Positions as the encoders count them; with noise where a generator is given."""
        if rng is not None and np.any(np.asarray(self.position_noise) > 0.0):
            theta = theta + np.asarray(self.position_noise, dtype=float) * rng.standard_normal(theta.shape)
        step = self.steps(theta.shape[1])
        safe = np.where(step > 0.0, step, 1.0)
        counted: Array = np.where(step > 0.0, np.round(theta / safe) * safe, theta)
        return counted

    def torques(self, tau: Array, rng: np.random.Generator) -> Array:
        """Torques as logged: with offset and white noise."""
        offset = np.asarray(self.torque_offset, dtype=float)
        sigma = np.asarray(self.torque_noise, dtype=float)
        logged: Array = tau + offset
        return logged + sigma * rng.standard_normal(tau.shape) if np.any(sigma) else logged

    def steps(self, sensors: int) -> Array:
        """Encoder steps (sensors,)."""
        return _spread("encoder_step", self.encoder_step, sensors)

    def noise(self, samples: int, sensors: int, rng: np.random.Generator) -> Array | None:
        """Position noise (samples, sensors), None for none."""
        sigma = _spread("position_noise", self.position_noise, sensors)
        return rng.standard_normal((samples, sensors)) * sigma if (sigma > 0.0).any() else None

    def ripples(self, motors: int) -> Ripple | None:
        """The motors' torque ripple, None for none."""
        wave = [
            _spread(name, value, motors)
            for name, value in (("ripple", self.ripple), ("order", self.ripple_order), ("phase", self.ripple_phase))
        ]
        if not wave[0].any():
            return None
        return Ripple(*(tuple(w.tolist()) for w in wave))


def sensed(robot: Robot) -> dict[str, Terms]:
    """The positions a simulated robot's controller reads, by name: of every motor, also where no log holds it, then of
    the further sensors.
    """
    return {motor.name: motor.turns for motor in robot.motors} | {sensor.name: sensor.reads for sensor in robot.sensors}


def averaged(held: Array, every: int) -> Array:
    """Torques (samples, n), each held until the next, as means over ``every`` samples centred on each instant.

    A drive averages its current likewise. A held torque read at the instant it changes would stand half a period ``T``
    early on the motion, which viscous friction takes up as ``-omega^2 ZZ T/2``: 2 % of the DualV's at 1 kHz.
    """
    if not len(held):
        return held
    total = np.vstack([np.zeros_like(held[:1]), np.cumsum(held, axis=0)])
    clock = np.arange(len(held))
    # in half samples: the torque's integral there is the mean of those at the samples beside it
    first, last = np.maximum(2 * clock - every, 0), np.minimum(2 * clock + every, 2 * len(held))
    upto, since = (0.5 * (total[edge // 2] + total[(edge + 1) // 2]) for edge in (last, first))
    means: Array = 2.0 * (upto - since) / (last - first)[:, None]
    return means


def _spread(name: str, value: ArrayLike, size: int) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,)):
        raise UsageError(f"sensing: {name} has shape {array.shape}, expected one number or ({size},)")
    return np.broadcast_to(array, (size,)).copy()
