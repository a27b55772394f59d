"""Base parameters: what a robot's torques can tell at all, and how the standard parameters regroup.

Columns are taken in the user's order without pivoting [Briot15, section 4.1]: one that depends on those before it is
regrouped into them, ``beta_i = pi_i + sum k_ij pi_j``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from dalembert.display import Tabled, aligned
from dalembert.errors import EstimationError, ModelError, choices
from dalembert.identification.factor import one_thread
from dalembert.model import Model
from dalembert.motion import States, random_states
from dalembert.parameters import INERTIAL, inertial_names
from dalembert.robot import EffortKind, Loop, Robot

__all__ = [
    "BaseSet",
    "Ties",
    "base_of_factor",
    "base_parameters",
    "default_order",
    "no_ties",
    "nominal_values",
    "asked_ties",
    "symmetric_ties",
]

Array = NDArray[np.float64]

COEFFICIENT = 1e-8  # a regrouping coefficient below this is rounding: SI coefficients are lengths and their squares
_SAMPLES_PER_PARAMETER = 3  # rows per column of the random observation matrix
DEPENDENT = 1e-9  # relative remainder of a dependent column: rounding leaves 1e-15, sound robots stay above 1e-6
_ZERO_COLUMN = 1e-13  # relative to the largest column: a column of rounding errors


@dataclass(frozen=True, slots=True)
class Ties:
    """Parameters meant to be equal, one column for each group: ``pi = matrix @ tied`` (p, q)."""

    names: tuple[str, ...]
    matrix: Array


def no_ties(parameters: Sequence[str]) -> Ties:
    """Every parameter on its own."""
    return Ties(tuple(parameters), np.eye(len(parameters)))


def _group_label(bodies: Sequence[str]) -> str:
    """Common name of a symmetric group: rod1 ... rod4 -> rod."""
    prefix = bodies[0]
    while any(not name.startswith(prefix) for name in bodies):
        prefix = prefix[:-1]
    prefix = prefix.rstrip("_-. ")
    return prefix if len(prefix) > 1 else "=".join(bodies)


def symmetric_ties(robot: Robot) -> Ties:
    """Bodies of each symmetric group share their inertial parameters; efforts stay one per joint."""
    group_of = {name: group for group in robot.symmetric for name in group}
    labels = {group: _group_label(group) for group in robot.symmetric}
    taken = set(robot.body_names)
    merged: dict[str, str] = {}
    for body in robot.bodies:
        group = group_of.get(body.name)
        label = body.name if group is None else labels[group]
        if group is not None and label in taken - set(group):
            label = "=".join(group)
        merged |= dict(zip(inertial_names(body.name), inertial_names(label), strict=True))
    parameters = robot.parameters()
    columns = [merged.get(name, name) for name in parameters]
    names = tuple(dict.fromkeys(columns))
    matrix = np.zeros((len(parameters), len(names)))
    for i, name in enumerate(columns):
        matrix[i, names.index(name)] = 1.0
    return Ties(names, matrix)


def asked_ties(robot: Robot, symmetric: bool) -> Ties:
    """The ties of a robot's symmetric bodies where they are asked for, else none."""
    if symmetric and not robot.symmetric:
        raise EstimationError(f"robot {robot.name!r} declares no symmetric bodies that could be tied")
    return symmetric_ties(robot) if symmetric else no_ties(robot.parameters())


def nominal_values(robot: Robot, names: Sequence[str]) -> dict[str, float]:
    """What a description gives for columns, tied or not; tied bodies that differ there have their mean."""
    ties, parameters = symmetric_ties(robot), robot.parameters()
    known = dict(robot.nominal)
    for name, column in zip(ties.names, ties.matrix.T, strict=True):
        values = [robot.nominal[parameters[i]] for i in np.flatnonzero(column) if parameters[i] in robot.nominal]
        if values:
            known[name] = float(np.mean(values))
    return {name: known[name] for name in names if name in known}


def default_order(robot: Robot, names: Sequence[str]) -> tuple[str, ...]:
    """Friction first, then bodies, springs and laws, rotor inertias, constant efforts last.

    Later ones are regrouped into earlier ones. Bodies stand from the base on; in a closed robot the platform comes
    first and symmetric parameters side by side [Briot15, eq. 43].
    """
    closed = any(isinstance(loop, Loop) for loop in robot.loops)
    early = {EffortKind.VISCOUS, EffortKind.COULOMB, EffortKind.FORCE}
    late = {EffortKind.ROTOR: 1, EffortKind.OFFSET: 2, EffortKind.CONSTANT: 2}
    kinds = {name: effort.kind for effort in robot.efforts for name in effort.parameters}
    # natural order of bodies: the platform's, then each symmetric group where its first member stands
    first = {name: group[0] for group in robot.symmetric for name in group}
    rank = {name: k for k, name in enumerate(robot.body_names)}

    def key(item: tuple[int, str]) -> tuple[float, ...]:
        position, name = item
        if name in kinds:
            kind = kinds[name]
            return (0, position) if kind in early else (2 + late.get(kind, 0), position)
        symbol, _, body = name.partition("_")
        members = [b for b in robot.body_names if b == body] or [b for b in first if _group_label_of(robot, b) == body]
        owner = members[0] if members else body
        leader = first.get(owner, owner)
        place = -1 if closed and owner == robot.platform else rank.get(leader, 0)
        return (1, place, INERTIAL.index(symbol), rank.get(owner, 0))

    return tuple(name for _, name in sorted(enumerate(names), key=key))


def _group_label_of(robot: Robot, body: str) -> str:
    return next((_group_label(group) for group in robot.symmetric if body in group), body)


@dataclass(frozen=True, slots=True)
class BaseSet(Tabled):
    """Base parameters ``beta = pi_b + K pi_d`` of a model, over the columns ``names`` (tied ones merged).

    ``independent`` and ``dependent`` index ``names``; ``unidentifiable`` are columns with no effect at all;
    ``gap`` is the drop, in decades, between what is left of the weakest kept and of the strongest dropped column;
    ``condition`` that of the base columns on the rows used.
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    unidentifiable: tuple[int, ...]
    K: Array
    gap: float
    condition: float
    ties: Ties

    @property
    def n_base(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Names of the base parameters: that of the standard parameter each starts from, R added where regrouped."""
        regrouped = np.abs(self.K).max(axis=1, initial=0.0) > 0.0
        return tuple(
            _regrouped_name(self.names[i]) if more else self.names[i]
            for i, more in zip(self.independent, regrouped, strict=True)
        )

    def __repr__(self) -> str:
        return f"<BaseSet {self.headline}>"

    def __str__(self) -> str:
        """Every base parameter and what it is a sum of."""
        silent = ", ".join(self.names[k] for k in self.unidentifiable) or "none"
        cells = [(name, f"= {text}" if text != name else "") for name, text in self.relations().items()]
        return "\n".join([self.headline, *aligned(cells, indent="  "), f"without any effect on the torques: {silent}"])

    @property
    def headline(self) -> str:
        """Counts and how sure they are."""
        return (
            f"{self.n_base} base parameters of {len(self.names)} standard ones, rank gap {self.gap:.1f} decades, "
            f"condition {self.condition:.3g}"
        )

    def project(self, tied: Array) -> Array:
        """Beta of a vector of (tied) standard parameters, shape (..., q) -> (..., b)."""
        return tied[..., list(self.independent)] + tied[..., list(self.dependent)] @ self.K.T

    def relation(self, i: int) -> str:
        """Regrouping of base parameter ``i`` as text, ``ZZ_crank1 + 0.0784 M_rod1``."""
        text = self.names[self.independent[i]]
        for j, k in zip(self.dependent, self.K[i], strict=True):
            if k:
                size = f"{abs(k):.6g} " if abs(abs(k) - 1.0) > COEFFICIENT else ""
                text += f" {'+' if k > 0 else '-'} {size}{self.names[j]}"
        return text

    def relations(self) -> dict[str, str]:
        """Relation of every base parameter, by its name."""
        return {name: self.relation(i) for i, name in enumerate(self.base_names)}


def _regrouped_name(name: str) -> str:
    symbol, _, rest = name.partition("_")
    return f"{symbol}R_{rest}"


def _sift(r: Array, columns: Sequence[int], scale: float) -> tuple[list[int], Array]:
    """Columns that are independent of the accepted ones before them, and every column's remainder over ``scale``.

    A plain QR of a triangle would spend one of its rows on each dependent column and lose what later columns have
    there; here only accepted columns are projected out (Gram-Schmidt, twice).
    """
    basis = np.empty((len(r), 0))
    accepted: list[int] = []
    left = np.empty(len(columns))
    for k, column in enumerate(columns):
        rest = r[:, column]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        left[k] = np.linalg.norm(rest) / scale
        if left[k] > DEPENDENT:
            accepted.append(column)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return accepted, left


def _gap(left: Array) -> float:
    """Decades between the smallest accepted remainder and the largest rejected one."""
    rejected = np.maximum(left[left <= DEPENDENT], 1e-17)
    return float(np.log10(left[left > DEPENDENT].min() / rejected.max(initial=1e-17)))


def base_of_factor(r: Array, names: Sequence[str], ties: Ties, order: Sequence[str] = ()) -> BaseSet:
    """Base set from the triangular factor R (q, q) of an observation matrix over the tied columns ``names``.

    ``order`` lists the columns by preference; ``names`` as they stand unless given. Columns are not normalised: a
    column of rounding errors would become one.
    """
    names = tuple(names)
    order = tuple(order) or names
    if sorted(order) != sorted(names):
        unknown = next((name for name in order if name not in names), "")
        raise EstimationError(f"column order: found {unknown!r} or a missing name; {choices(unknown, names)}")
    columns = [names.index(name) for name in order]
    scale = float(np.linalg.norm(r, axis=0).max(initial=0.0))
    if not scale > 0.0:
        raise EstimationError("base parameters: every column is zero, expected a motion that needs torque")
    accepted, left = _sift(r, columns, scale)
    independent = tuple(accepted)
    null = np.linalg.norm(r, axis=0) < _ZERO_COLUMN * scale
    unidentifiable = tuple(k for k in columns if k not in independent and null[k])
    dependent = tuple(k for k in columns if k not in independent and not null[k])
    b = len(independent)
    both = qr(r[:, [*independent, *dependent]], mode="r")[0]
    k_matrix = solve_triangular(both[:b, :b], both[:b, b:])
    k_matrix[np.abs(k_matrix) < COEFFICIENT] = 0.0
    # a dependent column whose every coefficient rounds away was null after all
    lost = [j for j in range(len(dependent)) if not np.abs(k_matrix[:, j]).max(initial=0.0)]
    unidentifiable += tuple(dependent[j] for j in lost)
    keep = [j for j in range(len(dependent)) if j not in lost]
    dependent = tuple(dependent[j] for j in keep)
    sigma = np.linalg.svd(r[:, list(independent)], compute_uv=False)
    matrix = k_matrix[:, keep]
    matrix.flags.writeable = False
    return BaseSet(
        names, independent, dependent, unidentifiable, matrix, _gap(left), float(sigma[0] / sigma[-1]), ties
    )  # fmt: skip


def structural_rows(
    model: Model,
    projection: str | None = None,
    *,
    payloads: Sequence[str] = (),
    carried: Sequence[str] = (),
    seed: int = 0,
) -> tuple[Array, States]:
    """W (n, k, p) on random admissible states, and the states.

    ``payloads`` are the bodies that only some logs carry; ``carried`` the payload of each kind of log ("" for none),
    one set of states for each: stacking kinds is what separates a payload from the platform [Briot15, eq. 49].
    """
    n = _SAMPLES_PER_PARAMETER * len(model.parameters) // max(1, min(model.r, 3)) + 20
    kinds = tuple(carried) or ("",)
    states = random_states(model, n * len(kinds), np.random.default_rng(seed))
    w = np.array(model.regressor(states.y, states.yd, states.ydd, projection))
    if not np.isfinite(w).all():
        raise ModelError(_not_held(model, states.y, projection or model.default_projection))
    for k, label in enumerate(kinds):
        absent = [name for body in payloads if body != label for name in inertial_names(body)]
        w[k * n : (k + 1) * n, :, [model.parameters.index(name) for name in absent]] = 0.0
    return w, states


def structural_factor(w: Array) -> Array:
    """R of rows W (n, k, q) with every state's scaled to norm 1: a few states near a singularity, where velocities grow
    without bound, would else outweigh all others by many decades.
    """
    size = np.linalg.norm(w, axis=(1, 2), keepdims=True)
    rows = w / np.where(size > 0.0, size, 1.0)
    with one_thread():  # two make it no faster, and wait for each other where cores are shared
        return np.asarray(np.linalg.qr(rows.reshape(-1, w.shape[-1]), mode="r"))


def _not_held(model: Model, y: Array, projection: str) -> str:
    """What to say of a projection that divides by a singular J_inv: which motion the motors do not hold."""
    _, sigma, axes = np.linalg.svd(model.velocity_maps(y)[1])
    held = int((sigma > 1e-9 * sigma[:, :1]).sum(axis=1).min())
    free = np.abs(axes[:, held:]).max(axis=(0, 1), initial=0.0)
    names = [name for name, share in zip(model.independent, free, strict=True) if share > 0.1]
    return (
        f"robot {model.robot.name!r}: projection {projection!r} does not exist, the motors hold {held} of {model.r} "
        f"motions ({', '.join(names) or 'all'} free of them); choose another projection, or check the geometry"
    )


def base_parameters(
    model: Model,
    projection: str | None = None,
    *,
    symmetric: bool = False,
    order: Sequence[str] = (),
    payloads: Sequence[str] = (),
    carried: Sequence[str] = (),
    seed: int = 0,
) -> BaseSet:
    """Structural base parameters of a model, from random admissible states.

    ``payloads`` and ``carried`` as for :func:`structural_rows`.
    """
    ties = asked_ties(model.robot, symmetric)
    w, _ = structural_rows(model, projection, payloads=payloads, carried=carried, seed=seed)
    order = order or default_order(model.robot, ties.names)
    return base_of_factor(structural_factor(w @ ties.matrix), ties.names, ties, order)
