"""One verdict per parameter: does this log fix it, and if not, which motion would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from dalembert.identification.problem import Estimate, Problem
from dalembert.identification.rows import Array
from dalembert.identification.uncertainty import Robust, correlation

__all__ = ["Assessment", "Thresholds", "Verdict", "assess", "default_hint"]


class Verdict(StrEnum):
    """How well a log fixes a parameter."""

    WELL = "well determined"
    WEAK = "weakly determined"
    NOT = "not determined by this log"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where a verdict changes.

    ``well``, ``weak``: robust sigma relative to the value. A value whose interval contains zero is judged by the
    torque its sigma stands for, ``sigma |column| / |y|``, against ``well_torque`` and ``weak_torque``: then it is known
    to be small. ``correlated``: correlation named in the hint.
    """

    well: float = 0.05
    weak: float = 0.30
    well_torque: float = 0.005
    weak_torque: float = 0.03
    correlated: float = 0.9


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdict on one parameter: 95 % interval ``low``..``high`` [unit of the parameter] and what it rests on.

    ``relative``: robust sigma over value; ``torque``: share of the torque the sigma stands for.
    """

    name: str
    verdict: Verdict
    low: float
    high: float
    relative: float
    torque: float
    hint: str


# What moves a parameter into the torque, by the symbol its name starts with (theory.md, section 1).
_MOTION = {
    "Ia": "accelerations of {0}, at low and high speed",
    "Fv": "speeds of {0} over the whole range",
    "Fc": "speeds of {0} of both signs, well away from zero",
    "Fs": "speeds of {0} of both signs, well away from zero",
    "Fr": "speeds of {0} over the whole range, slow ones too",
    "Fl": "speeds of {0} of both signs under loads of different size",
    "Fd": "reversals of {0} far enough apart for friction to build up",
    "off": "motion of {0} in both directions",
    "k": "positions of {0} over the whole range",
    "kr": "positions of {0} over the whole range",
    "F": "motion of {0} in both directions",
    "M": "linear accelerations of {0}, or lifting it where gravity acts",
    "MX": "rotations of {0} with acceleration, or orientations across gravity where it acts",
    "MY": "rotations of {0} with acceleration, or orientations across gravity where it acts",
    "MZ": "rotations of {0} with acceleration, or orientations across gravity where it acts",
    "XX": "angular accelerations about the x axis of {0}",
    "YY": "angular accelerations about the y axis of {0}",
    "ZZ": "angular accelerations about the z axis of {0}",
    "XY": "angular accelerations about the x and y axes of {0} together",
    "XZ": "angular accelerations about the x and z axes of {0} together",
    "YZ": "angular accelerations about the y and z axes of {0} together",
}


def default_hint(name: str) -> str:
    """The motion that would help, from the symbol a parameter's name starts with."""
    symbol, _, owner = name.partition("_")
    motion = _MOTION.get(symbol.removesuffix("R").rstrip("0123456789"), "faster and wider motion of {0}")
    return motion.format(owner or name)


def assess(
    problem: Problem,
    estimate: Estimate,
    robust: Robust,
    *,
    level: float = 0.95,
    thresholds: Thresholds | None = None,
    hints: Callable[[str], str] | Mapping[str, str] | None = None,
    shows: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Assessment, ...]:
    """One assessment per value of an estimate. ``hints``: the motion a parameter needs, by name; ``shows``: the motions
    it shows in.
    """
    limit = thresholds or Thresholds()
    intervals = robust.intervals(estimate.values, level)
    norms = np.sqrt(sum(np.sum(f.R[:, list(problem.kept)] ** 2, axis=0) for f in problem.factors))
    torque = robust.sigma * norms / problem.torque_norm if problem.torque_norm > 0.0 else np.zeros(len(norms))
    related = correlation(robust.covariance)
    out = []
    for i, name in enumerate(estimate.names):
        value, sigma = float(estimate.values[i]), float(robust.sigma[i])
        low, high = float(intervals[i, 0]), float(intervals[i, 1])
        relative = sigma / abs(value) if value != 0.0 else 0.0 if sigma == 0.0 else np.inf
        verdict = Verdict.NOT
        if estimate.determined[i]:
            verdict = _grade(relative, float(torque[i]), low <= 0.0 <= high, limit)
        hint = ""
        if verdict is not Verdict.WELL:
            needs = hints.get(name) if isinstance(hints, Mapping) else (hints or default_hint)(name)
            hint = _hint(i, needs or default_hint(name), shows.get(name, ""), estimate, related, limit)
        out.append(Assessment(name, verdict, low, high, float(relative), float(torque[i]), hint))
    return tuple(out)


def _grade(relative: float, torque: float, zero: bool, limit: Thresholds) -> Verdict:
    if relative < limit.well or (zero and torque < limit.well_torque):
        return Verdict.WELL
    return Verdict.WEAK if relative < limit.weak or torque < limit.weak_torque else Verdict.NOT


def _hint(index: int, motion: str, shows: str, estimate: Estimate, related: Array, limit: Thresholds) -> str:
    others = np.abs(related[index])
    others[index] = 0.0
    partner = int(np.argmax(others)) if len(others) > 1 else index
    text = f"needs {motion}" + (f"; shows in {shows}" if shows else "")
    if others[partner] >= limit.correlated:
        with_ = estimate.names[partner]
        text += f"; moves together with {with_} (correlation {related[index, partner]:+.2f})"
    return text
