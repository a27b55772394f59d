"""CLOE: closed-loop output error on positions, for comparison with DIDIM, which needs none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from dalembert.closed_loop.output import Output, PositionOutput
from dalembert.closed_loop.output_error import OutputError
from dalembert.errors import EstimationError
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import Estimate, Problem

__all__ = ["Cloe"]


@dataclass(frozen=True, slots=True)
class Cloe(OutputError):
    """Parameters whose simulated closed loop moves as measured; Gauss-Newton from where DIDIM settles.

    A controller that tracks well hides the robot from its positions: they answer little to the parameters, and an error
    of the controller's gains is taken for one of the robot. Residuals are given on the torque, as for other methods.
    """

    method: ClassVar[str] = "cloe"
    positions: ClassVar[bool] = True

    @property
    def observed(self) -> Callable[[Prepared], Output] | None:
        """See :class:`~dalembert.closed_loop.output_error.OutputError`."""
        return PositionOutput

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.simulating.Simulating`; torques alone are not this method's."""
        raise EstimationError(
            f"cloe: {len(problem.names)} parameters cannot be estimated along a given motion: essential parameters and "
            "cross-validation are offered with didim"
        )
