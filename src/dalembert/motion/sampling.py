"""Random admissible states: where a robot can be and how it can move there, loops closed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.model import Model
from dalembert.motion.closing import CLOSED

__all__ = ["States", "random_states"]

Array = NDArray[np.float64]

_WALK_STEPS = 24  # steps of each random walk from home
_STRIDE = 0.12  # largest change of a coordinate per step [rad or m]
_NEWTON = 6  # steps that close a configuration after a stride
_MAX_GROWTH = 30.0  # a walker whose velocity map N grows beyond this times home's is close to a singularity


@dataclass(frozen=True, slots=True)
class States:
    """Admissible positions, velocities and accelerations ``y yd ydd`` (n, n_y), with their independent rates
    ``v vd`` (n, r).
    """

    y: Array
    yd: Array
    ydd: Array
    v: Array
    vd: Array


def random_configurations(model: Model, n: int, rng: np.random.Generator) -> Array:
    """Closed configurations (n, n_y): uniform for a tree, random walks from home that turn back at singularities."""
    if not model.dynamics.assembly.rows:
        angle = np.array([step.is_angle for body in model.robot.bodies for step in body.joint.steps])
        return model.home + np.where(angle, np.pi, 1.0) * rng.uniform(-1.0, 1.0, (n, model.n_y))
    correct = model.correction_kernel()
    y = np.tile(model.home, (n, 1))
    limit = _MAX_GROWTH * max(1.0, float(np.abs(model.velocity_maps(model.home)[0]).max()))
    for _ in range(_WALK_STEPS):
        maps = model.velocity_maps(y)[0]
        stride = np.einsum("nij,nj->ni", maps, rng.standard_normal((n, model.r)))
        stride *= _STRIDE * rng.uniform(0.2, 1.0, (n, 1)) / np.abs(stride).max(axis=1, keepdims=True)
        trial = y + stride
        for _ in range(_NEWTON):
            trial = correct(trial)["y"]
        closed = np.abs(correct(trial)["c"]).max(axis=1, initial=0.0) < CLOSED
        near = np.abs(trial - y).max(axis=1) < 3.0 * _STRIDE
        with np.errstate(invalid="ignore"):
            sound = np.abs(model.velocity_maps(trial)[0]).max(axis=(1, 2)) < limit
        kept = closed & near & sound
        y = np.where(kept[:, None], trial, y)
    return y


def random_states(model: Model, n: int, rng: np.random.Generator, speed: float = 1.0) -> States:
    """``n`` admissible states with independent velocities and accelerations of standard deviation ``speed`` (SI)."""
    y = random_configurations(model, n, rng)
    v, vd = (speed * rng.standard_normal((n, model.r)) for _ in range(2))
    maps = model.velocity_maps(y)[0]
    yd = np.einsum("nij,nj->ni", maps, v)
    ydd = np.einsum("nij,nj->ni", maps, vd) + model.velocity_kernel()(y, yd)["g"]
    return States(y, yd, ydd, v, vd)
