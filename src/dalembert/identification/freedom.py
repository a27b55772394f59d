"""What constraints on standard parameters leave free of the base values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from dalembert.identification.problem import Problem
from dalembert.identification.rows import Array

__all__ = ["Freedom", "base_freedom"]

SAME = 1e-9  # of a direction of base space, relative to the largest: entries of B are of the size of lengths


@dataclass(frozen=True, slots=True)
class Freedom:
    """Base values ``start + N v`` (k,): v (f,) are those of ``pivots`` themselves, which the constraints leave free."""

    start: Array
    N: Array
    pivots: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """True when the constraints restrict no base value."""
        return len(self.pivots) == len(self.start)

    def determined(self, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Base values (k,) that the determined ones of v (f,) fix."""
        return np.asarray(~((self.N != 0.0) & ~free).any(axis=1))


def base_freedom(problem: Problem) -> Freedom:
    """What the equalities of a problem leave free: ``pi = x0 + Z u`` leaves the base values ``B pi`` in ``b0 + N v``.

    A parameter that only stands in a group with others that are free restricts nothing.
    """
    resolved = problem.constraints.resolve(problem.parameters)
    x0, Z = resolved.basis()
    B = problem.base_map()
    moves = B @ Z
    _, R, order = qr(moves.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > SAME * max(float(size.max(initial=0.0)), 1.0)))
    N = np.zeros((len(B), rank))
    pivots = np.sort(order[:rank])
    N[order] = np.vstack([np.eye(rank), solve_triangular(R[:rank, :rank], R[:rank, rank:]).T])
    N = N[:, np.argsort(order[:rank])]
    N[np.abs(N) < SAME] = 0.0  # what equal parameters cancel but for rounding
    start = B @ x0
    return Freedom(start - N @ start[pivots], N, tuple(int(k) for k in pivots))
