"""A prescribed internal torque beside a law, which moves nothing."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dalembert.errors import ModelError
from dalembert.simulation.controllers.contract import Law, Loop
from dalembert.symbolic import SX

__all__ = ["Preload"]


@dataclass(frozen=True, slots=True)
class Preload:
    """The law's torque plus the run's ``inner`` torque projected on the null space of J_inv' [Briot15, eq. 26].

    Put it outside :class:`StressFree`, which would remove it again.
    """

    law: Law

    def write(self, loop: Loop) -> SX:
        """See :class:`Law`."""
        model = loop.model
        if model.n <= model.r:
            raise ModelError(
                f"robot {model.robot.name!r}: {model.n} motors for {model.r} mobilities leave no internal torque to "
                f"prescribe; leave out the preload"
            )
        inside = loop.inner - ca.mtimes(model.dynamics.J_inv, ca.mtimes(loop.spread, loop.inner))
        return self.law.write(loop) + inside
