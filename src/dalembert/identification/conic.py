"""Convex least squares under bounds and positive definiteness, by Clarabel called directly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dalembert.identification.problem import Status
from dalembert.identification.rows import Array

__all__ = ["ConicProgram", "ConicResult"]

# Relative gaps tried in turn: two methods' optima agree to 1e-6 of the cost at the first; exponential cones sometimes
# stop short of it ("insufficient progress") and get there with a looser demand.
TOLERANCES = (1e-11, 1e-10, 1e-9, 1e-8)
# A cost this small relative to |t|^2 is rounding.
EXACT_COST = 1e-18
# Clarabel's residuals are absolute below one: a solution much nearer to the origin than one unit is sought once more in
# units of its distance.
FAR_ENOUGH = 0.1
RESCALINGS = 2
_STATUS = {
    "Solved": Status.CONVERGED,
    "AlmostSolved": Status.CONVERGED,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
}


def _triangle(n: int) -> list[tuple[int, int]]:
    """Clarabel's order of a symmetric matrix: upper triangle, column by column."""
    return [(i, j) for j in range(n) for i in range(j + 1)]


_TRI4 = _triangle(4)
_TRI8 = {entry: k for k, entry in enumerate(_triangle(8))}
_LOWER = [(i, j) for j in range(4) for i in range(j, 4)]
_EXTRA = len(_LOWER) + 4  # Z and the logarithms of its diagonal, for each log det


@dataclass(frozen=True, slots=True)
class ConicResult:
    """``v`` (n,), the multipliers of the bounds in the order given, how it ended and in how many iterations.

    ``distance`` of v from the program's origin.
    """

    v: Array
    multipliers: Array
    status: Status
    found: str
    iterations: int
    distance: float = 0.0


class ConicProgram:
    """``min |M v - t|^2 + sum weight (tr X - log det X)`` over v (n,), built cone by cone.

    Without log-dets M must be the identity. With them, ``origin`` (n,) is where the solution is expected, ``unit`` how
    far from there.
    """

    def __init__(
        self, t: Array, M: Array | None = None, log_dets: int = 0, *, origin: Array | None = None, unit: float = 1.0
    ) -> None:
        self.t = t
        self.M = np.eye(len(t)) if M is None else M
        # in (v - origin) / unit the cost has no large constant part, so a relative gap is one of the cost itself
        self.origin = t if origin is None else origin
        self.unit = unit
        self.size = len(t) + _EXTRA * log_dets
        self.q = np.zeros(self.size)
        self._rows: list[Array] = []
        self._rhs: list[Array] = []
        self._scalable: list[NDArray[np.bool_]] = []
        self._cones: list[Any] = []
        self._next = len(t)
        self._bounds: list[slice] = []
        self._height = 0
        self._log_dets = log_dets
        self.q[: len(t)] = 2.0 * self.M.T @ (self.M @ self.origin - t)

    def above(self, C: Array, d: Array) -> None:
        """``C v >= d``."""
        if len(d):
            self._bounds.append(slice(self._height, self._height + len(d)))
            self._add(C, -d, clarabel.NonnegativeConeT(len(d)))

    def definite(self, C: Array, constant: Array, margin: float) -> None:
        """``X >= margin I`` for a 4x4 matrix with ``svec(X) = C v + constant`` (off-diagonals times sqrt 2)."""
        shift = np.array([margin if i == j else 0.0 for i, j in _TRI4])
        self._add(C, constant - shift, clarabel.PSDTriangleConeT(4))

    def log_det(self, C: Array, constant: Array, weight: float) -> None:
        """Adds ``weight (tr X - log det X)`` with ``svec(X) = C v + constant``.

        ``[[X, Z], [Z', diag Z]] >= 0`` with Z lower triangular: ``sum log Z_ii`` is at most ``log det X`` and reaches
        it.
        """
        z = {entry: self._next + k for k, entry in enumerate(_LOWER)}
        logs = self._next + len(_LOWER)
        self._next += _EXTRA
        rows = np.zeros((len(_TRI8), self.size))
        rhs = np.zeros(len(_TRI8))
        for k, entry in enumerate(_TRI4):
            rows[_TRI8[entry], : C.shape[1]] = C[k]
            rhs[_TRI8[entry]] = constant[k]
        for (i, j), column in z.items():
            rows[_TRI8[i, 4 + j], column] = np.sqrt(2.0)
            if i == j:
                rows[_TRI8[4 + i, 4 + i], column] = 1.0
        self._add(rows, rhs, clarabel.PSDTriangleConeT(8), scalable=False)
        for i in range(4):  # (w, 1, Z_ii) in the exponential cone: exp(w) <= Z_ii
            rows = np.zeros((3, self.size))
            rows[0, logs + i] = 1.0
            rows[2, z[i, i]] = 1.0
            self._add(rows, np.array([0.0, 1.0, 0.0]), clarabel.ExponentialConeT(), scalable=False)
        self.q[logs : logs + 4] -= weight
        diagonal = [k for k, (i, j) in enumerate(_TRI4) if i == j]
        self.q[: C.shape[1]] += weight * C[diagonal].sum(axis=0)

    def solve(self) -> ConicResult:
        """Run Clarabel; without any cone the answer is t."""
        if not self._cones:
            return ConicResult(self.t.copy(), np.zeros(0), Status.CONVERGED, "unconstrained", 0)
        unit, best = self.unit, self._attempt(self.unit)
        for _ in range(0 if self._log_dets else RESCALINGS):
            exact = best.distance**2 <= EXACT_COST * float(self.t @ self.t)
            if best.status is not Status.CONVERGED or exact or best.distance > FAR_ENOUGH * unit:
                break
            unit = best.distance
            again = self._attempt(unit)
            if again.status is not Status.CONVERGED:
                break
            best = replace(again, iterations=best.iterations + again.iterations)
        return best

    def _attempt(self, unit: float) -> ConicResult:
        """The best tolerance that can be met, w = (v - origin) / unit the variables."""
        for tolerance in TOLERANCES:
            result = self._run(tolerance, unit)
            if result.status is not Status.NOT_CONVERGED:
                break
        return result

    def _run(self, tolerance: float, unit: float) -> ConicResult:
        n = len(self.t)
        A = np.vstack(self._rows)
        rhs = np.concatenate(self._rhs) + A[:, :n] @ self.origin
        cost = 1.0 / unit**2  # of the objective, so that it is of order one
        P, q = np.zeros((self.size, self.size)), cost * self.q
        P[:n, :n] = 2.0 * self.M.T @ self.M
        q[:n] *= unit
        A[:, :n] *= unit
        shrunk = np.concatenate(self._scalable)
        A[shrunk], rhs[shrunk] = A[shrunk] / unit, rhs[shrunk] / unit
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.chordal_decomposition_enable = (
            False  # cones of 4 or 8 rows gain nothing; it panics on a constant entry
        )
        settings.equilibrate_enable = False  # the variables are whitened already; scaling the cones loses digits
        settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.tol_gap_abs = EXACT_COST * max(float(self.t @ self.t), 1.0) * cost if not self._log_dets else tolerance
        solver = clarabel.DefaultSolver(
            sparse.csc_array(np.triu(P)), q, sparse.csc_array(-A), rhs, self._cones, settings
        )
        found = solver.solve()
        x, dual = np.array(found.x), np.array(found.z)
        name = str(found.status)
        multipliers = np.concatenate([dual[cut] for cut in self._bounds]) if self._bounds else np.zeros(0)
        usable = bool(np.isfinite(x).all())
        return ConicResult(
            self.origin + unit * x[:n] if usable else self.t.copy(),
            multipliers if usable else np.zeros(len(multipliers)),
            _STATUS.get(name, Status.NOT_CONVERGED),
            name,
            int(found.iterations),
            unit * float(np.linalg.norm(x[:n])) if usable else 0.0,
        )

    def _add(self, rows: Array, rhs: Array, cone: Any, *, scalable: bool = True) -> None:
        """``scalable``: the cone holds v alone, and any positive multiple of its rows says the same."""
        full = np.zeros((len(rows), self.size))
        full[:, : rows.shape[1]] = rows
        self._rows.append(full)
        self._rhs.append(np.asarray(rhs, dtype=float))
        self._scalable.append(np.full(len(rows), scalable))
        self._cones.append(cone)
        self._height += len(rows)
