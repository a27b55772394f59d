"""Augmented PD: the model at the measured configuration with the reference's rates, beside PD feedback."""

from __future__ import annotations

from dataclasses import dataclass, field

from dalembert.simulation.controllers.contract import Law, Loop
from dalembert.simulation.controllers.model_based import model_torque
from dalembert.simulation.controllers.pd import Pd
from dalembert.symbolic import SX

__all__ = ["AugmentedPd"]


@dataclass(frozen=True, slots=True)
class AugmentedPd:
    """``tau = M(q) qdd_r + c(q, qd_r) + g(q) + friction(qd_r) + feedback`` [Briot15, section 5.1]."""

    feedback: Law = field(default_factory=Pd)

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        return model_torque(loop, loop.qrd, loop.qrdd) + self.feedback.write(loop)
