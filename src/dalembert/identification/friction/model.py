"""A friction model: the terms that act on one coordinate, and the same model on every coordinate of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import EstimationError, choices
from dalembert.identification.friction.motion import CoordinateMotion, MotionScale
from dalembert.identification.friction.term import Advance, FrictionTerm, Shape
from dalembert.identification.rows import Array

__all__ = ["FrictionLaws", "FrictionModel"]


@dataclass(frozen=True)
class FrictionModel:
    """Terms in the order of their columns. Meets the contract of a term, so a model can be used wherever a term can."""

    name: str
    terms: tuple[FrictionTerm, ...]

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for term in self.terms:
            for symbol in term.symbols:
                if symbol in seen:
                    raise EstimationError(
                        f"friction model {self.name!r}: {seen[symbol]} and {type(term).__name__} both have a parameter "
                        f"{symbol!r}; keep one of them"
                    )
                seen[symbol] = type(term).__name__

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(symbol for term in self.terms for symbol in term.symbols)

    @property
    def nonnegative(self) -> tuple[bool, ...]:
        return tuple(flag for term in self.terms for flag in term.nonnegative)

    @property
    def shape(self) -> tuple[Shape, ...]:
        return tuple(shape for term in self.terms for shape in term.shape)

    @property
    def complexity(self) -> int:
        """Parameters per coordinate, linear and nonlinear: what "simpler" means when models are compared."""
        return len(self.symbols) + len(self.shape)

    @property
    def has_offset(self) -> bool:
        """True when a constant effort is among the columns, so that an own offset would be there twice."""
        return bool({"off", "Fcp"} & set(self.symbols))

    @property
    def needs_load(self) -> bool:
        """True when the motion must carry the transmitted effort."""
        return "Fl" in self.symbols

    def names(self, on: str) -> tuple[str, ...]:
        return tuple(name for term in self.terms for name in term.names(on))

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return tuple(unit for term in self.terms for unit in term.units(position))

    def with_shape(self, values: Sequence[float]) -> FrictionModel:
        if len(values) != len(self.shape):
            raise EstimationError(
                f"friction model {self.name!r}: {len(values)} shape parameters, expected {len(self.shape)}"
            )
        terms, at = [], 0
        for term in self.terms:
            count = len(term.shape)
            terms.append(term.with_shape(values[at : at + count]))
            at += count
        return replace(self, terms=tuple(terms))

    def scaled(self, scale: MotionScale) -> FrictionModel:
        return replace(self, terms=tuple(term.scaled(scale) for term in self.terms))

    def _parts(self, state: Array) -> list[Array]:
        sizes = [len(term.start()) for term in self.terms]
        return np.split(state, np.cumsum(sizes)[:-1]) if sizes else []

    def start(self) -> Array:
        return np.concatenate([np.zeros(0), *(term.start() for term in self.terms)])

    def advance(self, motion: CoordinateMotion, state: Array) -> Advance:
        parts = [t.advance(motion, s) for t, s in zip(self.terms, self._parts(state), strict=True)]
        settled = np.ones(len(motion), dtype=bool)
        for part in parts:
            settled &= part.settled
        return Advance(
            np.hstack([np.zeros((len(motion), 0)), *(part.columns for part in parts)]),
            settled,
            np.concatenate([np.zeros(0), *(part.state for part in parts)]),
        )

    def columns(self, motion: CoordinateMotion) -> Array:
        return self.advance(motion, self.start()).columns

    def slopes(self, motion: CoordinateMotion) -> Array:
        """Derivatives of the columns (n, k, shapes): block diagonal over the terms."""
        out = np.zeros((len(motion), len(self.symbols), len(self.shape)))
        row = column = 0
        for term in self.terms:
            part = term.slopes(motion)
            k, s = part.shape[1:]
            out[:, row : row + k, column : column + s] = part
            row, column = row + k, column + s
        return out


@dataclass(frozen=True)
class FrictionLaws:
    """A friction model on each of a robot's friction coordinates, in order: (name of the coordinate, its model)."""

    laws: tuple[tuple[str, FrictionModel], ...]

    @classmethod
    def of(cls, model: FrictionModel, scales: Mapping[str, MotionScale]) -> FrictionLaws:
        """The model on every coordinate of ``scales``, each set by the size of its own motion."""
        return cls(tuple((on, model.scaled(scale)) for on, scale in scales.items()))

    def on(self, coordinate: str) -> FrictionModel:
        """The model of one coordinate."""
        found = dict(self.laws)
        if coordinate not in found:
            raise EstimationError(f"friction: no coordinate {coordinate!r}; {choices(coordinate, found)}")
        return found[coordinate]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all friction parameters, coordinate by coordinate."""
        return tuple(name for on, model in self.laws for name in model.names(on))

    @property
    def nonnegative(self) -> tuple[str, ...]:
        """Names of those that cannot be negative."""
        flags = [flag for _, model in self.laws for flag in model.nonnegative]
        return tuple(name for name, flag in zip(self.names, flags, strict=True) if flag)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """All shape parameters, coordinate by coordinate."""
        return tuple(shape for _, model in self.laws for shape in model.shape)

    @property
    def shape_names(self) -> tuple[str, ...]:
        """``vs_j1`` ..., one per shape parameter."""
        return tuple(f"{shape.symbol}_{on}" for on, model in self.laws for shape in model.shape)

    def with_shape(self, values: Sequence[float]) -> FrictionLaws:
        """The same laws with other shape parameters."""
        if len(values) != len(self.shape):
            raise EstimationError(f"friction: {len(values)} shape parameters, expected {len(self.shape)}")
        laws, at = [], 0
        for on, model in self.laws:
            count = len(model.shape)
            laws.append((on, model.with_shape(values[at : at + count])))
            at += count
        return FrictionLaws(tuple(laws))
