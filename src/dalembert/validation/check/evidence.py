"""How well a model explains a log when its columns are read in other ways.

Torques obey ``L tau = W pi`` whatever the parameters are. With a wrong sign, unit, order or scale of a column no
parameters fit, or only ones with friction that drives. So the residual of the best fit with friction >= 0 tells the
ways of reading apart, without any knowledge of the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.identification.base import base_parameters
from dalembert.identification.factor import triangle
from dalembert.identification.friction import solve_nonnegative
from dalembert.logs import Log
from dalembert.logs.checks import turn_ratios
from dalembert.model import Model
from dalembert.motion import Closer
from dalembert.parameters import inertial_names
from dalembert.robot import EffortKind
from dalembert.signals import SignalSettings, SlowMask, low_pass, plan, prepare
from dalembert.validation.check.closable import closable
from dalembert.validation.check.finding import Change
from dalembert.validation.check.limits import outside

__all__ = ["Evidence", "Samples", "likeness", "residuals"]

Array = NDArray[np.float64]

SAMPLES = 600  # instants the evidence is taken from: more change no verdict, each costs a closure
RESTING = 0.2  # share of fast samples below which a joint rests: its slow ones do not count out the others
BEYOND = 0.1  # share of its range by which a coordinate may leave its limits: they are often set by hand
IMPOSSIBLE = 0.5  # what such a coordinate counts, in log relative error: less than any wrong sign
FLOOR = 0.01  # relative error below which no robot's torque is explained: smaller ones count the same


@dataclass(frozen=True, slots=True)
class Samples:
    """Signals of a log at some instants: ``t`` (n,), ``q qd qdd`` (n, n_s), ``usable`` (n, n_s).

    ``tau`` (m, n motors): all samples between the borders, low-pass filtered like the positions, of which the instants
    are number ``at`` (n,); ``noise`` (n_s,) of the positions.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    usable: NDArray[np.bool_]
    tau: Array
    at: NDArray[np.intp]
    period: float
    noise: Array

    @classmethod
    def of(cls, log: Log, motors: Sequence[str]) -> Samples:
        """Filtered, differentiated, thinned; torques that are not measured are zero."""
        settled = plan(log, SignalSettings(decimate=1, mask=SlowMask()))
        motion = prepare(log, settled)
        smooth = low_pass(log.tau, settled.lowpass) if settled.lowpass else log.tau
        inside = smooth[settled.border : settled.border + settled.samples]
        tau = np.zeros((len(inside), len(motors)))
        tau[:, [list(motors).index(name) for name in log.info.torques]] = inside
        step = max(1, len(motion.t) // SAMPLES)
        at = np.arange(step // 2, len(motion.t), step)
        return cls(
            motion.t[at], motion.q[at], motion.qd[at], motion.qdd[at], motion.usable[at], tau, at, log.info.period,
            settled.position_noise,
        )  # fmt: skip

    def torque(self, lag: int = 0) -> Array:
        """Torques (n, n motors) ``lag`` samples later than the instants."""
        return self.tau[np.clip(self.at + lag, 0, len(self.tau) - 1)]


class Evidence:
    """Residuals of one log under one model; rows are normalised so that every group counts alike."""

    def __init__(self, model: Model, samples: Samples, measured: Sequence[str]) -> None:
        self.model, self.samples = model, samples
        self.closer = Closer(model)
        self.kernel = model.regressor_kernel()
        base = base_parameters(model)
        self.columns = list(base.independent)
        inertial = {name for body in model.robot.bodies for name in inertial_names(body.name)}
        self._inertial = np.array([name in inertial for name in model.parameters])
        kinds = {name: e.kind for e in model.robot.efforts for name in e.parameters}
        dry = [kinds.get(base.names[i]) in (EffortKind.VISCOUS, EffortKind.COULOMB) for i in base.independent]
        self.friction = np.array(dry) & ~(np.abs(base.K) > 0.0).any(axis=1)
        self.measured = tuple(measured)
        self.unmeasured = [k for k, name in enumerate(model.robot.motor_names) if name not in measured]
        moves = samples.usable.mean(axis=0) > RESTING
        self.usable = samples.usable[:, moves].all(axis=1)  # (n,): no joint that moves at all is too slow for its sign
        self._known: dict[bytes, tuple[list[Array], int] | None] = {}

    def groups(self, change: Change) -> tuple[str, ...]:
        """Names of the groups of rows that are looked at."""
        names = self.model.row_names()
        return tuple(names[k] for k in self._known_groups(self._whole(change)[1]))

    def span(self, change: Change) -> Array:
        """How far each position moves (n_s,), at the joint behind its gear."""
        ratios = turn_ratios(self.model.robot)
        names = [*self.model.robot.motor_names, *(s.name for s in self.model.robot.sensors)]
        moved = np.ptp(self.samples.q @ change.A.T, axis=0)
        return np.asarray(moved / [ratios.get(name, 1.0) for name in names])

    def state(self, change: Change) -> tuple[Array, Array, Array]:
        """Y, yd, ydd (n, n_y) of the positions as read; ClosureError where the loops do not close."""
        s = self.samples
        y = self.closer.positions(s.q @ change.A.T + change.b, s.t)
        return (y, *self.closer.rates(y, s.qd @ change.A.T, s.qdd @ change.A.T))

    def closes(self, changes: Sequence[Change]) -> NDArray[np.bool_]:
        """True for each change whose positions close the loops; a tree closes always."""
        if not self.model.dynamics.assembly.rows or not changes:
            return np.ones(len(changes), dtype=bool)
        return closable(self.closer, np.stack([self.samples.q @ c.A.T + c.b for c in changes]))

    def rows(self, change: Change, *, efforts: bool = False) -> list[tuple[Array, Array]]:
        """For each group of rows whose torques are measured, W (n, base parameters) and L (n, n motors).

        ``efforts``: W of friction, rotors and all else that is no body's.
        """
        W, L = self._whole(change)
        columns = np.flatnonzero(~self._inertial) if efforts else self.columns
        return [(W[:, k][:, columns], L[:, k]) for k in self._known_groups(L)]

    def torque_of(self, change: Change, values: Mapping[str, float]) -> list[Array]:
        """Projected torque (n,) of each of those groups, of parameters by name; those not named are zero."""
        W, L = self._whole(change)
        pi = np.array([values.get(name, 0.0) for name in self.model.parameters])
        rigid = np.where(self._inertial, pi, 0.0)
        return [W[:, k] @ rigid for k in self._known_groups(L)]

    def _whole(self, change: Change) -> tuple[Array, Array]:
        """W (n, groups, p) and L (n, groups, n motors) of the usable instants."""
        out = self.kernel(*self.state(change), np.ones(self.model.n))
        n, usable = len(self.samples.t), self.usable
        W = out["W"].reshape(n, -1, len(self.model.parameters))[usable]
        return W, out["L"].reshape(n, -1, self.model.n)[usable]

    def _known_groups(self, L: Array) -> NDArray[np.intp]:
        """Groups of rows that need no torque that is not measured."""
        return np.flatnonzero(~L[:, :, self.unmeasured].any(axis=(0, 2)))

    def _factors(self, change: Change) -> tuple[list[Array], int] | None:
        """Triangles of [W, L_j tau_i for all pairs] by group, and how many coordinates leave their limits; None where
        the loops do not close.
        """
        key = change.A.tobytes() + change.b.tobytes()
        if key not in self._known:
            try:
                beyond = len(outside(self.model.robot, self.state(change)[0], BEYOND))
                self._known[key] = [self._factor(W, L) for W, L in self.rows(change)], beyond
            except ClosureError:
                self._known[key] = None
        return self._known[key]

    def _factor(self, W: Array, L: Array) -> Array:
        """The triangle of one group; columns that are zero stay out of its computation."""
        tau = self.samples.torque()[self.usable]
        whole = np.column_stack([W, (L[:, :, None] * tau[:, None, :]).reshape(len(W), -1)])
        there = np.flatnonzero(whole.any(axis=0))
        small = triangle(whole[:, there])
        out = np.zeros((len(small), whole.shape[1]))
        out[:, there] = small
        return out

    def errors(self, change: Change) -> Array | None:
        """Residual over torque of each group (k,); None where the loops do not close."""
        known = self._factors(change)
        if known is None:
            return None
        p, way = len(self.columns), change.C.reshape(-1)
        return residuals([(f[:, :p], f[:, p:] @ way) for f in known[0]], self.friction)

    def score(self, change: Change) -> tuple[float, Array | None]:
        """How unlikely a way to read the log is, by the torque it does not explain and limits it leaves; the errors."""
        errors, known = self.errors(change), self._factors(change)
        return likeness(errors) + (IMPOSSIBLE * known[1] if known else 0.0), errors


def residuals(groups: Sequence[tuple[Array, Array]], nonnegative: NDArray[np.bool_]) -> Array:
    """Residual over right-hand side of each group (k,), of one fit of them all with every group scaled alike."""
    sizes = [float(np.linalg.norm(y)) or 1.0 for _, y in groups]
    A = np.vstack([M / size for (M, _), size in zip(groups, sizes, strict=True)])
    b = np.concatenate([y / size for (_, y), size in zip(groups, sizes, strict=True)])
    R = triangle(np.column_stack([A, b]))
    found = solve_nonnegative(R[:, :-1], R[:, -1], nonnegative)
    left = np.split(b - A @ found.values, np.cumsum([len(y) for _, y in groups])[:-1])
    return np.array([float(np.linalg.norm(part)) for part in left])


def likeness(errors: Array | None) -> float:
    """Sum over the groups of log relative error: lower is likelier, with noise of unknown size in each group.

    A log that does not close explains nothing.
    """
    return 0.0 if errors is None else float(np.sum(np.log(np.maximum(errors, FLOOR))))
