"""Proportional-derivative control of each motor [Briot15, section 5.1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import UsageError
from dalembert.simulation.controllers.contract import Loop
from dalembert.symbolic import SX

__all__ = ["Pd", "check_tuning"]


def check_tuning(what: str, bandwidth: float, damping: float, cutoff: float | None) -> None:
    """UsageError unless the tuning can be a control loop's."""
    for name, value in (("bandwidth", bandwidth), ("damping", damping), ("derivative cutoff", cutoff or 1.0)):
        if not (np.isfinite(value) and value > 0.0):
            raise UsageError(f"controller {what}: {name} {value}, expected a positive number")


@dataclass(frozen=True, slots=True)
class Pd:
    """``tau = kp e + kd de/dt`` with ``kp = J wc^2`` and ``kd = 2 damping wc J``, J the inertia each motor feels.

    ``bandwidth`` [Hz] and ``damping`` place the poles of the error; the derivative passes a first-order low-pass of
    ``derivative_cutoff`` [Hz] (None: none). ``kp`` and ``kd`` per motor replace the tuned gains.
    """

    bandwidth: float = 70.0
    damping: float = 0.7
    derivative_cutoff: float | None = None
    kp: tuple[float, ...] | None = None
    kd: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_tuning("pd", self.bandwidth, self.damping, self.derivative_cutoff)

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        w = 2.0 * np.pi * self.bandwidth
        kp = loop.gain("kp", loop.inertia * w**2 if self.kp is None else self.kp)
        kd = loop.gain("kd", loop.inertia * 2.0 * self.damping * w if self.kd is None else self.kd)
        error = loop.qr - loop.q
        return loop.scale * (kp * error + kd * loop.derivative(error, self.derivative_cutoff))
