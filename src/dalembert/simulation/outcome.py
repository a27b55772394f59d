"""From recorded arrays to the outcome of a simulation: truth, status, log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.logs import Log, make_log
from dalembert.model import Model
from dalembert.simulation.options import Options
from dalembert.simulation.reference import Reference
from dalembert.simulation.result import Simulation, Status, Truth, status_of
from dalembert.simulation.setup import Fault

__all__ = ["judge", "truth_of", "unreachable"]

Array = NDArray[np.float64]

_SATURATED = 0.005  # share of the samples with a motor at its limit, above which a run is called saturated
_LOST = 0.2  # [rad or m] off the reference when a loop opens: the controller lost the robot before


def truth_of(model: Model, kept: dict[str, Array], rate: float, reference: Reference, follows: bool) -> Truth:
    """The motion behind recorded ``y v vd tau e``; of a robot that ``follows``, up to where it leaves the reference
    altogether.
    """
    n = len(kept["y"])
    rates = model.motion_kernel()(kept["y"], kept["v"], kept["vd"])
    t = reference.t[0] + np.arange(n) / rate
    wanted = np.stack([np.interp(t, reference.t, column) for column in reference.q.T], axis=1)
    q = kept["y"] @ model.robot.motor_map().T
    trusted = _trusted(q, wanted) if follows else n
    fields = (t, kept["y"], rates["yd"], rates["ydd"], kept["v"], kept["vd"], kept["tau"], q, wanted, kept["e"])
    return Truth(*(_sealed(f, trusted) for f in fields))


def _trusted(q: Array, wanted: Array) -> int:
    """Samples before the motors are further from the reference than its own span and 1 rad or m."""
    if not len(q):
        return 0
    reach = 1.0 + np.ptp(wanted, axis=0)
    near = np.abs(q - wanted) < reach
    return len(q) if near.all() else int(np.argmin(near.all(axis=1)))


def _sealed(array: Array, n: int) -> Array:
    out = np.ascontiguousarray(array[:n])
    out.setflags(write=False)
    return out


def judge(truth: Truth, fault: Fault, saturated: int, samples: int, rate: float) -> tuple[Status, str]:
    """How a run of ``samples`` ended, and in words where."""
    if fault or len(truth.t) < samples:
        lost = len(truth.t) and np.abs(truth.error[-1]).max() > _LOST
        status = status_of(fault)
        if not fault or (fault in (Fault.OPEN, Fault.SINGULAR) and lost):
            status = Status.DIVERGED
        at = float(truth.t[-1]) if len(truth.t) else 0.0
        return status, f"ended after {at:.6g} s of {(samples - 1) / rate:.6g} s"
    cut = f"a motor was at its torque limit in {100.0 * saturated / samples:.2g} % of the samples" if saturated else ""
    return (Status.SATURATED if saturated > _SATURATED * samples else Status.OK), cut


def unreachable(model: Model, reason: str, options: Options, name: str) -> Simulation:
    """The outcome of a reference that cannot be followed: no samples."""

    def none(k: int) -> Array:
        return np.zeros((0, k))

    n, ny, r = model.n, model.n_y, model.r
    truth = Truth(np.zeros(0), none(ny), none(ny), none(ny), none(r), none(r), none(n), none(n), none(n), none(2))
    log: Log = make_log(
        model.robot,
        options.log_rate or options.control_rate,
        none(len(model.robot.readings)),
        none(n - len(model.robot.unmeasured)),
        name=name,
    )
    return Simulation(Status.LEFT_WORKSPACE, reason, log, truth, {}, False)
