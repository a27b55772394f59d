"""Condition number of the observation matrix [Gautier and Khalil 1992], smoothed: what the papers minimise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.excitation.criteria.criterion import Array, Context

__all__ = ["Condition", "condition_number"]


@dataclass(frozen=True, slots=True)
class Condition:
    """``log cond(W)``, W in SI columns or with columns of unit norm.

    The largest and smallest eigenvalues of W'W are replaced by the p-norms of all (``sharpness`` p): an upper bound
    that tends to the condition number as p grows and has a gradient where eigenvalues meet.
    """

    normalised: bool = False
    sharpness: float = 40.0

    @property
    def name(self) -> str:
        """``condition`` or ``condition-normalised``."""
        return "condition-normalised" if self.normalised else "condition"

    @property
    def meaning(self) -> str:
        """What is minimised."""
        columns = "columns of unit norm" if self.normalised else "columns in SI units, unscaled"
        return f"condition number of the noise-weighted W, {columns}"

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """See :class:`~dalembert.excitation.criteria.criterion.Criterion`."""
        if not self.normalised:
            return self._smooth(m)
        diagonal = np.diag(m)
        if not (np.isfinite(diagonal).all() and diagonal.min() > 0.0):
            return np.inf, np.zeros_like(m)
        s = 1.0 / np.sqrt(diagonal)
        scaled = m * np.outer(s, s)
        value, slope = self._smooth(scaled)
        # d scaled_ij = s_i s_j dM_ij - scaled_ij (dM_ii / M_ii + dM_jj / M_jj) / 2
        gradient = slope * np.outer(s, s)
        gradient[np.diag_indices_from(gradient)] -= (slope * scaled).sum(axis=1) / diagonal
        return value, gradient

    def _smooth(self, m: Array) -> tuple[float, Array]:
        try:
            values, vectors = np.linalg.eigh(m)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(m)
        if not values[0] > 0.0:
            return np.inf, np.zeros_like(m)
        p = self.sharpness
        high = (values / values[-1]) ** p
        low = (values[0] / values) ** p
        value = 0.5 * float(
            np.log(values[-1]) + np.log(high.sum()) / p - np.log(values[0]) + np.log(low.sum()) / p
        )  # half: of W, not of W'W
        weights = 0.5 * (high / high.sum() - low / low.sum()) / values
        return value, (vectors * weights) @ vectors.T


def condition_number(m: Array, normalised: bool = False) -> float:
    """Condition number of W from M = W'W."""
    if normalised:
        s = 1.0 / np.sqrt(np.maximum(np.diag(m), 1e-300))
        m = m * np.outer(s, s)
    values = np.linalg.eigvalsh(m)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else float("inf")
