"""Output error in closed loop: simulate, estimate along the simulated motion, simulate again with what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.attempts import Attempts
from dalembert.closed_loop.bench import RATE, Bench, Experiment, as_file, standard_values
from dalembert.closed_loop.descent import Descent, Limits, Reached, stand_ins, widened
from dalembert.closed_loop.nothing import nothing
from dalembert.closed_loop.output import Output
from dalembert.closed_loop.reenactment import Reenactment, chosen
from dalembert.closed_loop.refinement import Refinement
from dalembert.closed_loop.stand_in import StandIn
from dalembert.closed_loop.start import regular_parameters
from dalembert.errors import EstimationError
from dalembert.identification.outcome import finish, own_scales
from dalembert.identification.prepare import Prepared, Progress, along
from dalembert.identification.problem import Estimate, Estimator, Problem, Setting, Status
from dalembert.identification.simulating import Settled
from dalembert.identification.substitution import keeping
from dalembert.identification.uncertainty import robust_covariance
from dalembert.identification.wls import Wls
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation import Status as RunStatus

__all__ = ["OutputError", "Start"]

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
class OutputError(Reenactment):
    """Parameters whose simulation gives the logged output: see :class:`Reenactment` for what it needs.

    ``start``: ``regular`` needs no values beforehand, see :func:`regular_parameters`; ``reference`` takes the robot to
    follow its reference exactly at first; ``prior`` starts from the prior's values. From ``regular`` the simulated
    gains are scaled to the estimate as long as the controller's own would not hold it.

    The first ``transient`` [s] of the reference are left out: there the true robot may still come from another state.
    A torque error above ``accept`` is not taken for a result. ``estimator`` solves each step.
    """

    start: Start = Start.REGULAR
    transient: float = 0.2
    accept: float = 0.3
    estimator: Estimator = field(default_factory=Wls)
    positions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        Reenactment.__post_init__(self)
        self._check_time("transient")
        object.__setattr__(self, "start", chosen(self.method, "start", self.start, Start))

    @property
    def observed(self) -> Callable[[Prepared], Output] | None:
        """What is refined with exact sensitivities once the steps have settled."""
        raise NotImplementedError

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        return replace(self.estimator.estimate(problem), method=self.method)

    def begin(
        self, model: Model, logs: Sequence[LogSource], signals: SignalSettings | None
    ) -> tuple[Sequence[LogSource], SignalSettings]:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        rate = as_file(self.controller).rate or RATE
        moved = [
            StandIn.of(model, log, self.check(model, log), rate, offset=self.offset, transient=self.transient)
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
                return nothing(self.method, prepared, Status.LEFT_WORKSPACE, source.lost)
        experiments = [Experiment(s.reference, s.info.rate, s.info.payload) for s in sources]
        bench = Bench(prepared, self.controller, experiments)
        attempts = Attempts(bench, [s.info.name for s in sources], self.inertia)
        estimator, limits = keeping(self.estimator, prepared.problem.constraints), Limits(self.tolerance, self.steps)
        descent = Descent(attempts, prepared, estimator, limits, progress)
        reached = descent.go(self._first(bench, prepared, estimator), scaled=self.start is Start.REGULAR)
        refinement = None
        if self.observed is not None and reached.status is Status.CONVERGED:
            refinement = Refinement(attempts, prepared, estimator, limits, self.observed, progress)
            reached = refinement.go(reached)
        if reached.estimate is None:
            return nothing(self.method, prepared, reached.status, reached.message)
        settings: dict[str, Setting] = {
            "controller": bench.file.name, "start": str(self.start), "offset": self.offset,
            "transient": self.transient, "torque_errors": descent.errors, "scaled_steps": descent.scaled_steps,
            **({} if refinement is None else {"output_errors": refinement.errors}),
        }  # fmt: skip
        steps = len(descent.errors) + (len(refinement.errors) if refinement else 0)
        return self._settled(reached, refinement.problem if refinement else None, steps, settings)

    def _settled(
        self, reached: Reached, refined: Problem | None, steps: int, settings: Mapping[str, Setting]
    ) -> Settled:
        """The result on the torques, its covariances those of the problem it was ``refined`` on."""
        found, problem = reached.estimate, reached.prepared.problem
        assert found is not None
        estimate = found if refined is None else _on_torque(problem, found)
        status, message = self._judged(reached, estimate)
        estimate = replace(
            estimate, method=self.method, status=status, message=message, iterations=steps,
            settings={**found.settings, **settings},
        )  # fmt: skip
        robust = robust_covariance(refined or problem, found) if found.status.ok else None
        return Settled(reached.prepared, estimate, robust)

    def _first(self, bench: Bench, prepared: Prepared, estimator: Estimator) -> Array:
        """Parameters (p,) of the first simulation."""
        problem = prepared.problem
        if self.start is Start.REFERENCE:
            on_reference = along(widened(prepared), stand_ins(prepared))
            return standard_values(prepared, estimator.estimate(on_reference.problem))
        if self.start is Start.REGULAR:
            if reason := bench.unscalable(self.inertia):
                raise EstimationError(
                    f"start=regular: {reason}; expected {'inertia=J,J,..., or ' if bench.scalable else ''}"
                    "start=reference"
                )
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

    def _judged(self, reached: Reached, estimate: Estimate) -> tuple[Status, str]:
        """How the last estimate is to be taken."""
        for run, source in zip(reached.runs, stand_ins(reached.prepared), strict=True):
            if run.status is RunStatus.SATURATED:  # before what it leads to
                found = f"log {source.info.name!r}: {run.reason}"
                return Status.SATURATED, f"{found}; {reached.message}" if reached.message else found
        if reached.status is not Status.CONVERGED:
            return reached.status, reached.message
        if not estimate.status.ok:
            return estimate.status, estimate.message
        if estimate.relative_error > self.accept:
            percent = 100.0 * estimate.relative_error
            return Status.UNLIKE, f"the simulated torque is {percent:.0f} % off the measured one"
        return Status.CONVERGED, ""


def _on_torque(problem: Problem, found: Estimate) -> Estimate:
    """An estimate from whatever output, with the residuals of its values on the torques along the simulated motion."""
    own = len(found.score.scales) == len(problem.factors)
    scales = found.score.scales if own else own_scales(problem)[0]
    return finish(
        found.method, problem, found.values, scales, gain=found.score.gain, rank=found.rank,
        condition=found.condition, status=(found.status, found.message), settings=found.settings,
        determined=found.determined, covariance=found.covariance, standard=found.standard,
    )  # fmt: skip
