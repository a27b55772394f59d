"""Internal stress: torques that strain an over-actuated robot without moving it, removed or prescribed."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dalembert.simulation.controllers.contract import Law, Loop
from dalembert.symbolic import SX

__all__ = ["StressFree"]


@dataclass(frozen=True, slots=True)
class StressFree:
    """The law's torque less its share in the null space of J_inv', ``tau* = J_inv J_inv+ tau`` [Briot15, eq. 50]."""

    law: Law

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        torque = self.law.write(loop)
        if loop.model.n <= loop.model.r:
            return torque
        return ca.mtimes(loop.model.dynamics.J_inv, ca.mtimes(loop.spread, torque))
