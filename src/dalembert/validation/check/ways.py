"""The ways a log's columns are commonly wrong, each as the change that would put it right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dalembert.logs.checks import turn_ratios
from dalembert.logs.guess import angular_places
from dalembert.model import Model
from dalembert.validation.check.finding import Change

__all__ = ["TURN", "combinations", "signs", "ways"]

Array = NDArray[np.float64]

_DEG = math.pi / 180.0
TURN = 2.0 * math.pi


def ways(model: Model, span: Array, far: float = TURN) -> Iterator[Change]:
    """Every change looked at, simpler ones first: of ways that explain a log alike the first is believed.

    ``span`` (n_s,): how far each position moves as it is read [rad or m at the joint]. Units are doubted only where it
    is absurd, more than ``far`` [rad or m]: small motions are nearly linear, and any small enough unit explains them.
    """
    yield from _units(model, span, far)
    yield from signs(model)
    yield from _orders(model)
    yield from _zeros(model)


MOST = 6  # positions whose signs are tried in all combinations


def combinations(model: Model, span: Array, far: float) -> Iterator[Change]:
    """Several positions with the wrong sign, as read or in other units: for loops that one change does not close."""
    places = _places(model)
    if len(places) > MOST:
        return
    for unit in (None, *_units(model, span, far)):
        for flips in itertools.product((1.0, -1.0), repeat=len(places)):
            wrong = [f"q_{place}" for place, sign in zip(places, flips, strict=True) if sign < 0.0]
            if len(wrong) + (unit is not None) < 2:
                continue  # one change alone was tried
            verb = "have" if len(wrong) > 1 else "has"
            said = f"{', '.join(wrong)} {verb} the wrong sign"
            A = np.diag(flips) if unit is None else np.diag(flips) @ unit.A
            words = said if unit is None else f"{unit.words}, and {said}"
            yield _change(model, "signs" if unit is None else "units", words, [f"q_{p}" for p in places], A=A)


def _change(model: Model, check: str, words: str, signals: list[str], **maps: Array) -> Change:
    none = Change.none(len(model.robot.sensor_map()), model.n)
    return Change(check, words, tuple(signals), maps.get("A", none.A), maps.get("b", none.b), maps.get("C", none.C))


def _places(model: Model) -> list[str]:
    return [*model.robot.motor_names, *(s.name for s in model.robot.sensors)]


# turning positions or slides, factor, words
_OTHER = (
    (True, _DEG, "in degrees, not radians"),
    (True, 1.0 / _DEG, "in radians, not degrees as the channels file says"),
    (False, 1e-3, "in millimetres, not metres"),
)


def _units(model: Model, span: Array, far: float) -> Iterator[Change]:
    """Other units of all positions, of those of a kind, of each, where they move absurdly far or little."""
    turning, places = angular_places(model.robot), _places(model)
    kinds: list[tuple[list[int], float, str]] = []
    for turns, factor, words in _OTHER:
        kind = [k for k, place in enumerate(places) if turning[place] == turns]
        moved = max(span[kind], default=0.0)
        if moved > far if factor < 1.0 else 0.0 < moved < far * _DEG:
            kinds.append((kind, factor, words))
    groups = [[item] for item in kinds]
    if len(kinds) > 1:  # turns and slides alike
        groups.insert(0, kinds)
    groups += [
        [([k], f, words)] for kind, f, words in kinds for k in kind if len(kind) > 1 and f < 1.0 and span[k] > far
    ]
    for group in groups:
        scale, said = np.ones(len(places)), []
        for which, factor, words in group:
            scale[which] = factor
            names = "all positions" if len(which) == len(places) else ", ".join(f"q_{places[k]}" for k in which)
            said.append(f"{names} {'are' if len(which) > 1 else 'is'} {words}")
        signals = [f"q_{places[k]}" for which, _, _ in group for k in which]
        yield _change(model, "units", ", and ".join(said), signals, A=np.diag(scale))


def signs(model: Model) -> Iterator[Change]:
    """Wrong signs of all torques, of each torque, of each position, of both of a motor."""
    motors, places = model.robot.motor_names, _places(model)
    if model.n > 1:
        words = "all torques have the wrong sign: with it friction would drive the robot"
        yield _change(model, "signs", words, [f"tau_{m}" for m in motors], C=-np.eye(model.n))
    for k, motor in enumerate(motors):
        yield _change(model, "signs", f"tau_{motor} has the wrong sign", [f"tau_{motor}"], C=_flipped(model.n, k))
    for k, place in enumerate(places):
        yield _change(model, "signs", f"q_{place} has the wrong sign", [f"q_{place}"], A=_flipped(len(places), k))
    for k, motor in enumerate(motors):
        words = f"{motor} is counted the other way round: q_{motor} and tau_{motor} both have the wrong sign"
        both = {"A": _flipped(len(places), k), "C": _flipped(model.n, k)}
        yield _change(model, "signs", words, [f"q_{motor}", f"tau_{motor}"], **both)


def _orders(model: Model) -> Iterator[Change]:
    motors, n, n_s = model.robot.motor_names, model.n, len(_places(model))
    for i, j in itertools.combinations(range(n), 2):
        a, b = motors[i], motors[j]
        A, C = _swapped(n_s, i, j), _swapped(n, i, j)
        torques, positions = [f"tau_{a}", f"tau_{b}"], [f"q_{a}", f"q_{b}"]
        yield _change(model, "order", f"tau_{a} and tau_{b} are exchanged", torques, C=C)
        yield _change(model, "order", f"q_{a} and q_{b} are exchanged", positions, A=A)
        words = f"motors {a} and {b} are exchanged, positions and torques"
        yield _change(model, "order", words, [*positions, *torques], A=A, C=C)


def _zeros(model: Model) -> Iterator[Change]:
    ratios, places = turn_ratios(model.robot), _places(model)
    for k, place in enumerate(places):
        for degrees in (90, -90, 180) if place in ratios else ():
            b = np.zeros(len(places))
            b[k] = degrees * _DEG * ratios[place]
            words = f"q_{place} reads zero where the model's joint is at {degrees} deg"
            yield _change(model, "zero", words, [f"q_{place}"], b=b)


def _flipped(n: int, k: int) -> Array:
    out = np.eye(n)
    out[k, k] = -1.0
    return out


def _swapped(n: int, i: int, j: int) -> Array:
    out = np.eye(n)
    out[[i, j]] = out[[j, i]]
    return out
