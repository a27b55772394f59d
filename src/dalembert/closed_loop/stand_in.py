"""A log whose positions are not read: its torques are the measured ones, its motion is simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from dalembert.errors import ClosureError, EstimationError
from dalembert.logs import LogSource
from dalembert.logs.log import Block, LogInfo, sealed
from dalembert.model import Model
from dalembert.simulation import Reference, Simulation, make_reference
from dalembert.simulation.reference import Path

__all__ = ["StandIn", "reference_of", "states_at"]

Array = NDArray[np.float64]
States = tuple[Array, Array, Array]

_BLOCK = 65536
_LEAST = 0.1  # share of a log its reference must reach for anything to be said about it


@dataclass(frozen=True, slots=True)
class StandIn:
    """Torques ``tau`` (n, torques) of a log with the motion of its simulated robot, ``y yd ydd`` (n, n_y).

    Sample 0 is sample ``first`` of a run along ``reference`` at the log's rate. ``lost`` says where the robot cannot
    follow the reference any more; the log ends there.
    """

    info: LogInfo
    reference: Reference
    first: int
    tau: Array
    sensors: Array
    y: Array
    yd: Array
    ydd: Array
    lost: str = ""

    @classmethod
    def of(
        cls, model: Model, log: LogSource, path: Path | Reference, rate: float, *, offset: float, transient: float
    ) -> Self:
        """Before any simulation: the robot exactly on its reference.

        The log's first sample is at ``offset`` [s] of the reference, ticks come at ``rate`` [Hz]; the first
        ``transient`` [s] of the reference are left out.
        """
        info = log.info
        begin = round(offset * info.rate)
        if abs(begin - offset * info.rate) > 1e-6:
            raise EstimationError(
                f"log {info.name!r}: offset {offset} s, expected a whole number of samples of {info.period:g} s"
            )
        reference, lost = reference_of(model, path, offset + info.duration, rate, info.name)
        first = max(begin, math.ceil(transient * info.rate - 1e-6))
        last = min(begin + info.samples, math.floor(reference.duration * info.rate + 1e-6) + 1)
        if last - first < 2:
            raise EstimationError(
                f"log {info.name!r}: nothing is left of {info.duration:g} s after the first {transient:g} s; expected "
                "a longer log or a shorter transient"
            )
        tau = np.concatenate([block.tau for block in log.blocks(_BLOCK)])[first - begin : last - begin]
        robot = model.robot
        positions = (*robot.motor_names, *(s.name for s in robot.sensors))
        info = replace(
            info, positions=positions, velocities=(), accelerations=(), samples=last - first,
            start=info.start + (first - begin) * info.period,
        )  # fmt: skip
        at = np.arange(first, last) / info.rate
        nodes = reference.t - reference.t[0]
        y = CubicHermiteSpline(nodes, reference.y, reference.yd)(at)
        yd = CubicHermiteSpline(nodes, reference.yd, reference.ydd)(at)
        ydd = np.stack([np.interp(at, nodes, column) for column in reference.ydd.T], axis=1)
        return cls(info, reference, first, sealed(tau), robot.sensor_map(), y, yd, ydd, lost)

    def along(self, run: Simulation) -> Self:
        """The same log moved as in a simulation of its reference."""
        y, yd, ydd = states_at(run, self.first, self.info.samples, self.info.period)
        return replace(self, y=y, yd=yd, ydd=ydd)

    def states(self, first: int, last: int) -> States:
        """See :class:`~dalembert.identification.observation.KnownMotion`."""
        return self.y[first:last], self.yd[first:last], self.ydd[first:last]

    def blocks(self, size: int) -> Iterator[Block]:
        """Samples with the simulated positions and the measured torques."""
        for first in range(0, self.info.samples, size):
            part = slice(first, min(first + size, self.info.samples))
            q = self.y[part] @ self.sensors.T
            yield Block(first, self.info.times(part.start, part.stop), sealed(q), self.tau[part])


def states_at(run: Simulation, first: int, count: int, period: float) -> States:
    """States of ``count`` samples of a simulation, the first of them number ``first``, every ``period`` [s].

    The acceleration is the mean around the sample, as the logged torque is: both jump at the controller's ticks.
    """
    truth = run.truth
    step = float(truth.t[1] - truth.t[0])
    every = round(period / step)
    at = every * np.arange(first, first + count)
    return truth.y[at], truth.yd[at], np.gradient(truth.yd, step, axis=0)[at]


def reference_of(
    model: Model, path: Path | Reference, duration: float, rate: float, name: str
) -> tuple[Reference, str]:
    """Ticks over ``duration`` [s]: those the robot can reach, and why not the others; refused where too few."""
    if isinstance(path, Reference):
        if path.duration < duration - 0.5 / rate:
            raise EstimationError(f"log {name!r}: lasts {duration:g} s of its reference's {path.duration:g} s")
        return path, ""
    try:
        return make_reference(model, path, duration, rate), ""
    except ClosureError as error:
        reached = _reached(model, path, duration, rate)
        if reached is None:
            raise EstimationError(f"log {name!r}: left workspace: the reference cannot be followed: {error}") from None
        return reached, f"the reference of log {name!r} cannot be followed after {reached.duration:.4g} s: {error}"


def _reached(model: Model, path: Path, duration: float, rate: float) -> Reference | None:
    """The longest stretch of a reference from its start that can be followed, to a hundredth of its duration."""
    found = None
    low, high = 0.0, duration
    while high - low > 0.01 * duration:
        middle = 0.5 * (low + high)
        try:
            found, low = make_reference(model, path, middle, rate), middle
        except ClosureError:
            high = middle
    return found if low > _LEAST * duration else None
