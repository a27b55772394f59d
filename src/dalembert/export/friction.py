"""Friction laws as expressions: what a controller evaluates sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ExportError
from dalembert.identification.friction import (
    AsymmetricCoulomb,
    Coulomb,
    CubicViscous,
    DahlBank,
    FrictionModel,
    FrictionTerm,
    Offset,
    QuadraticViscous,
    SmoothCoulomb,
    SqrtVelocity,
    Stribeck,
    Viscous,
)
from dalembert.robot import Coordinate, Distance
from dalembert.symbolic import SX

__all__ = ["Law", "columns", "law_of", "next_state", "start_state", "state_size"]


@dataclass(frozen=True, slots=True)
class Law:
    """A friction model on one coordinate with its coefficients, in the order of the model's columns."""

    name: str
    on: Coordinate | Distance
    model: FrictionModel
    coefficients: tuple[float, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return self.model.names(self.name)

    @property
    def bank(self) -> DahlBank | None:
        """Its presliding elements, whose states a controller has to keep."""
        return next((term for term in self.model.terms if isinstance(term, DahlBank)), None)


def law_of(name: str, on: Coordinate | Distance, model: FrictionModel, coefficients: ArrayLike) -> Law:
    """A law; ExportError for a term that is not a function of the coordinate's own motion."""
    if model.needs_load:
        raise ExportError(f"friction {model.name!r} on {name!r} depends on the load, which an export does not have")
    values = tuple(float(value) for value in np.asarray(coefficients))
    return Law(name, on, model, values)


def state_size(laws: Sequence[Law]) -> int:
    """How many numbers the presliding elements remember: of each bank the position with play, and every element."""
    return sum(1 + len(law.bank.lengths) for law in laws if law.bank is not None)


def start_state(laws: Sequence[Law], x: Sequence[SX]) -> SX:
    """State at the first sample, at coordinates ``x``."""
    parts: list[SX] = []
    for law, here in zip(laws, x, strict=True):
        if law.bank is not None:
            parts += [here, *[ca.SX(law.bank.initial)] * len(law.bank.lengths)]
    return ca.vertcat(*parts)


def _shares(laws: Sequence[Law], state: SX) -> list[SX]:
    """Each law's part of the state, empty for one without memory."""
    parts, at = [], 0
    for law in laws:
        size = 0 if law.bank is None else 1 + len(law.bank.lengths)
        parts.append(state[at : at + size])
        at += size
    return parts


def next_state(laws: Sequence[Law], x: Sequence[SX], state: SX) -> SX:
    """State at the next sample, where the coordinates are ``x``: exact for motion that keeps its direction between."""
    out: list[SX] = []
    for law, here, part in zip(laws, x, _shares(laws, state), strict=True):
        if law.bank is None:
            continue
        half = 0.5 * (law.bank.deadband or 0.0)
        away = here - part[0]
        moved = (ca.fabs(away) > half) * (away - half * ca.sign(away))
        sign = ca.sign(moved)
        out.append(part[0] + moved)
        for k, length in enumerate(law.bank.lengths):
            out.append(sign + (part[1 + k] - sign) * ca.exp(-ca.fabs(moved) / length))
    return ca.vertcat(*out)


def columns(laws: Sequence[Law], xd: Sequence[SX], state: SX) -> list[SX]:
    """Effort per unit of each coefficient (1, k) of every law, at rates ``xd`` and presliding ``state``."""
    return [
        ca.horzcat(*[column for term in law.model.terms for column in _term(term, rate, part)])
        for law, rate, part in zip(laws, xd, _shares(laws, state), strict=True)
    ]


def _term(term: FrictionTerm, xd: SX, state: SX) -> list[SX]:
    """The columns of a term, one expression each; the counterpart of its ``columns``."""
    sign = ca.sign(xd)
    match term:
        case Viscous():
            return [xd]
        case Coulomb():
            return [sign]
        case Offset():
            return [ca.SX(1)]
        case AsymmetricCoulomb():
            return [(1 + sign) * ca.fabs(sign) / 2, (sign - 1) * ca.fabs(sign) / 2]
        case SmoothCoulomb():
            return [ca.tanh(xd / term.vs)]
        case Stribeck():
            ratio = ca.fabs(xd / term.vs)
            power = {1.0: ratio, 2.0: ratio**2}.get(term.delta, ratio**term.delta)
            low = ca.exp(-power)
            return [(1 - low) * sign, low * sign]
        case SqrtVelocity():
            return [ca.sqrt(ca.fabs(xd)) * sign]
        case QuadraticViscous():
            return [xd * ca.fabs(xd)]
        case CubicViscous():
            return [xd**3]
        case DahlBank():
            return [state[1 + k] for k in range(len(term.lengths))]
    raise ExportError(f"friction term {type(term).__name__} has no expression to export")
