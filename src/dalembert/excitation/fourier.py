"""Finite Fourier series: periodic motions without a transient [Gnad24, eq. 8]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import ClosureError, UsageError
from dalembert.model import Model
from dalembert.motion import Closer
from dalembert.robot import Limit

__all__ = ["Fourier", "FourierPath", "fourier_within_limits", "random_fourier"]

Array = NDArray[np.float64]

_GRID = 40  # instants per harmonic on which limits are checked
_SHRINK, _SHRINKS = 0.8, 30  # what a motion is scaled by until it fits, and how often at most
_ROUNDING = 1.0 + 1e-9  # a motion scaled to its limit exactly is within it


@dataclass(frozen=True, slots=True)
class Fourier:
    """The family: ``harmonics`` of the base frequency 1 / ``duration`` [s].

    Unknowns of a coordinate: its centre, then the sines, then the cosines.
    """

    harmonics: int = 5
    duration: float = 10.0

    def __post_init__(self) -> None:
        if self.harmonics < 1 or not self.duration > 0.0:
            raise UsageError(
                f"Fourier: {self.harmonics} harmonics in {self.duration} s, expected at least one in a positive time"
            )

    @property
    def unknowns(self) -> int:
        """Unknowns of a coordinate."""
        return 1 + 2 * self.harmonics

    @property
    def periodic(self) -> bool:
        """It is."""
        return True

    @property
    def corners(self) -> int:
        """Twice per period of the fastest harmonic."""
        return 2 * self.harmonics

    def frequencies(self) -> Array:
        """Angular frequencies of the harmonics [rad/s], (h,)."""
        return np.arange(1.0, self.harmonics + 1.0) * (2.0 * np.pi / self.duration)

    def basis(self, t: ArrayLike, order: int = 0) -> Array:
        """Functions (n, 1 + 2h) or their derivatives of an order; see :class:`~dalembert.excitation.family.Family`."""
        w = self.frequencies()
        phase = np.outer(np.asarray(t, dtype=float), w) + 0.5 * np.pi * order  # each derivative turns by a right angle
        constant = np.full((len(phase), 1), 1.0 if order == 0 else 0.0)
        return np.hstack([constant, np.sin(phase) * w**order, np.cos(phase) * w**order])

    def still(self) -> Array:
        """The centre alone."""
        return np.asarray(np.eye(self.unknowns)[0])

    def draw(self, rng: np.random.Generator) -> Array:
        """Sines and cosines with normal amplitudes, centre zero."""
        return np.concatenate([[0.0], rng.standard_normal(2 * self.harmonics)])

    def path(self, coefficients: Array) -> FourierPath:
        """The motion of unknowns (k, 1 + 2h)."""
        h = self.harmonics
        return FourierPath(self, coefficients[:, 0], coefficients[:, 1 : 1 + h], coefficients[:, 1 + h :])

    def advanced(self, coefficients: Array, by: float) -> Array:
        """Unknowns (k, 1 + 2h) of the same motions begun ``by`` [s] later."""
        h, phase = self.harmonics, self.frequencies() * by
        sine, cosine = coefficients[:, 1 : 1 + h], coefficients[:, 1 + h :]
        c, s = np.cos(phase), np.sin(phase)
        return np.hstack([coefficients[:, :1], sine * c - cosine * s, sine * s + cosine * c])

    def describe(self) -> dict[str, object]:
        """Name and settings."""
        return {"family": "fourier", "harmonics": self.harmonics, "duration": self.duration}


@dataclass(frozen=True, slots=True)
class FourierPath:
    """One motion: ``x = centre + sum sine sin(w t) + cosine cos(w t)``, coefficients (k, h), centre (k,)."""

    family: Fourier
    centre: Array
    sine: Array
    cosine: Array

    @property
    def coefficients(self) -> Array:
        """Unknowns (k, 1 + 2h) in the order of the family."""
        return np.hstack([np.asarray(self.centre)[:, None], self.sine, self.cosine])

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, k) at times ``t`` (n,) [s]."""
        w = self.family.frequencies()
        phase = np.outer(np.asarray(t, dtype=float), w)
        s, c = np.sin(phase), np.cos(phase)
        x = self.centre + s @ self.sine.T + c @ self.cosine.T
        xd = (c * w) @ self.sine.T - (s * w) @ self.cosine.T
        xdd = -(s * w**2) @ self.sine.T - (c * w**2) @ self.cosine.T
        return x, xd, xdd

    def scaled(self, factor: float) -> FourierPath:
        """The same motion about the same centre, ``factor`` as large."""
        return FourierPath(self.family, self.centre, factor * self.sine, factor * self.cosine)


def fourier_within_limits(
    model: Model,
    family: Fourier,
    rng: np.random.Generator,
    share: float = 0.9,
    limits: Mapping[str, Limit] | None = None,
) -> FourierPath:
    """A random motion that uses ``share`` of what the limits allow in position, velocity and acceleration.

    Coordinate by coordinate first, then all together until the motors keep theirs too and every loop closes.
    ``limits`` of coordinates and motors take the place of the robot's own.
    """
    limits = model.robot.limits if limits is None else limits
    free = random_fourier(model, family, rng, 1.0)
    t: Array = np.linspace(0.0, family.duration, _GRID * family.harmonics, endpoint=False)
    home = np.array(free.centre)
    middle, room = home.copy(), np.ones(model.r)
    x, xd, xdd = free(t)
    swing, rate, acceleration = (np.abs(a).max(axis=0) for a in (x - home, xd, xdd))
    for k, name in enumerate(model.independent):
        if name not in limits:
            continue
        limit = limits[name]
        if np.isfinite(limit.upper - limit.lower):
            middle[k], room[k] = 0.5 * (limit.lower + limit.upper), 0.5 * (limit.upper - limit.lower)
        room[k] = min(room[k] / swing[k], limit.velocity / rate[k], limit.acceleration / acceleration[k])
    size = share * room[:, None]
    for centre in (middle, home):
        found = FourierPath(family, centre, size * free.sine, size * free.cosine)
        for _ in range(_SHRINKS):
            if _keeps_limits(model, found, t, share, limits):
                return found
            found = found.scaled(_SHRINK)
    raise UsageError(f"robot {model.robot.name!r}: no random motion keeps the limits, expected home well within them")


def _keeps_limits(model: Model, path: FourierPath, t: Array, share: float, limits: Mapping[str, Limit]) -> bool:
    """Whether all coordinates and motors with limits keep ``share`` of them on the instants ``t``."""
    try:
        motion = Closer(model, given="independent").motion(*path(t), t)
    except ClosureError:
        return False
    limited = [(name, row) for name, row in _rows(model).items() if name in limits]
    for name, row in limited:
        limit = limits[name]
        x, xd, xdd = motion.y @ row, motion.yd @ row, motion.ydd @ row
        fast = max(np.abs(xd).max() / limit.velocity, np.abs(xdd).max() / limit.acceleration)
        if x.min() < limit.lower or x.max() > limit.upper or fast > share * _ROUNDING:
            return False
    return True


def _rows(model: Model) -> dict[str, Array]:
    """Each coordinate and motor as a row (n_y,) on y."""
    robot = model.robot
    return dict(zip(model.coordinates, np.eye(model.n_y), strict=True)) | dict(
        zip(robot.motor_names, robot.motor_map(), strict=True)
    )


def random_fourier(model: Model, family: Fourier, rng: np.random.Generator, amplitude: ArrayLike = 0.3) -> FourierPath:
    """A random motion of the independent coordinates about home, largest excursion ``amplitude`` [rad or m]."""
    size = (model.r, family.harmonics)
    sine, cosine = rng.standard_normal(size), rng.standard_normal(size)
    home = np.array([model.home[model.coordinates.index(name)] for name in model.independent])
    path = FourierPath(family, home, sine, cosine)
    t = np.linspace(0.0, family.duration, 40 * family.harmonics, endpoint=False)
    reach = np.abs(path(t)[0] - home).max(axis=0)
    scale = (np.broadcast_to(np.asarray(amplitude, dtype=float), model.r) / reach)[:, None]
    return FourierPath(family, home, scale * sine, scale * cosine)
