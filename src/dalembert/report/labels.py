"""Names beside points of a picture, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Label", "gathered", "placed"]

Array = NDArray[np.float64]

# where a name may stand, nearest places first: as many label sizes and gaps away as the numbers say
_ROUNDS = (0.0, 0.7, 1.5, 2.6, 4.0)
_STEPS = np.linspace(0.0, 1.0, 25)  # of a line, to see what lies on it
_SIDES = np.array([[1, 0], [1, 1], [1, -1], [-1, 0], [-1, 1], [-1, -1], [0, 1], [0, -1]], dtype=float)


@dataclass(frozen=True, slots=True)
class Label:
    """A name of a point ``at`` (2,) on the sheet, or (3,) in space."""

    text: str
    at: Array
    colour: str


def gathered(labels: Sequence[Label], near: float) -> list[Label]:
    """Names of one colour less than ``near`` apart as one."""
    out: list[Label] = []
    for label in labels:
        for k, other in enumerate(out):
            if other.colour == label.colour and np.abs(other.at - label.at).max() < near:
                out[k] = replace(other, text=f"{other.text}, {label.text}")
                break
        else:
            out.append(label)
    return out


def placed(points: Array, sizes: Array, marks: Array, lines: Sequence[Array], gap: float) -> Array:
    """Centres (n, 2) of labels of ``sizes`` (n, 2) beside ``points`` (n, 2): off each other and off the ``marks``
    (m, 2) first, off the ``lines`` (k, 2) and near their points where that can be.
    """
    along = [p + s * (q - p) for line in lines for p, q in pairwise(line) for s in _STEPS]
    inked = np.array(along).reshape(-1, 2)
    taken: list[tuple[Array, Array]] = []
    out = np.zeros_like(points)
    for k in np.argsort(-sizes[:, 0], kind="stable"):  # the longest has the fewest places
        half = sizes[k] / 2.0
        best = np.inf
        for turn, away in enumerate(_ROUNDS):
            for side, direction in enumerate(_SIDES):
                centre = points[k] + direction * (
                    half + gap * np.where(direction == 0.0, 0.0, 1.0) + away * sizes[k, 1]
                )
                cost = 100.0 * sum(_overlap(centre, half, *other) for other in taken) / float(sizes[k].prod())
                cost += 3.0 * _inside(marks, centre, half + gap / 2.0) + 0.3 * _inside(inked, centre, half)
                cost += turn + 0.05 * side
                if cost < best:
                    best, out[k] = cost, centre
        taken.append((out[k], half))
    return out


def _overlap(a: Array, half_a: Array, b: Array, half_b: Array) -> float:
    """Area two boxes share."""
    return float(np.prod(np.maximum(half_a + half_b - np.abs(a - b), 0.0)))


def _inside(points: Array, centre: Array, half: Array) -> int:
    return int((np.abs(points - centre) < half).all(axis=1).sum()) if len(points) else 0
