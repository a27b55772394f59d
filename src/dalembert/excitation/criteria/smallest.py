"""E-optimality: the longest axis of the confidence ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.excitation.criteria.criterion import Array, Context

__all__ = ["SmallestEigenvalue"]


@dataclass(frozen=True, slots=True)
class SmallestEigenvalue:
    """``-log`` of the smallest eigenvalue of M, columns scaled to unit RMS on the reference motions.

    Smoothed by the p-norm of all inverse eigenvalues, a lower bound of the smallest.
    """

    sharpness: float = 40.0
    name: str = "smallest"
    meaning: str = "-log of the smallest eigenvalue of M, columns of unit RMS on motions within the limits"

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """See :class:`~dalembert.excitation.criteria.criterion.Criterion`."""
        scale = np.outer(context.scale, context.scale)
        try:
            values, vectors = np.linalg.eigh(m * scale)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(m)
        if not values[0] > 0.0:
            return np.inf, np.zeros_like(m)
        share = (values[0] / values) ** self.sharpness
        total = float(share.sum())
        weights = -share / total / values
        value = -float(np.log(values[0])) + np.log(total) / self.sharpness
        return float(value), ((vectors * weights) @ vectors.T) * scale
