"""Standard parameters for formats that hold bodies: a consistent fit's own, or the consistent ones that are nearest to
what is believed and have exactly the base values of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from dalembert.errors import ExportError, choices
from dalembert.export.source import Identified
from dalembert.identification.base import BaseSet, base_parameters, structural_factor, structural_rows
from dalembert.identification.conic import ConicProgram
from dalembert.identification.factor import one_thread
from dalembert.identification.objective import pseudo_basis
from dalembert.identification.prepare import nonnegative_names
from dalembert.identification.prior import Cylinder, Prior, Sphere
from dalembert.identification.problem import Status
from dalembert.parameters import from_pseudo_inertia, inertial_names, is_physical, pseudo_inertia
from dalembert.robot import BASE, Loop, Placement, Robot
from dalembert.robot.geometry import rotation_about, unit

__all__ = ["PRIORS", "Completion", "complete", "prior_bodies"]

Array = NDArray[np.float64]

PRIORS = ("auto", "nominal", "primitives", "uniform")
# Smallest eigenvalue a pseudo-inertia keeps, relative to the one believed: what other engines' own checks accept, then
# what rounding leaves.
MARGINS = (1e-3, 1e-6)
# Weight of the relative torque change against the distance to what is believed, where base values must give way.
TORQUE_WEIGHT = 1e8
MOVED = 1e-3  # relative torque of a base value's change, to the largest, from which it is named
_THICKNESS = 0.15  # radius of a bar over its length
_BALL = 0.1  # radius of a ball over the robot's mean link length


@dataclass(frozen=True, slots=True)
class Completion:
    """Standard parameters ``pi`` (p,), and one line for everything that was assumed."""

    pi: Array
    notes: tuple[str, ...]


def complete(source: Identified, prior: str = "auto", closest: bool = False) -> Completion:
    """Physically consistent standard parameters of a fit: its own where it has them, else the nearest to ``prior`` of
    all that have its base values [Sousa14's feasible set]; ExportError where there are none, unless ``closest``.
    """
    if prior not in PRIORS:
        raise ExportError(f"prior {prior!r}; {choices(prior, PRIORS)}")
    if source.physical and not _faults(source, source.pi):
        return Completion(source.pi, ())
    with one_thread():
        return _Completing(source, prior, closest).run()


def _faults(source: Identified, pi: Array) -> list[str]:
    """Bodies that are none, and friction or rotor inertias below zero."""
    values = dict(zip(source.model.parameters, pi.tolist(), strict=True))
    bodies = [b.name for b in source.robot.bodies if not b.massless]
    bad = [b for b in bodies if not is_physical([values[name] for name in inertial_names(b)])]
    return bad + [name for name in nonnegative_names(source.model, None) if values[name] < 0.0]


class _Completing:
    """``pi = T (x0 + Z z)``: base values exact for every z, or with ``Z = I`` free to move."""

    def __init__(self, source: Identified, prior: str, closest: bool) -> None:
        self.source, self.closest = source, closest
        model = source.model
        symmetric = bool(source.fit.provenance["model"]["symmetric"])
        self.base: BaseSet = base_parameters(model, symmetric=symmetric)
        self.T = self.base.ties.matrix
        self.tied = source.pi[np.argmax(self.T != 0.0, axis=0)]
        self.beta = self.base.project(self.tied)
        self.names = model.parameters
        self.believed, self.said = prior_bodies(source.robot, prior)
        self.nonnegative = [self.names.index(name) for name in nonnegative_names(model, None)]
        self._scale_bodies()
        self.sizes = dict(self.believed)  # the metric of the distance, and what margins are relative to

    def _scale_bodies(self) -> None:
        """Bodies not in the robot file are believed up to a common density, the one nearest in torque."""
        nominal = self.source.robot.nominal
        w, _ = structural_rows(self.source.model)
        self.R = structural_factor(w @ self.T)
        guessed = [b for b in self.believed if any(name not in nominal for name in inertial_names(b))]
        if not guessed:
            return
        known, unknown = np.zeros(len(self.names)), np.zeros(len(self.names))
        for body, ten in self.believed.items():
            target = unknown if body in guessed else known
            target[self._columns(body)] = ten
        shape = self._torque(unknown)
        size = float(shape @ (self.R @ self.tied - self._torque(known)) / max(float(shape @ shape), 1e-300))
        factor = min(max(size, 1e-3), 1e3)
        self.believed = {b: factor * ten if b in guessed else ten for b, ten in self.believed.items()}

    def _torque(self, pi: Array) -> Array:
        """Torque on random motions, rotated, of standard parameters (tied ones averaged)."""
        return np.asarray(self.R @ (self.T.T @ pi / self.T.sum(axis=0)))

    def run(self) -> Completion:
        found = self._exact()
        if found is None:
            nearest = self._nearest()
            # a body believed far too large hides small ones: look again at the scale of the nearest robot
            self.sizes = {body: _upright((self.T @ nearest)[self._columns(body)]) for body in self.believed}
            found = self._exact()
            if found is None:
                return self._instead(nearest)
        kept = f"{len(self.beta)} base values kept"
        said = f"standard parameters completed, {kept}: the nearest consistent ones to {self.said}"
        return Completion(self.T @ found, (said,))

    def _exact(self) -> Array | None:
        """Tied parameters with the fit's base values; None where no consistent ones are found."""
        base = self.base
        free = [*base.dependent, *base.unidentifiable]
        Z = np.zeros((len(base.names), len(free)))
        Z[free, range(len(free))] = 1.0
        Z[np.ix_(list(base.independent), range(len(base.dependent)))] = -base.K
        x0 = np.zeros(len(base.names))
        x0[list(base.independent)] = self.beta
        for margin in MARGINS:
            found = self._solve(x0, Z, margin)
            if found is not None and not _faults(self.source, self.T @ found):
                return found
        return None

    # --- the program -------------------------------------------------------------------------------------------------

    def _columns(self, body: str) -> list[int]:
        return [self.names.index(name) for name in inertial_names(body)]

    def _distance(self) -> tuple[Array, Array, list[Array]]:
        """Rows A, b of the squared distance ``|A pi - b|^2`` to what is believed; each body's scaled pseudo-inertia as
        ``svec(X) = rows @ pi``.
        """
        rows, rhs, bodies = [], [], []
        for body, ten in self.believed.items():
            basis = np.zeros((10, len(self.names)))
            own = pseudo_basis(np.asarray(np.linalg.cholesky(pseudo_inertia(self.sizes[body]))))
            basis[:, self._columns(body)] = own
            rows.append(basis)
            rhs.append(own @ ten)
            bodies.append(basis)
        for effort in self.source.robot.efforts:
            for name in effort.parameters:
                k = self.names.index(name)
                value = self.source.robot.nominal.get(name, 0.0)
                row = np.zeros((1, len(self.names)))
                row[0, k] = 1.0 / (abs(value) or abs(self.source.pi[k]) or 1.0)
                rows.append(row)
                rhs.append(row[0, k : k + 1] * value)
        return np.vstack(rows), np.concatenate(rhs), bodies

    def _solve(self, x0: Array, Z: Array, margin: float, extra: tuple[Array, Array] | None = None) -> Array | None:
        """Tied parameters x0 + Z z nearest to what is believed with every body definite; None where there are none."""
        A, b, bodies = self._distance()
        rows, rhs = A @ self.T @ Z, b - A @ self.T @ x0
        if extra is not None:
            rows, rhs = np.vstack([rows, extra[0] @ Z]), np.concatenate([rhs, extra[1] - extra[0] @ x0])
        if not Z.shape[1]:
            return x0
        stacked = qr(np.column_stack([rows, rhs]), mode="economic")[1]
        k = Z.shape[1]
        D = Z @ solve_triangular(stacked[:k, :k], np.eye(k))
        program = ConicProgram(stacked[:k, k])
        held = self.T[self.nonnegative]
        size = np.maximum(np.linalg.norm(held @ D, axis=1), 1e-300)
        program.above(held @ D / size[:, None], -(held @ x0) / size)
        for basis in bodies:
            program.definite(basis @ self.T @ D, basis @ self.T @ x0, margin)
        result = program.solve()
        return x0 + D @ result.v if result.status is Status.CONVERGED else None

    # --- where there is none -----------------------------------------------------------------------------------------

    def _nearest(self) -> Array:
        """Tied parameters of the consistent robot nearest in torque on random motions."""
        weight = np.sqrt(TORQUE_WEIGHT) / (float(np.linalg.norm(self.R @ self.tied)) or 1.0)
        extra = weight * self.R, weight * self.R @ self.tied
        for margin in MARGINS:
            found = self._solve(np.zeros(len(self.tied)), np.eye(len(self.tied)), margin, extra)
            if found is not None and not _faults(self.source, self.T @ self._lifted(found)):
                return self._lifted(found)
        raise ExportError(f"{self.source.fit.robot}: no physically consistent parameters were found near the fit")

    def _instead(self, found: Array) -> Completion:
        """The nearest robot where asked for, else an error that says which base values forbid the exact one."""
        moved = self.base.project(found) - self.beta
        share = np.array([np.linalg.norm(self.R[:, i]) for i in self.base.independent]) * np.abs(moved)
        first = [int(i) for i in np.argsort(-share) if share[i] > MOVED * share.max()]
        size = float(np.linalg.norm(self.R @ self.tied)) or 1.0
        change = float(np.linalg.norm(self.R @ (found - self.tied))) / size
        names = self.base.base_names
        values = ", ".join(
            f"{names[i]} = {self.beta[i]:.4g} (nearest {self.beta[i] + moved[i]:.4g})" for i in first[:4]
        )
        more = f" and {len(first) - 4} more" if len(first) > 4 else ""
        torque = f"torque on random motions changes by {100 * change:.2g} %"
        if not self.closest:
            raise ExportError(
                f"{self.source.fit.robot}: no physically consistent robot has the fit's base values; in the way: "
                f"{values}{more}; identify again with --method sdp, record a motion that fixes these better, or export "
                f"the nearest consistent robot with --closest ({torque})"
            )
        said = "no consistent robot has the fit's base values: the nearest one is written"
        return Completion(self.T @ found, (f"{said}, {torque}; moved: {values}{more}",))

    def _lifted(self, found: Array) -> Array:
        """Bounds the solver met to rounding only, met exactly."""
        out = found.copy()
        for k in self.nonnegative:
            column = int(np.argmax(self.T[k] != 0.0))
            out[column] = max(out[column], 0.0)
        return out


def _upright(ten: Array) -> Array:
    """Parameters of a body with the same second moments and mass, without products: its size along each axis."""
    return from_pseudo_inertia(np.diag(np.diag(pseudo_inertia(ten))))


# --- what is believed ------------------------------------------------------------------------------------------------


def prior_bodies(robot: Robot, kind: str) -> tuple[dict[str, Array], str]:
    """Ten believed parameters of every body with mass, and in words where they come from."""
    chosen: dict[str, Array] = {}
    used: dict[str, list[str]] = {}
    ends = _ends(robot)
    length = _mean_length(ends)
    for body in robot.bodies:
        if body.massless:
            continue
        for name in ("nominal", "primitives", "uniform") if kind == "auto" else (kind, "uniform"):
            ten = {"nominal": _nominal, "primitives": _bar}.get(name, _ball)(robot, body.name, ends, length)
            if ten is not None:
                chosen[body.name] = ten
                used.setdefault(name, []).append(body.name)
                break
    words = {
        "nominal": "the robot file's nominal values", "primitives": "bars between the joints",
        "uniform": "equal balls",
    }  # fmt: skip
    said = [words[k] + (f" ({', '.join(v)})" if len(used) > 1 else "") for k, v in used.items()]
    return chosen, ", ".join(said) or "nothing"


Ends = Mapping[str, Sequence[Array]]


def _nominal(robot: Robot, body: str, ends: Ends, length: float) -> Array | None:
    ten = np.array([robot.nominal.get(name, 0.0) for name in inertial_names(body)])
    return ten if is_physical(ten) else None


def _bar(robot: Robot, body: str, ends: Ends, length: float) -> Array | None:
    """Aluminium bars from the body's joint to every other."""
    far = [p for p in ends[body] if np.linalg.norm(p) > 0.05 * length]
    if not far:
        return None
    parts = []
    for p in far:
        size = float(np.linalg.norm(p))
        z, along = np.array([0.0, 0.0, 1.0]), p / size
        axis, angle = np.cross(z, along), float(np.arccos(np.clip(along[2], -1.0, 1.0)))
        R = rotation_about(unit(axis), angle) if np.linalg.norm(axis) > 1e-9 else np.eye(3)
        parts.append(Cylinder(_THICKNESS * size, size, placement=Placement.of(0.5 * p, R)))
    values = Prior.of_bodies({body: parts}).values
    return np.array([values[name] for name in inertial_names(body)])


def _ball(robot: Robot, body: str, ends: Ends, length: float) -> Array | None:
    return Sphere(max(_BALL * length, 1e-3)).parameters()


def _ends(robot: Robot) -> dict[str, list[Array]]:
    """Where other bodies and loops hang on each body, in its frame."""
    ends: dict[str, list[Array]] = {b.name: [] for b in robot.bodies}
    for body in robot.bodies:
        if body.parent != BASE:
            ends[body.parent].append(body.placement.p)
    for loop in robot.loops:
        if isinstance(loop, Loop):
            for anchor in (loop.a, loop.b):
                if anchor.body != BASE:
                    ends[anchor.body].append(anchor.placement.p)
    return ends


def _mean_length(ends: Ends) -> float:
    """Mean distance between joints [m]; 0.3 m where there is none."""
    lengths = [float(np.linalg.norm(p)) for found in ends.values() for p in found]
    lengths = [size for size in lengths if size > 1e-6]
    return float(np.mean(lengths)) if lengths else 0.3
