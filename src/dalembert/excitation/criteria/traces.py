"""Traces of the covariance: the variance of predicted torque, and of parameters relative to their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import UsageError
from dalembert.excitation.criteria.criterion import Array, Context, inverse

__all__ = ["RelativeVariance", "TorqueVariance"]


def _log_trace(m: Array, weight: Array) -> tuple[float, Array]:
    """``log tr(M^-1 weight)`` and its gradient."""
    p = inverse(m)
    if p is None:
        return np.inf, np.zeros_like(m)
    half = p @ weight
    total = float(np.trace(half))
    return float(np.log(total)), -(half @ p) / total


@dataclass(frozen=True, slots=True)
class TorqueVariance:
    """V: mean variance of the torque predicted on the reference motions, ``log tr(M^-1 R)``; independent of scaling."""

    name: str = "torque"
    meaning: str = "mean variance of predicted torque over motions within the limits; independent of column scaling"

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """See :class:`~dalembert.excitation.criteria.criterion.Criterion`."""
        return _log_trace(m, context.reference)


@dataclass(frozen=True, slots=True)
class RelativeVariance:
    """A: mean variance of the parameters, each relative to its prior value.

    A value whose torque is below the noise counts as large as would just show (RMS of one sigma): relative errors of
    parameters that are zero mean nothing. With several priors the mean over them, or the ``worst``.
    """

    worst: bool = False

    @property
    def name(self) -> str:
        """``relative`` or ``relative-worst``."""
        return "relative-worst" if self.worst else "relative"

    @property
    def meaning(self) -> str:
        """What is minimised."""
        over = "the worst of the priors" if self.worst else "the mean of the priors"
        return f"mean variance of parameters relative to prior values (floor: one sigma of torque), {over}"

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """See :class:`~dalembert.excitation.criteria.criterion.Criterion`."""
        if not len(context.priors):
            raise UsageError(f"criterion {self.name!r} needs prior values: give the robot nominal parameters")
        sizes = np.maximum(np.abs(context.priors), context.scale)
        if not self.worst:
            return _log_trace(m, np.diag((1.0 / sizes**2).mean(axis=0)))
        found = [_log_trace(m, np.diag(1.0 / size**2)) for size in sizes]
        return worst_of(found)


def worst_of(found: list[tuple[float, Array]], sharpness: float = 20.0) -> tuple[float, Array]:
    """Smooth maximum of several values with their gradients: above the largest by at most ``log(k) / sharpness``."""
    values = np.array([value for value, _ in found])
    if not np.isfinite(values).all():
        return np.inf, np.zeros_like(found[0][1])
    weights = np.exp(sharpness * (values - values.max()))
    total = float(weights.sum())
    slope = sum((w / total * g for w, (_, g) in zip(weights, found, strict=True)), np.zeros_like(found[0][1]))
    return float(values.max() + np.log(total) / sharpness), slope
