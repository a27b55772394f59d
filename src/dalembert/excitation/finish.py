"""From the unknowns found to a finished design: a way in and out, what it will tell, how near it comes to limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation.constraints.slack import Tight
from dalembert.excitation.criteria import CRITERIA, Context, Criterion, condition_number
from dalembert.excitation.entry import Ride, find_ride, quiet_moments
from dalembert.excitation.expected import expectation
from dalembert.excitation.fourier import Fourier
from dalembert.excitation.information import Information
from dalembert.excitation.result import Design, SearchRecord
from dalembert.excitation.search import Found
from dalembert.excitation.states import States
from dalembert.excitation.task import Task
from dalembert.identification.prepare import column_units

__all__ = ["finished"]

Array = NDArray[np.float64]

_SAMPLES = 20_000  # at most, for the information of the finished motion
_SLOW = 0.3  # share of every rate and torque limit below which a motion is called slow


def finished(found: Found, task: Task, repeat: int, criterion: Criterion, method: str, seed: int) -> Design:
    """Everything worth knowing about the motion found, recorded for ``repeat`` periods."""
    model, s = task.model, task.setup
    z, ride, notes = _begun(task, found.z, repeat)
    coefficients = s.grid.coefficients(z)
    own = _recorded(task, coefficients, repeat)
    total = own + task.known
    context = task.context()
    prior = context.priors[0] if len(context.priors) else None
    expected = expectation(total, task.base, prior, context.scale, column_units(model, task.base.names, None))
    margins = tuple(s.fine.tightest(z))
    record = SearchRecord(
        method, found.starts, found.iterations, found.seconds, found.history, found.reason, seed
    )  # fmt: skip
    return Design(
        model=model, family=s.family, coefficients=coefficients, ride=ride, base=task.base, limits=s.limits,
        noise=task.noise, criterion=criterion.name, meaning=criterion.meaning,
        value=criterion.value(total, context)[0], criteria=_criteria(total, context), parameters=expected,
        margins=margins, information=own, search=record, payload=task.payload,
        notes=(*model.notes, *task.notes, *found.notes, *notes, *_slow(margins)),
    )  # fmt: skip


def _begun(task: Task, z: Array, repeat: int) -> tuple[Array, Ride, tuple[str, ...]]:
    """The motion with a way in and out; a Fourier series begins at the quiet moment of its period that has one.

    Moments are points of the fine grid, so that the limits are checked at the same states.
    """
    model, s = task.model, task.setup
    home = np.asarray(model.position_map("independent") @ model.home)

    def ride_of(z: Array, slowly: bool = False) -> tuple[Ride, tuple[str, ...]]:
        c = s.grid.coefficients(z)

        def motion(t: Array) -> tuple[Array, ...]:
            return tuple(s.family.basis(t, order) @ c.T for order in range(4))

        return find_ride(model.independent, motion, s.family.duration, repeat, home, s.fine, slowly=slowly)

    if not isinstance(s.family, Fourier):
        return z, *ride_of(z)
    speed = np.linalg.norm(s.fine.grid.derivatives(z)[1] / s.reach, axis=1)
    begun = [
        (s.family.advanced(s.grid.coefficients(z), float(s.fine.grid.times[k])) / s.reach[:, None]).ravel()
        for k in quiet_moments(speed)
    ]
    for slowly in (False, True):
        for shifted in begun:
            ride, notes = ride_of(shifted, slowly)
            if not notes:
                return shifted, ride, notes
    return begun[0], *ride_of(begun[0], slowly=True)


def _recorded(task: Task, coefficients: Array, repeat: int) -> Array:
    """Information of the record as it will be sampled, every sample counting fully."""
    s, noise = task.setup, task.noise
    period = s.family.duration
    recorded = noise.rate * period * repeat
    n = int(np.clip(round(noise.rate * period), s.samples, _SAMPLES))
    t = (np.arange(n) + 0.5) * (period / n)
    x = tuple(s.family.basis(t, order) @ coefficients.T for order in range(3))
    plain = Information(task.model, task.base, noise.values, projection=s.information.projection)
    return np.asarray(plain.matrix(States(task.model).motion(*x)) * (recorded / n))


def _slow(margins: tuple[Tight, ...]) -> tuple[str, ...]:
    """A word where positions alone stop the motion: a faster one through the same places would show more."""
    kinds = ("velocity", "acceleration", "jerk", "torque")
    used = {kind: max((m.used for m in margins if m.name.startswith(kind)), default=0.0) for kind in kinds}
    shown = {kind: share for kind, share in used.items() if share > 0.0}
    if not shown or max(shown.values()) > _SLOW:
        return ()
    said = ", ".join(f"{kind} {100.0 * share:.2g} %" for kind, share in shown.items())
    return (
        f"positions alone limit this motion (of the limits it uses at most: {said}); more harmonics, a shorter "
        f"duration repeated or a free base frequency would show the parameters better",
    )


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
