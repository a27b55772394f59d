"""Logs whose torque constants are unknown: found from a weighed body first, then taken for granted.

A channel map that says ``constant: unknown`` leaves a torque in the drive's own unit. The rows get one torque column
for each such motor, :class:`DriveGains` finds the gains, and the identification goes on with torques in N m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.gains import PURE, DriveGains, Gains
from dalembert.identification.observation import LogRows, Run
from dalembert.identification.prepare import Prepared
from dalembert.identification.rows import RowBlock
from dalembert.logs import LogSource
from dalembert.logs.log import Block, LogInfo

__all__ = ["calibrated", "find_gains", "unknown_motors", "with_torques"]


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


def find_gains(prepare: Callable[[Sequence[LogSource]], Prepared], sources: Sequence[LogSource]) -> Gains | None:
    """Torque constants that logs leave open; None where they leave none open.

    Found twice: with the torques as they were logged, then with torques nearly in N m, whose noise is as the robot's.
    """
    motors = unknown_motors(sources)
    if not motors:
        return None
    first = _gains(prepare(sources), motors, weighted=False)
    calibrated_ = [calibrated(source, dict(zip(motors, first.values.tolist(), strict=True))) for source in sources]
    last = _gains(prepare(calibrated_), motors, weighted=True)
    sigma = None if last.sigma is None else np.abs(first.values) * last.sigma
    return replace(last, values=first.values * last.values, sigma=sigma)


def _gains(prepared: Prepared, motors: Sequence[str], *, weighted: bool) -> Gains:
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
    others = len(prepared.rigid.runs[0].source.info.torques) - len(motors)
    columns = {name: f"gain_{name}" for name in motors}
    gains = DriveGains(columns, known, others=others, weighted=weighted).estimate(rows, problem.base)
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


def with_torques(prepared: Prepared, motors: Sequence[str], stream: Iterator[RowBlock]) -> Iterator[RowBlock]:
    """Row blocks of a problem with the torque of each of some motors, alone, as further columns."""
    sources = [_torque_of(prepared, motor).blocks() for motor in motors]
    for block in stream:
        parts = [next(source) for source in sources]
        while parts[0].group != block.group or parts[0].run != block.run:  # a block of rows all left out
            parts = [next(source) for source in sources]
        kept = np.isin(parts[0].sample, block.sample)
        yield replace(block, W=np.column_stack([block.W, *(part.y[kept] for part in parts)]))


def _torque_of(prepared: Prepared, motor: str) -> LogRows:
    """The rigid rows with the torque of one motor alone."""
    rigid = prepared.rigid

    def alone(run: Run) -> Run:
        info = run.source.info
        factors = tuple(float(name == motor) for name in info.torques)
        return Run(_Scaled(info, run.source, factors), run.plan)

    return LogRows(
        rigid.model, (), runs=[alone(run) for run in rigid.runs], projection=rigid.projection, sigma=rigid.sigma,
        payloads=rigid.payloads, dry=rigid.dry,
    )  # fmt: skip


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
        for block in with_torques(self.prepared, self.motors, self.prepared.rows.blocks()):
            yield replace(block, y=block.y - block.W[:, -len(self.motors) :].sum(axis=1))
