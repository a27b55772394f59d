"""Presliding hysteresis: real joints do not switch at a reversal, they wind up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.friction.motion import CoordinateMotion, MotionScale
from dalembert.identification.friction.presliding import dahl_states, play
from dalembert.identification.friction.term import Advance, Shape, power_unit, unset
from dalembert.identification.rows import Array

__all__ = ["DahlBank"]

# Presliding of bearings, gears and belts spans micrometres to millimetres of travel: one element per decade, from what
# the encoder can resolve to a hundredth of the range. Unneeded elements cost nothing: their coefficients end at zero.
_SHARES = (1e-5, 1e-4, 1e-3, 1e-2)
_RESOLVED = 2.0  # shortest length in encoder steps
_FORGOTTEN = 0.01  # share of the initial state below which an element counts as settled


@dataclass(frozen=True)
class DahlBank:
    """``sum_i Fd_i z_i``, Dahl elements of fixed lengths in parallel [Dahl 1968], linear in ``Fd_i >= 0``.

    Each state in [-1, 1] follows from the motion alone: ``dz/dx = (1 - z sign(xd)) / length``. Far from reversals every
    z is sign(xd), so the bank takes the place of Coulomb friction, of size ``sum Fd_i``. ``lengths`` [rad or m]; empty:
    a geometric set between the encoder step and 1 % of the range, set by ``scaled``. ``initial``: z before the first
    sample (unknown in truth: ``settled`` marks where it no longer shows). ``deadband`` [rad or m]: reversals smaller
    than it are noise and ignored; None: one encoder step.
    """

    lengths: tuple[float, ...] = ()
    initial: float = 0.0
    deadband: float | None = None

    def __post_init__(self) -> None:
        if any(not (0.0 < length < math.inf) for length in self.lengths):
            raise EstimationError(f"friction term 'dahl': lengths {self.lengths}, expected positive numbers")
        if not -1.0 <= self.initial <= 1.0:
            raise EstimationError(f"friction term 'dahl': initial state {self.initial:g}, expected -1..1")
        if self.deadband is not None and not 0.0 <= self.deadband < math.inf:
            raise EstimationError(f"friction term 'dahl': dead band {self.deadband:g}, expected a number >= 0")

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(f"Fd{i}" for i in range(len(self.lengths) or len(_SHARES)))

    @property
    def nonnegative(self) -> tuple[bool, ...]:
        return (True,) * len(self.symbols)

    @property
    def shape(self) -> tuple[Shape, ...]:
        return ()

    def names(self, on: str) -> tuple[str, ...]:
        return tuple(f"{symbol}_{on}" for symbol in self.symbols)

    def units(self, position: str = "rad") -> tuple[str, ...]:
        return (power_unit(position, 0.0),) * len(self.symbols)

    def with_shape(self, values: Sequence[float]) -> Self:
        if len(values):
            raise EstimationError(f"friction term 'dahl': {len(values)} shape parameters given, expected none")
        return self

    def scaled(self, scale: MotionScale) -> Self:
        deadband = scale.quantum if self.deadband is None else self.deadband
        if self.lengths:
            return replace(self, deadband=deadband)
        span = scale.span if scale.span > 0.0 else 1.0  # a coordinate that never moves: states stay where they are
        shortest = max(_SHARES[0] * span, _RESOLVED * scale.quantum)
        longest = max(_SHARES[-1] * span, 10.0 * shortest)
        lengths = np.geomspace(shortest, longest, len(_SHARES))
        return replace(self, lengths=tuple(float(length) for length in lengths), deadband=deadband)

    def start(self) -> Array:
        """Position and played position (nan: none yet), path travelled, then the states."""
        return np.concatenate([[np.nan, np.nan, 0.0], np.full(len(self.symbols), self.initial)])

    def advance(self, motion: CoordinateMotion, state: Array) -> Advance:
        if not self.lengths:
            raise unset("dahl")
        if not len(motion):
            return Advance(np.zeros((0, len(self.lengths))), np.zeros(0, dtype=bool), state)
        before, held, path = state[:3]
        if np.isnan(before):
            before = held = motion.x[0]
        deadband = motion.quantum if self.deadband is None else self.deadband
        u = play(motion.x, 0.5 * deadband, float(before), float(held))
        z = dahl_states(u, np.array(self.lengths), float(held), state[3:])
        travelled = path + np.cumsum(np.abs(np.diff(u, prepend=held)))
        settled = travelled > -math.log(_FORGOTTEN) * max(self.lengths)
        return Advance(z, settled, np.concatenate([[motion.x[-1], u[-1], travelled[-1]], z[-1]]))

    def columns(self, motion: CoordinateMotion) -> Array:
        return self.advance(motion, self.start()).columns

    def slopes(self, motion: CoordinateMotion) -> Array:
        return np.zeros((len(motion), len(self.symbols), 0))
