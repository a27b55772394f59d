"""What was found before the last fit is unknown in it, too: friction speeds and torque constants.

Both enter the rows as if they were known. Taken at that, 95 % intervals of Stribeck friction held the truth in 69 of
100 simulated logs, those of Coulomb friction beside four unknown torque constants in 60. So each gets a column, the
slope of the residual by it, and the covariance is that of all unknowns together (the Gauss-Newton step at the
solution).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dalembert.identification.drive import with_torques
from dalembert.identification.factor import accumulate
from dalembert.identification.fitted import TiedRows
from dalembert.identification.friction import FrictionLaws, coordinate_units
from dalembert.identification.friction_rows import FrictionRows
from dalembert.identification.gains import Gains
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import BaseLike, Estimate, Problem
from dalembert.identification.rows import Array, RowBlock, Rows
from dalembert.identification.uncertainty import Robust, robust_covariance

__all__ = ["ShapeValue", "Uncertain", "covariances"]

Widen = Callable[[Iterator[RowBlock]], Iterator[RowBlock]]


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A fitted shape with its robust sigma [unit]."""

    value: float
    sigma: float
    unit: str


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An estimate with covariances that count all unknowns, and those it was made with: shapes of friction by name,
    gains with a robust sigma.
    """

    estimate: Estimate
    robust: Robust | None = None
    shapes: dict[str, ShapeValue] | None = None
    gains: Gains | None = None


@dataclass(frozen=True, slots=True)
class _Nuisance:
    """Columns of unknowns beside those of a problem.

    ``spread``: standard deviation of each known without any log (inf: none). ``noise``: share of the residual's square
    that each column's own noise adds to its square.
    """

    names: tuple[str, ...]
    widen: Widen
    spread: Array
    noise: Array


@dataclass(frozen=True, slots=True)
class _Wide:
    """Rows with the columns of all nuisances behind those of the parameters."""

    rows: Rows
    more: tuple[_Nuisance, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.rows.parameters, *(name for part in self.more for name in part.names))

    @property
    def groups(self) -> tuple[str, ...]:
        return self.rows.groups

    @property
    def dof_share(self) -> float:
        return self.rows.dof_share

    def blocks(self) -> Iterator[RowBlock]:
        stream = self.rows.blocks()
        for part in self.more:
            stream = part.widen(stream)
        return stream


@dataclass(frozen=True, slots=True)
class _WideBase:
    """A base set beside columns that stand alone."""

    base: BaseLike
    names: tuple[str, ...]

    @property
    def independent(self) -> tuple[int, ...]:
        return (*self.base.independent, *range(len(self.base.names), len(self.names)))

    @property
    def dependent(self) -> tuple[int, ...]:
        return tuple(self.base.dependent)

    @property
    def K(self) -> Array:
        more = len(self.names) - len(self.base.names)
        return np.vstack([self.base.K, np.zeros((more, len(self.base.dependent)))])


def covariances(prepared: Prepared, estimate: Estimate, gains: Gains | None = None) -> Uncertain:
    """The covariances of an estimate that friction shapes were fitted, or torque constants found for."""
    laws, problem, k = prepared.laws, prepared.problem, len(estimate.values)
    parts = []
    if laws is not None and laws.shape:
        parts.append(_shapes(prepared, laws, estimate))
    if gains is not None:
        parts.append(_torques(prepared, gains))
    if not parts or estimate.score.instruments:
        return Uncertain(estimate, robust_covariance(problem, estimate), {}, gains)
    rows = _Wide(problem.rows, tuple(parts))
    p, count = len(problem.parameters), len(rows.parameters)
    base, kept = _WideBase(problem.base, rows.parameters), (*problem.kept, *range(p, count))
    joint = replace(problem, rows=rows, factors=accumulate(rows), base=base, kept=kept)
    spread, noise = (np.concatenate([getattr(part, what) for part in parts]) for what in ("spread", "noise"))
    gain = _joint_gain(joint, estimate, spread, noise)
    values = np.concatenate([estimate.values, np.zeros(count - p)])
    stepped = replace(estimate, names=joint.names, values=values, score=replace(estimate.score, gain=gain))
    robust = robust_covariance(joint, stepped)
    believed = gain[:, k:] * (estimate.sigma_rho**2 / spread)  # how an error of what was believed moves the values
    robust = replace(robust, covariance=robust.covariance + believed @ believed.T)
    sigma = dict(zip(rows.parameters[p:], robust.sigma[k:].tolist(), strict=True))
    if estimate.covariance is not None:
        more = gain[:k, :k] - estimate.score.gain
        estimate = replace(estimate, covariance=estimate.covariance + estimate.sigma_rho**2 * more)
    if gains is not None:
        relative = np.array([sigma[f"gain_{name}"] for name in gains.motors])
        gains = replace(gains, sigma=np.abs(gains.values) * relative)
    return Uncertain(estimate, robust.first(k), _shape_values(prepared, sigma), gains)


def _shape_values(prepared: Prepared, sigma: dict[str, float]) -> dict[str, ShapeValue]:
    if prepared.laws is None:
        return {}
    units = coordinate_units(prepared.described)
    named = zip(prepared.laws.shape_names, prepared.laws.shape, strict=True)
    return {
        name: ShapeValue(shape.value, sigma[name], shape.unit.format(units[name.partition("_")[2]]))
        for name, shape in named
    }


def _shapes(prepared: Prepared, laws: FrictionLaws, estimate: Estimate) -> _Nuisance:
    """The slope of the modelled torque by each shape, at the values of an estimate."""
    source = prepared.rows.rows if isinstance(prepared.rows, TiedRows) else prepared.rows
    assert isinstance(source, FrictionRows)
    sloped = FrictionRows(source.tracks, laws, slopes=True)
    values = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
    slopes = np.zeros((len(sloped.slope_pairs), len(laws.shape)))
    for at, (column, shape) in enumerate(sloped.slope_pairs):
        slopes[at, shape] = values.get(sloped.parameters[column], 0.0)

    def widen(stream: Iterator[RowBlock]) -> Iterator[RowBlock]:
        for block, other in zip(stream, sloped.blocks(), strict=True):
            yield replace(block, W=np.hstack([block.W, other.W[:, -len(slopes) :] @ slopes]))

    # without any log a shape lies in the range searched, anywhere in its logarithm
    spread = np.array([s.value * np.log(s.upper / s.lower) / np.sqrt(12.0) for s in laws.shape])
    return _Nuisance(laws.shape_names, widen, spread, np.zeros(len(spread)))


def _torques(prepared: Prepared, gains: Gains) -> _Nuisance:
    """The torque of each motor whose constant was found: its relative error moves the residual by so much."""

    def widen(stream: Iterator[RowBlock]) -> Iterator[RowBlock]:
        for block in with_torques(prepared, gains.motors, stream):
            W = block.W.copy()
            W[:, -len(gains.motors) :] *= -1.0
            yield replace(block, W=W)

    # weighted rows hold as much noise of one motor as of another
    m, n = len(gains.motors), prepared.model.n
    return _Nuisance(tuple(f"gain_{name}" for name in gains.motors), widen, np.full(m, np.inf), np.full(m, 1.0 / n))


def _joint_gain(joint: Problem, estimate: Estimate, spread: Array, noise: Array) -> Array:
    """Gain of values and nuisances together, from that of the values alone (the inverse by blocks)."""
    k, gain = len(estimate.values), estimate.score.gain
    X = joint.weighted(estimate.score.scales)
    values, others = X[:, list(joint.kept[:k])], X[:, list(joint.kept[k:])]
    # a robust loss counts rows less: its gain is larger by what its slope is below one
    slope = 1.0 if estimate.score.loss is None else estimate.rank / float(np.sum((values @ gain) * values))
    moved = slope * gain @ (values.T @ others)
    left = slope * (others.T @ (others - values @ moved)) + np.diag((estimate.sigma_rho / spread) ** 2)
    left -= np.diag(noise * estimate.sigma_rho**2 * estimate.freedom)
    inverse = np.linalg.pinv(left, hermitian=True)
    return np.block([[gain + moved @ inverse @ moved.T, -moved @ inverse], [-inverse @ moved.T, inverse]])
