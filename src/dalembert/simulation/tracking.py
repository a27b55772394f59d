"""An identified model put to use: how well controllers that know it make a simulated robot follow a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.model import Model
from dalembert.simulation.controllers import ControllerFile, Preload, motor_inertia
from dalembert.simulation.options import Options
from dalembert.simulation.reference import Path
from dalembert.simulation.result import Simulation
from dalembert.simulation.sensing import Sensing
from dalembert.simulation.simulator import simulate
from dalembert.simulation.summary import Summary, summarise

__all__ = ["Contender", "Tracked", "check_known", "track"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contender:
    """A controller to compare, and the parameters ``known`` (p,) to it: gains and model are made of them."""

    name: str
    controller: ControllerFile
    known: Array


@dataclass(frozen=True, slots=True)
class Tracked:
    """One controller's run in numbers: ``summary`` per motor, ``reduction`` (n,) of the largest tracking error against
    the first controller's: 0.6 is 60 % less. NaN where either has no run to compare.
    """

    name: str
    run: Simulation
    summary: Summary
    reduction: Array


def check_known(model: Model, known: Array, what: str) -> None:
    """Refuse parameters under which a motor would have no inertia at home: gains cannot be made of them."""
    felt = motor_inertia(model, known, model.home)[0]
    bad = [name for name, value in zip(model.robot.motor_names, felt, strict=True) if not value > 0.0]
    if bad:
        raise UsageError(
            f"{what}: the inertia that motor {bad[0]!r} feels at home is not positive, expected an identified model "
            f"of positive mass matrix; identify with --method physical or sdp, or from a motion that excites it"
        )


def track(
    model: Model,
    path: Path,
    contenders: Sequence[Contender],
    truth: Array,
    *,
    sensing: Sensing | None = None,
    seed: int = 0,
    options: Options | None = None,
    duration: float | None = None,
    payload: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Tracked, ...]:
    """Each controller in turn on a robot of true parameters ``truth`` (p,), along the same path, with the same noise.

    A controller's own file decides on its rate and saturation, where it says so.
    """
    options = options or Options()
    found: list[Tracked] = []
    for one in contenders:
        progress(f"running {one.name}")
        own = one.controller
        inner = own.preload if isinstance(own.law, Preload) else None
        run = simulate(
            model, path, own.law, duration=duration, pi=truth, tuned=one.known, sensing=sensing,
            options=replace(options, control_rate=own.rate or options.control_rate, saturation=own.saturation),
            rng=np.random.default_rng(seed), preload=inner, name=one.name, payload=payload,
        )  # fmt: skip
        summary = summarise(model, run, truth)
        first = found[0] if found else None
        found.append(Tracked(one.name, run, summary, _reduction(run, summary, first)))
    return tuple(found)


def _reduction(run: Simulation, summary: Summary, first: Tracked | None) -> Array:
    if first is None:
        return np.zeros_like(summary.max_error) if run.completed else np.full_like(summary.max_error, np.nan)
    before = first.summary.max_error
    if not (run.completed and first.run.completed) or not before.all():
        return np.full_like(before, np.nan)
    return np.asarray(1.0 - summary.max_error / before)
