"""What identifies by simulation is told apart by: an estimator that makes the motion it estimates along.

The simulator stands below this room, so only the contract is here; the methods are in ``closed_loop``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dalembert.identification.prepare import Prepared, Progress
from dalembert.identification.problem import Estimate, Estimator, Problem
from dalembert.identification.uncertainty import Robust
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.signals import SignalSettings

__all__ = ["Settled", "Simulating"]


@dataclass(frozen=True, slots=True)
class Settled:
    """Where the simulations ended: the problem along the last motion, the estimate, its robust covariance."""

    prepared: Prepared
    estimate: Estimate
    robust: Robust | None


@runtime_checkable
class Simulating(Protocol):
    """An :class:`~dalembert.identification.problem.Estimator` that simulates the experiments of the logs, estimates,
    and simulates again with what it found.
    """

    @property
    def method(self) -> str:
        """Short name, as the command line spells it."""
        ...

    @property
    def estimator(self) -> Estimator:
        """What estimates along each simulated motion."""
        ...

    def estimate(self, problem: Problem) -> Estimate:
        """One estimate along a motion that is given: what the method is without its simulation."""
        ...

    def begin(
        self, model: Model, logs: Sequence[LogSource], signals: SignalSettings | None
    ) -> tuple[Sequence[LogSource], SignalSettings]:
        """The logs as the problem is to be prepared from before anything was simulated, and how to treat them."""
        ...

    def settle(self, prepared: Prepared, progress: Progress) -> Settled:
        """Simulate and estimate until both agree."""
        ...
