"""Random reachable positions for point-to-point moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError, UsageError
from dalembert.model import Model
from dalembert.motion import Closer, singularity_margins
from dalembert.simulation.trajectories.trajectory import home_of, limit_of, names_of

__all__ = ["random_points"]

Array = NDArray[np.float64]

_SAMPLES = 40  # configurations along each move that are closed and checked
_MARGIN = 1.0 / 3.0  # share of home's distance from singularities that a move keeps
_TRIES = 200  # draws per point


def random_points(
    model: Model,
    count: int,
    rng: np.random.Generator,
    *,
    coordinates: tuple[str, ...] | str,
    follower: Closer,
    amplitude: float | None = None,
) -> Array:
    """``count`` positions of the coordinates (count + 2, k), from home and back: uniform within their limits, drawn
    again where the way from the one before cannot be gone (loops open, limits of other coordinates, singularities).

    ``amplitude`` [rad or m] is the largest excursion from home where there is no limit, and narrows limits.
    """
    home = home_of(model, coordinates)
    low, high = _box(model, coordinates, home, amplitude)
    check = _Way(model, follower)
    points = [home]
    for number in range(count):
        for _ in range(_TRIES):
            drawn = rng.uniform(low, high)
            if check(points[-1], drawn) and (number + 1 < count or check(drawn, home)):
                points.append(drawn)
                break
        else:
            raise UsageError(
                f"trajectory: no reachable point {number + 1} of {count} found in {_TRIES} draws; lower 'amplitude'"
            )
    return np.array([*points, home])


def _box(model: Model, coordinates: tuple[str, ...] | str, home: Array, amplitude: float | None) -> tuple[Array, Array]:
    names = names_of(model, coordinates)
    limits = [limit_of(model.robot, name) for name in names]
    bounds = np.array([(limit.lower, limit.upper) for limit in limits])
    reach = np.inf if amplitude is None else amplitude
    low, high = np.maximum(bounds[:, 0], home - reach), np.minimum(bounds[:, 1], home + reach)
    for name, a, b in zip(names, low, high, strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            raise UsageError(
                f"trajectory: {name!r} has no limits in the robot file to draw random points in; give 'amplitude'"
            )
        if not a < b:
            raise UsageError(f"trajectory: {name!r} is at {home[names.index(name)]:g} at home, outside its limits")
    return low, high


class _Way:
    """Whether the straight way between two positions can be gone."""

    def __init__(self, model: Model, follower: Closer) -> None:
        self.model, self.follower = model, follower
        margins = singularity_margins(model, model.home)
        self.least = (_MARGIN * margins.closure[0], _MARGIN * margins.motors[0])
        robot = model.robot
        known = [n for n in (*model.coordinates, *robot.motor_names) if n in robot.limits]
        self.bounds = np.array([(robot.limits[n].lower, robot.limits[n].upper) for n in known]).reshape(-1, 2)
        rows = [self._row(name) for name in known]
        self.rows = np.array(rows).reshape(-1, model.n_y)

    def _row(self, name: str) -> Array:
        model = self.model
        if name in model.coordinates:
            return np.asarray(np.eye(model.n_y)[model.coordinates.index(name)])
        return np.asarray(model.robot.motor_map()[model.robot.motor_names.index(name)])

    def __call__(self, a: Array, b: Array) -> bool:
        x = a + np.linspace(0.0, 1.0, _SAMPLES)[:, None] * (b - a)
        try:
            y = self.follower.positions(x, np.arange(float(_SAMPLES)))
        except ClosureError:
            return False
        if self.model.dynamics.assembly.rows:
            margins = singularity_margins(self.model, y)
            if (margins.closure < self.least[0]).any() or (margins.motors < self.least[1]).any():
                return False
        if not len(self.rows):
            return True
        places = y @ self.rows.T
        # the start may already be on a bound: only what is new counts
        return bool(((places >= self.bounds[:, 0] - 1e-9) & (places <= self.bounds[:, 1] + 1e-9)).all())
