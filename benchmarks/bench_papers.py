"""Designed motions beside those the papers recorded, on the papers' robots: same duration, same limits, same noise.

Orthoglide [Guegan03, section 5.1]: of 100 trajectories between random positions of the drives the 10 of best condition
number, at the speed the limits allow. 3PRRR [Fontes17, section 3]: the slides to one side, to the other and back with
the cranks fixed, then five squares with the slides blocked, each turned 10 degrees more (figure 3), as far and as fast
as the limits allow. Legs are tied, as in both papers.

Total variance: sum over the base parameters, relative to their values (A) and in SI units; of torque predicted for
other motions (V); and the volume of the confidence ellipsoid as a mean factor on the variances (D). Expected values,
for torque noise of 2 % of the RMS torque of random motions at 1 kHz.

    python benchmarks/bench_papers.py [orthoglide] [3prrr]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.excitation import Effort, Fourier, Limits, Noise, criterion_of, design_excitation
from dalembert.excitation.belief import beliefs_of
from dalembert.excitation.criteria import condition_number
from dalembert.excitation.information import Information
from dalembert.excitation.states import Motion
from dalembert.excitation.task import Task
from dalembert.model import Model, build_model
from dalembert.motion import Closer
from dalembert.robot import load_robot
from dalembert.simulation.trajectories import (
    MOTORS,
    Moves,
    follower_of,
    home_of,
    move_times,
    moves,
    random_points,
    rotated_squares,
)

TITLE = "total predicted variance of the papers' motions over that of designed ones, equal duration and limits"
Array = NDArray[np.float64]

_RATE = 1000.0  # of the noise
_FINE = 500.0  # [Hz] samples of a paper's motion
_CANDIDATES, _KEPT, _POINTS = 100, 10, 12
_PERIOD, _HARMONICS = 4.0, 10  # of the designed motion


@dataclass(frozen=True)
class Told:
    """What motions tell of the base parameters: information (b, b) of all of them, and how long they take [s]."""

    information: Array
    seconds: float


def informed(information: Information, y: Array, yd: Array, ydd: Array, noise: Noise) -> Array:
    """Information of a motion sampled at ``_FINE``, as recorded at the rate of the noise."""
    nothing = np.zeros((len(y), information.model.r))
    m = Motion(nothing, nothing, nothing, y, yd, ydd)
    return information.matrix(m) * (noise.rate / _FINE)


def along(model: Model, path: Moves, coordinates: tuple[str, ...]) -> tuple[Array, Array, Array]:
    """Full state of moves between positions of motors or coordinates."""
    t = np.arange(0.0, float(path.end[-1]), 1.0 / _FINE)
    follower = follower_of(model, coordinates)
    motion = follower.motion(*path(t), t)
    return motion.y, motion.yd, motion.ydd


def allowed(model: Model, limits: Limits, y: Array, yd: Array, ydd: Array) -> float:
    """Largest share of a rate, torque or position limit that a motion uses."""
    robot = model.robot
    rows = {name: robot.linear_map([((name, 1.0),)])[0] for name in robot.coordinates}
    rows |= dict(zip(robot.motor_names, robot.motor_map(), strict=True))
    shares, used = limits.shares, [0.0]
    for name, limit in limits.motion.items():
        q, qd, qdd = (part @ rows[name] for part in (y, yd, ydd))
        middle, half = (limit.upper + limit.lower) / 2.0, (limit.upper - limit.lower) / 2.0
        used += [
            np.abs(qd).max() / (limit.velocity * shares.velocity),
            np.abs(qdd).max() / (limit.acceleration * shares.acceleration), np.abs(q - middle).max() / half,
        ]  # fmt: skip
    tau = np.abs(model.inverse_dynamics(y, yd, ydd)).max(axis=0)
    used += [tau[robot.motor_names.index(n)] / (b * shares.torque) for n, b in limits.torque.items()]
    return float(max(used))


def orthoglide(model: Model, limits: Limits, information: Information, noise: Noise) -> Told:
    """Ten of a hundred trajectories between random positions of the drives."""
    rng = np.random.default_rng(0)
    bounds = [limits.motion[name] for name in model.robot.motor_names]
    velocity = [limits.shares.velocity * b.velocity for b in bounds]
    acceleration = [limits.shares.acceleration * b.acceleration for b in bounds]
    found = []
    while len(found) < _CANDIDATES:
        points = random_points(model, _POINTS, rng, coordinates=MOTORS, follower=follower_of(model, MOTORS))
        times = move_times(points, velocity, acceleration)
        for _ in range(20):  # the platform has limits too
            path = moves(points, times)
            state = along(model, path, MOTORS)
            used = allowed(model, limits, *state)
            if used <= 1.0:
                break
            times = times * min(max(np.sqrt(used), 1.02), 1.2)
        m = informed(information, *state, noise)
        found.append((condition_number(m, normalised=False), m, float(path.end[-1])))
    best = sorted(found, key=lambda item: item[0])[:_KEPT]
    return Told(np.sum([m for _, m, _ in best], axis=0), sum(t for _, _, t in best))


def squares(model: Model, limits: Limits, information: Information, noise: Noise) -> Told:
    """All slides together with the cranks fixed, then five squares of the platform with the slides blocked."""
    cranks = build_model(model.robot, independent=_CRANKS)
    reach = _largest(lambda reach: _fits(cranks, limits, _slides(cranks, reach), 2.0), 0.005, 0.06)
    runs = [(cranks, _slides(cranks, reach))]
    side = _largest(lambda side: all(_fits(model, limits, way, 2.0) for way in _squares(model, side)), 0.01, 0.12)
    runs += [(model, way) for way in _squares(model, side)]
    total, seconds = np.zeros((information.size,) * 2), 0.0
    for own, way in runs:
        move = 1.0 / _largest(lambda pace, own=own, way=way: _fits(own, limits, way, 1.0 / pace), 0.5, 200.0)
        path = moves(way, move)
        total += informed(information, *_followed(own, path), noise)
        seconds += float(path.end[-1])
    return Told(total, seconds)


def _slides(model: Model, reach: float) -> Array:
    """From home with all slides to ``-reach``, ``reach`` and back."""
    way = np.tile(home_of(model, model.independent), (4, 1))
    way[1:3, ::2] = [[-reach], [reach]]
    return way


def _squares(model: Model, side: float) -> list[Array]:
    """From home round a square and back, five of them (points, coordinates)."""
    home = home_of(model, model.independent)
    ways = []
    for corners in rotated_squares(side):
        way = np.tile(home, (len(corners) + 3, 1))
        way[1:-1, :2] = np.vstack([corners, corners[:1]])
        ways.append(way)
    return ways


def _followed(model: Model, path: Moves) -> tuple[Array, Array, Array]:
    t = np.arange(0.0, float(path.end[-1]), 1.0 / _FINE)
    m = Closer(model, given="independent").motion(*path(t), t)
    return m.y, m.yd, m.ydd


def _fits(model: Model, limits: Limits, way: Array, move: float) -> bool:
    """Whether moves of equal times between points keep the limits."""
    try:
        return allowed(model, limits, *_followed(model, moves(way, move))) <= 1.0
    except ClosureError:
        return False


def _largest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number that fits, by bisection on a logarithmic scale to 1 %."""
    assert fits(low)
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


_CRANKS = ("zeta1", "theta1", "zeta2", "theta2", "zeta3", "theta3")
_PLANNED = {
    "orthoglide": ("pose.x", "pose.y", "pose.z"),
    "3prrr": ("pose.x", "pose.y", "pose.angle", "zeta1", "zeta2", "zeta3"),
}
_PAPERS: dict[str, tuple[str, Callable[[Model, Limits, Information, Noise], Told]]] = {
    "orthoglide": ("10 of 100 random point-to-point", orthoglide),
    "3prrr": ("slides, then 5 squares", squares),
}


def compared(name: str) -> list[dict[str, object]]:
    """The paper's motion, then a motion designed by each of three criteria."""
    described, paper = _PAPERS[name]
    model = build_model(load_robot(name), independent=_PLANNED[name])
    limits = Limits.of(model.robot)
    task = Task.of(model, Fourier(_HARMONICS, _PERIOD), limits, beliefs_of(model, None)[0], symmetric=True)
    task = task.weighed(None, _RATE)
    plain = Information(model, task.base, task.noise.values)
    told = paper(model, limits, plain, task.noise)
    context = task.context()
    rank = int((np.linalg.eigvalsh(told.information * np.outer(context.scale, context.scale)) > 1e-9).sum())
    repeat = max(1, int(told.seconds // _PERIOD))  # no longer than the paper's
    values = {"paper": told.information}
    took = {"paper": (told.seconds, 0.0)}
    for criterion in ("logdet", "relative", "torque"):
        begun = time.perf_counter()
        design = design_excitation(
            model, Fourier(_HARMONICS, _PERIOD), criterion=criterion, limits=limits, noise=task.noise, repeat=repeat,
            symmetric=True, effort=Effort(starts=4, budget=40.0),
        )  # fmt: skip
        values[criterion] = design.information
        took[criterion] = (repeat * _PERIOD, time.perf_counter() - begun)
    base = _measures(values["paper"], context)
    rows = []
    for key, m in values.items():
        own = _measures(m, context)
        rows.append(
            {
                "robot": name,
                "motion": described if key == "paper" else f"designed, {key}",
                "duration [s]": round(took[key][0], 2),
                "searched [s]": round(took[key][1], 1),
                "shown": f"{rank if key == 'paper' else len(m)} of {len(m)}",
                "condition": round(condition_number(m), 1),
                "relative variance: paper / it": round(base["relative"] / own["relative"], 1),
                "variance in SI: paper / it": round(base["SI"] / own["SI"], 1),
                "torque variance: paper / it": round(base["torque"] / own["torque"], 1),
                "variance by volume: paper / it": round(base["logdet"] / own["logdet"], 1),
            }
        )
    return rows


def _measures(m: Array, context: object) -> dict[str, float]:
    """Total variance relative to the prior values, of torque, in SI units; geometric mean of the variances."""
    out = {}
    for name in ("relative", "torque", "logdet"):
        value = criterion_of(name).value(m, context)[0]  # type: ignore[arg-type]
        out[name] = float(np.exp(value / len(m) if name == "logdet" else value))
    out["SI"] = float(np.trace(np.linalg.inv(m)))
    return out


def run(names: tuple[str, ...] = ()) -> list[dict[str, object]]:
    """Both robots."""
    return [row for name in names or tuple(_PAPERS) for row in compared(name)]


if __name__ == "__main__":
    for one in run(tuple(sys.argv[1:])):
        print(one, flush=True)
