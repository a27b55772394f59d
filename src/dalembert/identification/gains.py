"""Drive gains (torque constants) from a weighed payload: torque and model scaled to each other by a known mass.

With measured currents (or torques of unknown gain) the model is ``sum_k g_k T_k = W pi``: the torque columns ``T_k``
of the motors are unknown columns too, and everything is known up to one factor, which a known parameter fixes
[Briot15, 4.3].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dalembert.errors import EstimationError, choices
from dalembert.identification.factor import Factor, accumulate, combine, triangle
from dalembert.identification.linear import solve_linear
from dalembert.identification.problem import BaseLike, Status
from dalembert.identification.rows import Array, Rows

__all__ = ["DriveGains", "Gains", "GainsMethod"]

# A known parameter must be a base parameter by itself: regrouping coefficients below this are rounding.
PURE = 1e-9


class GainsMethod(StrEnum):
    """Where the noise is taken to be."""

    TORQUE = "torque"  # in the torque columns, of equal size in all: mixed least squares - total least squares
    TOTAL = "total"  # in every column, in proportion to its norm: total least squares
    LINEAR = "linear"  # in the equations: least squares for the known parameter's column (gains come out too small)


@dataclass(frozen=True, slots=True)
class Gains:
    """Gains (n,) of the motors with sigma, and the base values found with them. Multiply nominal torques by the
    gains.
    """

    status: Status
    message: str
    motors: tuple[str, ...]
    values: Array
    sigma: Array | None
    base_names: tuple[str, ...]
    base_values: Array
    relative_error: float
    rank: int
    condition: float

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Value and sigma by motor, JSON values."""
        sigma = [None] * len(self.motors) if self.sigma is None else self.sigma.tolist()
        return {m: {"value": v, "sigma": s} for m, v, s in zip(self.motors, self.values.tolist(), sigma, strict=True)}

    def gain(self, motor: str) -> float:
        """The gain of one motor."""
        if motor not in self.motors:
            raise EstimationError(f"gains: no motor {motor!r}; {choices(motor, self.motors)}")
        return float(self.values[self.motors.index(motor)])


@dataclass(frozen=True, slots=True)
class DriveGains:
    """Gains from rows whose columns hold, beside those of the parameters, one torque column for each motor.

    ``columns`` maps motors to the names of their torque columns (the rows of each motor's torque at nominal gain 1, in
    the rows' projection); y is the torque of the ``others``, motors whose gain is known, zero where there is none.
    ``known`` gives the weighed parameters, such as the payload's mass. ``weighted``: row groups weighted by their own
    residual, which keeps the noise of all torques alike where they are nearly in N m already.
    """

    columns: Mapping[str, str]
    known: Mapping[str, float]
    method: GainsMethod = GainsMethod.TORQUE
    others: int = 0
    weighted: bool = False

    def __post_init__(self) -> None:
        if not self.columns:
            raise EstimationError("gains: no motors, expected a torque column for each")
        if not any(value != 0.0 for value in self.known.values()):
            raise EstimationError(
                "gains: no known parameter that is not zero, expected e.g. the payload's weighed mass"
            )

    def estimate(self, rows: Rows, base: BaseLike) -> Gains:
        """The gains. ``base`` is the base set of the parameter columns (``rows`` without the torque columns)."""
        names = tuple(rows.parameters)
        torque = [_find(names, column, "torque column") for column in self.columns.values()]
        known, free = self._split(names, base)
        factors = accumulate(rows)
        if not any(factor.rows for factor in factors):
            raise EstimationError("gains: the source has no rows, expected at least one block of rows")
        value = np.array([self.known[names[i]] for i in known])
        # unknowns [g, beta_free] and the known side: T g - W_f beta = W_k pi_k - y
        # equal noise in all torque columns stays equal only in rows that are not weighted
        weighted = self.weighted or self.method is not GainsMethod.TORQUE
        scales = self._scales(factors, torque, free, known, value) if weighted else np.ones(len(factors))
        R = combine(factors, scales)
        T, Wf, c = R[:, torque], R[:, free], R[:, known] @ value - R[:, -1]
        solution = solve_linear(np.column_stack([T, -Wf]), c)
        x = self._solve(T, Wf, c) if solution.full_rank else None
        status, message = Status.CONVERGED, ""
        if not solution.full_rank:
            status = Status.RANK_DEFICIENT
            message = "gains and parameters move together: add logs with and without the weighed payload"
        elif x is None:
            status, message = Status.NOT_CONVERGED, "no finite solution: the payload is not seen in the torque"
        x = solution.values if x is None else x
        residual = float(np.linalg.norm(T @ x[: len(torque)] - Wf @ x[len(torque) :] - c))
        measured = float(np.linalg.norm(T @ x[: len(torque)] + R[:, -1]))
        left = rows.dof_share * sum(f.count for f in factors) - len(x)
        # first-order spread: the residual of the equations through the linear map at the solution
        sigma = residual / np.sqrt(left) * np.linalg.norm(solution.half, axis=1) if left > 0.0 else None
        n = len(torque)
        return Gains(
            status=status,
            message=message,
            motors=tuple(self.columns),
            values=x[:n],
            sigma=None if sigma is None else sigma[:n],
            base_names=tuple(names[i] for i in free),
            base_values=x[n:],
            relative_error=residual / measured if measured > 0.0 else 0.0,
            rank=solution.rank,
            condition=solution.condition,
        )

    def _split(self, names: tuple[str, ...], base: BaseLike) -> tuple[list[int], list[int]]:
        """Columns of the known base parameters and of the free ones."""
        place = {base.names[i]: row for row, i in enumerate(base.independent)}
        known = []
        for name in self.known:
            if name not in place:
                raise EstimationError(f"gains: known {name!r} is no base parameter; {choices(name, place)}")
            partners = np.flatnonzero(np.abs(base.K[place[name]]) > PURE)
            if len(partners):
                others = ", ".join(base.names[base.dependent[k]] for k in partners)
                raise EstimationError(
                    f"gains: known {name!r} is regrouped with {others}, expected one that stands alone"
                )
            known.append(_find(names, name, "known parameter"))
        free = [_find(names, name, "base parameter") for name in place if name not in self.known]
        return known, free

    def _scales(
        self, factors: tuple[Factor, ...], torque: Sequence[int], free: list[int], known: list[int], value: Array
    ) -> Array:
        """Weights 1/sigma of the groups, from the residual of the common linear solution."""
        ones = np.ones(len(factors))
        R = combine(factors, ones)
        c = R[:, known] @ value - R[:, -1]
        x = solve_linear(np.column_stack([R[:, torque], -R[:, free]]), c).values
        sigma = np.zeros(len(factors))
        for g, f in enumerate(factors):
            gap = np.column_stack([f.R[:, torque], -f.R[:, free]]) @ x - f.R[:, known] @ value + f.R[:, -1]
            sigma[g] = np.linalg.norm(gap) / np.sqrt(max(f.count, 1.0))
        size = float(np.linalg.norm(c)) / np.sqrt(max(sum(f.count for f in factors), 1.0))
        floor = 1e-9 * size  # an exact fit must not hide the other groups
        return np.asarray(1.0 / np.maximum(sigma, floor)) if floor > 0.0 else ones

    def _solve(self, T: Array, Wf: Array, c: Array) -> Array | None:
        """``[g, beta]`` with the noise where the method says."""
        n = T.shape[1]
        if self.method is GainsMethod.LINEAR:
            return solve_linear(np.column_stack([T, -Wf]), c).values
        exact = np.column_stack([-Wf, -c])
        if self.method is GainsMethod.TOTAL:
            stacked = np.column_stack([T, exact])
            scale = 1.0 / np.linalg.norm(stacked, axis=0)
            v: Array = np.linalg.svd(triangle(stacked * scale))[2][-1] * scale
            return _normalised(v)
        # eliminate the exact columns, then the smallest singular vector of what is left of those with noise: the
        # torques, and the known side where it holds the torque of other motors
        m = exact.shape[1] - (self.others > 0)
        noise = np.concatenate([np.full(exact.shape[1] - m, np.sqrt(self.others)), np.ones(n)])
        R = triangle(np.column_stack([exact, T]))
        g = np.linalg.svd(R[m:, m:] / noise)[2][-1] / noise
        rest = solve_linear(R[:m, :m], -R[:m, m:] @ g).values
        return _normalised(np.concatenate([g[-n:], rest, g[:-n]]))


def _normalised(v: Array) -> Array | None:
    """The vector scaled so that its last entry, that of the known column, is one."""
    if abs(v[-1]) <= np.finfo(float).eps * float(np.abs(v).max()):
        return None
    return np.asarray(v[:-1] / v[-1])


def _find(names: Sequence[str], name: str, what: str) -> int:
    if name not in names:
        raise EstimationError(f"gains: {what} {name!r} is not among the rows' columns; {choices(name, names)}")
    return list(names).index(name)
