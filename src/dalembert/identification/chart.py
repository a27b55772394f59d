"""Unconstrained coordinates of physically consistent parameters: log-Cholesky bodies, exponential friction.

Each block maps some coordinates ``theta`` onto some columns of ``pi``, with its exact Jacobian. No block adds a
stationary point: each is one-to-one onto the inside of its set.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Protocol

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.constraints import Resolved
from dalembert.identification.objective import Objective, mass_only, pseudo_basis, unsvec
from dalembert.identification.problem import Problem
from dalembert.identification.rows import Array
from dalembert.parameters import (
    N_INERTIAL,
    from_pseudo_inertia,
    to_log_cholesky,
)

__all__ = ["BodyBlock", "Chart", "ExpBlock", "FreeBlock", "MassBlock", "build_chart"]

# upper triangle of U for each log-Cholesky coordinate after alpha: d1 d2 d3 s12 s23 s13 t1 t2 t3 [Gnad24, eq. 13]
_SLOTS = {1: (0, 0), 2: (1, 1), 3: (2, 2), 4: (0, 1), 5: (1, 2), 6: (0, 2), 7: (0, 3), 8: (1, 3), 9: (2, 3)}
_ROWS = np.array([i for i, _ in _SLOTS.values()])
_COLUMNS = np.array([j for _, j in _SLOTS.values()])
_DIAGONAL = np.arange(3)
# (10, 16): the ten parameters of a pseudo-inertia, a linear map
_FROM_PSEUDO = np.array([from_pseudo_inertia(unit.reshape(4, 4)) for unit in np.eye(16)]).T
# entry of the pseudo-inertia that is an off-diagonal parameter, by its index among the ten
_ENTRY = {1: (0, 1), 2: (0, 2), 4: (1, 2), 6: (0, 3), 7: (1, 3), 8: (2, 3)}
_TENSOR_INDEX = {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 1): 3, (1, 2): 4, (2, 2): 5}


class Block(Protocol):
    """A piece of the chart: ``columns`` of pi that each take the same values (tied bodies), from ``size``
    coordinates.
    """

    @property
    def columns(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def size(self) -> int: ...

    def start(self, reference: Array) -> Array:
        """Coordinates of reference values."""
        ...

    def value(self, theta: Array) -> Array: ...

    def jacobian(self, theta: Array) -> Array: ...

    def reach(self, theta: Array, change: Array) -> float:
        """How far ``value + s change`` stays in the set: the largest s."""
        ...


def _order(axes: tuple[int, ...]) -> list[int]:
    """Index of the ten parameters of a body whose axes are renamed: ``p_new = p[_order]``."""
    tensor = [_TENSOR_INDEX[(min(axes[i], axes[j]), max(axes[i], axes[j]))] for i in range(3) for j in range(i, 3)]
    return [*tensor, *(6 + axis for axis in axes), 9]


@dataclass(frozen=True, slots=True)
class BodyBlock:
    """Log-Cholesky coordinates of a body, those of structural zeros dropped [Gnad24, eq. 13, 14, 16].

    ``axes`` is the order of the axes in which the zeros are zeros of U; ``active`` the coordinates kept; ``mass`` a
    known mass, which replaces alpha by ``log(mass / (1 + |t|^2)) / 2``.
    """

    columns: tuple[tuple[int, ...], ...]
    axes: tuple[int, ...]
    active: tuple[int, ...]
    mass: float | None = None

    @property
    def size(self) -> int:
        return len(self.active)

    def start(self, reference: Array) -> Array:
        return to_log_cholesky(reference[_order(self.axes)])[list(self.active)]

    def _full(self, theta: Array) -> Array:
        full = np.zeros(N_INERTIAL)
        full[list(self.active)] = theta
        if self.mass is not None:
            full[0] = 0.5 * np.log(self.mass / (1.0 + full[7:] @ full[7:]))
        return full

    def value(self, theta: Array) -> Array:
        U = self.upper(theta)
        out = np.empty(N_INERTIAL)
        out[_order(self.axes)] = _FROM_PSEUDO @ (U.T @ U).reshape(16)
        return out

    def log_barrier(self, theta: Array) -> float:
        """``-log det J``: minus twice the logarithms of the diagonal of U."""
        full = self._full(theta)
        return float(-2.0 * (4.0 * full[0] + full[1:4].sum()))

    def upper(self, theta: Array) -> Array:
        """U (4, 4) in the order of the axes, J = U'U [Gnad24, eq. 13]."""
        full = self._full(theta)
        U = np.zeros((4, 4))
        U[_ROWS, _COLUMNS] = full[1:]
        U[_DIAGONAL, _DIAGONAL] = np.exp(full[1:4])
        U[3, 3] = 1.0
        return np.asarray(np.exp(full[0]) * U)

    def whitener(self, theta: Array) -> Array:
        """(10, 10): svec of ``U^-T dJ U^-1`` for a change of the ten parameters."""
        out = np.empty((N_INERTIAL, N_INERTIAL))
        out[:, _order(self.axes)] = pseudo_basis(self.upper(theta).T)
        return out

    def reach(self, theta: Array, change: Array) -> float:
        least = float(np.linalg.eigvalsh(unsvec(self.whitener(theta) @ change))[0])
        return -1.0 / least if least < 0.0 else np.inf

    def jacobian(self, theta: Array) -> Array:
        full, U = self._full(theta), self.upper(theta)
        dU = np.zeros((N_INERTIAL, 4, 4))
        dU[0] = U
        scale = np.exp(full[0])
        dU[np.arange(1, N_INERTIAL), _ROWS, _COLUMNS] = scale
        dU[_DIAGONAL + 1, _DIAGONAL, _DIAGONAL] = scale * np.exp(full[1:4])
        half = np.swapaxes(dU, 1, 2) @ U
        J = _FROM_PSEUDO @ (half + np.swapaxes(half, 1, 2)).reshape(N_INERTIAL, 16).T
        if self.mass is not None:
            J[:, 7:] -= np.outer(J[:, 0], full[7:] / (1.0 + full[7:] @ full[7:]))
        out = np.empty((N_INERTIAL, self.size))
        out[_order(self.axes)] = J[:, list(self.active)]
        return out


@dataclass(frozen=True, slots=True)
class MassBlock:
    """A point mass at the origin: ten parameters that are zero but for ``M = exp(2 alpha)``."""

    columns: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return 1

    def start(self, reference: Array) -> Array:
        if not reference[9] > 0.0:
            raise EstimationError(f"prior: point mass of {reference[9]:g} kg, expected a positive mass")
        return np.array([0.5 * np.log(reference[9])])

    def value(self, theta: Array) -> Array:
        return np.asarray(np.eye(N_INERTIAL)[9] * np.exp(2.0 * theta[0]))

    def jacobian(self, theta: Array) -> Array:
        return 2.0 * self.value(theta)[:, None]

    def reach(self, theta: Array, change: Array) -> float:
        step = float(change[9])
        return -float(np.exp(2.0 * theta[0])) / step if step < 0.0 else np.inf


@dataclass(frozen=True, slots=True)
class ExpBlock:
    """A parameter above ``lower``: ``p = lower + exp(theta)`` [Gnad24, section V.B]. ``typical`` starts it at a
    bound.
    """

    columns: tuple[tuple[int, ...], ...]
    lower: float
    typical: float

    @property
    def size(self) -> int:
        return 1

    def start(self, reference: Array) -> Array:
        above = float(reference[0]) - self.lower
        return np.array([np.log(above if above > 0.0 else self.typical)])

    def value(self, theta: Array) -> Array:
        return np.asarray(self.lower + np.exp(theta))

    def jacobian(self, theta: Array) -> Array:
        return np.exp(theta)[:, None]

    def reach(self, theta: Array, change: Array) -> float:
        step = float(change[0])
        return -float(np.exp(theta[0])) / step if step < 0.0 else np.inf


@dataclass(frozen=True, slots=True)
class FreeBlock:
    """A parameter of any sign."""

    columns: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return 1

    def start(self, reference: Array) -> Array:
        return reference[:1].copy()

    def value(self, theta: Array) -> Array:
        return theta

    def jacobian(self, theta: Array) -> Array:
        return np.ones((1, 1))

    def reach(self, theta: Array, change: Array) -> float:
        return np.inf


@dataclass(frozen=True, slots=True)
class Chart:
    """``pi(theta)``: blocks one after the other over a constant part ``fixed`` (p,)."""

    blocks: tuple[Block, ...]
    fixed: Array

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(block.size for block in self.blocks)

    def slices(self) -> list[slice]:
        """Coordinates of each block."""
        ends = np.cumsum([0, *(block.size for block in self.blocks)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def start(self, reference: Array) -> Array:
        """Coordinates of reference parameters (p,)."""
        parts = [block.start(reference[list(block.columns[0])]) for block in self.blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def value(self, theta: Array) -> Array:
        """Standard parameters (p,)."""
        out = self.fixed.copy()
        for block, where in zip(self.blocks, self.slices(), strict=True):
            for columns in block.columns:
                out[list(columns)] = block.value(theta[where])
        return out

    def jacobian(self, theta: Array) -> Array:
        """Derivative (p, size)."""
        out = np.zeros((len(self.fixed), self.size))
        for block, where in zip(self.blocks, self.slices(), strict=True):
            for columns in block.columns:
                out[list(columns), where] = block.jacobian(theta[where])
        return out

    def reach(self, theta: Array, change: Array) -> float:
        """How far ``pi(theta) + s change`` (p,) stays physical: the largest s."""
        pairs = zip(self.blocks, self.slices(), strict=True)
        return min(
            (block.reach(theta[where], change[list(block.columns[0])]) for block, where in pairs), default=np.inf
        )


def build_chart(problem: Problem, resolved: Resolved, objective: Objective) -> Chart:
    """The chart of a problem under its constraints; what log-Cholesky coordinates cannot express raises."""
    if not resolved.plain:
        raise EstimationError("physical: linear equalities need the method 'sdp' or 'bounded'")
    blocks: list[Block] = []
    taken: set[int] = set()
    for body in problem.bodies:
        columns = list(body.columns)
        taken.update(columns)
        if np.isnan(resolved.fixed[columns]).any() and any(b.columns == body.columns for b in objective.bodies):
            tied = [
                other.columns
                for other in problem.bodies
                if np.array_equal(resolved.tie[list(other.columns)], resolved.tie[columns])
            ]
            blocks.append(_body_block(body.name, tuple(tied), resolved))
    for i, name in enumerate(problem.parameters):
        if i in taken or not np.isnan(resolved.fixed[i]) or resolved.tie[i] != i:
            continue
        same = np.flatnonzero(resolved.tie == i)
        copies = tuple((int(k),) for k in same)
        lower = float(max(resolved.lower[k] for k in same))
        if any(k in problem.nonnegative for k in same):
            lower = max(lower, 0.0)
        if any(np.isfinite(resolved.upper[k]) for k in same):
            raise EstimationError(f"physical: upper bound of {name!r} needs the method 'sdp' or 'bounded'")
        blocks.append(FreeBlock(copies) if lower == -np.inf else ExpBlock(copies, lower, float(objective.scale[i])))
    _check_ties(problem, resolved, taken)
    return Chart(tuple(blocks), np.where(np.isnan(resolved.fixed), 0.0, resolved.fixed))


def _check_ties(problem: Problem, resolved: Resolved, inertial: set[int]) -> None:
    for i in inertial:
        if resolved.tie[i] != i and np.isnan(resolved.fixed[i]):
            whole = next(b for b in problem.bodies if i in b.columns)
            roots = {int(resolved.tie[k]) for k in whole.columns}
            if not any(roots == set(b.columns) for b in problem.bodies):
                raise EstimationError(
                    f"physical: {problem.parameters[i]!r} is tied alone, expected whole bodies (or the method 'sdp')"
                )
        if (np.isfinite(resolved.lower[i]) and resolved.lower[i] > 0.0) or np.isfinite(resolved.upper[i]):
            raise EstimationError(f"physical: bounds of {problem.parameters[i]!r} need the method 'sdp' or 'bounded'")


def _body_block(name: str, columns: tuple[tuple[int, ...], ...], resolved: Resolved) -> Block:
    mine = list(columns[0])
    fixed = resolved.fixed[mine]
    if mass_only(resolved, mine):
        return MassBlock(columns)
    if not np.isnan(fixed[[0, 3, 5]]).all():
        raise EstimationError(
            f"physical: XX, YY or ZZ of body {name!r} is fixed, expected all three free (a body with mass has extent) "
            "or everything but the mass zero"
        )
    known = [k for k in _ENTRY if not np.isnan(fixed[k])]
    if any(fixed[k] != 0.0 for k in known):
        raise EstimationError(f"physical: a fixed non-zero moment of body {name!r} needs the method 'sdp'")
    mass = None if np.isnan(fixed[9]) else float(fixed[9])
    if mass is not None and not mass > 0.0:
        raise EstimationError(f"physical: mass of body {name!r} is fixed to {mass:g} kg, expected a positive mass")
    for axes in permutations(range(3)):
        dropped = _dropped({_ENTRY[k] for k in known}, axes)
        if dropped is not None:
            active = [k for k in range(N_INERTIAL) if k not in dropped and not (k == 0 and mass is not None)]
            return BodyBlock(columns, axes, tuple(active), mass)
    raise EstimationError(
        f"physical: the zeros of body {name!r} are no zeros of a Cholesky factor in any order of the axes, "
        "expected e.g. all deviation moments, or the method 'sdp'"
    )


def _dropped(zeros: set[tuple[int, int]], axes: tuple[int, ...]) -> set[int] | None:
    """Coordinates to drop so that the zero entries of J are zero whatever the others; None where that is not so."""
    place = {axis: i for i, axis in enumerate(axes)} | {3: 3}
    entries = {(min(place[i], place[j]), max(place[i], place[j])) for i, j in zeros}
    for i, j in entries:
        # J_ij = sum over k <= i of U_ki U_kj
        for k in range(i):
            if (k, i) not in entries and (k, j) not in entries:
                return None
    return {k for k, slot in _SLOTS.items() if slot in entries}
