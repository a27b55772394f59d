"""The contract of the estimators: a :class:`Problem` goes in, an :class:`Estimate` comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.constraints import Constraints
from dalembert.identification.factor import Factor, accumulate, combine
from dalembert.identification.prior import Prior
from dalembert.identification.robust import Loss
from dalembert.identification.rows import Array, Rows
from dalembert.parameters import INERTIAL, inertial_names

__all__ = [
    "BaseLike",
    "BodyColumns",
    "Estimate",
    "Estimator",
    "GroupResidual",
    "Problem",
    "Score",
    "Setting",
    "Status",
    "bodies_of",
]

Setting = str | float | int | bool | None | list[str] | list[float]
DISSIPATIVE = ("Fv_*", "Fc_*", "Fs_*", "Ia_*", "Fd_*")


class Status(StrEnum):
    """How an estimation ended."""

    CONVERGED = "converged"
    RANK_DEFICIENT = "rank deficient"
    TOO_FEW_ROWS = "too few rows"
    NO_TORQUE = "no torque"
    NOT_CONVERGED = "not converged"
    INFEASIBLE = "infeasible"
    DIVERGED = "simulation diverged"
    LEFT_WORKSPACE = "left workspace"
    SATURATED = "motors saturated"
    UNLIKE = "simulation unlike the log"

    @property
    def ok(self) -> bool:
        """True when the values can be used as they are."""
        return self is Status.CONVERGED

    @property
    def remedy(self) -> str:
        """What to do about it, one sentence; empty when all is well."""
        return _REMEDY[self]


_REMEDY = {
    Status.CONVERGED: "",
    Status.RANK_DEFICIENT: "the log leaves some base parameters open: add motions that show them, or fix or drop them",
    Status.TOO_FEW_ROWS: "fewer degrees of freedom in the rows than parameters: use a longer log or decimate less",
    Status.NO_TORQUE: "the torque is zero in every row: check the channel map and the units",
    Status.NOT_CONVERGED: "raise the iteration limit, start from a better prior or choose a stronger regularisation",
    Status.INFEASIBLE: "no parameters meet all constraints: relax a bound, a fixed value or a tie",
    Status.DIVERGED: "check that the controller is the log's (gains, rate, side of the gears), then the inertia it was "
    "tuned on; or start elsewhere: start=regular, start=reference",
    Status.LEFT_WORKSPACE: "check that the reference is this robot's: its columns, units and offsets, and the home it "
    "starts from",
    Status.SATURATED: "a motor at its limit says little of the robot: use logs of slower motions, or check the torque "
    "limits in the robot's description",
    Status.UNLIKE: "check that controller and reference are those of the log, and that the log starts with the "
    "reference (offset)",
}


class BaseLike(Protocol):
    """A base parameter set: ``W pi = W[:, independent] beta`` with ``beta = pi[independent] + K pi[dependent]``."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the standard parameters, length p."""
        ...

    @property
    def independent(self) -> tuple[int, ...]:
        """Columns of the base parameters."""
        ...

    @property
    def dependent(self) -> tuple[int, ...]:
        """The other columns."""
        ...

    @property
    def K(self) -> Array:
        """Regrouping (b, p-b)."""
        ...


@dataclass(frozen=True, slots=True)
class BodyColumns:
    """The ten columns of one body, in the order of ``parameters.INERTIAL``."""

    name: str
    columns: tuple[int, ...]


def bodies_of(parameters: Sequence[str]) -> tuple[BodyColumns, ...]:
    """The bodies whose ten parameters are all among the columns, found by name."""
    index = {name: i for i, name in enumerate(parameters)}
    found = []
    for name in parameters:
        body = name.removeprefix("XX_")
        if body != name and all(n in index for n in inertial_names(body)):
            found.append(BodyColumns(body, tuple(index[n] for n in inertial_names(body))))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows with their factors, the base set, and what is known beforehand.

    ``kept`` lists the base columns estimated (all, or the essential ones). ``nonnegative`` lists columns of parameters
    that cannot be negative (friction, rotor inertia). ``instruments`` are rows of that shape with noise-free columns.
    """

    rows: Rows
    factors: tuple[Factor, ...]
    base: BaseLike
    kept: tuple[int, ...]
    bodies: tuple[BodyColumns, ...] = ()
    nonnegative: tuple[int, ...] = ()
    prior: Prior | None = None
    constraints: Constraints = field(default_factory=Constraints)
    instruments: Rows | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: Rows,
        base: BaseLike,
        *,
        factors: tuple[Factor, ...] | None = None,
        nonnegative: Iterable[str] = DISSIPATIVE,
        prior: Prior | None = None,
        constraints: Constraints | None = None,
        instruments: Rows | None = None,
        units: Mapping[str, str] = MappingProxyType({}),
    ) -> Problem:
        """The problem of some rows: one pass over them unless factors are given. ``nonnegative``: name patterns."""
        names = tuple(rows.parameters)
        if tuple(base.names) != names:
            raise EstimationError(
                f"base set of {len(base.names)} parameters does not match the {len(names)} columns of the rows"
            )
        patterns = tuple(nonnegative)
        signed = tuple(i for i, n in enumerate(names) if any(fnmatchcase(n, p) for p in patterns))
        return cls(
            rows=rows,
            factors=accumulate(rows) if factors is None else factors,
            base=base,
            kept=tuple(base.independent),
            bodies=bodies_of(names),
            nonnegative=signed,
            prior=prior,
            constraints=constraints or Constraints(),
            instruments=instruments,
            units=units,
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the standard parameters."""
        return tuple(self.rows.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters estimated."""
        return tuple(self.parameters[i] for i in self.kept)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of all rows."""
        return self.rows.dof_share * sum(factor.count for factor in self.factors)

    @property
    def torque_norm(self) -> float:
        """2-norm of all measured torques."""
        return float(np.linalg.norm([factor.torque_norm for factor in self.factors]))

    def restrict(self, keep: Iterable[str]) -> Problem:
        """The same problem with the other base parameters set to zero."""
        wanted = set(keep)
        for name in wanted - set(self.names):
            raise EstimationError(f"base parameters: no {name!r}; {choices(name, self.names)}")
        return replace(self, kept=tuple(i for i in self.kept if self.parameters[i] in wanted))

    def base_map(self) -> Array:
        """B (len(kept), p): base values of standard parameters, ``beta = B pi``."""
        B = np.zeros((len(self.base.independent), len(self.parameters)))
        B[np.arange(len(B)), list(self.base.independent)] = 1.0
        B[:, list(self.base.dependent)] = self.base.K
        position = {column: row for row, column in enumerate(self.base.independent)}
        return B[[position[column] for column in self.kept]]

    def weighted(self, scales: Sequence[float] | Array) -> Array:
        """R of all groups, group g scaled by ``scales[g]``."""
        return combine(self.factors, scales)


@dataclass(frozen=True, slots=True)
class Score:
    """How the values answer to the rows: ``d values = gain @ sum over rows of s x psi(s r)``.

    ``gain`` (k, b); ``x`` the kept base columns of a row (of the instruments where ``instruments``),
    ``s = scales[group]``, ``psi(u) = u`` unless a robust ``loss`` is given. What a second pass needs
    for a robust covariance.
    """

    gain: Array
    scales: Array
    loss: Loss | None = None
    instruments: bool = False


@dataclass(frozen=True, slots=True)
class GroupResidual:
    """Residual of one row group: its rows, RMS [unit of the group] and norm relative to the measured one."""

    group: str
    rows: int
    rms: float
    relative: float
    scale: float  # what the rows of the group were multiplied by


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an estimator returns, read-only.

    ``values`` (k,) of ``names`` (base parameters). ``covariance`` (k, k) by the papers' formula [Briot15, eq. 45-47],
    None when no degree of freedom is left for the noise. ``determined`` (k,): False where the log leaves a value open
    (then it is the minimum-norm one). ``relative_error``: ``|y - W beta| / |y|`` over all rows; ``weighted_error`` the
    same with each group scaled as it was. ``standard`` (p,): all standard parameters, for methods that give them.
    """

    method: str
    status: Status
    names: tuple[str, ...]
    values: Array
    determined: NDArray[np.bool_]
    covariance: Array | None
    groups: tuple[GroupResidual, ...]
    relative_error: float
    weighted_error: float
    sigma_rho: float
    rank: int
    condition: float
    freedom: float
    score: Score
    iterations: int = 1
    cost: float = 0.0
    message: str = ""
    standard: Array | None = None
    standard_names: tuple[str, ...] = ()
    standard_covariance: Array | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.values, self.determined, self.covariance, self.standard, self.standard_covariance):
            if array is not None:
                array.setflags(write=False)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    @property
    def sigma(self) -> Array | None:
        """Standard deviations (k,) by the papers' formula."""
        return None if self.covariance is None else np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def value(self, name: str) -> float:
        """The value of one base parameter."""
        if name not in self.names:
            raise EstimationError(f"estimate: no parameter {name!r}; {choices(name, self.names)}")
        return float(self.values[self.names.index(name)])

    def body(self, name: str) -> Array:
        """The ten standard parameters of a body, for methods that give them."""
        if self.standard is None:
            raise EstimationError(f"estimate by {self.method!r} has base parameters only, expected a physical method")
        wanted = inertial_names(name)
        if wanted[0] not in self.standard_names:
            bodies = [n[len(INERTIAL[0]) + 1 :] for n in self.standard_names if n.startswith(INERTIAL[0] + "_")]
            raise EstimationError(f"estimate: no body {name!r}; {choices(name, bodies)}")
        return self.standard[[self.standard_names.index(n) for n in wanted]]


class Estimator(Protocol):
    """A method: its constructor stores settings, :meth:`estimate` does the work and may be called again."""

    @property
    def method(self) -> str:
        """Short name, as the command line spells it."""
        ...

    def estimate(self, problem: Problem) -> Estimate:
        """The estimate of a problem. Wrong options raise; what the numbers do is in the status."""
        ...
