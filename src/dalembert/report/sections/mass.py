"""The identified mass matrix along the motion: positive definite wherever the robot went, or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.report.evidence import Evidence, Track
from dalembert.report.numbers import percent, significant
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.contract import Content
from dalembert.robot.quantity import turning

__all__ = ["scaled_eigenvalues", "section"]

_DECADE = 10.0  # ratio of the largest to the smallest inertia from which they are drawn on a logarithmic axis
_ROLES: tuple[Any, ...] = ("1", "2", "3", "4", "5", "6")


def scaled_eigenvalues(mass: np.ndarray) -> np.ndarray:
    """Eigenvalues (n, r) of M (n, r, r) scaled to a diagonal of +-1: free of units, of the same signs."""
    size = np.sqrt(np.abs(np.einsum("nii->ni", mass)))
    size = np.where(size > 0.0, size, 1.0)
    return np.asarray(np.linalg.eigvalsh(mass / (size[:, :, None] * size[:, None, :])))


def section(evidence: Evidence) -> Content | None:
    """Diagonal and eigenvalues over time."""
    if evidence.model is None or not evidence.tracks:
        return None
    model = evidence.model.model
    angle = turning(model.robot.bodies)
    names = [(name, "kg m²" if angle[name] else "kg") for name in model.independent]
    pictures, logs = [], []
    for number, track in enumerate(evidence.tracks):
        own = _panels(track, number, names)
        pictures += own
        eigen = scaled_eigenvalues(track.motion.mass)
        positive = float(np.mean(eigen[:, 0] > 0.0))
        logs.append(
            {
                "name": track.name,
                "held_out": track.held_out,
                "keys": [p.key for p in own],
                "positive": percent(positive, 4),
                "all": positive == 1.0,
                "smallest": significant(float(eigen[:, 0].min()), 2),
            }
        )
    return Content("mass", "Mass matrix along the motion", "Mass matrix", {"logs": logs}, tuple(pictures))


def _panels(track: Track, number: int, names: list[tuple[str, str]]) -> list[Panel]:
    t, mass = track.motion.t, track.motion.mass
    out: list[Panel] = []
    for unit in dict.fromkeys(unit for _, unit in names):
        mine = [(k, name) for k, (name, own) in enumerate(names) if own == unit]
        curves = tuple(Curve(name, mass[:, k, k], _ROLES[i % 6], x=t) for i, (k, name) in enumerate(mine))
        key = f"mass-{number}-{len(out)}"
        sizes = np.array([c.y for c in curves])
        out.append(
            Panel(
                key, f"Diagonal [{unit}]", "time [s]", (f"diagonal [{unit}]",), curves, link=f"time-{number}",
                log_y=bool(sizes.min() > 0.0 and sizes.max() > _DECADE * sizes.min()),
            )
        )  # fmt: skip
    eigen = scaled_eigenvalues(mass)
    curves = (
        Curve("smallest", eigen[:, 0], "2", x=t),
        Curve("largest", eigen[:, -1], "1", x=t),
    )
    out.append(
        Panel(
            f"mass-{number}-eigen", "Eigenvalues, scaled to a diagonal of 1", "time [s]", ("eigenvalue",), curves,
            link=f"time-{number}", limits=(0.0,),
        )
    )  # fmt: skip
    return out
