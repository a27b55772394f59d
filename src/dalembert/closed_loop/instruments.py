"""IDIM-IV: measured rows with instruments from a closed-loop simulation (Janot, Vandanjon and Gautier 2014).

Filtered positions leave noise in the columns of W that least squares takes for signal. The same columns along the
motion that the last estimate gives in simulation are free of it, and follow the true ones as closely as controllers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.attempts import Attempts, Simulated
from dalembert.closed_loop.bench import RATE, Bench, Experiment, as_file, path_of, standard_values
from dalembert.closed_loop.descent import moved_torque
from dalembert.closed_loop.nothing import nothing
from dalembert.closed_loop.reenactment import Reenactment
from dalembert.closed_loop.stand_in import reference_of, states_at
from dalembert.identification.iv import Iv
from dalembert.identification.prepare import Prepared, Progress, rows_along
from dalembert.identification.problem import Estimate, Problem, Status
from dalembert.identification.rows import Rows
from dalembert.identification.simulating import Settled
from dalembert.identification.substitution import keeping
from dalembert.identification.uncertainty import robust_covariance
from dalembert.identification.wls import Wls
from dalembert.logs import LogSource
from dalembert.logs.log import Block, LogInfo
from dalembert.model import Model
from dalembert.signals import SignalSettings

__all__ = ["SimulatedIv"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Accompanied:
    """A log as it was measured, with the states of its simulation."""

    info: LogInfo
    log: LogSource
    motion: tuple[Array, Array, Array]

    def blocks(self, size: int) -> Iterator[Block]:
        return self.log.blocks(size)

    def states(self, first: int, last: int) -> tuple[Array, Array, Array]:
        y, yd, ydd = self.motion
        return y[first:last], yd[first:last], ydd[first:last]


@dataclass(frozen=True, slots=True)
class SimulatedIv(Reenactment):
    """Instrumental variables from the simulated closed loop; see :class:`Reenactment` for what it needs.

    ``weighted``: row groups by their own noise, as :class:`Wls` does.
    """

    weighted: bool = True
    method: ClassVar[str] = "iv"
    positions: ClassVar[bool] = True

    @property
    def estimator(self) -> Iv:
        """What estimates from rows and instruments."""
        return Iv(self.weighted)

    def estimate(self, problem: Problem) -> Estimate:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        return self.estimator.estimate(problem)

    def begin(
        self, model: Model, logs: Sequence[LogSource], signals: SignalSettings | None
    ) -> tuple[Sequence[LogSource], SignalSettings]:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        for log in logs:
            self.check(model, log)
        return logs, signals or SignalSettings()

    def settle(self, prepared: Prepared, progress: Progress) -> Settled:
        """See :class:`~dalembert.identification.simulating.Simulating`."""
        experiments, lost = self._experiments(prepared)
        if lost:
            return nothing(self.method, prepared, Status.LEFT_WORKSPACE, lost)
        names = [run.name for run in prepared.rigid.runs]
        attempts = Attempts(Bench(prepared, self.controller, experiments), names, self.inertia)
        constraints = prepared.problem.constraints
        estimator, first = keeping(self.estimator, constraints), keeping(Wls(), constraints)
        values, before = standard_values(prepared, first.estimate(prepared.problem)), None
        last, settled, step = None, False, 0
        while step < self.steps and not settled:
            step += 1
            ways = (False, True) if before is None else (False,)  # the first estimate may not bear the true gains yet
            found = attempts.simulate(values, before, step=step, ways=ways)
            if found is None:
                break
            problem = replace(prepared.problem, instruments=self._instruments(prepared, found))
            estimate = estimator.estimate(problem)
            before, values, last = found.values, standard_values(prepared, estimate), (problem, estimate)
            error = estimate.relative_error
            progress(f"step {step}: torque error {100.0 * error:.3g} %")
            settled = not found.scaled and moved_torque(prepared, estimate, before) <= self.tolerance * error
        status, message = attempts.failure or (Status.NOT_CONVERGED, f"after {step} steps the parameters still move")
        if last is None:
            return nothing(self.method, prepared, status, message)
        problem, estimate = last
        if settled:
            status, message = estimate.status, estimate.message
        settings = {**estimate.settings, "controller": attempts.bench.file.name, "offset": self.offset}
        robust = robust_covariance(problem, estimate) if estimate.status.ok else None
        estimate = replace(estimate, status=status, message=message, iterations=step, settings=settings)
        return Settled(replace(prepared, problem=problem), estimate, robust)

    def _experiments(self, prepared: Prepared) -> tuple[list[Experiment], str]:
        """What to simulate for each log, and why one cannot be."""
        rate, found = as_file(self.controller).rate or RATE, []
        for run in prepared.rigid.runs:
            info = run.source.info
            path, duration = path_of(self.reference, run.source), self.offset + info.duration
            reference, lost = reference_of(prepared.model, path, duration, rate, info.name)
            if lost:
                return [], lost
            found.append(Experiment(reference, info.rate, info.payload))
        return found, ""

    def _instruments(self, prepared: Prepared, found: Simulated) -> Rows:
        """The problem's rows along simulated motions, sample by sample."""
        logs = []
        for simulation, run in zip(found.runs, prepared.rigid.runs, strict=True):
            info = run.source.info
            motion = states_at(simulation, round(self.offset * info.rate), info.samples, info.period)
            logs.append(_Accompanied(info, run.source, motion))
        return rows_along(prepared, logs)[1]
