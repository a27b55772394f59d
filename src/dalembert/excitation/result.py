"""A finished design: the motion, what it will tell, how near it comes to its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.display import Tabled
from dalembert.excitation.constraints.slack import Tight
from dalembert.excitation.entry import Ride
from dalembert.excitation.expected import Expected
from dalembert.excitation.family import Family, Path
from dalembert.excitation.limits import Limits
from dalembert.excitation.noise import Noise
from dalembert.identification.base import BaseSet
from dalembert.model import Model

__all__ = ["Design", "SearchRecord"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """How the motion was found: method, starts, iterations, seconds, and (seconds, value) of every better motion."""

    method: str
    starts: int
    iterations: int
    seconds: float
    history: tuple[tuple[float, float], ...]
    reason: str
    seed: int


@dataclass(frozen=True, slots=True)
class Design(Tabled):
    """A motion of the independent coordinates that makes the base parameters visible.

    It is a path itself: ``design(t)`` is position, velocity and acceleration (n, r) from rest at home to rest at home;
    ``ride.record`` is the part that was designed. ``value`` is that of the ``criterion`` (minimised), ``criteria``
    holds the others for comparison. ``information`` (b, b) is that of this record alone on the standard parameters
    ``columns`` that the base parameters start from; ``parameters`` count what was known before, too.
    """

    model: Model
    family: Family
    coefficients: Array
    ride: Ride
    base: BaseSet
    limits: Limits
    noise: Noise
    criterion: str
    meaning: str
    value: float
    criteria: Mapping[str, float]
    parameters: tuple[Expected, ...]
    margins: tuple[Tight, ...]
    information: Array
    search: SearchRecord
    payload: str
    notes: tuple[str, ...]

    @property
    def path(self) -> Path:
        """One period of the designed motion, without entry and exit."""
        return self.family.path(self.coefficients)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates that are moved."""
        return self.ride.coordinates

    @property
    def duration(self) -> float:
        """Whole run with entry and exit [s]."""
        return self.ride.duration

    @property
    def columns(self) -> tuple[str, ...]:
        """Standard parameters the base parameters start from."""
        return tuple(self.base.names[k] for k in self.base.independent)

    @property
    def sigma(self) -> Array:
        """Expected sigma of the base parameters (b,)."""
        return np.array([p.sigma for p in self.parameters])

    @property
    def hidden(self) -> tuple[Expected, ...]:
        """Base parameters that this motion cannot show."""
        return tuple(p for p in self.parameters if not p.shown)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Standard parameters that no motion of this robot can show."""
        return tuple(self.base.names[k] for k in self.base.unidentifiable)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, r) at times ``t`` (n,) [s] of the whole run."""
        x, xd, xdd = self.ride(t)
        return x, xd, xdd

    def __repr__(self) -> str:
        return f"<Design {self.headline}>"

    @property
    def headline(self) -> str:
        """Robot, motion and what became of the criterion in one line."""
        return (
            f"{self.model.robot.name}: {self.family.describe()['family']} of {self.duration:.4g} s in all, "
            f"{self.criterion} {self.value:.5g}"
        )

    def __str__(self) -> str:
        """A table: parameter, prior value, expected sigma."""
        return "\n".join(
            f"{p.name:<14} {'' if p.value is None else f'{p.value:.4g}':>11} {p.sigma:10.3g} {p.unit:<8} {p.why}"
            for p in self.parameters
        )
