"""The task of a design before a criterion is chosen: robot, limits, base set, noise, what is believed and known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.excitation.belief import Belief
from dalembert.excitation.criteria import Context, Criterion
from dalembert.excitation.family import Family
from dalembert.excitation.given import known_information
from dalembert.excitation.information import Information
from dalembert.excitation.limits import Limits
from dalembert.excitation.noise import Noise
from dalembert.excitation.result import Design
from dalembert.excitation.setup import Objective, Setup
from dalembert.excitation.starts import Infeasible, centre_of, random_start
from dalembert.excitation.states import States
from dalembert.identification.base import BaseSet, base_parameters
from dalembert.identification.prepare import Prepared
from dalembert.identification.prior import Prior
from dalembert.model import Model

__all__ = ["Task"]

Array = NDArray[np.float64]

_REFERENCES = 8  # random motions that stand for what the robot will be asked to do
_NOISE = 0.02  # of the RMS torque of random motions: noise assumed where none is given
_SLOW = 0.01  # of a motor's velocity limit: below, the sign of its friction is in doubt
_LEAST_SHARE = 0.01  # of a coordinate's range that a motion must reach to be worth recording


@dataclass(frozen=True, slots=True)
class Task:
    """Everything but the criterion.

    ``centre`` (r,): the posture motions begin about; ``references``: unknowns of random motions within the limits;
    ``known`` (b, b): information already there.
    """

    model: Model
    base: BaseSet
    setup: Setup
    centre: Array
    references: tuple[Array, ...]
    beliefs: tuple[Belief, ...]
    known: Array
    noise: Noise
    payload: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, model: Model, family: Family, limits: Limits, beliefs: tuple[Belief, ...], *,
        given: Sequence[Prepared | Design | Prior] = (), payload: str = "", projection: str | None = None,
        symmetric: bool = False, seed: int = 0,
    ) -> Task:  # fmt: skip
        """Check the limits, find the posture to move about and the base parameters."""
        if payload and not given:
            raise UsageError(
                f"payload {payload!r} cannot be told from {model.robot.platform!r}, which carries it, by this run "
                f"alone; give a log or design of a run without it"
            )
        payloads, carried = ((payload,), ("", payload)) if payload else ((), ("",))
        base = base_parameters(model, projection, symmetric=symmetric, payloads=payloads, carried=carried)
        information = Information(model, base, 1.0, projection=projection, slow=_slow_rows(model, limits, projection))
        setup = Setup(model, family, information, limits, beliefs)
        _check_bounded(setup)
        centre = centre_of(setup, np.random.default_rng([seed, 1]))
        _check_duration(setup)
        references = tuple(random_start(setup, centre, np.random.default_rng([seed, 2, k])) for k in range(_REFERENCES))
        return cls(
            model, base, setup, centre, references, beliefs, known_information(given, base),
            Noise(tuple([1.0] * model.n)), payload, (*setup.notes, *_unlimited(model, limits)),
        )  # fmt: skip

    def with_family(self, family: Family) -> Task:
        """The same task for another family."""
        s = self.setup
        setup = Setup(self.model, family, s.information, s.limits, s.beliefs)
        _check_duration(setup)
        return replace(self, setup=setup)

    def weighed(self, noise: Noise | float | Sequence[float] | None, rate: float) -> Task:
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
        if not self.beliefs:
            said = "noise of 1 N m or N on every motor assumed: the robot has no nominal values; give --noise"
            return Noise(tuple([1.0] * self.model.n), rate, said), said
        states = States(self.model)
        squares = np.zeros(self.model.n)
        for z in self.references:
            m = states.motion(*self.setup.grid.derivatives(z)[:3])
            squares += (self.model.inverse_dynamics(m.y, m.yd, m.ydd, self.beliefs[0].values) ** 2).mean(axis=0)
        rms = np.sqrt(squares / len(self.references))
        sigma = _NOISE * np.maximum(rms, 1e-3 * rms.max())
        shown = ", ".join(f"{name} {value:.2g}" for name, value in zip(names, sigma, strict=True))
        said = f"torque noise assumed: 2 % of the RMS torque of random motions at {rate:g} Hz ({shown}); give --noise"
        return Noise(tuple(sigma.tolist()), rate, "2 % of the RMS torque of random motions"), said

    def context(self) -> Context:
        """What the criteria lean on."""
        s = self.setup
        reference = sum((s.grid_information(z) for z in self.references), np.zeros((self.base.n_base,) * 2))
        ties = self.base.ties.matrix / self.base.ties.matrix.sum(axis=0)  # of tied parameters the mean
        priors = np.array([self.base.project(belief.values @ ties) for belief in self.beliefs])
        return Context(
            self.base.base_names,
            np.asarray(reference / (len(self.references) * s.samples)),
            priors.reshape(len(self.beliefs), self.base.n_base),
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


def _slow_rows(model: Model, limits: Limits, projection: str | None) -> Array:
    """Speed of each row's motor below which a sample counts less (rows,)."""
    names = model.row_names(projection)
    if (projection or model.default_projection) == "platform":
        return np.zeros(len(names))
    fastest = [limits.motion[name].velocity if name in limits.motion else np.inf for name in names]
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


def _check_duration(setup: Setup) -> None:
    """Refuse a time in which no coordinate can leave its place: the slowest function of the family is limited."""
    grid = setup.coarse.grid
    size = np.ptp(grid.basis[0][:, 1:], axis=0) / 2.0
    reached: list[tuple[float, float, str]] = []  # share of the range, way, the limit in its way
    for j in range(setup.model.r):
        reach, said = np.inf, ""
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
            reached.append((reach / setup.reach[j], reach, said))
    if reached and max(reached)[0] < _LEAST_SHARE:
        share, reach, said = max(reached)
        raise Infeasible(
            f"robot {setup.model.robot.name!r}: duration {setup.family.duration:g} s is too short: with {said} it can "
            f"move {reach:.2g}, {100.0 * share:.2g} % of its range; take "
            f"{np.sqrt(_LEAST_SHARE / share):.2g} times as long"
        )


def _unlimited(model: Model, limits: Limits) -> tuple[str, ...]:
    """Motors of which neither acceleration nor torque is limited."""
    free = [
        motor.name
        for motor in model.robot.motors
        if not np.isfinite(limits.torque.get(motor.name, np.inf))
        and not np.isfinite(limits.motor_rate(motor, "acceleration"))
    ]
    if not free or model.dynamics.assembly.rows:
        return ()
    return (f"neither acceleration nor torque of {', '.join(free)} is limited: only the velocity keeps them down",)
