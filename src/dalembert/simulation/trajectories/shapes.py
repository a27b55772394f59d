"""Outlines drawn in a plane of the task space: squares, triangles and others by their corners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError, choices
from dalembert.model import Model
from dalembert.simulation.trajectories.moves import Law, moves
from dalembert.simulation.trajectories.trajectory import Trajectory, home_of

__all__ = ["corners", "outlines", "rotated_squares"]

Array = NDArray[np.float64]


def corners(count: int, side: float, centre: ArrayLike = (0.0, 0.0), turn: float = 0.0) -> Array:
    """Corners (count, 2) of a regular polygon of given side: a square lies along the axes, a triangle points along the
    second one; ``turn`` [rad] counter-clockwise about the centre.
    """
    if count < 3 or not side > 0.0:
        raise UsageError(
            f"outline of {count} corners with side {side}, expected at least 3 corners and a positive side"
        )
    first = np.pi / 4 if count == 4 else np.pi / 2
    angle = first + turn + 2.0 * np.pi * np.arange(count) / count
    radius = side / (2.0 * np.sin(np.pi / count))
    out: Array = np.asarray(centre, dtype=float) + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return out


def rotated_squares(side: float, count: int = 5, step: float = np.pi / 18) -> list[Array]:
    """Squares about one centre, each turned by ``step`` [rad] more than the one before [Fontes17, eq. 36]."""
    return [corners(4, side, turn=k * step) for k in range(count)]


def outlines(
    model: Model,
    shapes: Sequence[ArrayLike],
    plane: tuple[str, str],
    *,
    coordinates: tuple[str, ...] | None = None,
    hold: Mapping[str, float] | None = None,
    move: float = 0.5,
    pause: float = 0.0,
    laps: int = 1,
    law: Law = Law.QUINTIC,
) -> Trajectory:
    """From home along every outline, ``laps`` times each, and back home: a move of ``move`` [s] along each side, at
    rest in the corners.

    ``plane`` names the two coordinates of the outlines; the others stay at home, or where ``hold`` puts them.
    """
    names = coordinates or model.independent
    home = home_of(model, names)
    base = home.copy()
    for name, value in (hold or {}).items():
        if name not in names:
            raise UsageError(f"outline: no coordinate {name!r} to hold; {choices(name, names)}")
        base[names.index(name)] = value
    for name in plane:
        if name not in names:
            raise UsageError(f"outline: no coordinate {name!r} in its plane; {choices(name, names)}")
    where = [names.index(name) for name in plane]
    points = [home]
    for shape in shapes:
        flat = np.asarray(shape, dtype=float)
        if flat.ndim != 2 or flat.shape[1] != 2 or len(flat) < 2:
            raise UsageError(f"outline: corners of shape {flat.shape}, expected rows of two coordinates")
        closed = np.concatenate([np.tile(flat, (laps, 1)), flat[:1]])
        full = np.tile(base, (len(closed), 1))
        full[:, where] = closed
        points.extend(full)
    points.append(home)
    path = moves(np.array(points), move, pause, law)
    return Trajectory(path, names, float(path.end[-1] + pause), rests=True)
