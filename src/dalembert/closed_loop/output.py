"""What is compared with a log, torque or position, and how it answers to the parameters of the simulated robot.

The answers are central differences of whole simulations. In this loop they are as good as derivatives: parameters stay
an input of the compiled code, the integrator's steps do not depend on them, and it meets every stop and every break of
dry friction where it happens, so a simulated output is a smooth function of the parameters down to rounding.
tests/closed_loop/test_output.py measures what they are off by. Sensitivities carried along would need the derivative of
each event's time, in as many runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.closed_loop.bench import Bench
from dalembert.closed_loop.descent import stand_ins
from dalembert.errors import EstimationError
from dalembert.identification.factor import accumulate
from dalembert.identification.observation import Decimated, LogRows, Run
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import Problem
from dalembert.identification.rows import ArrayRows, RowBlock
from dalembert.simulation import Simulation

__all__ = ["Gap", "Output", "PositionOutput", "TorqueOutput", "gaps", "linearised", "slopes"]

Array = NDArray[np.float64]

# Share of the torque that a parameter's difference moves: 1e-5 and 1e-6 agree to 2e-8 on a TX40 whose joints stick; at
# 1e-4 some stops fall into another tick (4e-4), at 1e-8 rounding shows (2e-6).
_STEP = 1e-5


class Output(Protocol):
    """A signal of every log, measured and simulated alike, at the samples within the log's borders."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of its rows."""
        ...

    def measured(self, k: int) -> Array:
        """Of log number ``k`` (groups, n)."""
        ...

    def simulated(self, k: int, run: Simulation) -> Array:
        """Of a simulation of that log (groups, n)."""
        ...

    def weight(self, k: int) -> Array:
        """Of every sample in every row (groups, n): 0 where it is left out."""
        ...


def _within(run: Run) -> slice:
    return slice(run.plan.border, run.plan.border + run.plan.samples)


class TorqueOutput:
    """Torques as the problem projects them, along the motion and with the masks of a simulation."""

    def __init__(self, prepared: Prepared) -> None:
        self._rigid: LogRows = prepared.rigid
        self._sources = stand_ins(prepared)
        self.groups = self._rigid.groups
        self._left, self._weight = [], []
        names = self._rigid.model.robot.motor_names
        self._torques = [[names.index(t) for t in run.source.info.torques] for run in self._rigid.runs]
        for run in self._rigid.runs:
            parts = [(self._rigid.left(state), self._rigid.weights(s)) for s, state in self._rigid.motion(run)]
            self._left.append(np.concatenate([left for left, _ in parts], axis=1))
            self._weight.append(np.concatenate([weight for _, weight in parts], axis=1))

    def measured(self, k: int) -> Array:
        """See :class:`Output`."""
        return self._projected(k, self._sources[k].tau)

    def simulated(self, k: int, run: Simulation) -> Array:
        """See :class:`Output`."""
        return self._projected(k, self._sources[k].cut(run.log.tau))

    def weight(self, k: int) -> Array:
        """See :class:`Output`."""
        return self._weight[k]

    def _projected(self, k: int, tau: Array) -> Array:
        return self._rigid.projected(self._left[k], tau[_within(self._rigid.runs[k])], self._torques[k])


class PositionOutput:
    """How far motors and further sensors are off their reference: the share of a position that the robot decides."""

    def __init__(self, prepared: Prepared) -> None:
        self._runs, self._sources = prepared.rigid.runs, stand_ins(prepared)
        self.groups = self._sources[0].info.positions

    def measured(self, k: int) -> Array:
        """See :class:`Output`."""
        return self._off(k, self._sources[k].measured)

    def simulated(self, k: int, run: Simulation) -> Array:
        """See :class:`Output`."""
        return self._off(k, self._sources[k].cut(run.log.q))

    def weight(self, k: int) -> Array:
        """See :class:`Output`."""
        return np.ones((len(self.groups), self._runs[k].plan.samples))

    def _off(self, k: int, q: Array) -> Array:
        return (q - self._sources[k].wanted)[_within(self._runs[k])].T


@dataclass(frozen=True, slots=True)
class _Kept:
    """Rows of one group of one log once decimated: numbers ``sample`` (m,), ``values`` (signals, m)."""

    sample: NDArray[np.int64]
    values: Array


def _decimated(run: Run, signals: Array, weight: Array) -> _Kept:
    low = Decimated(run.plan)
    parts = [*low.push(signals, weight), *low.finish()]
    if not parts:
        return _Kept(np.zeros(0, dtype=np.int64), np.zeros((len(signals), 0)))
    return _Kept(np.concatenate([s for s, _ in parts]), np.concatenate([v for _, v in parts], axis=1))


def slopes(bench: Bench, prepared: Prepared, values: Array, output: Output, share: float = _STEP) -> list[list[Array]]:
    """Derivative of an output by the base parameters: by log and row group (kept parameters, m), once decimated.

    Each parameter is moved up and down so far that ``share`` of the torque moves.
    """
    problem = prepared.problem
    size = np.sqrt(sum(np.sum(factor.R**2, axis=0) for factor in problem.factors))

    def difference(column: int) -> list[Array]:
        step = np.zeros_like(values)
        step[column] = share * size[-1] / size[column]
        up, down = bench.run(values + step), bench.run(values - step)
        for run in (*up, *down):
            if not run.completed:
                name = problem.parameters[column]
                raise EstimationError(f"the simulation does not bear a small change of {name}: {run.reason}")
        return [
            (output.simulated(k, up[k]) - output.simulated(k, down[k])) / (2.0 * step[column]) for k in range(len(up))
        ]

    def kept(column: int) -> list[list[Array]]:
        """Decimated at once: whole signals of all parameters together may not fit in memory."""
        return [
            [
                _decimated(run, signal[None], weight).values[0]
                for signal, weight in zip(signals, output.weight(k), strict=True)
            ]
            for k, (run, signals) in enumerate(zip(prepared.rigid.runs, difference(column), strict=True))
        ]

    # the compiled loop lets go of Python's lock; a controller in Python has one state for all runs
    with ThreadPoolExecutor(max_workers=os.cpu_count() if bench.scalable else 1) as pool:
        columns = list(pool.map(kept, problem.kept))
    return [
        [np.array([column[k][g] for column in columns]) for g in range(len(output.groups))]
        for k in range(len(prepared.rigid.runs))
    ]


@dataclass(frozen=True, slots=True)
class Gap:
    """Measured less simulated output of one log and row group, decimated; ``size`` is the measured one's norm."""

    kept: _Kept
    size: float


def gaps(prepared: Prepared, runs: Sequence[Simulation], output: Output) -> list[list[Gap]]:
    """What simulations leave of an output, by log and row group."""
    found = []
    for k, run in enumerate(prepared.rigid.runs):
        measured, simulated = output.measured(k), output.simulated(k, runs[k])
        pairs = [
            _decimated(run, np.stack([m - s, m]), weight)
            for m, s, weight in zip(measured, simulated, output.weight(k), strict=True)
        ]
        found.append([Gap(_Kept(p.sample, p.values[0]), float(np.linalg.norm(p.values[1]))) for p in pairs])
    return found


def linearised(bench: Bench, prepared: Prepared, values: Array, output: Output, left: list[list[Gap]]) -> Problem:
    """The problem ``measured - simulated + J beta = J beta'`` of a Gauss-Newton step from ``values`` (p,)."""
    problem = prepared.problem
    B = problem.base_map()
    answers = slopes(bench, prepared, values, output)
    blocks = []
    for k, run in enumerate(prepared.rigid.runs):
        for g, gap in enumerate(left[k]):
            W = answers[k][g].T @ B  # columns of parameters that only count in combination answer with them
            blocks.append(RowBlock(np.asfortranarray(W), gap.kept.values + W @ values, g, gap.kept.sample, run.name))
    share = problem.rows.dof_share if isinstance(output, TorqueOutput) else 1.0
    rows = ArrayRows(tuple(problem.parameters), output.groups, tuple(blocks), share)
    return replace(problem, rows=rows, factors=accumulate(rows))
