"""Singular values of the observation: which combination of parameters the logs show least."""

from __future__ import annotations

import numpy as np

from dalembert.identification.outcome import own_scales
from dalembert.report.evidence import Evidence
from dalembert.report.numbers import significant
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.contract import Content

__all__ = ["section"]

_NAMED = 6  # parameters named of the weakest direction


def section(evidence: Evidence) -> Content | None:
    """Singular values of the weighted rows, as they are and with columns of norm 1."""
    found = evidence.identification
    if found is None:
        return None
    problem = found.prepared.problem
    r = problem.weighted(own_scales(problem)[0])[:, list(problem.kept)]
    norms = np.linalg.norm(r, axis=0)
    unit = r / np.where(norms > 0.0, norms, 1.0)
    own = np.linalg.svd(r, compute_uv=False)
    scaled, directions = np.linalg.svd(unit)[1:]
    names = [p.name for p in found.parameters if p.essential]
    weakest = sorted(zip(directions[-1], names, strict=True), key=lambda item: -abs(item[0]))[:_NAMED]
    place = np.arange(1.0, len(own) + 1.0)
    panel = Panel(
        "singular", "Weighted rows of all logs", "number", ("singular value, largest = 1",),
        (
            Curve("in SI units", own / own[0], "1", x=place, points=True),
            Curve("columns of norm 1", scaled / scaled[0], "2", x=place, points=True),
        ),
        log_y=True, height=280,
    )  # fmt: skip
    shown = {
        "condition": _ratio(own),
        "scaled": _ratio(scaled),
        "weakest": [(name, significant(float(share), 2)) for share, name in weakest],
    }
    return Content("singular", "Singular values", "Singular values", shown, (panel,))


def _ratio(values: np.ndarray) -> str:
    return significant(float(values[0] / values[-1]), 3) if values[-1] > 0.0 else "∞"
