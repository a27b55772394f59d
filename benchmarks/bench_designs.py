"""A design for every robot of the catalog, its limits checked by other means than the design's own."""

from __future__ import annotations

import sys
import time

import numpy as np

from dalembert.excitation import Design, Effort, Hemisphere, Limits, Workspace, design_excitation
from dalembert.excitation.constraints.assemble import default_margin
from dalembert.model import Model, build_model
from dalembert.motion import Closer, singularity_margins
from dalembert.robot import Robot, catalog_names, load_robot

TITLE = (
    "designs within 2 minutes; limits and margins of the whole run, entry and exit too, at 10 x the grid searched on"
)

_EFFORT = Effort(starts=4, budget=20.0)
# in the task space: the platform and, as it is redundant, the slides
_PLANNED = {"3prrr": ("pose.x", "pose.y", "pose.angle", "zeta1", "zeta2", "zeta3")}


def limits_of(robot: Robot) -> Limits:
    """The robot's own; for the Delta the hemisphere of [Gnad24, figure 2] as well."""
    limits = Limits.of(robot)
    if robot.name != "delta":
        return limits
    return limits.widened(workspace=(Workspace(Hemisphere((0.0, 0.0, -0.8), 0.3)),))


def dense_check(design: Design) -> tuple[int, float, str]:
    """Limits checked, the largest share of one that is used, and which: loops followed from home, nominal torques."""
    model, limits = design.model, design.limits
    robot = model.robot
    begin, end = design.ride.record
    step = design.family.duration / (100.0 * max(design.family.corners, 4))
    t = np.arange(0.5 * step, design.duration, step)  # between the points the design was checked at
    x = design.ride.derivatives(t)
    motion = Closer(model, given="independent").motion(*x[:3], t)
    rows = {name: robot.linear_map([((name, 1.0),)])[0] for name in robot.coordinates}
    rows |= dict(zip(robot.motor_names, robot.motor_map(), strict=True))
    used: dict[str, float] = {}
    shares = limits.shares
    for name, limit in limits.motion.items():
        q, qd, qdd = (part @ rows[name] for part in (motion.y, motion.yd, motion.ydd))
        if np.isfinite(limit.upper - limit.lower):
            middle, half = (limit.upper + limit.lower) / 2.0, (limit.upper - limit.lower) / 2.0
            used[f"position of {name}"] = float(np.abs(q - middle).max()) / (half * shares.position)
        used[f"velocity of {name}"] = float(np.abs(qd).max()) / (limit.velocity * shares.velocity)
        used[f"acceleration of {name}"] = float(np.abs(qdd).max()) / (limit.acceleration * shares.acceleration)
        if np.isfinite(limit.jerk):
            jerk = np.gradient(qdd, step)[(t > begin) & (t < end)][2:-2]
            used[f"jerk of {name}"] = float(np.abs(jerk).max()) / (limit.jerk * shares.jerk)
    if limits.torque and set(model.parameters) <= set(robot.nominal):
        tau = model.inverse_dynamics(motion.y, motion.yd, motion.ydd)
        for name, bound in limits.torque.items():
            peak = float(np.abs(tau[:, robot.motor_names.index(name)]).max())
            used[f"torque of {name}"] = peak / (bound * shares.torque)
    for entry in limits.workspace:
        body = robot.body_names.index(entry.body or robot.platform)
        poses = np.asarray(model.poses_kernel()(motion.y)["poses"])[:, body]
        apart = poses[:, 9:] + poses[:, :9].reshape(-1, 3, 3) @ np.array(entry.point) - np.array(entry.region.centre)
        used["radius of the hemisphere"] = float(np.linalg.norm(apart, axis=1).max()) / entry.region.radius
        used["plane of the hemisphere"] = 1.0 - float((apart @ np.array(entry.region.axis)).min())
    used = {name: share for name, share in used.items() if share > 0.0}
    worst = max(used, key=lambda name: used[name])
    return len(used), used[worst], worst


def margins(design: Design) -> dict[str, str]:
    """Least singular values kept along the run over those asked for, by the singularity measures of ``motion``."""
    asked = design.limits.singularity or default_margin(design.model)
    t = np.linspace(0.0, design.duration, 4000)
    y = Closer(design.model, given="independent").positions(design.ride.derivatives(t)[0], t)
    kept = singularity_margins(design.model, y)
    pairs = {"closure": (asked.closure, kept.closure), "motors": (asked.motors, kept.motors)}
    return {name: f"{value.min():.3g} of {bound:.3g}" for name, (bound, value) in pairs.items() if bound is not None}


def designed(name: str) -> tuple[Design, float, float]:
    """The design of a catalog robot, with the wall and processor seconds from the description to the result."""
    begun, used = time.perf_counter(), time.process_time()
    robot = load_robot(name)
    model: Model = build_model(robot, independent=_PLANNED.get(name, ()))
    design = design_excitation(model, limits=limits_of(robot), effort=_EFFORT)
    return design, time.perf_counter() - begun, time.process_time() - used


def run(names: tuple[str, ...] = ()) -> list[dict[str, object]]:
    """One row per robot."""
    rows = []
    for name in names or catalog_names():
        design, wall, cpu = designed(name)
        count, share, worst = dense_check(design)
        kept = margins(design)
        rows.append(
            {
                "robot": name,
                "in": ", ".join(design.coordinates),
                "s": round(wall, 1),
                "CPU s": round(cpu, 1),
                "starts": design.search.starts,
                "logdet": round(-design.value, 1),
                "base": len(design.parameters),
                "hidden": len(design.hidden),
                "limits": count,
                "most used": f"{100.0 * share:.2f} % {worst}",
                "violated": int(share > 1.0 + 1e-9),
                "closure": kept.get("closure", ""),
                "motors": kept.get("motors", ""),
                "rest to rest": "yes" if not any("rest at home found" in n for n in design.notes) else "no",
            }
        )
    return rows


if __name__ == "__main__":
    for one in sys.argv[1:] or catalog_names():
        print(run((one,))[0], flush=True)
