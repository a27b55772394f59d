"""Friction models by name, as ``--friction`` spells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from dalembert.errors import UsageError, choices
from dalembert.identification.friction.coulomb import AsymmetricCoulomb, Coulomb
from dalembert.identification.friction.dahl import DahlBank
from dalembert.identification.friction.load_dependent import LoadDependent
from dalembert.identification.friction.model import FrictionModel
from dalembert.identification.friction.offset import Offset
from dalembert.identification.friction.powers import CubicViscous, QuadraticViscous, SqrtVelocity
from dalembert.identification.friction.speed_shape import SmoothCoulomb, Stribeck
from dalembert.identification.friction.term import FrictionTerm
from dalembert.identification.friction.viscous import Viscous

__all__ = ["CANDIDATES", "MODELS", "TERMS", "FrictionSource", "parse_friction"]

TERMS: Mapping[str, Callable[[], FrictionTerm]] = MappingProxyType(
    {
        "viscous": Viscous,
        "coulomb": Coulomb,
        "offset": Offset,
        "asymmetric": AsymmetricCoulomb,
        "smooth": SmoothCoulomb,
        "stribeck": Stribeck,
        "sqrt": SqrtVelocity,
        "quadratic": QuadraticViscous,
        "cubic": CubicViscous,
        "dahl": DahlBank,
        "load": LoadDependent,
    }
)


_DRY = ("coulomb", "asymmetric", "smooth", "stribeck", "dahl")  # each has the size of a dry friction of its own


def _compose(name: str) -> FrictionModel:
    """Terms joined by ``+``. Where viscous friction is spelled out they are taken as they stand; elsewhere viscous
    friction, and Coulomb's unless another dry law is named, are understood: ``sqrt`` is viscous + coulomb + sqrt.
    """
    parts = [] if name == "none" else name.split("+")
    if parts and "viscous" not in parts:
        dry = [] if any(part in _DRY for part in parts) else ["coulomb"]
        parts = ["viscous", *dry, *parts]
    return FrictionModel(name, tuple(TERMS[part]() for part in parts))


MODELS: Mapping[str, FrictionModel] = MappingProxyType(
    {
        name: _compose(name)
        for name in (
            "none", "viscous", "coulomb", "coulomb+offset", "asymmetric", "smooth", "stribeck", "sqrt", "cubic", "dahl",
            "dahl+sqrt", "load", "sqrt+load", "dahl+sqrt+load",
        )
    }
)  # fmt: skip

# Compared when asked for "auto": none of them needs a load, which takes a first fit.
CANDIDATES: tuple[str, ...] = ("coulomb", "smooth", "stribeck", "sqrt", "cubic", "dahl", "dahl+sqrt")


class FrictionSource(StrEnum):
    """Friction that is not a model given by name."""

    OWN = "own"  # the efforts of the robot's description, unchanged
    AUTO = "auto"  # the candidate that does best on blocks left out


def parse_friction(text: str) -> FrictionModel | FrictionSource:
    """``own``, ``auto``, a model's name (``none`` among them), or terms joined by ``+``."""
    name = "+".join(part.strip() for part in text.strip().lower().split("+"))
    if name in (FrictionSource.OWN, FrictionSource.AUTO):
        return FrictionSource(name)
    if name in MODELS:
        return MODELS[name]
    parts = name.split("+")
    if len(parts) == 1 and name not in TERMS:
        valid = dict.fromkeys([*(str(source) for source in FrictionSource), *MODELS, *TERMS])
        raise UsageError(f"friction {text!r}; {choices(name, valid)}; or join terms with '+'")
    owner: dict[str, str] = {}
    for part in parts:
        if part not in TERMS:
            raise UsageError(f"friction {text!r}: no term {part!r}; {choices(part, TERMS)}")
        if parts.count(part) > 1:
            raise UsageError(f"friction {text!r}: term {part!r} is given twice, expected once")
        dry = part in _DRY and part != "dahl"  # Coulomb friction is a Dahl element of length zero: they go together
        if dry and "dry" in owner:
            raise UsageError(f"friction {text!r}: {owner['dry']!r} and {part!r} are both dry friction, expected one")
        if {part, *owner.values()} >= {"offset", "asymmetric"}:
            raise UsageError(f"friction {text!r}: 'asymmetric' holds the offset already, expected one of the two")
        owner["dry" if dry else part] = part
    return _compose(name)
