"""From random starts to a motion that keeps every limit on the fine grid."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError, UsageError
from dalembert.excitation.criteria import stages
from dalembert.excitation.interior_point import Outcome, Stop, minimise
from dalembert.excitation.setup import Objective, Setup
from dalembert.excitation.starts import Infeasible, random_start, scaled_to_fit

__all__ = ["Effort", "Found", "Progress", "best_of_random", "optimise"]

Array = NDArray[np.float64]

_GAP = 0.02  # of the barrier, in units of the criterion, which is logarithmic
_FIRST_GAP = 0.3  # for stages before the last
_REPAIRS = 4  # rounds of tightening what is broken between grid points
_WARM = 0.99  # share of an earlier motion that is gone on from
_AFTER = 40  # iterations at most in a round
_ROOM = 1e-6  # slack, in ranges, that a finished motion has on the fine grid
_SILENT = 2.0  # seconds without progress after which a search says that it is under way


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to search: ``starts`` random motions optimised, or ``budget`` [s] from the call on, what ends first.

    At least one start is tried, cut short where it takes longer. With an infinite budget the motion depends on the seed
    alone, whatever the threads and however busy the machine.
    """

    starts: int = 8
    budget: float = 30.0
    iterations: int = 400
    threads: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("starts", 1), ("iterations", 1), ("threads", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"effort: {name} {getattr(self, name)}, expected a whole number of at least {least}")
        if not self.budget > 0.0:
            raise UsageError(f"effort: budget {self.budget:g} s, expected a positive time")


@dataclass(frozen=True, slots=True)
class Progress:
    """The best so far: seconds since the beginning, starts finished, value of the criterion on the search grid.

    The value is infinite before there is one.
    """

    seconds: float
    finished: int
    value: float


Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Found:
    """A motion that keeps every limit on the fine grid, with the criterion's value."""

    z: Array
    value: float
    iterations: int
    starts: int
    seconds: float
    history: tuple[tuple[float, float], ...]
    reason: str
    notes: tuple[str, ...]


class _Best:
    """The best so far, shared by the threads."""

    def __init__(self, begun: float, watch: Watch | None) -> None:
        self.begun, self.watch, self.said = begun, watch, begun
        self.lock = threading.Lock()
        self.z: Array | None = None
        self.value = np.inf
        self.finished = self.iterations = 0
        self.history: list[tuple[float, float]] = []
        self.reason = ""
        self.notes: list[str] = []

    def offer(self, value: float, z: Array, iterations: int, reason: str) -> None:
        with self.lock:
            self.finished += 1
            self.iterations += iterations
            if value < self.value:
                self.value, self.z, self.reason = value, z, reason
                self.history.append((time.monotonic() - self.begun, value))
            self._say()

    def step(self, *_: object) -> None:
        """A sign of life between two results."""
        with self.lock:
            if time.monotonic() - self.said > _SILENT:
                self._say()

    def _say(self) -> None:
        self.said = time.monotonic()
        if self.watch:
            self.watch(Progress(self.said - self.begun, self.finished, self.value))

    def refuse(self, why: str) -> None:
        """A start that came to nothing."""
        with self.lock:
            self.finished += 1
            if self.z is None:
                self.reason = why

    def found(self) -> Found:
        assert self.z is not None
        seconds = time.monotonic() - self.begun
        return Found(
            self.z, self.value, self.iterations, self.finished, seconds, tuple(self.history), self.reason,
            tuple(self.notes),
        )  # fmt: skip


def optimise(
    setup: Setup,
    objective: Objective,
    centre: Array,
    effort: Effort,
    *,
    warm: Array | None = None,
    watch: Watch | None = None,
    begun: float | None = None,
) -> Found:
    """Optimise from random starts in parallel; the first from ``warm`` unknowns if given."""
    begun = time.monotonic() if begun is None else begun
    deadline = begun + effort.budget
    best = _Best(begun, watch)
    numbers = count()
    failures: list[Infeasible] = []

    def work(own: Setup) -> None:
        while not failures:
            k = next(numbers)
            if k >= effort.starts or (time.monotonic() > deadline and best.z is not None):
                return
            try:
                steps = _steps(own, objective)
                start = _warm_start(own, steps[-1], centre, warm, best) if k == 0 and warm is not None else None
                if start is None:
                    start = random_start(own, centre, np.random.default_rng([effort.seed, k]))
                    _one(own, steps, centre, start, effort, deadline, best)
                else:
                    _one(own, steps[-1:], centre, start, effort, deadline, best, mu=_follow_up(own))
            except Infeasible as error:
                failures.append(error)

    workers = max(1, min(effort.threads, effort.starts))
    if workers == 1:
        work(setup)
    else:
        with ThreadPoolExecutor(workers) as pool:
            for task in [pool.submit(work, setup if k == 0 else setup.twin()) for k in range(workers)]:
                task.result()
    if best.z is None and failures:
        raise failures[0]
    if best.z is None:
        raise Infeasible(
            f"robot {setup.model.robot.name!r}: none of {best.finished} motions could be used: {best.reason}"
        )
    return best.found()


def _steps(setup: Setup, objective: Objective) -> list[Objective]:
    """The stages of the criterion in turn, slow samples masked at last."""
    steps = [replace(objective, criterion=c, masked=False) for c in stages(objective.criterion)]
    return [*steps, replace(steps[-1], masked=True)] if setup.information.slow.any() else steps


def _follow_up(setup: Setup) -> float:
    """Barrier parameter that stays near what was found before."""
    return 10.0 * _GAP / max(setup.coarse.count, 1)


def _warm_start(setup: Setup, objective: Objective, centre: Array, warm: Array, best: _Best) -> Array | None:
    """An earlier motion, offered as it is and brought a little inside to go on from; None where it leads nowhere."""
    rest = setup.still(centre)
    kept = scaled_to_fit(rest, warm - rest, setup.fine, 0.0)
    if kept is None or not setup.closes(kept):
        best.notes.append("the motion to start from cannot be brought within the limits: a random one took its place")
        return None
    value, _ = setup.problem(objective).objective(kept)
    if np.isfinite(value):
        best.offer(value, kept, 0, "the motion it was to start from")
    inside = scaled_to_fit(rest, kept - rest, setup.coarse)
    return None if inside is None else rest + _WARM * (inside - rest)


def _one(
    setup: Setup, steps: Sequence[Objective], centre: Array, start: Array, effort: Effort, deadline: float, best: _Best,
    mu: float | None = None,
) -> None:  # fmt: skip
    """One start through all steps, then repair between the grid points."""
    for margin in setup.coarse.margins:
        margin[:] = 0.0
    iterations = 0
    z = start
    for k, step in enumerate(steps):
        sharp = step.criterion is steps[-1].criterion
        stop = Stop(_GAP if sharp else _FIRST_GAP / (k + 1), 1e-4, effort.iterations, deadline)
        outcome = minimise(setup.problem(step), z, stop, mu=mu, watch=best.step)
        z, iterations = outcome.z, iterations + outcome.iterations
        mu = _follow_up(setup)
    try:
        finished, more = _repaired(setup, steps[-1], centre, z, min(effort.iterations, _AFTER), deadline)
    except ClosureError as error:  # between the points it was searched on
        finished, more = str(error), 0
    if isinstance(finished, str):
        best.refuse(f"{finished}; widen this limit, or try more starts")
    elif not np.isfinite(finished.value):
        best.refuse(
            "some base parameters cannot be told apart by it, nor by what is given; take more harmonics (pieces, stops)"
        )
    else:
        best.offer(finished.value, finished.z, iterations + more, outcome.reason)


def _repaired(
    setup: Setup, objective: Objective, centre: Array, z: Array, iterations: int, deadline: float
) -> tuple[Outcome | str, int]:
    """The motion moved inside the limits on the fine grid: each tightened by what it lacks, then optimised on.

    Where it cannot be, the limit that stands in its way.
    """
    rest = setup.still(centre)
    used = 0
    for _ in range(_REPAIRS):
        lacking = [np.maximum(0.0, _ROOM - fine) for fine in setup.fine.worst(z)]
        if all(float(part.max(initial=0.0)) == 0.0 for part in lacking) or time.monotonic() > deadline:
            break
        for margin, part in zip(setup.coarse.margins, lacking, strict=True):
            margin += 1.05 * part
        inner = scaled_to_fit(rest, z - rest, setup.coarse, 1e-9)
        if inner is None:  # too much taken off to move at all: made smaller instead
            break
        mu = _GAP / max(setup.coarse.count, 1)
        outcome = minimise(
            setup.problem(objective), rest + 0.999 * (inner - rest), Stop(_GAP, 1e-4, iterations, deadline), mu=mu
        )
        z, used = outcome.z, used + outcome.iterations
    kept = scaled_to_fit(rest, z - rest, setup.fine, 0.0)
    if kept is None:
        return _broken(setup, z), used
    if not setup.closes(kept):
        return "the loops cannot be followed from home along it", used
    value, _ = setup.problem(objective).objective(kept)
    return Outcome(kept, value, used, ""), used


def _broken(setup: Setup, z: Array) -> str:
    """The limit a motion breaks most on the fine grid."""
    try:
        tight = setup.fine.tightest(z)[0]
    except ClosureError as error:
        return str(error)
    return f"{tight.name} is {tight.value:.4g}, limit {tight.bound:.4g}, at {tight.time:.3g} s of it"


def best_of_random(
    setup: Setup, objective: Objective, centre: Array, candidates: int, effort: Effort, watch: Watch | None = None,
    begun: float | None = None,
) -> Found:  # fmt: skip
    """The best of N random motions, as [Guegan03, section 5.1] chose them."""
    begun = time.monotonic() if begun is None else begun
    best = _Best(begun, watch)
    rest = setup.still(centre)
    for k in range(candidates):
        if time.monotonic() > begun + effort.budget and best.z is not None:
            break
        best.step()
        z = random_start(setup, centre, np.random.default_rng([effort.seed, k]))
        value, _ = setup.problem(objective).objective(z)
        if value < best.value:
            kept = scaled_to_fit(rest, z - rest, setup.fine, 0.0)
            if kept is not None and setup.closes(kept):
                value, _ = setup.problem(objective).objective(kept)
                if value < best.value:
                    best.offer(value, kept, 1, f"best of {candidates}")
    if best.z is None:
        raise Infeasible(f"none of {candidates} random motions keeps the limits")
    return best.found()
