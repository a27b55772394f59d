"""Logs in, parameters with their uncertainty out: the whole pipeline in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.base import (
    BaseSet,
    Ties,
    base_of_factor,
    default_order,
    no_ties,
    structural_rows,
    symmetric_ties,
)
from dalembert.identification.choose_friction import auto_friction, fitted_shapes, nonnegative_columns
from dalembert.identification.constraints import Constraints
from dalembert.identification.essential import Essential, Reduction
from dalembert.identification.fit import Fit
from dalembert.identification.fitted import TiedRows, describe, dry_rows
from dalembert.identification.friction import (
    CoordinateMotion,
    FrictionLaws,
    FrictionModel,
    FrictionSource,
    friction_coordinates,
    solve_nonnegative,
    without_friction,
)
from dalembert.identification.friction_rows import FrictionRows, Tracks
from dalembert.identification.observation import LogRows
from dalembert.identification.outcome import own_scales
from dalembert.identification.prior import Prior
from dalembert.identification.problem import Estimate, Estimator, Problem
from dalembert.identification.rows import Rows
from dalembert.identification.uncertainty import Robust, robust_covariance
from dalembert.identification.verdict import assess
from dalembert.identification.wls import Wls
from dalembert.logs import LogSource
from dalembert.model import Model, build_model
from dalembert.parameters import UNITS
from dalembert.robot import EffortKind, Robot, with_payload
from dalembert.signals import SignalSettings

__all__ = ["Identification", "Prepared", "identify", "prepare_problem", "solve"]

Array = NDArray[np.float64]
Progress = Callable[[str], None]


def _silent(_: str) -> None:
    """Progress nobody asked for."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything settled before an estimator runs: model, rows, base set and problem."""

    described: Robot
    model: Model
    rows: Rows
    rigid: LogRows
    laws: FrictionLaws | None
    ties: Ties
    base: BaseSet
    problem: Problem
    symmetric: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identification:
    """A fit with what it was computed from, for reports and further questions."""

    fit: Fit
    prepared: Prepared
    estimate: Estimate
    robust: Robust | None
    essential: Essential | None = None


def _with_payloads(robot: Robot, payloads: Sequence[str]) -> Robot:
    for name in payloads:
        if name not in robot.body_names:
            robot = with_payload(robot, name)
    return robot


def _labelled(logs: Sequence[LogSource], payload: Mapping[str, str]) -> list[LogSource]:
    """Logs with the payload each carries, by log name."""
    names = [log.info.name for log in logs]
    for name in payload:
        if name not in names:
            raise EstimationError(f"payload: no log {name!r}; {choices(name, names)}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EstimationError(f"two logs are named {twice!r}; names must differ")
    out: list[LogSource] = []
    for log in logs:
        label = payload.get(log.info.name, log.info.payload)
        out.append(_relabelled(log, label) if label != log.info.payload else log)
    return out


def _relabelled(log: LogSource, payload: str) -> LogSource:
    labelled: LogSource = replace(log, info=replace(log.info, payload=payload))  # type: ignore[type-var]
    return labelled


def torque_sigma(rigid: LogRows) -> Array:
    """Torque noise of each motor (n,), from the high frequencies of the logs; equal where a log shows none."""
    noise = np.array([run.plan.torque_noise for run in rigid.runs])
    torques = rigid.runs[0].source.info.torques
    sigma = np.ones(rigid.model.n)
    level = np.sqrt(np.mean(noise**2, axis=0))
    if (level > 0.0).all():
        for name, value in zip(torques, level, strict=True):
            sigma[rigid.model.robot.motor_names.index(name)] = value
        sigma /= np.sqrt(np.mean(sigma**2))
    return sigma


def _structural(
    model: Model, projection: str, ties: Ties, payloads: Sequence[str], carried: Sequence[str],
    described: Robot, laws: FrictionLaws | None,
) -> BaseSet:  # fmt: skip
    """Base set of the rigid columns and of the friction laws' beside them, on random admissible states."""
    w, states = structural_rows(model, projection, payloads=payloads, carried=carried)
    columns = w @ ties.matrix
    names = ties.names
    order = default_order(model.robot, ties.names)
    if laws is not None:
        places = friction_coordinates(described)
        kernel = model.coordinates_kernel(projection, places)
        out = kernel(states.y, states.yd, states.ydd, np.ones(model.n))
        count = len(states.y)
        into = out["D"].reshape(count, columns.shape[1], len(places))
        extra = []
        for k, (_, law) in enumerate(laws.laws):
            x, xd, xdd = (out[name].reshape(count, -1)[:, k] for name in ("x", "xd", "xdd"))
            efforts = _generic_columns(law, CoordinateMotion(x, xd, xdd, 1.0))
            extra.append(into[:, :, k, None] * efforts[:, None, :])
        columns = np.concatenate([columns, *extra], axis=2)
        names, order = (*names, *laws.names), (*laws.names, *order)
    r = np.asarray(np.linalg.qr(columns.reshape(-1, columns.shape[-1]), mode="r"))
    return base_of_factor(r, names, ties, order)


def _generic_columns(law: FrictionModel, motion: CoordinateMotion) -> Array:
    """Columns of a law on unrelated states: a term with memory has no past there, so its states are any numbers."""
    rng = np.random.default_rng(0)
    parts = [
        rng.uniform(-1.0, 1.0, (len(motion), len(term.symbols))) if len(term.start()) else term.columns(motion)
        for term in law.terms
    ]
    return np.hstack([np.zeros((len(motion), 0)), *parts])


def prepare_problem(
    model: Model,
    logs: Sequence[LogSource],
    *,
    projection: str | None = None,
    signals: SignalSettings | None = None,
    payload: Mapping[str, str] | None = None,
    friction: FrictionModel | FrictionLaws | FrictionSource | None = None,
    symmetric: bool = False,
    sigma: ArrayLike | None = None,
    prior: Prior | None = None,
    constraints: Constraints | None = None,
    progress: Progress = _silent,
) -> Prepared:
    """Rows of the logs and the base set: what all estimators start from.

    ``payload`` maps log names to the payload each carries. ``friction`` replaces the robot's own viscous and Coulomb
    friction by a model, None keeps it. ``sigma`` (n,) is the torque noise of the motors for the whitened projection,
    estimated from the logs' high frequencies unless given.
    """
    labelled = _labelled(logs, payload or {})
    carried = tuple(dict.fromkeys(log.info.payload for log in labelled))
    payloads = tuple(name for name in carried if name)
    described = _with_payloads(model.robot, payloads)
    place = _Place(model, described, labelled, signals, projection or model.default_projection, payloads, carried)
    progress("reading, filtering and closing the logs")
    if sigma is None and place.projection == "whitened":
        sigma = torque_sigma(place.rigid(None)[0])
    place.sigma = np.ones(model.n) if sigma is None else np.asarray(sigma, dtype=float)
    notes: tuple[str, ...] = ()
    if friction is FrictionSource.AUTO:
        selection = auto_friction(place.with_motion, place.base, progress=progress)
        notes = (selection.reason, *selection.table().splitlines())
        friction = selection.chosen
    laws = None
    if isinstance(friction, FrictionModel):
        rigid, tracks = place.with_motion(friction)
        progress(f"friction {friction.name}: fitting its shapes")
        laws = fitted_shapes(tracks, friction, lambda found: place.base(rigid, found))
    elif isinstance(friction, FrictionLaws):
        laws = friction
    rigid, rows = place.rows(laws)
    ties = symmetric_ties(rigid.model.robot) if symmetric else no_ties(rigid.parameters)
    if symmetric:
        rows = TiedRows(rows, ties)
    progress("finding the base parameters")
    base = place.base(rigid, laws, ties)
    progress("evaluating and factoring the rows")
    problem = Problem.of(
        rows, base, prior=prior, constraints=constraints, units=_units(rigid.model, rows.parameters, laws),
        nonnegative=_nonnegative(rigid.model, laws),
    )  # fmt: skip
    said = tuple(note for run in rigid.runs for note in (*run.source.info.notes, *run.plan.notes))
    return Prepared(
        described, rigid.model, rows, rigid, laws, ties, base, problem, symmetric, (*rigid.model.notes, *said, *notes)
    )  # fmt: skip


@dataclass
class _Place:
    """The logs of one identification, under any friction model."""

    model: Model
    described: Robot
    logs: Sequence[LogSource]
    signals: SignalSettings | None
    projection: str
    payloads: tuple[str, ...]
    carried: tuple[str, ...]
    sigma: Array | None = None
    known: dict[str, tuple[LogRows, Tracks]] = field(default_factory=dict)

    def rigid(self, law: FrictionModel | None) -> tuple[LogRows, Model]:
        """Rows of the robot, less the friction a model takes the place of."""
        robot = self.described if law is None else without_friction(self.described, law)
        model = self.model
        if robot is not model.robot:
            model = build_model(robot, backend=model.backend, threads=model.threads)
        dry = dry_rows(model, self.projection, friction_coordinates(self.described)) if law is not None else ()
        rows = LogRows(
            model, self.logs, signals=self.signals, projection=self.projection, sigma=self.sigma,
            payloads=self.payloads, dry=dry,
        )  # fmt: skip
        return rows, model

    def with_motion(self, law: FrictionModel) -> tuple[LogRows, Tracks]:
        """Rigid rows and the friction coordinates' motion; shared by models that replace the same efforts."""
        key = str(law.has_offset)
        if key not in self.known:
            rows, _ = self.rigid(law)
            self.known[key] = rows, Tracks(rows, friction_coordinates(self.described))
        return self.known[key]

    def rows(self, laws: FrictionLaws | None) -> tuple[LogRows, Rows]:
        """Rigid rows, and those with the laws' columns."""
        if laws is None:
            rows, _ = self.rigid(None)
            return rows, rows
        rigid, tracks = self.with_motion(laws.laws[0][1])
        return rigid, FrictionRows(tracks, laws)

    def base(self, rigid: LogRows, laws: FrictionLaws | None, ties: Ties | None = None) -> BaseSet:
        """Base set of rigid rows with laws beside them."""
        return _structural(
            rigid.model, self.projection, ties or no_ties(rigid.parameters), self.payloads, self.carried,
            self.described, laws,
        )  # fmt: skip


def _nonnegative(model: Model, laws: FrictionLaws | None) -> tuple[str, ...]:
    """Parameters that cannot be negative: friction of the description, rotor inertias, those the laws name."""
    kinds = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB)
    own = [name for e in model.robot.efforts if e.kind in kinds for name in e.parameters]
    return tuple(own) if laws is None else (*own, *laws.nonnegative)


def _units(model: Model, names: Sequence[str], laws: FrictionLaws | None) -> dict[str, str]:
    """Unit of every column."""
    units = {}
    for name in names:
        symbol = name.partition("_")[0]
        if symbol in UNITS:
            units[name] = UNITS[symbol]
    steps = {s.coordinate: "rad" if s.is_angle else "m" for b in model.robot.bodies for s in b.joint.steps}
    for effort in model.robot.efforts:
        terms = getattr(effort.on, "terms", ())
        length = "m" if not terms or steps[terms[0][0]] == "m" else "rad"
        units |= _effort_units(effort.kind, effort.parameters, length)
    if laws is not None:
        for on, law in laws.laws:
            units |= dict(zip(law.names(on), law.units("rad"), strict=True))
    return units


def _effort_units(kind: EffortKind, names: Sequence[str], length: str) -> dict[str, str]:
    force = "N m" if length == "rad" else "N"
    unit = {
        EffortKind.ROTOR: "kg m^2" if length == "rad" else "kg",
        EffortKind.VISCOUS: f"{force} s/{length}",
        EffortKind.SPRING: f"{force}/{length}",
    }.get(kind, force)
    out = dict.fromkeys(names, unit)
    if kind is EffortKind.SPRING and len(names) == 2:
        out[names[1]] = force
    return out


def solve(prepared: Prepared, estimator: Estimator, *, robust: bool = True) -> tuple[Estimate, Robust | None]:
    """The estimate and its robust covariance (None where the estimate has no use for one)."""
    estimate = estimator.estimate(prepared.problem)
    if not robust or not estimate.status.ok:
        return estimate, None
    return estimate, robust_covariance(prepared.problem, estimate)


def without_idle_elements(prepared: Prepared) -> tuple[Prepared, dict[str, float]]:
    """The problem less the presliding elements whose coefficient wants to be negative: they stay at zero."""
    problem = prepared.problem
    mask = nonnegative_columns(problem.names)
    if not mask.any():
        return prepared, {}
    r = problem.weighted(own_scales(problem)[0])
    found = solve_nonnegative(r[:, list(problem.kept)], r[:, -1], mask)
    idle = {name: 0.0 for name, bound in zip(problem.names, found.at_bound, strict=True) if bound}
    kept = [name for name in problem.names if name not in idle]
    return replace(prepared, problem=problem.restrict(kept)), idle


def identify(
    model: Model,
    logs: Sequence[LogSource],
    *,
    estimator: Estimator | None = None,
    projection: str | None = None,
    signals: SignalSettings | None = None,
    payload: Mapping[str, str] | None = None,
    friction: FrictionModel | FrictionLaws | FrictionSource | None = None,
    symmetric: bool = False,
    sigma: ArrayLike | None = None,
    prior: Prior | None = None,
    constraints: Constraints | None = None,
    essential: Reduction | None = None,
    progress: Progress = _silent,
) -> Identification:
    """Identify a robot from logs; see :func:`prepare_problem` for the options.

    ``essential`` drops base parameters the log gives no reason to keep; None keeps all.
    """
    chosen = estimator or Wls()
    prepared = prepare_problem(
        model, logs, projection=projection, signals=signals, payload=payload, friction=friction, symmetric=symmetric,
        sigma=sigma, prior=prior, constraints=constraints, progress=progress,
    )  # fmt: skip
    prepared, dropped = without_idle_elements(prepared)
    reduced = None
    if essential is not None:
        progress(f"looking for the essential parameters ({essential.rule})")
        reduced = essential.reduce(prepared.problem)
        dropped |= {item.name: item.value for item in reduced.dropped}
        prepared = replace(prepared, problem=reduced.problem, notes=(*prepared.notes, str(reduced)))
    progress(f"estimating by {chosen.method}")
    estimate, robust = solve(prepared, chosen)
    return Identification(make_fit(prepared, estimate, robust, dropped), prepared, estimate, robust, reduced)


def make_fit(
    prepared: Prepared,
    estimate: Estimate,
    robust: Robust | None,
    dropped: Mapping[str, float] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Fit:
    """The result as it is stored; base parameters that were regrouped carry an R in their name."""
    base = prepared.base
    shown = {base.names[i]: name for i, name in zip(base.independent, base.base_names, strict=True)}
    renamed = replace(estimate, names=tuple(shown.get(name, name) for name in estimate.names))
    units = {shown.get(name, name): unit for name, unit in prepared.problem.units.items()}
    provenance = {
        "dalembert": version("dalembert"),
        "columns": {new: old for old, new in shown.items()},
        "model": describe(
            prepared.described, prepared.model.robot, prepared.laws, prepared.rigid.projection, prepared.rigid.sigma,
            prepared.rigid.payloads, prepared.symmetric,
        ),
        "logs": [_log_record(run) for run in prepared.rigid.runs],
        "settings": dict(estimate.settings),
        "notes": list(prepared.notes),
        **(extra or {}),
    }  # fmt: skip
    return Fit.of(
        renamed,
        robot=prepared.described.name,
        units=units,
        group_units=_group_units(prepared),
        regrouping=base.relations(),
        dropped={shown.get(name, name): value for name, value in (dropped or {}).items()},
        robust=None if robust is None else robust.sigma.tolist(),
        verdicts=_verdicts(prepared, estimate, robust, shown),
        intervals=None if robust is None else [(lo, hi) for lo, hi in robust.intervals(estimate.values)],
        provenance=provenance,
    )


def _verdicts(
    prepared: Prepared, estimate: Estimate, robust: Robust | None, shown: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Verdict and hint of every parameter, by its shown name."""
    if robust is None:
        return {}
    found = assess(prepared.problem, estimate, robust)
    return {shown.get(a.name, a.name): (str(a.verdict), a.hint) for a in found}


def _log_record(run: Any) -> dict[str, Any]:
    info, plan = run.source.info, run.plan
    return {
        "name": info.name, "path": info.path, "sha256": info.sha256, "payload": info.payload, "samples": info.samples,
        "rate": info.rate, "cutoff": 0.0 if plan.lowpass is None else plan.lowpass.cutoff,
        "decimate": plan.decimation.factor, "border": plan.border, "slow": plan.slow.tolist(),
        "position_noise": plan.position_noise.tolist(), "torque_noise": plan.torque_noise.tolist(),
    }  # fmt: skip


def _group_units(prepared: Prepared) -> dict[str, str]:
    """N or N m of each row group."""
    robot = prepared.model.robot
    angle = {s.coordinate: s.is_angle for b in robot.bodies for s in b.joint.steps}
    turns = {motor.name: angle[motor.turns[0][0]] for motor in robot.motors}
    return {name: "N m" if turns.get(name, angle.get(name, True)) else "N" for name in prepared.rigid.groups}
