"""DIDIM: parameters from torques alone, by a closed-loop simulation of the logged experiment [Gautier11].

Each step simulates the robot with the last estimate under the same controller along the same reference, takes the
simulated motion for the true one and solves the usual linear problem (IDIM) for the measured torques along it. Because
the loop is closed alike, the simulated motion hardly depends on the parameters, and a few steps settle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from dalembert.closed_loop.output import Output, TorqueOutput
from dalembert.closed_loop.output_error import OutputError
from dalembert.closed_loop.reenactment import chosen
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import Estimate, Problem

__all__ = ["Didim", "Jacobian"]


class Jacobian(StrEnum):
    """How the simulated torque answers to the parameters."""

    SIMPLE = "simple"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Didim(OutputError):
    """Direct and inverse dynamic identification models: no measured position is used [Gautier11].

    ``jacobian``: ``simple`` takes the simulated motion for independent of the parameters [Gautier11, eq. 22];
    ``exact`` goes on with the sensitivities of the closed loop once that has settled, two simulations per parameter
    and step.
    """

    jacobian: Jacobian = Jacobian.SIMPLE
    method: ClassVar[str] = "didim"

    def __post_init__(self) -> None:
        OutputError.__post_init__(self)
        object.__setattr__(self, "jacobian", chosen(self.method, "jacobian", self.jacobian, Jacobian))

    @property
    def observed(self) -> Callable[[Prepared], Output] | None:
        """See :class:`~dalembert.closed_loop.output_error.OutputError`."""
        return TorqueOutput if self.jacobian is Jacobian.EXACT else None

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        return replace(self.estimator.estimate(problem), method=self.method)
