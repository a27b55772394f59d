"""The contract of a friction term: columns, linear in unknown coefficients, from the motion of one coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError
from dalembert.identification.friction.motion import CoordinateMotion, MotionScale
from dalembert.identification.rows import Array

__all__ = ["Advance", "FrictionTerm", "Memoryless", "Shape", "power_unit", "require_load", "unset"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A positive parameter that a term is not linear in, with the bounds it is searched between.

    ``value`` is the current one, ``scale`` the size at which a search starts; nan where no motion has set it yet.
    ``unit`` has ``{}`` for that of the coordinate.
    """

    symbol: str
    unit: str
    value: float
    lower: float
    upper: float
    scale: float


class Advance(NamedTuple):
    """Columns (n, k) of a block; ``settled`` (n,): False where they still depend on an unknown past; state after."""

    columns: Array
    settled: NDArray[np.bool_]
    state: Array


class FrictionTerm(Protocol):
    """One law of friction on one coordinate x; its effort is ``columns @ coefficients`` and takes power at rate xd.

    Terms are frozen settings. A term with memory (presliding) reads its motion block after block: ``advance`` from
    ``start`` gives, whatever the blocks, what ``columns`` gives on the whole run.
    """

    @property
    def symbols(self) -> tuple[str, ...]:
        """First part of the parameters' names, one per column: ``Fv``, ``Fc`` ..."""
        ...

    @property
    def nonnegative(self) -> tuple[bool, ...]:
        """Which coefficients cannot be negative without the term creating energy."""
        ...

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Nonlinear parameters, none for a linear term."""
        ...

    def names(self, on: str) -> tuple[str, ...]:
        """Parameter names on the coordinate of that name."""
        ...

    def units(self, position: str = "rad") -> tuple[str, ...]:
        """Units of the coefficients for a coordinate in rad or m."""
        ...

    def with_shape(self, values: Sequence[float]) -> Self:
        """The same term with other shape parameters."""
        ...

    def scaled(self, scale: MotionScale) -> Self:
        """The same term with what was left open set from the size of the motion."""
        ...

    def start(self) -> Array:
        """State before the first sample of a run; empty for a term without memory."""
        ...

    def advance(self, motion: CoordinateMotion, state: Array) -> Advance:
        """Columns of the next block of a run."""
        ...

    def columns(self, motion: CoordinateMotion) -> Array:
        """Columns (n, k) of a whole run."""
        ...

    def slopes(self, motion: CoordinateMotion) -> Array:
        """Derivative of the columns with respect to the shape parameters (n, k, shapes)."""
        ...


class Memoryless:
    """What all terms without memory and, unless they say otherwise, without shape share."""

    __slots__ = ()
    symbols: ClassVar[tuple[str, ...]] = ()

    @property
    def shape(self) -> tuple[Shape, ...]:
        return ()

    def names(self, on: str) -> tuple[str, ...]:
        return tuple(f"{symbol}_{on}" for symbol in self.symbols)

    def with_shape(self, values: Sequence[float]) -> Self:
        if len(values):
            raise EstimationError(f"{type(self).__name__}: {len(values)} shape parameters given, expected none")
        return self

    def scaled(self, scale: MotionScale) -> Self:
        return self

    def start(self) -> Array:
        return np.zeros(0)

    def columns(self, motion: CoordinateMotion) -> Array:
        raise NotImplementedError

    def advance(self, motion: CoordinateMotion, state: Array) -> Advance:
        return Advance(self.columns(motion), np.ones(len(motion), dtype=bool), state)

    def slopes(self, motion: CoordinateMotion) -> Array:
        return np.zeros((len(motion), len(self.symbols), 0))


def power_unit(position: str, power: float) -> str:
    """Unit of a coefficient that multiplies ``speed ** power``."""
    effort = {"rad": "N m", "m": "N"}.get(position, f"N m/{position}")
    if power == 0.0:
        return effort
    rate = f"{position}/s"
    return f"{effort} s/{position}" if power == 1.0 else f"{effort}/({rate})^{power:g}"


def unset(term: str) -> EstimationError:
    """The error of a term used before its speeds or lengths were set."""
    return EstimationError(f"friction term {term!r}: its scale is not set; call scaled(MotionScale.of(motions)) first")


def require_load(term: str, motion: CoordinateMotion) -> Array:
    """The load of a motion, or an error that names the term that needs it."""
    if motion.load is None:
        raise EstimationError(f"friction term {term!r}: the motion has no load, expected an effort per sample")
    return motion.load
