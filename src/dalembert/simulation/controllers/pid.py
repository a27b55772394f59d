"""PD control with an integral that stops where the motor is at its limit."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.simulation.controllers.contract import Loop
from dalembert.simulation.controllers.pd import check_tuning
from dalembert.symbolic import SX

__all__ = ["Pid"]


@dataclass(frozen=True, slots=True)
class Pid:
    """``tau = kp e + ki integral(e) + kd de/dt``; ``ki = kp wc / 10`` unless given. The rest as in :class:`Pd`.

    The integral's torque is kept within the motor's torque limit (anti-windup).
    """

    bandwidth: float = 70.0
    damping: float = 0.7
    derivative_cutoff: float | None = None
    kp: tuple[float, ...] | None = None
    kd: tuple[float, ...] | None = None
    ki: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_tuning("pid", self.bandwidth, self.damping, self.derivative_cutoff)

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        w = 2.0 * np.pi * self.bandwidth
        tuned = loop.inertia * w**2
        kp = loop.gain("kp", tuned if self.kp is None else self.kp)
        kd = loop.gain("kd", loop.inertia * 2.0 * self.damping * w if self.kd is None else self.kd)
        ki = loop.gain("ki", tuned * w / 10.0 if self.ki is None else self.ki)
        limits = np.array([motor.torque_limit for motor in loop.model.robot.motors])
        error = loop.qr - loop.q
        integral = loop.state(loop.n)
        added = integral + ki * loop.period * error
        kept = ca.vertcat(
            *[ca.fmin(ca.fmax(added[k], -top), top) if np.isfinite(top) else added[k] for k, top in enumerate(limits)]
        )
        loop.keep(integral, kept)
        return loop.scale * (kp * error + kept + kd * loop.derivative(error, self.derivative_cutoff))
