"""D-optimality: the volume of the confidence ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotri

from dalembert.excitation.criteria.criterion import Array, Context, factored

__all__ = ["LogDet"]


@dataclass(frozen=True, slots=True)
class LogDet:
    """``-log det M``: noise-weighted, does not depend on units or on the scaling of the columns."""

    name: str = "logdet"
    meaning: str = "-log det of the noise-weighted information; independent of units and column scaling"

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """See :class:`~dalembert.excitation.criteria.criterion.Criterion`."""
        found = factored(m)
        if found is None:
            return np.inf, np.zeros_like(m)
        s, lower = found
        inverse, _ = dpotri(lower, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        value = -2.0 * float(np.log(np.diag(lower)).sum() - np.log(s).sum())
        return value, -inverse * np.outer(s, s)
