"""The model's torque along the reference, beside a feedback law [Briot15, section 5.1]."""

from __future__ import annotations

from dataclasses import dataclass, field

from dalembert.simulation.controllers.contract import Law, Loop
from dalembert.simulation.controllers.pd import Pd
from dalembert.symbolic import SX

__all__ = ["FeedForward"]


@dataclass(frozen=True, slots=True)
class FeedForward:
    """``tau = feedback + tau_model(reference)``, of minimum norm where the robot is over-actuated [Briot15, eq. 26]."""

    feedback: Law = field(default_factory=Pd)

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        return self.feedback.write(loop) + loop.ff
