"""The contract of the criteria: a number to minimise, from the information matrix in base columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

__all__ = ["Array", "Context", "Criterion", "factored"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Context:
    """What a criterion may lean on, all in the base columns of the design.

    ``names`` (b) of the base parameters; ``reference`` (b, b): mean of ``w' w`` per sample over the rows, each over its
    noise, for motions the robot will be asked to predict; ``priors`` (k, b): values believed of the base parameters,
    one row per belief (empty: none given); ``scale`` (b,): the size each base column has on the reference motions, 1 /
    RMS.
    """

    names: tuple[str, ...]
    reference: Array
    priors: Array

    @property
    def scale(self) -> Array:
        """1 / RMS of each column over the reference motions (b,)."""
        rms = np.sqrt(np.diag(self.reference))
        return np.asarray(1.0 / np.maximum(rms, 1e-12 * rms.max()))


class Criterion(Protocol):
    """A way of judging an information matrix. Settings in the constructor; :meth:`value` does the work."""

    @property
    def name(self) -> str:
        """Short name, as the command line spells it."""
        ...

    @property
    def meaning(self) -> str:
        """One line: what it minimises, in which scaling of the columns."""
        ...

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """Value to minimise for the information M (b, b), and its symmetric gradient by M (b, b).

        Infinite where M is singular and the criterion needs its inverse.
        """
        ...


def factored(m: Array) -> tuple[Array, Array] | None:
    """Diagonal scaling s (b,) and lower Cholesky factor of ``diag(s) M diag(s)``; None where M is not definite."""
    diagonal = np.diag(m)
    if not (np.isfinite(diagonal).all() and diagonal.min() > 0.0):
        return None
    s = 1.0 / np.sqrt(diagonal)
    try:
        return s, np.asarray(np.linalg.cholesky(m * np.outer(s, s)))
    except np.linalg.LinAlgError:
        return None


def inverse(m: Array) -> Array | None:
    """M^-1 (b, b) by Cholesky of the matrix scaled to a unit diagonal; None where M is not definite."""
    found = factored(m)
    if found is None:
        return None
    s, lower = found
    return np.asarray(cho_solve((lower, True), np.eye(len(m))) * np.outer(s, s))
