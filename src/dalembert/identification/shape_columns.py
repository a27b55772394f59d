"""Speeds that friction is not linear in are unknowns, too: what fitting them adds to the uncertainty of the rest.

Friction laws with fitted shapes enter the rows as if they were known. Taken at that, 95 % intervals of Stribeck
friction held the truth in 69 of 100 simulated logs. So each shape gets a column, the slope of the modelled torque by
it, and the covariance is that of values and shapes found together (the Gauss-Newton step at the solution).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dalembert.identification.factor import accumulate
from dalembert.identification.fitted import TiedRows
from dalembert.identification.friction import FrictionLaws, coordinate_units
from dalembert.identification.friction_rows import FrictionRows
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import BaseLike, Estimate, Problem
from dalembert.identification.rows import Array, RowBlock, Rows
from dalembert.identification.uncertainty import Robust, robust_covariance

__all__ = ["ShapeValue", "covariances"]


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A fitted shape with its robust sigma [unit]."""

    value: float
    sigma: float
    unit: str


@dataclass(frozen=True, slots=True)
class _ShapeRows:
    """Rows whose slope columns are summed to the slope of the modelled torque by each shape.

    ``sloped`` has ``len(slopes)`` slope columns behind those of the parameters; ``slopes`` (slope columns, shapes) are
    the coefficients of the friction columns they are slopes of.
    """

    sloped: Rows
    slopes: Array
    names: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.sloped.parameters[: -len(self.slopes)], *self.names)

    @property
    def groups(self) -> tuple[str, ...]:
        return self.sloped.groups

    @property
    def dof_share(self) -> float:
        return self.sloped.dof_share

    def blocks(self) -> Iterator[RowBlock]:
        at = -len(self.slopes)
        for block in self.sloped.blocks():
            yield replace(block, W=np.asfortranarray(np.hstack([block.W[:, :at], block.W[:, at:] @ self.slopes])))


@dataclass(frozen=True, slots=True)
class _WithShapes:
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


def covariances(prepared: Prepared, estimate: Estimate) -> tuple[Estimate, Robust, dict[str, ShapeValue]]:
    """The estimate and its robust covariance, both with the uncertainty of the shapes that were fitted, and these."""
    laws, problem, k = prepared.laws, prepared.problem, len(estimate.values)
    if laws is None or not laws.shape or estimate.score.instruments:
        return estimate, robust_covariance(problem, estimate), {}
    rows = _shape_rows(prepared, estimate)
    p, spread = len(problem.parameters), _searched(laws)
    joint = replace(
        problem,
        rows=rows,
        factors=accumulate(rows),
        base=_WithShapes(problem.base, rows.parameters),
        kept=(*problem.kept, *range(p, len(rows.parameters))),
    )
    gain = _joint_gain(joint, estimate, spread)
    stepped = replace(
        estimate,
        names=joint.names,
        values=np.concatenate([estimate.values, np.zeros(len(spread))]),
        score=replace(estimate.score, gain=gain),
    )
    robust = robust_covariance(joint, stepped)
    believed = gain[:, k:] * (estimate.sigma_rho**2 / spread)  # how an error of the belief moves the values
    robust = replace(robust, covariance=robust.covariance + believed @ believed.T)
    units = coordinate_units(prepared.described)
    found = {
        name: ShapeValue(shape.value, float(sigma), shape.unit.format(units[name.partition("_")[2]]))
        for name, shape, sigma in zip(laws.shape_names, laws.shape, robust.sigma[k:], strict=True)
    }
    if estimate.covariance is not None:
        more = gain[:k, :k] - estimate.score.gain
        estimate = replace(estimate, covariance=estimate.covariance + estimate.sigma_rho**2 * more)
    return estimate, robust.first(k), found


def _shape_rows(prepared: Prepared, estimate: Estimate) -> _ShapeRows:
    """Rows with the slope of the modelled torque by each shape, at the values of an estimate."""
    rows = prepared.rows
    source = rows.rows if isinstance(rows, TiedRows) else rows
    assert isinstance(source, FrictionRows)
    sloped = FrictionRows(source.tracks, source.laws, slopes=True)
    values = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
    slopes = np.zeros((len(sloped.slope_pairs), len(source.laws.shape)))
    for at, (column, shape) in enumerate(sloped.slope_pairs):
        slopes[at, shape] = values.get(sloped.parameters[column], 0.0)
    tied = TiedRows(sloped, rows.ties) if isinstance(rows, TiedRows) else sloped
    return _ShapeRows(tied, slopes, source.laws.shape_names)


def _searched(laws: FrictionLaws) -> Array:
    """What is known of each shape without any log: the standard deviation of its searched range, in its unit."""
    return np.array([s.value * np.log(s.upper / s.lower) / np.sqrt(12.0) for s in laws.shape])


def _joint_gain(joint: Problem, estimate: Estimate, spread: Array) -> Array:
    """Gain of values and shapes together, from that of the values alone (the inverse by blocks).

    A shape the log does not show is not free to be anything: it lies in the range searched, ``spread``.
    """
    k, gain = len(estimate.values), estimate.score.gain
    X = joint.weighted(estimate.score.scales)[:, list(joint.kept)]
    values, shapes = X[:, :k], X[:, k:]
    # a robust loss counts rows less: its gain is larger by what its slope is below one
    slope = 1.0 if estimate.score.loss is None else estimate.rank / float(np.sum((values @ gain) * values))
    moved = slope * gain @ (values.T @ shapes)
    left = slope * (shapes.T @ (shapes - values @ moved)) + np.diag((estimate.sigma_rho / spread) ** 2)
    inverse = np.linalg.pinv(left, hermitian=True)
    return np.block([[gain + moved @ inverse @ moved.T, -moved @ inverse], [-inverse @ moved.T, inverse]])
