"""How far a configuration is from singularities."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.model import Model

__all__ = ["Margins", "singularity_margins", "subset_conditions"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Margins:
    """Smallest singular values per sample (n,): of the closure Jacobian C (a loop locks or a mobility appears), and of
    T on orthonormal admissible velocities (motors lose hold of a motion, whatever v is); and the condition number of
    J_inv = T N for the model's own v.
    """

    closure: Array
    motors: Array
    condition: Array


def singularity_margins(model: Model, y: ArrayLike) -> Margins:
    """Margins along configurations ``y`` (n, n_y); infinite where there is nothing to be singular."""
    y = np.atleast_2d(np.asarray(y, dtype=float))
    none = np.full(len(y), np.inf)
    closure = none
    if model.dynamics.assembly.rows:
        closure = np.linalg.svd(model.loops_kernel()(y)["C"].reshape(len(y), -1, model.n_y), compute_uv=False)[:, -1]
    if not model.n:
        return Margins(closure, none, none)
    if model.n < model.r:
        return Margins(closure, np.zeros(len(y)), none)
    maps, jacobian = model.velocity_maps(y)
    held = np.linalg.svd(model.dynamics.T @ np.linalg.qr(maps)[0], compute_uv=False)[:, -1]
    sigma = np.linalg.svd(jacobian, compute_uv=False)
    with np.errstate(divide="ignore"):
        return Margins(closure, np.asarray(held), np.asarray(sigma[:, 0] / sigma[:, -1]))


def subset_conditions(model: Model, y: ArrayLike) -> dict[tuple[str, ...], float]:
    """Worst condition number of J_inv along ``y`` for every choice of r of the n motors, best choice first.

    [Briot15, case 2] projects on such a subset; a large number means it passes near a singularity of its own.
    """
    y = np.atleast_2d(np.asarray(y, dtype=float))
    jacobian = model.velocity_maps(y)[1]
    names = model.robot.motor_names
    worst = {}
    for chosen in itertools.combinations(range(model.n), model.r):
        sigma = np.linalg.svd(jacobian[:, list(chosen), :], compute_uv=False)
        with np.errstate(divide="ignore"):
            worst[tuple(names[k] for k in chosen)] = float((sigma[:, 0] / sigma[:, -1]).max())
    return dict(sorted(worst.items(), key=lambda item: item[1]))
