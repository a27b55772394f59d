"""Pictures as data: what is drawn, not how. The page, paper figures and notebooks draw the same panels."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Curve", "Heat", "Panel", "Picture", "packed"]

Array = NDArray[np.float64]
Role = Literal["measured", "raw", "predicted", "residual", "1", "2", "3", "4", "5", "6"]


@dataclass(frozen=True, slots=True)
class Curve:
    """Values ``y`` (n,) over ``x`` (n,), or over ``start + step k`` where they are uniform.

    ``role`` gives its colour and stroke, ``row`` the axis it is drawn on, ``error`` (n,) half intervals along x.
    ``points``: markers instead of a line.
    """

    label: str
    y: Array
    role: Role
    x: Array | None = None
    start: float = 0.0
    step: float = 1.0
    row: int = 0
    points: bool = False
    error: Array | None = None

    @property
    def abscissae(self) -> Array:
        """X of every value (n,)."""
        return np.asarray(self.start + self.step * np.arange(len(self.y))) if self.x is None else self.x


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over one abscissa, on one ordinate for each of ``y_labels`` below each other.

    ``link``: panels of the same link are zoomed together. ``ticks``: names of the ordinates 0, 1, ... from the top.
    ``limits``: horizontal lines on the first ordinate; ``marks``: vertical ones, with what stands there.
    """

    key: str
    title: str
    x_label: str
    y_labels: tuple[str, ...]
    curves: tuple[Curve, ...]
    link: str = ""
    log_x: bool = False
    log_y: bool = False
    ticks: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    height: int = 260

    def to_dict(self) -> dict[str, Any]:
        """JSON values, arrays packed."""
        return {
            "kind": "curves", "key": self.key, "title": self.title, "x": self.x_label, "y": list(self.y_labels),
            "link": self.link, "logX": self.log_x, "logY": self.log_y, "ticks": list(self.ticks),
            "limits": list(self.limits), "marks": [list(mark) for mark in self.marks], "height": self.height,
            "curves": [_curve(c) for c in self.curves],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heat:
    """A matrix (k, k) of numbers from -1 to 1 between named things."""

    key: str
    title: str
    names: tuple[str, ...]
    values: Array
    label: str

    def to_dict(self) -> dict[str, Any]:
        """JSON values, the matrix packed row by row."""
        return {
            "kind": "heat", "key": self.key, "title": self.title, "names": list(self.names), "label": self.label,
            "z": packed(self.values.ravel()), "height": 0,
        }  # fmt: skip


Picture = Panel | Heat


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "label": curve.label, "role": curve.role, "row": curve.row, "points": curve.points, "y": packed(curve.y),
        "x": None if curve.x is None else packed(curve.x), "start": curve.start, "step": curve.step,
        "error": None if curve.error is None else packed(curve.error),
    }  # fmt: skip


def packed(values: ArrayLike) -> str:
    """Numbers as base64 of little-endian float32: six digits in five and a half characters; nan stays nan."""
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode("ascii")
