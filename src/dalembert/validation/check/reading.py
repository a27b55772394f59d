"""Signs, units, order, zeros and scales of the columns, found by what explains the torque."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.validation.check.evidence import Evidence, likeness
from dalembert.validation.check.finding import Change, Finding, Level
from dalembert.validation.check.ways import TURN, combinations, signs, ways

__all__ = ["ALIKE", "SURE", "UNEXPLAINED", "Reading", "read_right"]

Array = NDArray[np.float64]

# Gains in log relative error, summed over the groups. The TX40's real log, read rightly, gains at most 0.03 by any
# wrong way and loses 2 to 15 by wrong signs; half of the residual in one group is log 2.
SURE, LIKELY = math.log(2.0), 0.15
UNEXPLAINED = 0.3  # relative error of a group that tells that something is still wrong
ALIKE = 0.1  # ways this close explain the log alike
SCALES = np.geomspace(0.02, 50.0, 28)  # of one torque beside the others
WRONG_SCALE = 1.25  # a torque constant nearer to right than this is friction's or the model's error as well


@dataclass(frozen=True, slots=True)
class Reading:
    """How the columns should be read, what that is in words, and the errors by group before and after."""

    change: Change
    findings: tuple[Finding, ...]
    before: Array | None
    after: Array | None


def read_right(evidence: Evidence, progress: Callable[[str], None]) -> Reading:
    """The likeliest way to read the log: the best change, on top of it the best of what is left, and so on."""
    model = evidence.model
    change = Change.none(len(model.robot.sensor_map()), model.n)
    now, errors = evidence.score(change)
    before = errors
    findings: list[Finding] = []
    done: set[str] = set()
    if before is None:
        findings.append(Finding(Level.FAULT, "closure", "the loops do not close along the log", _CLOSE))
    for _ in range(2 * len(model.robot.sensor_map())):
        progress("trying other signs, units and orders of the columns")
        tried = [item for item in _tried(evidence, change, now, errors) if item[1].words not in done]
        if not tried:
            break
        gain, way, found = _chosen(tried)
        by_torque = likeness(found) - likeness(errors)
        if gain > -LIKELY or (by_torque > -LIKELY and way.check != "units"):  # limits alone tell units, but no sign
            break
        others = [other.words for loss, other, _ in tried if loss <= gain + 2 * ALIKE and other is not way]
        findings.append(_finding(way, gain, errors, found, others))
        if gain > -SURE:
            break
        done.add(way.words)
        change, errors = way.after(change), found
        now = evidence.score(change)[0]
    if errors is not None:
        progress("comparing the torques' scales")
        findings += _scales(evidence, change)
        if before is None:
            findings = [replace(f, mended=True) if f.check == "closure" else f for f in findings]
    return Reading(change, tuple(findings), before, errors)


Tried = tuple[float, Change, Array]


def _chosen(tried: list[Tried]) -> Tried:
    """The best, or the simplest as good. Where more than one thing is wrong, units that gain much come first: wrong
    ones spoil all other evidence.
    """
    least, _, errors = min(tried, key=lambda item: item[0])
    units = [i for i in tried if i[1].check == "units" and not i[1].turns and i[0] <= min(-SURE, 0.5 * least)]
    if units and float(errors.max()) > UNEXPLAINED:
        return min(units, key=lambda item: item[0])
    return next(item for item in tried if item[0] <= least + ALIKE / 2)


def _tried(evidence: Evidence, change: Change, now: float, errors: Array | None) -> list[Tried]:
    """Every way that closes the loops with its gain; several changes at once where no single one does."""
    wrong = errors is None or float(errors.max()) > UNEXPLAINED
    span, far = evidence.span(change), TURN if errors is not None else TURN / 2.0
    tried = _gains(evidence, change, list(ways(evidence.model, span, far)), now, flips=wrong)
    if errors is None and not tried:
        tried = _gains(evidence, change, list(combinations(evidence.model, span, far)), now, flips=True)
    return tried


def _gains(evidence: Evidence, change: Change, some: Sequence[Change], now: float, *, flips: bool) -> list[Tried]:
    """Gains of the ways that close; with ``flips`` also of positions read with the signs of torques they explain."""
    plain, more = [], []
    for way, closes in zip(some, evidence.closes([way.after(change) for way in some]), strict=True):
        score, errors = evidence.score(way.after(change)) if closes else (0.0, None)
        if errors is None:
            continue
        plain.append((score - now, way, errors))
        if flips and way.moves:
            both, better, errors = _with_signs(evidence, change, way, score, errors)
            if both is not way:
                more.append((better + LIKELY - now, both, errors))  # two things wrong are less likely than one
    return [*plain, *more]


def _with_signs(
    evidence: Evidence, change: Change, way: Change, score: float, errors: Array
) -> tuple[Change, float, Array]:
    """A way with every torque turned round that is explained better so: two faults hide each other's gain."""
    flips = [flip for flip in signs(evidence.model) if not flip.moves]
    for _ in flips:
        found = [(*evidence.score(flip.after(way).after(change)), flip) for flip in flips]
        better, seen, flip = min(found, key=lambda item: item[0])
        if seen is None or better > score - SURE:
            break
        both = flip.after(way)
        words = f"{way.words}, and {flip.words}"
        way, score, errors = (
            replace(both, check=way.check, words=words, signals=way.signals + flip.signals),
            better,
            seen,
        )
    return way, score, errors


_CLOSE = "units, signs, zeros of the positions, lengths in the robot file, or home in another assembly mode"


def _finding(way: Change, gain: float, before: Array | None, after: Array, others: list[str]) -> Finding:
    sure = gain <= -SURE
    was = (
        "the loops do not close as it is"
        if before is None
        else f"{_percent(before)} of the torque unexplained as it is"
    )
    text = f"{way.words}: {was}, {_percent(after)} then"
    if others:
        text += f"; as well explained by: {'; '.join(others[:2])}"
    mend = _GEARED if "in degrees" in way.words else ""
    return Finding(Level.FAULT if sure else Level.SUSPECT, way.check, text, mend, mended=sure)


_GEARED = (
    "a channels file puts it right; for angles of the motors before gears (of 20 to 150) give their ratio: instead"
)


def _percent(errors: Array) -> str:
    return f"{100.0 * float(np.sqrt(np.mean(errors**2))):.2g} %"


def _scales(evidence: Evidence, change: Change) -> list[Finding]:
    """Torques whose scale does not fit the others': a wrong constant, gear ratio or unit of one motor."""
    findings: list[Finding] = []
    names = evidence.model.robot.motor_names
    for _ in names:
        now = likeness(evidence.errors(change))
        best = (0.0, 1.0, 0)
        for k in range(len(names)):
            gain, scale = _best_scale(evidence, change, k, now)
            best = min(best, (gain, scale, k))
        gain, scale, k = best
        if gain > -LIKELY or max(scale, 1.0 / scale) < WRONG_SCALE:
            break
        size = f"{1.0 / scale:.3g} times too large" if scale < 1.0 else f"{scale:.3g} times too small"
        findings.append(
            Finding(
                Level.SUSPECT, "scale", f"tau_{names[k]} is {size} beside the other torques",
                f"look at its torque constant, gear ratio and unit; gain: {scale:.3g} would fit",
            )
        )  # fmt: skip
        C = np.eye(len(names))
        C[k, k] = scale
        none = Change.none(len(change.A), len(names))
        change = replace(none, C=C).after(change)
    return findings


def _best_scale(evidence: Evidence, change: Change, k: int, now: float) -> tuple[float, float]:
    """Gain and factor of the best scale of one torque, by the grid and a parabola through its best three."""

    def gain(scale: float) -> float:
        C = change.C.copy()
        C[k] *= scale
        return likeness(evidence.errors(replace(change, C=C))) - now

    values = np.array([gain(scale) for scale in SCALES])
    i = int(np.argmin(values))
    if not 0 < i < len(SCALES) - 1:
        return 0.0, 1.0  # nothing ties this torque to the others
    left, middle, right = values[i - 1 : i + 2]
    shift = 0.5 * (left - right) / (left - 2.0 * middle + right) if left + right > 2.0 * middle else 0.0
    scale = float(np.exp(np.log(SCALES[i]) + shift * np.log(SCALES[1] / SCALES[0])))
    return gain(scale), scale
