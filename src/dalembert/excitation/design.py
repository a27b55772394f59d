"""Design of a motion: model, family and limits in, the best motion found and what it will tell out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import UsageError, choices
from dalembert.excitation.belief import Believable, beliefs_of
from dalembert.excitation.criteria import Criterion, criterion_of
from dalembert.excitation.family import Array, Family
from dalembert.excitation.finish import finished
from dalembert.excitation.fourier import Fourier
from dalembert.excitation.limits import Limits
from dalembert.excitation.noise import Noise
from dalembert.excitation.result import Design
from dalembert.excitation.sampled import MOST_SAMPLES
from dalembert.excitation.search import Effort, Found, Watch, best_of_random, optimise
from dalembert.excitation.task import Task
from dalembert.identification.factor import one_thread
from dalembert.identification.prepare import Prepared
from dalembert.identification.prior import Prior
from dalembert.model import Model, build_model
from dalembert.parameters import inertial_names
from dalembert.robot import with_payload

__all__ = ["Method", "design_excitation"]

Method = Literal["optimise", "random"]
_MOST_CORNERS = 1000  # of a period: 500 harmonics
FREE_PERIODS = (1, 2, 3, 4)  # periods in the record that are tried when the base frequency is free


def design_excitation(
    model: Model,
    family: Family | None = None,
    *,
    criterion: str | Criterion = "logdet",
    parameters: str | Sequence[str] = (),
    limits: Limits | None = None,
    noise: Noise | float | Sequence[float] | None = None,
    rate: float = 1000.0,
    repeat: int = 1,
    free_frequency: bool = False,
    priors: Sequence[Believable] | None = None,
    given: Sequence[Prepared | Design | Prior] = (),
    payload: str = "",
    payload_mass: float = 0.0,
    projection: str | None = None,
    symmetric: bool = False,
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
    best. ``priors``: beliefs about the parameters, the nominal one unless given: vectors (p,), or values and bounds by
    name; torque limits hold under each and for all values within its bounds. ``given``: logs prepared for
    identification, designs to be recorded as well, or priors whose ``scale`` says how well parameters are known.
    ``payload``: this run carries one, and runs without it are among the given. ``symmetric`` ties the bodies of each
    symmetric group, as an identification may. ``speed`` rewards fast motors
    [Gnad24, eq. 9]. ``method`` "random" takes the best of ``candidates``. ``warm`` starts from an earlier design of the
    same family, or from its coefficients (r, m).
    """
    if method not in ("optimise", "random"):
        raise UsageError(f"method {method!r}; {choices(method, ('optimise', 'random'))}")
    family, effort = family or Fourier(), effort or Effort()
    if candidates < 1:
        raise UsageError(f"candidates {candidates}, expected at least one")
    if method == "random" and warm is not None:
        raise UsageError("method 'random' with a motion to start from, expected one or the other")
    _check(family, repeat, noise.rate if isinstance(noise, Noise) else rate, speed)
    begun = time.monotonic()
    believed, unknown = beliefs_of(model, priors)
    if payload:
        model = _loaded(model, payload, payload_mass)
    task = Task.of(
        model, family, limits or Limits.of(model.robot), tuple(belief.on(model) for belief in believed), given=given,
        payload=payload, projection=projection, symmetric=symmetric, seed=effort.seed,
    ).weighed(noise, rate)  # fmt: skip
    task = replace(task, notes=(*unknown, *task.notes))
    wanted = criterion_of(criterion, parameters)
    start = _start(warm, model, family)
    periods = FREE_PERIODS if free_frequency else (1,)
    share = replace(effort, budget=effort.budget / len(periods))
    best: tuple[Found, Task, int] | None = None
    with one_thread():
        for p in periods:
            own = task if p == 1 else task.with_family(replace(family, duration=family.duration / p))  # type: ignore[type-var]
            objective = own.objective(wanted, p * repeat, speed)
            if method == "random":
                found = best_of_random(own.setup, objective, own.centre, candidates, share, watch, begun)
            else:
                own.setup.information.prepare()
                z = None if start is None else own.setup.unknowns(start)
                found = optimise(own.setup, objective, own.centre, share, warm=z, watch=watch, begun=begun)
            begun = time.monotonic()
            if best is None or found.value < best[0].value:
                best = (found, own, p * repeat)
        assert best is not None
        return finished(*best, wanted, method, effort.seed)


def _check(family: Family, repeat: int, rate: float, speed: float) -> None:
    """Refuse what no machine can search or record."""
    if repeat < 1 or repeat != int(repeat):
        raise UsageError(f"repeat {repeat}, expected a whole number of periods, at least one")
    if family.corners > _MOST_CORNERS:
        name = family.describe()["family"]
        raise UsageError(f"{name}: {family.corners} corners in a period, expected at most {_MOST_CORNERS}")
    if not repeat * family.duration * rate <= MOST_SAMPLES:
        raise UsageError(
            f"{repeat} periods of {family.duration:g} s at {rate:g} Hz, expected at most {MOST_SAMPLES:.0e} samples"
        )
    if not 0.0 <= speed < np.inf:
        raise UsageError(f"speed {speed:g}, expected a weight that is not negative")


def _start(warm: Design | ArrayLike | None, model: Model, family: Family) -> Array | None:
    """Coefficients (r, m) to start from."""
    if warm is None:
        return None
    if not isinstance(warm, Design):
        start = np.asarray(warm, dtype=float)
        if not np.isfinite(start).all():
            raise UsageError("coefficients to start from: some are not finite, expected numbers")
        return start
    found = warm.family.describe()["family"], ", ".join(warm.coordinates)
    wanted = family.describe()["family"], ", ".join(model.independent)
    if found != wanted:
        raise UsageError("design to start from: {} of {}, expected {} of {}".format(*found, *wanted))
    return warm.coefficients


def _loaded(model: Model, payload: str, mass: float) -> Model:
    """The model with a payload on its platform, whose nominal value is a point of that mass."""
    robot = model.robot if payload in model.robot.body_names else with_payload(model.robot, payload)
    known = dict.fromkeys(inertial_names(payload), 0.0) | {f"M_{payload}": mass}
    robot = replace(robot, nominal={**known, **robot.nominal} if robot.nominal else robot.nominal)
    return build_model(robot, independent=model.independent, backend=model.backend, threads=model.threads)
