"""DIDIM: parameters from torques alone, by a closed-loop simulation of the logged experiment [Gautier11].

Each step simulates the robot with the last estimate under the same controller along the same reference, takes the
simulated motion for the true one and solves the usual linear problem (IDIM) for the measured torques along it. Because
the loop is closed alike, the simulated motion hardly depends on the parameters, and a few steps settle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.bench import RATE, Bench, Experiment, as_file, path_of, standard_values
from dalembert.closed_loop.descent import Descent, Limits, Reached, stand_ins, widened
from dalembert.closed_loop.stand_in import StandIn
from dalembert.closed_loop.start import regular_parameters
from dalembert.errors import EstimationError, UsageError, choices
from dalembert.identification.outcome import finish
from dalembert.identification.prepare import Prepared, Progress, along
from dalembert.identification.problem import Estimate, Estimator, Problem, Setting, Status
from dalembert.identification.simulating import Settled
from dalembert.identification.substitution import keeping
from dalembert.identification.uncertainty import robust_covariance
from dalembert.identification.wls import Wls
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation import Controller, ControllerFile, Law, Reference
from dalembert.simulation import Status as RunStatus
from dalembert.simulation.reference import Path

__all__ = ["Didim", "Start"]

Array = NDArray[np.float64]

# Share of a motor's largest speed below which it may be held by dry friction, and its simulated velocity have another
# sign than the true one.
SLOW = 0.05


class Start(StrEnum):
    """Where the first simulation takes its parameters from."""

    REGULAR = "regular"
    REFERENCE = "reference"
    PRIOR = "prior"


@dataclass(frozen=True, slots=True)
class Didim:
    """Direct and inverse dynamic identification models: no measured position is used [Gautier11].

    ``controller`` and ``reference`` are those of the logs; a mapping gives each log, by name, its own reference.
    ``start``: ``regular`` needs no values beforehand, see :func:`regular_parameters`; ``reference`` takes the robot to
    follow its reference exactly at first; ``prior`` starts from the prior's values. From ``regular`` the simulated
    gains are scaled to the estimate as long as the controller's own would not hold it; ``inertia`` (n,) is what each
    motor's gains were tuned on [kg m^2 or kg], by default that of the controller's model or the robot's nominal one.

    ``offset`` [s]: time of the reference at the log's first sample. The first ``transient`` [s] of the reference are
    left out: there the true robot may still come from another state. Steps end when error and torque change by less
    than ``tolerance``, relatively. A torque error above ``accept`` is not taken for a result.
    """

    controller: ControllerFile | Law | Controller
    reference: Path | Reference | Mapping[str, Path | Reference]
    start: Start = Start.REGULAR
    offset: float = 0.0
    transient: float = 0.2
    inertia: tuple[float, ...] = ()
    tolerance: float = 0.025
    steps: int = 20
    accept: float = 0.3
    estimator: Estimator = field(default_factory=Wls)
    method: ClassVar[str] = "didim"
    positions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.start not in list(Start):
            raise UsageError(f"{self.method}: start {self.start!r}; {choices(self.start, Start)}")
        object.__setattr__(self, "start", Start(self.start))
        try:
            object.__setattr__(self, "inertia", tuple(float(value) for value in self.inertia))
        except ValueError:
            raise UsageError(f"{self.method}: inertia {','.join(map(str, self.inertia))}, expected numbers") from None
        if not all(np.isfinite(value) and value > 0.0 for value in self.inertia):
            raise UsageError(f"{self.method}: inertia {list(self.inertia)}, expected positive numbers")
        for name in ("offset", "transient"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise UsageError(f"{self.method}: {name} {getattr(self, name)} s, expected a time of at least 0")
        if self.steps < 1 or not self.tolerance > 0.0:
            raise UsageError(
                f"{self.method}: {self.steps} steps to a tolerance of {self.tolerance}, expected at least one step and "
                "a positive tolerance"
            )

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        return replace(self.estimator.estimate(problem), method=self.method)

    def begin(
        self, model: Model, logs: Sequence[LogSource], signals: SignalSettings | None
    ) -> tuple[Sequence[LogSource], SignalSettings]:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        if self.inertia and len(self.inertia) != model.n:
            raise UsageError(f"{self.method}: {len(self.inertia)} inertias, expected {model.n}, one per motor")
        rate = as_file(self.controller).rate or RATE
        for log in logs:
            if log.info.unknown_gains:
                raise EstimationError(
                    f"{self.method}: log {log.info.name!r} has unknown torque constants, expected numbers in its "
                    "channel map"
                )
        moved = [
            StandIn.of(model, log, path_of(self.reference, log), rate, offset=self.offset, transient=self.transient)
            for log in logs
        ]
        signals = signals or SignalSettings(mask=SlowMask())
        if signals.mask is not None and signals.mask.unit == "noise":  # a simulated position has none
            signals = replace(signals, mask=SlowMask(SLOW, "relative"))
        return moved, signals

    def settle(self, prepared: Prepared, progress: Progress) -> Settled:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        sources = stand_ins(prepared)
        for source in sources:
            if source.lost:
                return _nothing(self.method, prepared, Status.LEFT_WORKSPACE, source.lost)
        experiments = [Experiment(s.reference, s.info.rate, s.info.payload) for s in sources]
        bench = Bench(prepared, self.controller, experiments)
        estimator = keeping(self.estimator, prepared.problem.constraints)
        limits = Limits(self.tolerance, self.steps)
        descent = Descent(bench, prepared, estimator, limits, self.inertia, progress)
        first = self._first(bench, prepared, estimator)
        reached = descent.go(first, scaled=self.start is Start.REGULAR)
        if reached.estimate is None:
            return _nothing(self.method, prepared, reached.status, reached.message)
        status, message = self._judged(reached)
        estimate = replace(
            reached.estimate, method=self.method, status=status, message=message, iterations=len(descent.errors),
            settings={**reached.estimate.settings, **self._settings(descent)},
        )  # fmt: skip
        return Settled(reached.prepared, estimate, robust_covariance(reached.prepared.problem, reached.estimate))

    def _first(self, bench: Bench, prepared: Prepared, estimator: Estimator) -> Array:
        """Parameters (p,) of the first simulation."""
        problem = prepared.problem
        if self.start is Start.REFERENCE:
            on_reference = along(widened(prepared), stand_ins(prepared))
            return standard_values(prepared, estimator.estimate(on_reference.problem))
        if self.start is Start.REGULAR:
            rigid = regular_parameters(prepared.model, bench.configurations, bench.payloads)
            matrix = prepared.ties.matrix
            return np.asarray(matrix.T @ rigid / matrix.sum(axis=0))
        values = {} if problem.prior is None else problem.prior.values
        values = dict(prepared.model.robot.nominal) | dict(values)
        missing = [name for name in problem.parameters if name not in values]
        if missing:
            raise EstimationError(
                f"start=prior: no value of {', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}; expected a "
                "prior of all parameters, or start=regular"
            )
        return np.array([values[name] for name in problem.parameters])

    def _judged(self, reached: Reached) -> tuple[Status, str]:
        """How the last estimate is to be taken."""
        estimate = reached.estimate
        assert estimate is not None
        if reached.status is not Status.CONVERGED:
            return reached.status, reached.message
        if not estimate.status.ok:
            return estimate.status, estimate.message
        if estimate.relative_error > self.accept:
            percent = 100.0 * estimate.relative_error
            return Status.UNLIKE, f"the simulated torque is {percent:.0f} % off the measured one"
        for run in reached.runs:
            if run.status is RunStatus.SATURATED:
                return Status.SATURATED, f"log {run.log.info.name!r}: {run.reason}"
        return Status.CONVERGED, ""

    def _settings(self, descent: Descent) -> dict[str, Setting]:
        return {
            "controller": descent.bench.file.name, "start": str(self.start), "offset": self.offset,
            "transient": self.transient, "torque_errors": descent.errors,
        }  # fmt: skip


def _nothing(method: str, prepared: Prepared, status: Status, message: str) -> Settled:
    """A result without any value: nothing could be simulated."""
    problem = prepared.problem.restrict(())
    estimate = finish(
        method, problem, np.zeros(0), np.ones(len(problem.factors)), gain=np.zeros((0, 0)), rank=0, condition=1.0,
        status=(status, message), settings={},
    )  # fmt: skip
    return Settled(replace(prepared, problem=problem), estimate, None)
