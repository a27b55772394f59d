"""Design of a motion: model, family and limits in, the best motion found and what it will tell out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError, choices
from dalembert.excitation.criteria import CRITERIA, Context, Criterion, condition_number, criterion_of
from dalembert.excitation.entry import Ride, find_ride, quiet_moments
from dalembert.excitation.expected import expectation
from dalembert.excitation.family import Family
from dalembert.excitation.fourier import Fourier
from dalembert.excitation.given import known_information
from dalembert.excitation.information import Information
from dalembert.excitation.limits import Limits
from dalembert.excitation.noise import Noise
from dalembert.excitation.result import Design, SearchRecord
from dalembert.excitation.search import Effort, Found, Watch, best_of_random, optimise
from dalembert.excitation.setup import Objective, Setup
from dalembert.excitation.starts import Infeasible, centre_of, random_start
from dalembert.excitation.states import States
from dalembert.identification.base import BaseSet, base_parameters
from dalembert.identification.factor import one_thread
from dalembert.identification.prepare import Prepared, column_units
from dalembert.model import Model, build_model
from dalembert.parameters import inertial_names
from dalembert.robot import with_payload

__all__ = ["Method", "design_excitation"]

Array = NDArray[np.float64]
Method = Literal["optimise", "random"]
FREE_PERIODS = (1, 2, 3, 4)  # periods in the record that are tried when the base frequency is free

_REFERENCES = 8  # random motions that stand for what the robot will be asked to do
_NOISE = 0.02  # of the RMS torque of random motions: noise assumed where none is given
_SLOW = 0.01  # of a motor's velocity limit: below, the sign of its friction is in doubt
_LEAST_SHARE = 0.01  # of a coordinate's range that a motion must reach to be worth recording
_SAMPLES = 20_000  # at most, for the information of the finished motion


def design_excitation(
    model: Model,
    family: Family | None = None,
    *,
    criterion: str | Criterion = "logdet",
    parameters: Sequence[str] = (),
    limits: Limits | None = None,
    noise: Noise | float | Sequence[float] | None = None,
    rate: float = 1000.0,
    repeat: int = 1,
    free_frequency: bool = False,
    priors: Sequence[ArrayLike] | None = None,
    given: Sequence[Prepared | Design] = (),
    payload: str = "",
    payload_mass: float = 0.0,
    projection: str | None = None,
    speed: float = 0.0,
    method: Method = "optimise",
    candidates: int = 2000,
    effort: Effort | None = None,
    warm: Design | ArrayLike | None = None,
    watch: Watch | None = None,
) -> Design:
    """The motion of a family that shows the base parameters best within the limits.

    ``criterion``: see ``criteria``; ``parameters`` are name patterns for the criterion ``chosen``. ``limits`` default
    to the robot's own. ``noise``: sigma of the torques [N m or N] sampled at ``rate`` [Hz]; 2 % of the RMS torque
    unless given. ``repeat``: periods recorded; ``free_frequency`` splits the record into 1 to 4 periods, whichever is
    best. ``priors``: parameter vectors (p,) believed, the nominal one unless given: torque limits hold under each.
    ``given``: logs prepared for identification, or designs to be recorded as well. ``payload``: this run carries one,
    and runs without it are among the given. ``speed`` rewards fast motors [Gnad24, eq. 9]. ``method`` "random" takes
    the best of ``candidates``. ``warm`` starts from an earlier design, or from its coefficients (r, m);
    it is left aside where the family has another number of them.
    """
    if method not in ("optimise", "random"):
        raise UsageError(f"method {method!r}; {choices(method, ('optimise', 'random'))}")
    if repeat < 1:
        raise UsageError(f"repeat {repeat}, expected at least one period")
    family = family or Fourier()
    effort = effort or Effort()
    begun = time.monotonic()
    earlier = warm.coefficients if isinstance(warm, Design) else warm
    start = None if earlier is None else np.asarray(earlier, dtype=float)
    if payload:
        model = _loaded(model, payload, payload_mass)
    task = _Task.of(model, family, limits or Limits.of(model.robot), priors, given, payload, projection, effort.seed)
    task = task.weighed(noise, rate)
    wanted = criterion_of(criterion, parameters)
    periods = FREE_PERIODS if free_frequency else (1,)
    best: tuple[Found, _Task, int] | None = None
    share = replace(effort, budget=effort.budget / len(periods))
    with one_thread():
        for p in periods:
            own = task if p == 1 else task.with_family(replace(family, duration=family.duration / p))  # type: ignore[type-var]
            objective = own.objective(wanted, p * repeat, speed)
            found = own.search(objective, method, candidates, share, start, watch, begun)
            begun = time.monotonic()
            if best is None or found.value < best[0].value:
                best = (found, own, p * repeat)
        assert best is not None
        return _finished(*best, wanted, method, effort.seed)


def _loaded(model: Model, payload: str, mass: float) -> Model:
    """The model with a payload on its platform, whose nominal value is a point of that mass."""
    robot = model.robot if payload in model.robot.body_names else with_payload(model.robot, payload)
    known = dict.fromkeys(inertial_names(payload), 0.0) | {f"M_{payload}": mass}
    robot = replace(robot, nominal={**known, **robot.nominal} if robot.nominal else robot.nominal)
    return build_model(robot, independent=model.independent, backend=model.backend, threads=model.threads)


@dataclass(frozen=True, slots=True)
class _Task:
    """Everything but the criterion: robot, limits, base set, noise, what is known."""

    model: Model
    base: BaseSet
    setup: Setup
    centre: Array
    references: tuple[Array, ...]
    priors: tuple[Array, ...]
    known: Array
    noise: Noise
    payload: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, model: Model, family: Family, limits: Limits, priors: Sequence[ArrayLike] | None,
        given: Sequence[Prepared | Design], payload: str, projection: str | None, seed: int,
    ) -> _Task:  # fmt: skip
        """Check the limits, find the posture to move about and the base parameters."""
        carried = (("payload",), ("", "payload")) if payload else ((), ("",))
        if payload:
            carried = ((payload,), ("", payload))
        base = base_parameters(model, projection, payloads=carried[0], carried=carried[1])
        beliefs, notes = _beliefs(model, priors)
        information = Information(model, base, 1.0, projection=projection, slow=_slow_rows(model, limits, projection))
        setup = Setup(model, family, information, limits, beliefs)
        _check_bounded(setup)
        rng = np.random.default_rng([seed, 1])
        centre = centre_of(setup, rng)
        _check_duration(setup, centre)
        references = tuple(random_start(setup, centre, np.random.default_rng([seed, 2, k])) for k in range(_REFERENCES))
        columns = [base.names[k] for k in base.independent]
        return cls(
            model, base, setup, centre, references, beliefs, known_information(given, columns),
            Noise(tuple([1.0] * model.n)), payload, (*notes, *setup.notes, *_unlimited(model, limits)),
        )  # fmt: skip

    def with_family(self, family: Family) -> _Task:
        """The same task for another family."""
        s = self.setup
        setup = Setup(self.model, family, s.information, s.limits, s.beliefs)
        _check_duration(setup, self.centre)
        return replace(self, setup=setup)

    def weighed(self, noise: Noise | float | Sequence[float] | None, rate: float) -> _Task:
        """The same task under a noise; from the torques of the reference motions where none is given."""
        notes = self.notes
        if noise is None:
            noise, said = self._own_noise(rate)
            notes = (*notes, said)
        elif not isinstance(noise, Noise):
            noise = Noise.of(self.model, noise, rate)
        s = self.setup
        information = Information(
            self.model, self.base, noise.values, projection=s.information.projection, slow=s.information.slow
        )
        setup = Setup(self.model, s.family, information, s.limits, s.beliefs)
        return replace(self, setup=setup, noise=noise, notes=notes)

    def _own_noise(self, rate: float) -> tuple[Noise, str]:
        names = self.model.robot.motor_names
        if not self.priors:
            said = "noise of 1 N m or N on every motor assumed: the robot has no nominal values; give --noise"
            return Noise(tuple([1.0] * self.model.n), rate, said), said
        states = States(self.model)
        squares = np.zeros(self.model.n)
        for z in self.references:
            m = states.motion(*self.setup.grid.derivatives(z)[:3])
            squares += (self.model.inverse_dynamics(m.y, m.yd, m.ydd, self.priors[0]) ** 2).mean(axis=0)
        rms = np.sqrt(squares / len(self.references))
        sigma = _NOISE * np.maximum(rms, 1e-3 * rms.max())
        shown = ", ".join(f"{name} {value:.2g}" for name, value in zip(names, sigma, strict=True))
        said = f"torque noise assumed: 2 % of the RMS torque of random motions at {rate:g} Hz ({shown}); give --noise"
        return Noise(tuple(sigma.tolist()), rate, "2 % of the RMS torque of random motions"), said

    def context(self) -> Context:
        """What the criteria lean on."""
        s = self.setup
        reference = sum((s.grid_information(z) for z in self.references), np.zeros((self.base.n_base,) * 2))
        priors = np.array([self.base.project(pi @ self.base.ties.matrix) for pi in self.priors])
        return Context(
            self.base.base_names,
            np.asarray(reference / (len(self.references) * s.samples)),
            priors.reshape(len(self.priors), self.base.n_base),
        )

    def objective(self, criterion: Criterion, repeat: int, speed: float) -> Objective:
        """Criterion on the record of ``repeat`` periods and all that is known."""
        s = self.setup
        recorded = self.noise.rate * s.family.duration * repeat
        if recorded * len(s.information.rows) < self.base.n_base:
            raise Infeasible(
                f"robot {self.model.robot.name!r}: duration {s.family.duration * repeat:g} s is too short: "
                f"{recorded:.3g} samples at {self.noise.rate:g} Hz are fewer equations than the "
                f"{self.base.n_base} base parameters"
            )
        return Objective(criterion, self.context(), recorded / s.samples, self.known, speed)

    def search(
        self, objective: Objective, method: Method, candidates: int, effort: Effort, warm: Array | None,
        watch: Watch | None, begun: float,
    ) -> Found:  # fmt: skip
        """The best motion found."""
        s = self.setup
        if method == "random":
            return best_of_random(s, objective, self.centre, candidates, effort, watch, begun)
        z = None
        if warm is not None and warm.shape == (self.model.r, s.family.unknowns):
            z = (warm / s.reach[:, None]).ravel()
        s.information.prepare()
        return optimise(s, objective, self.centre, effort, warm=z, watch=watch, begun=begun)


def _beliefs(model: Model, priors: Sequence[ArrayLike] | None) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Parameter vectors believed, and what was not known."""
    if priors is not None:
        return tuple(model.vector(pi) for pi in priors), ()
    if not model.robot.nominal or any(name not in model.robot.nominal for name in model.parameters):
        return (), ("no nominal values: torque limits and relative errors are not considered",)
    return (model.nominal(),), ()


def _slow_rows(model: Model, limits: Limits, projection: str | None) -> Array:
    """Speed of each row's motor below which a sample counts less (rows,)."""
    projection = projection or model.default_projection
    if projection == "platform":
        return np.zeros(model.r)
    names = projection.partition(":")[2]
    motors = [name.strip() for name in names.split(",")] if names else list(model.robot.motor_names)
    fastest = [limits.motion[name].velocity if name in limits.motion else np.inf for name in motors]
    return np.array([_SLOW * v if np.isfinite(v) else 0.0 for v in fastest])


def _check_bounded(setup: Setup) -> None:
    """Refuse a coordinate that nothing keeps from moving without end."""
    if setup.sources:
        return
    free = np.ones(setup.model.r, dtype=bool)
    for group in setup.linear:
        free &= ~(np.abs(group.combinations) > 0.0).any(axis=0)
    if free.any():
        names = [name for name, f in zip(setup.model.independent, free, strict=True) if f]
        raise UsageError(
            f"robot {setup.model.robot.name!r}: nothing limits {', '.join(names)}; give position, velocity and "
            f"acceleration limits in the robot file or with --limits"
        )


def _check_duration(setup: Setup, centre: Array) -> None:
    """Refuse a time in which no coordinate can leave its place: the slowest function of the family is limited."""
    grid = setup.coarse.grid
    slowest = grid.basis[0][:, 1:]
    size = np.ptp(slowest, axis=0) / 2.0
    worst: list[tuple[float, float, str, float]] = []
    for j in range(setup.model.r):
        reach = np.inf
        said = ""
        for group in setup.linear:
            if group.order == 0:
                continue
            for a, high, name in zip(group.combinations, group.upper, group.names, strict=True):
                if np.count_nonzero(a) == 1 and a[j]:
                    quick = np.abs(grid.basis[group.order][:, 1:] * a[j]).max(axis=0)
                    most = float((high * size / np.maximum(quick, 1e-300)).max())
                    if most < reach:
                        reach, said = most, f"{name} at most {high:.4g}"
        if np.isfinite(reach):
            worst.append((reach / setup.reach[j], reach, said, float(setup.reach[j])))
    if worst and max(item[0] for item in worst) < _LEAST_SHARE:
        share, reach, said, _ = max(worst)
        raise Infeasible(
            f"robot {setup.model.robot.name!r}: duration {setup.family.duration:g} s is too short: with {said} it can "
            f"move {reach:.2g}, {100.0 * share:.2g} % of its range; take "
            f"{np.sqrt(_LEAST_SHARE / share):.2g} times as long"
        )


def _unlimited(model: Model, limits: Limits) -> tuple[str, ...]:
    """Motors of which neither acceleration nor torque is limited."""
    free = [
        name
        for name in model.robot.motor_names
        if not np.isfinite(limits.torque.get(name, np.inf))
        and (name not in limits.motion or not np.isfinite(limits.motion[name].acceleration))
    ]
    if not free or model.dynamics.assembly.rows:
        return ()
    return (f"neither acceleration nor torque of {', '.join(free)} is limited: only the velocity keeps them down",)


def _finished(found: Found, task: _Task, repeat: int, criterion: Criterion, method: Method, seed: int) -> Design:
    """Everything worth knowing about the motion found."""
    model, s = task.model, task.setup
    z, ride, notes = _begun(task, found.z, repeat)
    coefficients = s.grid.coefficients(z)
    own = _recorded(task, coefficients, repeat)
    total = own + task.known
    context = task.context()
    prior = context.priors[0] if len(context.priors) else None
    expected = expectation(total, task.base, prior, context.scale, column_units(model, model.parameters, None))
    record = SearchRecord(
        method, found.starts, found.iterations, found.seconds, found.history, found.reason, seed
    )  # fmt: skip
    return Design(
        model=model, family=s.family, coefficients=coefficients, ride=ride, base=task.base, limits=s.limits,
        noise=task.noise, criterion=criterion.name, meaning=criterion.meaning,
        value=criterion.value(total, context)[0], criteria=_criteria(total, context), parameters=expected,
        margins=tuple(s.fine.tightest(z)), information=own, search=record, payload=task.payload,
        notes=(*model.notes, *task.notes, *notes),
    )  # fmt: skip


def _begun(task: _Task, z: Array, repeat: int) -> tuple[Array, Ride, tuple[str, ...]]:
    """The motion with a way in and out; a Fourier series begins at the quiet moment of its period that has one.

    Moments are points of the fine grid, so that the limits are checked at the same states.
    """
    model, s = task.model, task.setup
    home = np.asarray(model.position_map("independent") @ model.home)

    def ride_of(z: Array) -> tuple[Ride, tuple[str, ...]]:
        c = s.grid.coefficients(z)

        def motion(t: Array) -> tuple[Array, ...]:
            return tuple(s.family.basis(t, order) @ c.T for order in range(4))

        return find_ride(model.independent, motion, s.family.duration, repeat, home, s.fine)

    if not isinstance(s.family, Fourier):
        return z, *ride_of(z)
    speed = np.linalg.norm(s.fine.grid.derivatives(z)[1] / s.reach, axis=1)
    found = None
    for k in quiet_moments(speed):
        shifted = s.family.advanced(s.grid.coefficients(z), float(s.fine.grid.times[k])) / s.reach[:, None]
        ride, notes = ride_of(shifted.ravel())
        if found is None or len(notes) < len(found[2]):
            found = (shifted.ravel(), ride, notes)
        if not notes:
            break
    assert found is not None
    return found


def _recorded(task: _Task, coefficients: Array, repeat: int) -> Array:
    """Information of the record as it will be sampled, every sample counting fully."""
    s, noise = task.setup, task.noise
    period = s.family.duration
    recorded = noise.rate * period * repeat
    n = int(np.clip(round(noise.rate * period), s.samples, _SAMPLES))
    t = (np.arange(n) + 0.5) * (period / n)
    x = tuple(s.family.basis(t, order) @ coefficients.T for order in range(3))
    plain = Information(task.model, task.base, noise.values, projection=s.information.projection)
    return np.asarray(plain.matrix(States(task.model).motion(*x)) * (recorded / n))


def _criteria(m: Array, context: Context) -> dict[str, float]:
    """Every criterion of the whole, the logarithmic ones as they are minimised, condition numbers plain."""
    out = {}
    for name, make in CRITERIA.items():
        if name.startswith("relative") and not len(context.priors):
            continue
        out[name] = float(make().value(m, context)[0])
    out["condition"] = condition_number(m)
    out["condition-normalised"] = condition_number(m, normalised=True)
    return out
