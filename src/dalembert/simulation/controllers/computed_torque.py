"""Computed torque: feedback linearisation by the model at the measured state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.simulation.controllers.contract import Loop
from dalembert.simulation.controllers.model_based import model_torque
from dalembert.simulation.controllers.pd import check_tuning
from dalembert.symbolic import SX

__all__ = ["ComputedTorque"]


@dataclass(frozen=True, slots=True)
class ComputedTorque:
    """``tau = M(q) (qdd_r + kd (qd_r - qd) + kp (q_r - q)) + c(q, qd) + g(q) + friction``, ``kp = wc^2`` [1/s^2] and
    ``kd = 2 damping wc`` [1/s]; qd is the measured position's filtered rate. ``kp`` and ``kd`` per motor replace them.
    """

    bandwidth: float = 30.0
    damping: float = 0.7
    derivative_cutoff: float | None = None
    kp: tuple[float, ...] | None = None
    kd: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_tuning("computed-torque", self.bandwidth, self.damping, self.derivative_cutoff)

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        w = 2.0 * np.pi * self.bandwidth
        kp = loop.gain("kp", w**2 if self.kp is None else self.kp)
        kd = loop.gain("kd", 2.0 * self.damping * w if self.kd is None else self.kd)
        error = loop.qr - loop.q
        error_rate = loop.derivative(error, self.derivative_cutoff)
        asked = loop.qrdd + loop.scale * (kp * error + kd * error_rate)
        return model_torque(loop, loop.qrd - error_rate, asked)
