"""The cascade of industrial drives: a position loop around a velocity loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.simulation.controllers.contract import Loop
from dalembert.simulation.controllers.pd import check_tuning
from dalembert.symbolic import SX

__all__ = ["Cascade"]


@dataclass(frozen=True, slots=True)
class Cascade:
    """Position error times ``kp`` [1/s], plus the reference's velocity, is the velocity asked of a PI loop:
    ``tau = kv (qd_asked - qd) + ki integral(qd_asked - qd)``.

    Tuned like :class:`Pd`: ``kv = 2 damping wc J``, ``kp = wc / (2 damping)``, so that ``kv kp = J wc^2``; and
    ``ki = kv wc / 10``. ``velocity_feed`` is the share of the reference's velocity that is fed forward.
    """

    bandwidth: float = 70.0
    damping: float = 0.7
    derivative_cutoff: float | None = None
    velocity_feed: float = 1.0
    kp: tuple[float, ...] | None = None
    kv: tuple[float, ...] | None = None
    ki: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_tuning("cascade", self.bandwidth, self.damping, self.derivative_cutoff)

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        w = 2.0 * np.pi * self.bandwidth
        tuned = loop.inertia * 2.0 * self.damping * w
        kp = loop.gain("kp", w / (2.0 * self.damping) if self.kp is None else self.kp)
        kv = loop.gain("kv", tuned if self.kv is None else self.kv)
        ki = loop.gain("ki", tuned * w / 10.0 if self.ki is None else self.ki)
        asked = kp * (loop.qr - loop.q) + self.velocity_feed * loop.qrd
        # at the first tick no rate is known yet: the reference's is taken
        rate = loop.derivative(loop.q, self.derivative_cutoff) + (1 - loop.started) * loop.qrd
        error = asked - rate
        integral = loop.state(loop.n)
        added = integral + ki * loop.period * error
        loop.keep(integral, added)
        return loop.scale * (kv * error + added)
