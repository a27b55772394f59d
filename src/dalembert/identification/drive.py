"""Logs whose torque constants are unknown: found from a weighed body first, then taken for granted.

A channel map that says ``constant: unknown`` leaves a torque in the drive's own unit. The rows get one torque column
for each such motor, :class:`DriveGains` finds the gains, and the identification goes on with torques in N m.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.gains import PURE, DriveGains, Gains
from dalembert.identification.observation import LogRows, Run
from dalembert.identification.prepare import Prepared
from dalembert.identification.rows import RowBlock
from dalembert.logs import LogSource
from dalembert.logs.log import Block, LogInfo

__all__ = ["calibrated", "find_gains", "unknown_motors"]


def unknown_motors(sources: Sequence[LogSource]) -> tuple[str, ...]:
    """Motors whose torque constant the logs leave open, the same in all of them."""
    found = {source.info.name: source.info.unknown_gains for source in sources}
    first = next(iter(found.values()), ())
    for name, motors in found.items():
        if set(motors) != set(first):
            raise EstimationError(
                f"log {name!r}: unknown torque constants of {', '.join(motors) or 'no motor'}, expected those of the "
                f"other logs, {', '.join(first) or 'no motor'}"
            )
    return first


def find_gains(prepared: Prepared, motors: Sequence[str]) -> Gains:
    """Gains of motors from the fixed parameters of a problem that stand alone in its base set."""
    problem = prepared.problem
    resolved = problem.constraints.resolve(problem.parameters)
    known = {}
    for row, column in enumerate(problem.base.independent):
        if not np.isnan(resolved.fixed[column]) and np.abs(problem.base.K[row]).max(initial=0.0) <= PURE:
            known[problem.parameters[column]] = float(resolved.fixed[column])
    if not any(known.values()):
        raise EstimationError(
            f"the torque constants of {', '.join(motors)} are unknown: expected a weighed body, its mass fixed in the "
            "prior file (fixed: {M_tool: 5.37 kg}), and logs with and without it (--payload tool=LOG)"
        )
    rows = _GainRows(prepared, tuple(motors))
    gains = DriveGains({name: f"gain_{name}" for name in motors}, known).estimate(rows, problem.base)
    if not gains.status.ok:
        raise EstimationError(f"torque constants: {gains.message}; {gains.status.remedy}")
    return gains


def calibrated(source: LogSource, gains: Mapping[str, float]) -> LogSource:
    """A log with the torques of some motors multiplied by their gains."""
    missing = [name for name in source.info.unknown_gains if name not in gains]
    if missing:
        raise EstimationError(
            f"log {source.info.name!r}: the torque constants of {', '.join(missing)} are unknown, expected numbers in "
            "its channel map, or a fit that found them"
        )
    if not source.info.unknown_gains:
        return source
    factors = [gains[name] if name in source.info.unknown_gains else 1.0 for name in source.info.torques]
    return _Scaled(replace(source.info, unknown_gains=()), source, tuple(factors))


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A log with each torque multiplied by a factor."""

    info: LogInfo
    source: LogSource
    factors: tuple[float, ...]

    def blocks(self, size: int) -> Iterator[Block]:
        for block in self.source.blocks(size):
            yield replace(block, tau=block.tau * np.array(self.factors))


@dataclass(frozen=True, slots=True)
class _GainRows:
    """Rows of a problem with the torque of each unknown motor as a column; y is the torque of the other motors."""

    prepared: Prepared
    motors: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.prepared.rows.parameters, *(f"gain_{name}" for name in self.motors))

    @property
    def groups(self) -> tuple[str, ...]:
        return self.prepared.rows.groups

    @property
    def dof_share(self) -> float:
        return self.prepared.rows.dof_share

    def blocks(self) -> Iterator[RowBlock]:
        known = [name for name in self.prepared.model.robot.motor_names if name not in self.motors]
        sources = [self._torque_of([name]).blocks() for name in self.motors] + [self._torque_of(known).blocks()]
        for block in self.prepared.rows.blocks():
            parts = [next(source) for source in sources]
            while parts[0].group != block.group or parts[0].run != block.run:  # a block of rows all left out
                parts = [next(source) for source in sources]
            kept = np.isin(parts[0].sample, block.sample)
            *columns, y = (part.y[kept] for part in parts)
            yield replace(block, W=np.column_stack([block.W, *columns]), y=y)

    def _torque_of(self, motors: Sequence[str]) -> LogRows:
        """The rigid rows with the torque of some motors alone."""
        rigid = self.prepared.rigid

        def alone(run: Run) -> Run:
            info = run.source.info
            factors = tuple(float(name in motors) for name in info.torques)
            return Run(_Scaled(info, run.source, factors), run.plan)

        return rigid.observing([alone(run) for run in rigid.runs])
