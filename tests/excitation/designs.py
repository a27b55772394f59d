"""Designs the tests share, and a check of their limits by other means than the design's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.excitation.robots import model_of

from dalembert.excitation import (
    BSpline,
    Design,
    Effort,
    Fourier,
    FourierPolynomial,
    Hemisphere,
    Limits,
    PointToPoint,
    Workspace,
    design_excitation,
)
from dalembert.excitation.family import Family
from dalembert.motion import Closer

QUICK = Effort(starts=1, budget=1e9, iterations=15, threads=1)  # the same motion every time
FAMILIES: dict[str, Family] = {
    "fourier": Fourier(2, 3.0),
    "fourier-polynomial": FourierPolynomial(3, 4.0),
    "b-spline": BSpline(6, 4.0),
    "point-to-point": PointToPoint(3, 8.0, dwell=0.1),
}


def limits_of(name: str) -> Limits:
    """The robot's own; the crane's tip stays in a half disc as well."""
    limits = Limits.of(model_of(name).robot)
    if name != "crane":
        return limits
    return limits.widened(workspace=(Workspace(Hemisphere((0.0, 0.42, 0.0), 0.2, (0.0, 1.0, 0.0)), "tip"),))


def designed(name: str, **options: Any) -> Design:
    """A quick design with other options than :func:`design_of`."""
    settings: dict[str, Any] = {"effort": QUICK, "limits": limits_of(name)} | options
    return design_excitation(model_of(name), settings.pop("family", FAMILIES["fourier"]), **settings)


@cache
def design_of(name: str, family: str = "fourier") -> Design:
    """A quick design of one of the robots, made once."""
    return designed(name, family=FAMILIES[family])


def used(design: Design, finer: int = 10) -> dict[str, float]:
    """Share of every limit used along the whole run, entry and exit too: at ``finer`` times the grid searched on, half a
    step off, the loops followed from home.
    """
    model, limits = design.model, design.limits
    robot, shares = model.robot, limits.shares
    step = design.family.duration / (10 * max(design.family.corners, 4) * finer)
    t = np.arange(0.5 * step, design.duration, step)
    x, xd, xdd, _ = design.ride.derivatives(t)
    m = Closer(model, given="independent").motion(x, xd, xdd, t)
    rows = {name: robot.linear_map([((name, 1.0),)])[0] for name in robot.coordinates}
    rows |= dict(zip(robot.motor_names, robot.motor_map(), strict=True))
    begin, end = design.ride.record
    out: dict[str, float] = {}
    for name, limit in limits.motion.items():
        q, qd, qdd = (part @ rows[name] for part in (m.y, m.yd, m.ydd))
        if np.isfinite(limit.upper - limit.lower):
            middle, half = (limit.upper + limit.lower) / 2.0, (limit.upper - limit.lower) / 2.0
            out[f"position of {name}"] = np.abs(q - middle).max() / (half * shares.position)
        out[f"velocity of {name}"] = np.abs(qd).max() / (limit.velocity * shares.velocity)
        out[f"acceleration of {name}"] = np.abs(qdd).max() / (limit.acceleration * shares.acceleration)
        if np.isfinite(limit.jerk):
            out[f"jerk of {name}"] = _jerk(qdd, t, (begin, end)) / (limit.jerk * shares.jerk)
    tau = np.abs(model.inverse_dynamics(m.y, m.yd, m.ydd)).max(axis=0)
    for name, bound in limits.torque.items():
        out[f"torque of {name}"] = tau[robot.motor_names.index(name)] / (bound * shares.torque)
    for entry in limits.workspace:
        where = robot.body_names.index(entry.body)
        apart = np.asarray(model.poses_kernel()(m.y)["poses"])[:, where, 9:] - np.array(entry.region.centre)
        out["radius of the workspace"] = np.linalg.norm(apart, axis=1).max() / entry.region.radius
        out["plane of the workspace"] = 1.0 - (apart @ np.array(entry.region.axis)).min()
    return {name: float(share) for name, share in out.items()}


def _jerk(qdd: np.ndarray, t: np.ndarray, record: tuple[float, float]) -> float:
    """Largest jerk by differences, piece by piece: it jumps where they meet."""
    found = [0.0]
    for low, high in ((0.0, record[0]), record, (record[1], np.inf)):
        inside = qdd[(t > low) & (t < high)]
        if len(inside) > 2:
            found.append(float(np.abs(np.diff(inside)).max() / (t[1] - t[0])))
    return max(found)
