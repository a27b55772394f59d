"""Simulating with parameters that may be too far off for it: other gains, shorter steps, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.bench import Bench
from dalembert.identification.problem import Status
from dalembert.simulation import Simulation
from dalembert.simulation import Status as RunStatus

__all__ = ["Attempts", "Simulated"]

Array = NDArray[np.float64]

_HALVINGS = 6  # times a step whose simulation fails is halved before it is given up
_FAILED: Mapping[RunStatus, Status] = MappingProxyType(
    {
        RunStatus.DIVERGED: Status.DIVERGED,
        RunStatus.STIFF: Status.DIVERGED,
        RunStatus.SINGULAR: Status.LEFT_WORKSPACE,
        RunStatus.LEFT_WORKSPACE: Status.LEFT_WORKSPACE,
    }
)


@dataclass(frozen=True, slots=True)
class Simulated:
    """Runs that came to their end, with the parameters ``values`` (p,) they did so with."""

    values: Array
    runs: tuple[Simulation, ...]
    scaled: bool


@dataclass
class Attempts:
    """Simulations on a bench; ``failure`` is the status and reason of the first one of the last call that failed.

    ``names`` are those of the logs; ``inertia`` (n,) what the gains were tuned on, where it is given.
    """

    bench: Bench
    names: Sequence[str]
    inertia: tuple[float, ...] = ()
    failure: tuple[Status, str] | None = None

    def simulate(
        self, values: Array, before: Array | None = None, *, step: int, ways: Sequence[bool] = (False,)
    ) -> Simulated | None:
        """Simulate with the controller's own gains (False) or scaled ones (True), whichever of ``ways`` works first.

        Where none does, go back half way to the parameters of the step ``before``, which could be simulated, and again.
        """
        self.failure = None
        ways = [scaled for scaled in ways if not (scaled and self.bench.unscalable(self.inertia))]
        for _ in range(_HALVINGS if before is not None else 1):
            for scaled in ways:
                runs = self._try(values, step, scaled=scaled)
                if runs is not None:
                    return Simulated(values, runs, scaled)
            if before is not None:
                values = 0.5 * (values + before)
        return None

    def _try(self, values: Array, step: int, *, scaled: bool) -> tuple[Simulation, ...] | None:
        scaling = self.bench.scaling(values, self.inertia) if scaled else None
        if scaled and scaling is None:
            self.failure = self.failure or (Status.DIVERGED, f"step {step}: a motor would have no inertia")
            return None
        runs = self.bench.run(values, scaling)
        for run, name in zip(runs, self.names, strict=True):
            if not run.completed:
                gains = "scaled gains" if scaled else "the controller's gains"
                self.failure = self.failure or (
                    _FAILED[run.status],
                    f"step {step}, log {name!r}, {gains}: {run.reason}",
                )
                return None
        return runs
