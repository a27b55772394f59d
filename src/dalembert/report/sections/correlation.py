"""Which parameters the log cannot tell apart."""

from __future__ import annotations

import numpy as np

from dalembert.identification.uncertainty import correlation
from dalembert.report.evidence import Evidence
from dalembert.report.numbers import significant
from dalembert.report.panels import Heat
from dalembert.report.sections.contract import Content

__all__ = ["section"]

_STRONG = 0.9
_PAIRS = 12  # of the strongest that are named


def section(evidence: Evidence) -> Content | None:
    """The correlation matrix and its strongest pairs."""
    found = evidence.identification
    if found is None:
        return None
    covariance = found.robust.covariance if found.robust else found.estimate.covariance
    if covariance is None or len(covariance) < 2:
        return None
    values = correlation(np.asarray(covariance))
    names = tuple(p.name for p in found.parameters if p.essential)
    upper = np.triu(np.abs(values), 1)
    strong = np.argwhere(upper > _STRONG)
    order = np.argsort(-upper[tuple(strong.T)])
    pairs = [(names[i], names[j], significant(float(values[i, j]), 3)) for i, j in strong[order[:_PAIRS]]]
    shown = {"pairs": pairs, "count": len(strong), "strong": _STRONG, "robust": found.robust is not None}
    heat = Heat("correlation", f"Every pair of {len(names)}", names, values, "correlation")
    return Content("correlation", "Correlation of the parameters", "Correlation", shown, (heat,))
