"""A motion given by samples: a table of time and coordinates, as ``excite`` writes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from dalembert.errors import UsageError
from dalembert.logs.table import open_table
from dalembert.model import Model
from dalembert.simulation.trajectories.trajectory import MOTORS, Trajectory

__all__ = ["read_sampled", "sampled"]

Array = NDArray[np.float64]

_DEGREE = 5  # four continuous derivatives: smooth accelerations


def sampled(t: Array, x: Array, coordinates: tuple[str, ...] | str) -> Trajectory:
    """The quintic spline through samples ``x`` (n, k) at rising times ``t`` (n,) [s]; it starts at time zero."""
    if len(t) <= _DEGREE or not (np.diff(t) > 0.0).all() or not (np.isfinite(t).all() and np.isfinite(x).all()):
        raise UsageError(
            f"trajectory: {len(t)} samples, expected more than {_DEGREE} of finite numbers with rising times"
        )
    spline = make_interp_spline(t - t[0], x, k=_DEGREE, axis=0)
    rate, acceleration = spline.derivative(1), spline.derivative(2)

    def motion(at: object) -> tuple[Array, Array, Array]:
        # a tick may lie a rounding beyond the end; the duration asked for is checked before
        inside = np.clip(np.asarray(at, dtype=float), 0.0, t[-1] - t[0])
        return spline(inside), rate(inside), acceleration(inside)

    return Trajectory(motion, coordinates, float(t[-1] - t[0]))


def read_sampled(path: Path, model: Model) -> Trajectory:
    """A CSV or Parquet file: ``t`` and one column per coordinate.

    The columns must be those of the model's independent coordinates, of as many other coordinates of the robot as it
    has mobilities, or ``q_<motor>`` of its motors (and sensors), in this order of preference.
    """
    table = open_table(path)
    columns = table.columns
    if "t" not in columns:
        raise UsageError(f"{path}: no column 't' of times in s, found {', '.join(columns[:8])}")
    coordinates, chosen = _chosen(path, columns, model)
    blocks = list(table.batches(["t", *chosen], 65536))
    data = np.concatenate(blocks) if blocks else np.zeros((0, 1 + len(chosen)))
    try:
        return sampled(data[:, 0], data[:, 1:], coordinates)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _chosen(path: Path, columns: tuple[str, ...], model: Model) -> tuple[tuple[str, ...] | str, tuple[str, ...]]:
    """What moves, and the columns it is in."""
    if set(model.independent) <= set(columns):
        return model.independent, model.independent
    others = tuple(name for name in model.coordinates if name in columns)
    if len(others) == model.r:
        return others, others
    names = model.robot.readings
    motors = tuple(f"q_{name}" for name in names)
    if set(motors) <= set(columns):
        return MOTORS, motors
    raise UsageError(
        f"{path}: found columns {', '.join(columns[:12])}; expected t and {', '.join(model.independent)} (or "
        f"{model.r} other coordinates of the robot, or {', '.join(motors)})"
    )
