"""Motions any catalog robot can make."""

from __future__ import annotations

import numpy as np

from dalembert.errors import ClosureError
from dalembert.excitation.fourier import Fourier, FourierPath
from dalembert.model import Model
from dalembert.motion import singularity_margins
from dalembert.simulation import Reference, make_reference
from dalembert.simulation.trajectories import home_of


def lively(model: Model, duration: float = 10.0, seed: int = 0, rate: float = 1000.0) -> Reference:
    """A random Fourier motion about home within the robot's limits, shrunk until it stays off singularities."""
    family = Fourier(4, duration)
    rng = np.random.default_rng(seed)
    home = home_of(model, model.independent)
    path = FourierPath(family, home, *rng.standard_normal((2, model.r, 4)))
    excursion = np.abs(path(np.linspace(0.0, duration, 400))[0] - home).max(axis=0)
    limits = [model.robot.limits.get(name) for name in model.independent]
    room = np.array([min(h - k.lower, k.upper - h) if k else np.inf for h, k in zip(home, limits, strict=True)])
    size = np.where(np.isfinite(room), 0.5 * room, 0.4) / excursion
    margins = singularity_margins(model, model.home)
    for _ in range(12):
        path = FourierPath(family, home, size[:, None] * path.sine, size[:, None] * path.cosine)
        size = np.full(model.r, 0.7)
        try:
            reference = make_reference(model, path, duration, rate)
        except ClosureError:
            continue
        found = singularity_margins(model, reference.y[::20])
        if (found.closure > margins.closure / 3).all() and (found.motors > margins.motors / 3).all():
            return reference
        if not model.dynamics.assembly.rows:
            return reference
    raise AssertionError("no motion found")
