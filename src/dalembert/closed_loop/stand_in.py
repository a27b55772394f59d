"""A log whose positions are not read: its torques are the measured ones, its motion is simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicHermiteSpline

from dalembert.errors import ClosureError, EstimationError
from dalembert.identification.problem import Status
from dalembert.logs import LogSource
from dalembert.logs.log import Block, LogInfo, sealed
from dalembert.model import Model
from dalembert.simulation import Reference, Simulation, make_reference
from dalembert.simulation.reference import Path

__all__ = ["StandIn", "reference_of", "states_at"]

Array = NDArray[np.float64]
States = tuple[Array, Array, Array]

_BLOCK = 65536
_SMALLER = 6  # halvings of a motion out of reach, after which its very start is taken to be


@dataclass(frozen=True, slots=True)
class StandIn:
    """Torques ``tau`` (n, torques) of a log with the motion of its simulated robot, ``y yd ydd`` (n, n_y).

    Sample 0 is sample ``first`` of a run along ``reference`` at the log's rate. ``measured`` (n, positions) are the
    log's own positions, which nothing here is made of, ``wanted`` those of the reference. ``lost`` says why the
    robot cannot follow the reference, empty where it can.
    """

    info: LogInfo
    reference: Reference
    first: int
    tau: Array
    measured: Array
    wanted: Array
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
        reference, lost = reference_of(model, path, offset + info.duration, rate, info.name)
        first = max(begin, math.ceil(transient * info.rate - 1e-6))
        last = min(begin + info.samples, math.floor(reference.duration * info.rate + 1e-6) + 1)
        if last - first < 2:
            raise EstimationError(
                f"log {info.name!r}: nothing is left of {info.duration:g} s after the first {transient:g} s; expected "
                "a longer log or a shorter transient"
            )
        blocks, cut = list(log.blocks(_BLOCK)), slice(first - begin, last - begin)
        tau, measured = (np.concatenate([getattr(block, name) for block in blocks])[cut] for name in ("tau", "q"))
        robot = model.robot
        info = replace(
            info, positions=tuple(robot.readings), velocities=(), accelerations=(), samples=last - first,
            start=info.start + (first - begin) * info.period,
        )  # fmt: skip
        at = np.arange(first, last) / info.rate
        nodes = reference.t - reference.t[0]
        y = CubicHermiteSpline(nodes, reference.y, reference.yd)(at)
        yd = CubicHermiteSpline(nodes, reference.yd, reference.ydd)(at)
        ydd = np.stack([np.interp(at, nodes, column) for column in reference.ydd.T], axis=1)
        return cls(
            info,
            reference,
            first,
            sealed(tau),
            sealed(measured),
            y @ robot.sensor_map().T,
            robot.sensor_map(),
            y,
            yd,
            ydd,
            lost,
        )

    def along(self, run: Simulation) -> Self:
        """The same log moved as in a simulation of its reference."""
        y, yd, ydd = states_at(run, self.first, self.info.samples, self.info.period)
        return replace(self, y=y, yd=yd, ydd=ydd)

    def cut(self, signal: Array) -> Array:
        """The samples of this log out of a simulation's signal at the log's rate."""
        return signal[self.first : self.first + self.info.samples]

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
    # a log may outlast its reference by half a tick: that sample lies in the borders of both
    at = np.minimum(every * np.arange(first, first + count), len(truth.t) - 1)
    return truth.y[at], truth.yd[at], np.gradient(truth.yd, step, axis=0)[at]


def reference_of(
    model: Model, path: Path | Reference, duration: float, rate: float, name: str
) -> tuple[Reference, str]:
    """Ticks over ``duration`` [s], and why the robot cannot follow them: then they are those of a smaller motion, which
    tells what a fit would hold.
    """
    if isinstance(path, Reference):
        if path.duration < duration - 0.5 / rate:
            raise EstimationError(f"log {name!r}: lasts {duration:g} s of its reference's {path.duration:g} s")
        return path, ""
    try:
        return make_reference(model, path, duration, rate), ""
    except ClosureError as error:
        lost = f"the reference of log {name!r} cannot be followed: {error}"
    for k in range(1, _SMALLER + 1):
        with suppress(ClosureError):
            return make_reference(model, _Smaller(path, 0.5**k), duration, rate), lost
    raise EstimationError(f"{Status.LEFT_WORKSPACE}: {lost}")


class _Smaller:
    """A path drawn together towards where it begins."""

    def __init__(self, path: Path, share: float) -> None:
        self.path, self.share, self.coordinates = path, share, getattr(path, "coordinates", None)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        (x, xd, xdd), first = self.path(t), self.path(0.0)[0]
        return first + self.share * (x - first), self.share * xd, self.share * xdd
