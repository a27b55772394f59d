"""The regularised objective on standard parameters, shared by the physical methods so that their optima compare.

``J(pi) = gamma_tau/s |W_tau (tau - Y pi)|^2 + gamma_p R(pi)`` [Gnad24, eq. 15], with several choices of R.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from dalembert.errors import EstimationError, choices
from dalembert.identification.constraints import Resolved
from dalembert.identification.factor import one_thread, triangle
from dalembert.identification.linear import null_space
from dalembert.identification.outcome import own_scales
from dalembert.identification.prior import natural_scale
from dalembert.identification.problem import Problem
from dalembert.identification.rows import Array
from dalembert.parameters import N_INERTIAL, is_physical, pseudo_inertia

__all__ = ["Body", "Objective", "Regularisation", "Weighting", "assemble", "bregman", "pseudo_basis", "svec", "unsvec"]

# A reference entry below this share of what its body's diagonal allows is taken as zero.
ZERO_REFERENCE = 1e-9
# The least noise taken at its word, relative to the peak torque, when it sets the weight of the prior: without any (an
# exact simulation) the directions the torque does not see would be lost to rounding.
QUIETEST = 1e-4
_OFF = np.sqrt(2.0)
_Choice = TypeVar("_Choice", bound=StrEnum)


class Regularisation(StrEnum):
    """What pulls to the prior ``p_reg``, besides the torque."""

    RELATIVE = "relative"  # |p - p_reg|^2 in W_p = diag(p_reg)^-2 [Gnad24, eq. 15]
    EUCLIDEAN = "euclidean"  # |p - p_reg|^2 in SI units
    PULLBACK = "pullback"  # |J0^-1/2 (J - J0) J0^-1/2|_F^2, independent of the frame (Lee and Park 2018)
    ENTROPIC = "entropic"  # log-det divergence of the pseudo-inertias (Lee, Wensing and Park 2020)
    NONE = "none"  # only directions the torque does not see go to the prior, in W_p


class Weighting(StrEnum):
    """What the rows of a group are divided by."""

    PEAK = "peak"  # the largest torque of the group: W_tau = diag(tau_max)^-2 [Gnad24]
    NOISE = (
        "noise"  # the standard deviation of the group's own OLS residual [Briot15, 4.2], the clearest peak being one
    )
    UNIT = "unit"  # nothing


@dataclass(frozen=True, slots=True)
class Body:
    """A body of the problem with the Cholesky factor ``L`` (4, 4) of its reference pseudo-inertia ``J0 = L L'``."""

    name: str
    columns: tuple[int, ...]
    L: Array
    count: int  # how many tied bodies it stands for
    point: bool = False  # a point mass at the origin: only its mass is not zero


@dataclass(frozen=True, slots=True)
class Objective:
    """``|T pi - t|^2 + floor + entropy sum_bodies D(J || J0)``.

    ``T`` (p, p) upper triangular, ``t`` (p,): data and quadratic regularisation. ``data_share``: gamma_tau / s.
    ``gamma_p``: the weight of the prior that was used.
    """

    T: Array
    t: Array
    floor: float
    entropy: float
    bodies: tuple[Body, ...]
    reference: Array
    scale: Array
    scales: Array
    data_share: float
    gamma_p: float

    @property
    def extended(self) -> tuple[Body, ...]:
        """The bodies that are more than a point mass."""
        return tuple(body for body in self.bodies if not body.point)

    def cost(self, standard: Array) -> float:
        """J at standard parameters (p,); infinite where a log-det does not exist."""
        total = float(np.sum((self.T @ standard - self.t) ** 2)) + self.floor
        if self.entropy:
            for body in self.extended:
                total += self.entropy * body.count * bregman(standard[list(body.columns)], body.L)
        return total


def bregman(ten: Array, L: Array) -> float:
    """Log-det divergence of a body's pseudo-inertia from ``J0 = L L'``: ``tr(J0^-1 J) - log det(J0^-1 J) - 4``."""
    half = solve_triangular(L, pseudo_inertia(ten), lower=True)
    whitened = solve_triangular(L, half.T, lower=True)
    eigenvalues = np.linalg.eigvalsh(0.5 * (whitened + whitened.T))
    if eigenvalues[0] <= 0.0:
        return float("inf")
    return float(np.sum(eigenvalues - np.log(eigenvalues) - 1.0))


def pseudo_basis(L: Array) -> Array:
    """(10, 10): scaled upper triangle (off-diagonal times sqrt 2) of ``L^-1 J(p) L^-T`` as a linear map of p."""
    inverse = solve_triangular(L, np.eye(4), lower=True)
    return np.asarray((inverse @ _PSEUDO @ inverse.T)[:, _TRIANGLE[0], _TRIANGLE[1]].T * _FACTOR[:, None])


# Clarabel's order of a symmetric matrix: upper triangle, column by column
_TRIANGLE = (
    np.array([i for j in range(4) for i in range(j + 1)]),
    np.array([j for j in range(4) for i in range(j + 1)]),
)
_FACTOR = np.where(_TRIANGLE[0] == _TRIANGLE[1], 1.0, _OFF)
_PSEUDO = np.array([pseudo_inertia(unit) for unit in np.eye(N_INERTIAL)])  # J of each parameter alone


def svec(X: Array) -> Array:
    """Upper triangle (10,) of a symmetric 4x4 matrix, off-diagonals times sqrt 2: keeps the inner product."""
    return np.asarray(X[_TRIANGLE] * _FACTOR)


def unsvec(x: Array) -> Array:
    """Inverse of :func:`svec`."""
    X = np.empty((4, 4))
    X[_TRIANGLE] = X[_TRIANGLE[::-1]] = x / _FACTOR
    return X


def assemble(
    problem: Problem,
    resolved: Resolved,
    *,
    gamma_tau: float,
    gamma_p: float,
    regularisation: Regularisation | str,
    weighting: Weighting | str,
    physical: bool = True,
) -> Objective:
    """The objective of a problem; needs a physically consistent prior of every body when ``physical``.

    ``gamma_p`` 0: from the noise, see :func:`noise_weight`.
    """
    if not (gamma_tau > 0.0 and gamma_p >= 0.0):
        raise EstimationError(f"gamma_tau {gamma_tau}, gamma_p {gamma_p}, expected positive numbers (gamma_p 0: auto)")
    regularisation = _member(Regularisation, regularisation, "regularisation")
    weighting = _member(Weighting, weighting, "weighting")
    if physical and problem.prior is None and problem.bodies:
        raise EstimationError(
            "physical method: no prior, expected one for every body (Prior.of_bodies or nominal values)"
        )
    p = len(problem.parameters)
    reference = problem.prior.vector(problem.parameters) if problem.prior else np.zeros(p)
    bodies = _bodies(problem, resolved, physical)
    points = {body.columns for body in problem.bodies if mass_only(resolved, list(body.columns))}
    scales = group_scales(problem, weighting)
    data_share = gamma_tau / max(_samples(problem), 1.0)
    gamma_p = gamma_p or data_share * noise_weight(problem, scales)
    with one_thread():
        R = np.sqrt(data_share) * problem.weighted(scales)
        scale = _reference_scale(problem, reference, R)
        rows, target = _regulariser(regularisation, problem, points, reference, scale, R)
        stacked = np.vstack([R, np.sqrt(gamma_p) * np.column_stack([rows, target])])
        T = triangle(stacked)
    entropy = gamma_p if regularisation is Regularisation.ENTROPIC else 0.0
    return Objective(
        T[:p, :p], T[:p, p], float(T[p, p] ** 2), entropy, bodies, reference, scale, scales, data_share, gamma_p
    )


def _member(kind: type[_Choice], found: str, what: str) -> _Choice:
    if found not in list(kind):
        raise EstimationError(f"{what}: no {found!r}; {choices(found, kind)}")
    return kind(found)


def group_scales(problem: Problem, weighting: Weighting) -> Array:
    """Factors (G,) of the groups' rows."""
    if weighting is Weighting.UNIT:
        return np.ones(len(problem.factors))
    peaks = np.array([factor.peak for factor in problem.factors])
    largest = float(peaks.max(initial=0.0))
    if weighting is Weighting.NOISE:
        own = own_scales(problem)[0]
        clearest = float((own * peaks).max(initial=0.0))
        return own / clearest if clearest > 0.0 else own
    # a group that was never loaded is as exact as the strongest one
    return np.asarray(1.0 / np.where(peaks > 0.0, peaks, largest)) if largest > 0.0 else np.ones(len(peaks))


def noise_weight(problem: Problem, scales: Array) -> float:
    """What one sigma of one row costs: the weight of the prior that believes each parameter to within its own size.

    [Gnad24, eq. 15] with ``gamma_p / gamma_tau`` of this over s is the maximum of the posterior: the data outweigh the
    prior as the log grows. A fixed ratio would pull as hard however long the log is.
    """
    filled = [g for g, factor in enumerate(problem.factors) if factor.rows]
    sigma = own_scales(problem)[1] * scales
    quietest = QUIETEST * scales / group_scales(problem, Weighting.PEAK)
    return float(np.mean(np.maximum(sigma, quietest)[filled] ** 2)) if filled else 1.0


def _samples(problem: Problem) -> float:
    """Number of samples s: rows per group."""
    filled = [factor.count for factor in problem.factors if factor.rows]
    return float(np.mean(filled)) if filled else 0.0


def _bodies(problem: Problem, resolved: Resolved, physical: bool) -> tuple[Body, ...]:
    """Bodies with a condition of their own: not fixed as a whole, one for each set of tied ones."""
    out: dict[tuple[int, ...], Body] = {}
    for body in problem.bodies:
        columns = list(body.columns)
        if not physical or not np.isnan(resolved.fixed[columns]).any():
            continue
        assert problem.prior is not None
        root = tuple(int(i) for i in resolved.tie[columns])
        if root in out:
            known = out[root]
            out[root] = replace(known, count=known.count + 1)
            continue
        ten = np.array([problem.prior.values.get(problem.parameters[i], 0.0) for i in columns])
        point = mass_only(resolved, columns)
        if not point:
            problem.prior.check_body(body.name)
        L: Array = np.eye(4) if point else np.asarray(np.linalg.cholesky(pseudo_inertia(ten)))
        out[root] = Body(body.name, body.columns, L, 1, point)
    return tuple(out.values())


def mass_only(resolved: Resolved, columns: list[int]) -> bool:
    """True for a point mass at the origin of its frame: everything but the mass is zero."""
    return bool(np.all(resolved.fixed[columns[:9]] == 0.0))


def _reference_scale(problem: Problem, reference: Array, R: Array) -> Array:
    """The size (p,) a deviation from the prior is measured in: ``|p_reg|`` [Gnad24], or where that is zero

    * for an entry of a body, what its diagonal allows: ``sqrt(J_ii J_jj)`` of the pseudo-inertia;
    * for another parameter, the value that would explain all torque by itself.

    A scale given by the prior holds.
    """
    scale = np.abs(reference)
    natural = np.zeros(len(scale))
    for body in problem.bodies:
        columns = list(body.columns)
        natural[columns] = natural_scale(reference[columns]) if is_physical(reference[columns]) else 0.0
    column, torque = np.linalg.norm(R[:, :-1], axis=0), float(np.linalg.norm(R[:, -1]))
    whole = np.where(column > 0.0, torque / np.where(column > 0.0, column, 1.0), 1.0)
    whole = np.where(whole > 0.0, whole, 1.0)
    spare = np.where(natural > 0.0, natural, whole)
    scale = np.where((scale > ZERO_REFERENCE * natural) & (scale > 0.0), scale, spare)
    for name, value in (problem.prior.scale if problem.prior else {}).items():
        scale[problem.parameters.index(name)] = value
    return np.asarray(scale)


def _regulariser(
    kind: Regularisation,
    problem: Problem,
    points: set[tuple[int, ...]],
    reference: Array,
    scale: Array,
    R: Array,
) -> tuple[Array, Array]:
    """Rows P (k, p) and target (k,) of the quadratic part of R(pi)."""
    p = len(reference)
    if kind is Regularisation.EUCLIDEAN:
        return np.eye(p), reference.copy()
    P = np.diag(1.0 / scale)
    if kind is Regularisation.NONE:
        # the projector on the null directions of W in units of the scale: leaves what the torque sees alone. Being off
        # by one scale costs gamma_p of what no model at all would, whatever the weights of the rows
        N = null_space(R[:, :-1] * scale)
        Q = np.linalg.qr(N)[0]
        size = float(np.linalg.norm(R[:, -1]))
        P = (size if size > 0.0 else 1.0) * Q.T @ P
    elif kind is not Regularisation.RELATIVE:
        for body in problem.bodies:
            columns = list(body.columns)
            if body.columns in points or not is_physical(reference[columns]):
                continue
            block = np.zeros((N_INERTIAL, N_INERTIAL))  # the log-det divergence takes the place of the quadratic
            if kind is Regularisation.PULLBACK:
                block = pseudo_basis(np.asarray(np.linalg.cholesky(pseudo_inertia(reference[columns]))))
            P[np.ix_(columns, columns)] = block
    return P, P @ reference
