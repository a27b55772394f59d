"""What a simulation gives back: how it ended, the log, the truth behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dalembert.logs import Log
from dalembert.simulation.setup import Fault

__all__ = ["REMEDIES", "Simulation", "Status", "Truth", "status_of"]

Array = NDArray[np.float64]


class Status(StrEnum):
    """How a simulation ended."""

    OK = "ok"
    SATURATED = "saturated"  # finished, but motors were at their limits
    DIVERGED = "diverged"
    SINGULAR = "singular"
    LEFT_WORKSPACE = "left workspace"
    STIFF = "stiff"


REMEDIES: Mapping[Status, str] = {
    Status.OK: "",
    Status.SATURATED: "slow the reference down, lighten the payload or raise the torque limits; or lower the "
    "controller's bandwidth, if it shakes the robot",
    Status.DIVERGED: "lower the controller's bandwidth, raise its rate, filter its derivative less, or take more steps",
    Status.SINGULAR: "keep the reference away from singular configurations, or choose other independent coordinates",
    Status.LEFT_WORKSPACE: "make the reference smaller, move its centre towards home, or check the robot's home",
    Status.STIFF: "loosen the tolerance, or lower stiffness and damping of the robot's efforts",
}
_STATUS: Mapping[Fault, Status] = {
    Fault.DIVERGED: Status.DIVERGED,
    Fault.SINGULAR: Status.SINGULAR,
    Fault.OPEN: Status.LEFT_WORKSPACE,
    Fault.STIFF: Status.STIFF,
}


def status_of(fault: Fault) -> Status:
    """The status a failed step ends a simulation with."""
    return _STATUS.get(fault, Status.OK)


@dataclass(frozen=True, slots=True)
class Truth:
    """The simulated motion at every sample: times ``t`` (n,) [s], tree coordinates ``y yd ydd`` (n, n_y), independent
    ``v vd`` (n, r), torques ``tau`` (n, n_motors) held from the sample on, motor positions ``q`` and reference
    ``q_reference`` (n, n_motors), and ``work`` (n, 2) [J] done since the start: by the motors, and taken by friction
    and user-written laws.
    """

    t: Array
    y: Array
    yd: Array
    ydd: Array
    v: Array
    vd: Array
    tau: Array
    q: Array
    q_reference: Array
    work: Array

    @property
    def error(self) -> Array:
        """Tracking error of the motors (n, n_motors)."""
        return self.q_reference - self.q


@dataclass(frozen=True, slots=True)
class Simulation:
    """Outcome of a run. All numbers are finite: a failed run holds the samples before the failure.

    ``reason`` says what happened and where, of a run that is ok how often torques were cut; ``remedy`` what to do.
    ``counts``: integrator ``steps``, ``rejected`` ones, dry-friction ``events`` met, and ``chatter``: steps that ended
    with more events than are met one by one.
    """

    status: Status
    reason: str
    log: Log
    truth: Truth
    counts: Mapping[str, int]
    compiled: bool

    @property
    def remedy(self) -> str:
        """What to do about the status, empty when it is ok."""
        return REMEDIES[self.status]

    @property
    def completed(self) -> bool:
        """True when the run reached its end."""
        return self.status in (Status.OK, Status.SATURATED)
