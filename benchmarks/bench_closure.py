"""Closure: motor angles of a smooth motion -> all coordinates, from home only, to 1e-12 m."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.motion import Closer
from dalembert.robot import load_robot
from peers import rate

TITLE = "samples/s of motor angles -> y (absolute: no peer closes loops from motor angles)"


def run() -> list[dict[str, object]]:
    """One row per robot."""
    rows = []
    n = 20_000
    t = np.arange(n) / 1000.0
    for name in ("dualv", "delta", "orthoglide"):
        row: dict[str, object] = {"robot": name}
        for backend in ("numpy", "c"):
            model = Model(load_robot(name), backend=backend)
            home = np.array([model.home[model.coordinates.index(c)] for c in model.independent])
            waves = np.stack([np.sin((1.3 + 0.7 * k) * t + k) - np.sin(k) for k in range(model.r)], axis=1)
            y = Closer(model, given="independent").positions(home + 0.04 * waves)
            theta = y @ model.robot.motor_map().T
            closer = Closer(model)
            found = closer.positions(theta)
            row[f"{backend} samples/s"] = round(rate(lambda c=closer, x=theta: c.positions(x), n))
            row[f"{backend} error"] = float(np.abs(model.loops_kernel()(found)["c"]).max())
        rows.append(row)
    return rows
