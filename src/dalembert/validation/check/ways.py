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

__all__ = ["combinations", "ways"]

Array = NDArray[np.float64]

_DEG = math.pi / 180.0


def ways(model: Model) -> Iterator[Change]:
    """Every change looked at, simpler ones first: of ways that explain a log alike the first is believed."""
    yield from _units(model)
    yield from _signs(model)
    yield from _orders(model)
    yield from _zeros(model)


MOST = 6  # positions whose signs are tried in all combinations


def combinations(model: Model) -> Iterator[Change]:
    """Several positions with the wrong sign, in radians or degrees: for loops that one change alone does not close."""
    places, turning = _places(model), angular_places(model.robot)
    unit = np.array([_DEG if turning[place] else 1.0 for place in places])
    if len(places) > MOST:
        return
    for in_degrees in (False, True):
        for signs in itertools.product((1.0, -1.0), repeat=len(places)):
            wrong = [f"q_{place}" for place, sign in zip(places, signs, strict=True) if sign < 0.0]
            if len(wrong) + in_degrees < 2:
                continue  # one change alone was tried
            said = [f"{', '.join(wrong)} have the wrong sign"] if wrong else []
            said += ["positions are in degrees, not radians"] if in_degrees else []
            scale = np.array(signs) * (unit if in_degrees else 1.0)
            yield _change(model, "signs", " and ".join(said), [f"q_{p}" for p in places], A=np.diag(scale))


def _change(model: Model, check: str, words: str, signals: list[str], **maps: Array) -> Change:
    none = Change.none(len(model.robot.sensor_map()), model.n)
    return Change(check, words, tuple(signals), maps.get("A", none.A), maps.get("b", none.b), maps.get("C", none.C))


def _places(model: Model) -> list[str]:
    return list(model.robot.readings)


def _units(model: Model) -> Iterator[Change]:
    turning = angular_places(model.robot)
    places = _places(model)
    for turns, factor, found, expected in (
        (True, _DEG, "degrees", "radians"), (True, 1.0 / _DEG, "radians", "degrees, as the channels file says"),
        (False, 1e-3, "millimetres", "metres"),
    ):  # fmt: skip
        some = [k for k, place in enumerate(places) if turning[place] == turns]
        for which in ([some] if len(some) > 1 else []) + ([[k] for k in some] if factor < 1.0 else []):
            scale = np.ones(len(places))
            scale[which] = factor
            names = [f"q_{places[k]}" for k in which]
            said = "all positions" if len(which) == len(places) else ", ".join(names)
            verb = "are" if len(which) > 1 else "is"
            yield _change(model, "units", f"{said} {verb} in {found}, not {expected}", names, A=np.diag(scale))


def _signs(model: Model) -> Iterator[Change]:
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
