"""The steps of DIDIM: simulate, estimate along the simulated motion, until the torque error stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.attempts import Attempts
from dalembert.closed_loop.bench import standard_values
from dalembert.closed_loop.stand_in import StandIn
from dalembert.identification.prepare import Prepared, Progress, along
from dalembert.identification.problem import Estimate, Estimator, Status
from dalembert.signals import SlowMask
from dalembert.simulation import Simulation

__all__ = ["Descent", "Limits", "Reached", "moved", "moved_torque", "stand_ins", "widened"]

Array = NDArray[np.float64]

FAR = 0.1  # share of the largest speed masked while the motion is still off
_EXACT = 1e-6  # relative torque error at which nothing is left to settle
_WORSE = 1.5  # times the error of scaled gains that the controller's own may leave: true ones leave less of it
_SLOW = 0.5  # share of the error a step with scaled gains leaves before the controller's own are tried


@dataclass(frozen=True, slots=True)
class Limits:
    """When steps end: ``tolerance`` of relative changes, at most so many ``steps``."""

    tolerance: float
    steps: int


@dataclass(frozen=True, slots=True)
class Reached:
    """Where steps ended. ``values`` (p,) are those of ``estimate``; ``runs`` the last simulations.

    Without an ``estimate`` the first simulation failed already.
    """

    status: Status
    message: str
    prepared: Prepared
    values: Array
    estimate: Estimate | None = None
    runs: tuple[Simulation, ...] = ()


@dataclass
class Descent:
    """Steps on one problem; ``errors`` are the relative torque errors of all so far, the first ``scaled_steps`` of them
    with scaled gains.

    Far from the robot the simulated controller has scaled gains. Once the error falls slowly each step tries the
    controller's own, and stays with them when the simulation comes to its end.
    """

    attempts: Attempts
    prepared: Prepared
    estimator: Estimator
    limits: Limits
    progress: Progress
    errors: list[float] = field(default_factory=list)
    scaled_steps: int = 0

    def go(self, values: Array, *, scaled: bool) -> Reached:
        """From parameters ``values`` (p,), at first with scaled gains or with the controller's own."""
        at = Reached(Status.NOT_CONVERGED, "", self.prepared, values)
        before: Array | None = None
        for step in range(1, self.limits.steps + 1):
            own = [False] if not scaled or self._slow() else []
            ways = [*own, *([True] if scaled or before is None else [])]
            found = self.attempts.simulate(values, before, step=step, ways=ways)
            if found is None:
                return self._failed(at)
            before, scaled = found.values, found.scaled
            prepared = along(widened(self.prepared) if scaled else self.prepared, moved(self.prepared, found.runs))
            estimate = self.estimator.estimate(prepared.problem)
            values = standard_values(prepared, estimate)
            self.errors.append(estimate.relative_error)
            at = Reached(Status.NOT_CONVERGED, "", prepared, values, estimate, found.runs)
            if scaled:
                self.scaled_steps += 1
            percent = 100.0 * estimate.relative_error
            self.progress(f"step {step}{', scaled gains' if scaled else ''}: torque error {percent:.3g} %")
            if self._settled(at, before) and (not scaled or self.attempts.failure):
                return self._failed(at) if scaled else self._compared(at)
        tail = ", ".join(f"{100.0 * error:.3g} %" for error in self.errors[-3:])
        return replace(at, message=f"after {self.limits.steps} steps the torque error still moves: {tail}")

    def _compared(self, at: Reached) -> Reached:
        """Settled, unless gains that only fit the estimate explained the log better than the controller's own do."""
        if self.scaled_steps:
            best = min(self.errors[: self.scaled_steps])
            wide = along(widened(self.prepared), stand_ins(at.prepared))
            error = self.estimator.estimate(wide.problem).relative_error
            if error > max(_WORSE * best, _EXACT):
                message = (
                    f"with the controller's gains the torque error is {100.0 * error:.3g} %, with gains scaled to the "
                    f"estimate it was {100.0 * best:.3g} %: the gains do not seem to be the log's"
                )
                return replace(at, status=Status.UNLIKE, message=message)
        return replace(at, status=Status.CONVERGED)

    def _failed(self, at: Reached) -> Reached:
        assert self.attempts.failure is not None
        status, message = self.attempts.failure
        kept = "" if at.estimate is None else f"; the values are those of step {len(self.errors)}"
        return replace(at, status=status, message=message + kept)

    def _slow(self) -> bool:
        """True once the last step left most of the error."""
        return len(self.errors) > 1 and self.errors[-1] > _SLOW * self.errors[-2]

    def _settled(self, at: Reached, before: Array) -> bool:
        """True when neither the error nor the torque the parameters give moved [Gautier11, eq. 26, absolute values]."""
        error = self.errors[-1]
        if error <= _EXACT:
            return True
        if len(self.errors) < 2 or at.estimate is None:
            return False
        still = abs(error - self.errors[-2]) <= self.limits.tolerance * self.errors[-2]
        return still and moved_torque(at.prepared, at.estimate, before) <= self.limits.tolerance


def moved_torque(prepared: Prepared, estimate: Estimate, before: Array) -> float:
    """Torque that the step from parameters ``before`` (p,) to an estimate adds, relative to the measured one."""
    problem = prepared.problem
    after = standard_values(prepared, estimate)
    R = problem.weighted(estimate.score.scales)
    return float(np.linalg.norm(R[:, :-1] @ (after - before)) / np.linalg.norm(R[:, -1]))


def stand_ins(prepared: Prepared) -> tuple[StandIn, ...]:
    """The simulated logs of a problem."""
    return tuple(cast("StandIn", run.source) for run in prepared.rigid.runs)


def widened(prepared: Prepared) -> Prepared:
    """The problem with wider masks around the reversals of its logs, for motions that are still off the true one.

    Where the simulated robot turns back before or after the true one, its dry friction has the wrong sign: near the end
    of a stroke a lag of microns is enough. On an Orthoglide that alone made 20 % of torque error, and steps diverge.
    """
    runs = []
    for run, source in zip(prepared.rigid.runs, stand_ins(prepared), strict=True):
        fastest = np.abs(source.yd @ source.sensors.T).max(axis=0)
        settings = run.plan.settings
        settings = replace(settings, mask=settings.mask or SlowMask(0.0, "absolute"))
        plan = replace(run.plan, slow=np.maximum(run.plan.slow, FAR * fastest), settings=settings)
        runs.append(replace(run, plan=plan))
    return replace(prepared, rigid=prepared.rigid.observing(runs))


def moved(prepared: Prepared, runs: tuple[Simulation, ...]) -> list[StandIn]:
    """The logs of a problem, moved as in simulations."""
    return [source.along(run) for source, run in zip(stand_ins(prepared), runs, strict=True)]
