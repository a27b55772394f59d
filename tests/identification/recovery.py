"""What the tests that recover simulated truth share: compiled models, preload, true base values, residuals by row."""

from __future__ import annotations

from functools import cache

import numpy as np

from dalembert.identification.identify import Identification
from dalembert.identification.rows import Rows
from dalembert.model import Model, build_model
from dalembert.robot import load_robot

Residuals = dict[tuple[int, int], tuple[float, float]]


@cache
def model_of(name: str) -> Model:
    """A catalog robot, compiled once for all tests."""
    return build_model(load_robot(name))


def preload(t: np.ndarray) -> np.ndarray:
    """Torques of DualV's four motors [N m]; their internal part, which moves nothing, varies in time."""
    return 3.0 * np.stack([np.sin(2.0 * np.pi * (0.7 + 0.3 * k) * t + k) for k in range(4)], axis=1)


def preload_of(name: str):
    """The preload of an over-actuated robot, None for the others."""
    model = model_of(name)
    return preload if model.n > model.r else None


def true_base(fit: Identification, pi: np.ndarray) -> np.ndarray:
    """Base parameters of standard ones ``pi``, in the order of the fit."""
    ties = fit.prepared.base.ties
    tied = np.linalg.lstsq(ties.matrix, pi, rcond=None)[0]
    np.testing.assert_allclose(ties.matrix @ tied, pi, atol=1e-12)  # the robot is as symmetric as it is declared
    return fit.prepared.base.project(tied)


def residuals(rows: Rows, columns: tuple[int, ...], beta: np.ndarray) -> Residuals:
    """Residual and torque of every row, by group and instant."""
    out: Residuals = {}
    for block in rows.blocks():
        left = block.y - block.W[:, list(columns)] @ beta
        out |= {
            (block.group, int(k)): (float(e), float(y)) for k, e, y in zip(block.sample, left, block.y, strict=True)
        }
    return out


def relative(found: Residuals, keys) -> float:
    """Error norm over torque norm of some rows; zero for none."""
    values = np.array([found[key] for key in keys])
    return float(np.linalg.norm(values[:, 0]) / np.linalg.norm(values[:, 1])) if len(values) else 0.0
