"""From logs to the problem an estimator solves: model, rows, friction laws, base set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.base import (
    BaseSet,
    Ties,
    asked_ties,
    base_of_factor,
    default_order,
    no_ties,
    structural_factor,
    structural_rows,
)
from dalembert.identification.choose_friction import COMPARED, auto_friction, first_fit, fitted_shapes
from dalembert.identification.constraints import Constraints
from dalembert.identification.factor import accumulate
from dalembert.identification.fitted import TiedRows, dry_rows
from dalembert.identification.friction import (
    CoordinateMotion,
    FrictionLaws,
    FrictionModel,
    FrictionSource,
    LoadDependent,
    coordinate_units,
    friction_coordinates,
    parse_friction,
    without_friction,
)
from dalembert.identification.friction_rows import FrictionRows, Tracks, load_shares
from dalembert.identification.observation import LogRows
from dalembert.identification.prior import Prior
from dalembert.identification.problem import Problem
from dalembert.identification.remarks import condition_of_motors, rows_left
from dalembert.identification.rows import Rows
from dalembert.logs import LogSource
from dalembert.model import Model, build_model
from dalembert.parameters import UNITS
from dalembert.robot import EffortKind, Robot, with_payload
from dalembert.robot.quantity import turning
from dalembert.signals import SignalSettings

__all__ = [
    "Prepared",
    "Progress",
    "along",
    "column_names",
    "column_units",
    "labelled_logs",
    "nonnegative_names",
    "prepare_problem",
    "rows_along",
    "silent",
    "structural_base",
    "torque_sigma",
    "with_payloads",
]

Array = NDArray[np.float64]
Progress = Callable[[str], None]


def silent(_: str) -> None:
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
    load: Array | None = None  # rigid parameters of the earlier fit that transmitted loads come from


def with_payloads(robot: Robot, payloads: Sequence[str]) -> Robot:
    """The robot with a body on its platform for every payload it does not have yet."""
    for name in payloads:
        if name not in robot.body_names:
            robot = with_payload(robot, name)
        elif not _is_payload(robot, name):
            raise EstimationError(
                f"payload {name!r}: robot {robot.name!r} has a body of that name that other logs cannot be without; "
                "expected the name of a payload"
            )
    return robot


def _is_payload(robot: Robot, name: str) -> bool:
    """True for a body that is fixed to another and carries nothing."""
    body = next(body for body in robot.bodies if body.name == name)
    return not body.joint.steps and name != robot.platform and all(b.parent != name for b in robot.bodies)


def labelled_logs(logs: Sequence[LogSource], payload: Mapping[str, str]) -> list[LogSource]:
    """Logs with the payload each carries, by log name."""
    names = [log.info.name for log in logs]
    for name in payload:
        if name not in names:
            raise EstimationError(f"payload: no log {name!r}; {choices(name, names)}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EstimationError(f"two logs are named {twice!r}; names must differ")
    same = {log.info.sha256: log.info.name for log in reversed(logs) if log.info.sha256}
    for log in logs:
        if log.info.sha256 and same[log.info.sha256] != log.info.name:
            raise EstimationError(
                f"logs {same[log.info.sha256]!r} and {log.info.name!r} hold the same file, expected each log once"
            )
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


def structural_base(
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
            load = np.random.default_rng(k).uniform(-1.0, 1.0, count)  # of unrelated states any number will do
            efforts = _generic_columns(law, CoordinateMotion(x, xd, xdd, 1.0, load=load))
            extra.append(into[:, :, k, None] * efforts[:, None, :])
        columns = np.concatenate([columns, *extra], axis=2)
        names, order = (*names, *laws.names), (*laws.names, *order)
    return base_of_factor(structural_factor(columns), names, ties, order)


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
    logs: LogSource | Sequence[LogSource],
    *,
    projection: str | None = None,
    signals: SignalSettings | None = None,
    payload: Mapping[str, str] | None = None,
    friction: FrictionModel | FrictionLaws | FrictionSource | str | None = None,
    symmetric: bool = False,
    sigma: ArrayLike | None = None,
    prior: Prior | None = None,
    constraints: Constraints | None = None,
    progress: Progress = silent,
) -> Prepared:
    """Rows of the logs and the base set: what all estimators start from.

    ``payload`` maps log names to the payload each carries. ``friction`` replaces the robot's own viscous and Coulomb
    friction by a model, or by the one of that name as ``--friction`` spells it; None keeps it. ``sigma`` (n,) is the
    torque noise of the motors for the whitened projection, estimated from the logs' high frequencies unless given.
    """
    if isinstance(friction, str) and not isinstance(friction, FrictionSource):
        friction = parse_friction(friction)
    labelled = labelled_logs(logs if isinstance(logs, Sequence) else [logs], payload or {})
    carried = tuple(dict.fromkeys(log.info.payload for log in labelled))
    payloads = tuple(name for name in carried if name)
    described = with_payloads(model.robot, payloads)
    place = _Place(model, described, labelled, signals, projection or model.default_projection, payloads, carried)
    progress("reading, filtering and closing the logs")
    if sigma is None and place.projection == "whitened":
        sigma = torque_sigma(place.rigid(None)[0])
    place.sigma = np.ones(model.n) if sigma is None else np.asarray(sigma, dtype=float)
    notes: tuple[str, ...] = ()
    laws = None
    if friction is FrictionSource.AUTO:
        selection, laws = auto_friction(place.with_motion, place.base, progress=progress)
        notes = (selection.reason, *selection.table().splitlines())
    elif isinstance(friction, FrictionModel):
        if friction.needs_load:
            progress(f"friction {friction.name}: a first fit without it gives the loads")
            place.find_loads(friction)
        rigid, tracks = place.with_motion(friction)
        progress(f"friction {friction.name}: fitting its shapes")
        laws = fitted_shapes(tracks, friction, lambda found: place.base(rigid, found))
    elif isinstance(friction, FrictionLaws):
        laws = friction
    rigid, rows = place.rows(laws)
    ties = asked_ties(rigid.model.robot, symmetric)
    if symmetric:
        rows = TiedRows(rows, ties)
    notes = (*notes, *condition_of_motors(rigid))
    progress("finding the base parameters")
    base = place.base(rigid, laws, ties)
    progress("evaluating and factoring the rows")
    problem = Problem.of(
        rows, base, prior=prior, constraints=constraints, nonnegative=nonnegative_names(rigid.model, laws),
        units=column_units(rigid.model, rows.parameters, laws, described),
    )  # fmt: skip
    said = tuple(note for run in rigid.runs for note in (*run.source.info.notes, *run.plan.notes))
    notes = (*notes, *rows_left(rigid, problem))
    return Prepared(
        described, rigid.model, rows, rigid, laws, ties, base, problem, symmetric, (*rigid.model.notes, *said, *notes),
        place.load if laws is not None and laws.laws[0][1].needs_load else None,
    )  # fmt: skip


def rows_along(prepared: Prepared, sources: Sequence[LogSource]) -> tuple[LogRows, Rows]:
    """Rows of the same logs moved otherwise, planned and projected alike: rigid, and with tied columns."""
    rigid = prepared.rigid.observing(
        [replace(run, source=source) for run, source in zip(prepared.rigid.runs, sources, strict=True)]
    )
    return rigid, TiedRows(rigid, prepared.ties) if prepared.symmetric else rigid


def along(prepared: Prepared, sources: Sequence[LogSource]) -> Prepared:
    """The same problem along other motions of its logs."""
    rigid, rows = rows_along(prepared, sources)
    return replace(
        prepared, rows=rows, rigid=rigid, problem=replace(prepared.problem, rows=rows, factors=accumulate(rows))
    )


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
    load: Array | None = None
    known: dict[str, tuple[LogRows, Tracks]] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)

    def rigid(self, law: FrictionModel | None) -> tuple[LogRows, Model]:
        """Rows of the robot, less the friction a model takes the place of."""
        key = "own" if law is None else f"{law.has_offset}"
        if key not in self.models:
            robot, model = self.described if law is None else without_friction(self.described, law), self.model
            if robot is not model.robot:
                model = build_model(robot, backend=model.backend, threads=model.threads)
            self.models[key] = model
        model = self.models[key]
        dry = dry_rows(model, self.projection, friction_coordinates(self.described)) if law is not None else ()
        rows = LogRows(
            model, self.logs, signals=self.signals, projection=self.projection, sigma=self.sigma,
            payloads=self.payloads, dry=dry,
        )  # fmt: skip
        return rows, model

    def with_motion(self, law: FrictionModel) -> tuple[LogRows, Tracks]:
        """Rigid rows and the friction coordinates' motion; shared by models that replace the same efforts."""
        key = f"{law.has_offset} {law.needs_load}"
        if key not in self.known:
            rows, _ = self.rigid(law)
            load = self.load if law.needs_load else None
            self.known[key] = rows, Tracks(rows, friction_coordinates(self.described), load)
        return self.known[key]

    def find_loads(self, law: FrictionModel) -> None:
        """Rigid parameters by a fit of the same friction without what depends on the load."""
        first = FrictionModel(law.name, tuple(term for term in law.terms if not isinstance(term, LoadDependent)))
        rigid, tracks = self.with_motion(first)
        load_shares(rigid.model, tracks.places)
        laws = fitted_shapes(tracks, first, lambda found: self.base(rigid, found))
        rows = FrictionRows(tracks, laws)
        columns = list(self.base(rigid, laws).independent)
        values = np.zeros(len(rows.parameters))
        values[columns] = first_fit(rows, columns, laws.nonnegative)
        self.load = values[: len(rigid.parameters)]

    def rows(self, laws: FrictionLaws | None) -> tuple[LogRows, Rows]:
        """Rigid rows, and those with the laws' columns."""
        if laws is None:
            rows, _ = self.rigid(None)
            return rows, rows
        rigid, tracks = self.with_motion(laws.laws[0][1])
        return rigid, FrictionRows(tracks, laws)

    def base(self, rigid: LogRows, laws: FrictionLaws | None, ties: Ties | None = None) -> BaseSet:
        """Base set of rigid rows with laws beside them."""
        return structural_base(
            rigid.model, self.projection, ties or no_ties(rigid.parameters), self.payloads, self.carried,
            self.described, laws,
        )  # fmt: skip


def nonnegative_names(model: Model, laws: FrictionLaws | None) -> tuple[str, ...]:
    """Parameters that cannot be negative: friction of the description, rotor inertias, those the laws name."""
    kinds = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB)
    own = [name for e in model.robot.efforts if e.kind in kinds for name in e.parameters]
    return tuple(own) if laws is None else (*own, *laws.nonnegative)


def column_names(
    robot: Robot,
    *,
    payloads: Sequence[str] = (),
    friction: FrictionModel | FrictionLaws | FrictionSource | None = None,
    symmetric: bool = False,
) -> tuple[str, ...]:
    """Names of the columns an identification has, before any log is read; with ``auto`` those of every candidate."""
    described = with_payloads(robot, payloads)
    places = friction_coordinates(described)
    laws: list[str] = []
    if isinstance(friction, FrictionLaws):
        laws, described = [*friction.names], without_friction(described, friction.laws[0][1])
    elif isinstance(friction, FrictionModel):
        laws, described = [n for on in places for n in friction.names(on)], without_friction(described, friction)
    elif friction is FrictionSource.AUTO:
        laws = [n for on in places for model in COMPARED for n in model.names(on)]
    ties = asked_ties(described, symmetric)
    return tuple(dict.fromkeys((*ties.names, *laws)))


def column_units(
    model: Model, names: Sequence[str], laws: FrictionLaws | None = None, described: Robot | None = None
) -> dict[str, str]:
    """Unit of every column; ``described`` is the robot with the friction that ``laws`` took the place of."""
    units = {}
    for name in names:
        symbol = name.partition("_")[0]
        if symbol in UNITS:
            units[name] = UNITS[symbol]
    angle = turning(model.robot.bodies)
    for effort in model.robot.efforts:
        terms = getattr(effort.on, "terms", ())
        length = "rad" if terms and angle[terms[0][0]] else "m"
        units |= _effort_units(effort.kind, effort.parameters, length)
    if laws is not None and described is not None:
        lengths = coordinate_units(described)
        for on, law in laws.laws:
            units |= dict(zip(law.names(on), law.units(lengths[on]), strict=True))
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
