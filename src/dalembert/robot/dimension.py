"""Units of robot files and their dimensions: what tells a length from a mass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PLAIN", "UNITS", "Dimension", "Unit"]

_BASE = ("kg", "m", "s", "rad", "cycle")


@dataclass(frozen=True, slots=True)
class Dimension:
    """Exponents of kg, m, s, rad and cycle; all zero for a number without unit, which stands for SI units anywhere.

    The radian counts, so that an angle is no length; but arithmetic loses it (``r*gamma`` is a length, ``2*pi/pitch``
    turns per metre), so it is not asked for where a mass or a length is there too. The cycle tells Hz from rad/s.
    """

    powers: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def is_plain(self) -> bool:
        """True for a number without unit."""
        return not any(self.powers)

    def times(self, other: Dimension, power: float = 1.0) -> Dimension:
        """Dimension of ``self * other**power``."""
        kg, m, s, rad, cycle = (a + power * b for a, b in zip(self.powers, other.powers, strict=True))
        return Dimension((kg, m, s, rad, cycle))

    def fits(self, expected: Dimension) -> bool:
        """True where a value of this dimension may stand for one of another."""
        kg, m, s, rad, cycle = self.powers
        mechanical = (kg, m, s) == expected.powers[:3]
        turning = rad in (0.0, expected.powers[3]) or bool(kg or m)
        return self.is_plain or (mechanical and turning and cycle in (0.0, expected.powers[4]))

    def __str__(self) -> str:
        """In SI units, ``kg m^2/s``."""
        named = [name for name, unit in UNITS.items() if unit.factor == 1.0 and unit.dimension == self]
        if named:
            return named[0]
        factors = [(name, power) for name, power in zip(_BASE, self.powers, strict=True) if power]
        over = [_power(name, power) for name, power in factors if power > 0.0]
        under = [_power(name, -power) for name, power in factors if power < 0.0]
        return "/".join([" ".join(over) or "1", *under])


def _power(name: str, power: float) -> str:
    return name if power == 1.0 else f"{name}^{power:g}"


PLAIN = Dimension()
_LENGTH, _ANGLE, _MASS, _TIME = (
    Dimension((0.0, 1.0, 0.0, 0.0, 0.0)),
    Dimension((0.0, 0.0, 0.0, 1.0, 0.0)),
    Dimension((1.0, 0.0, 0.0, 0.0, 0.0)),
    Dimension((0.0, 0.0, 1.0, 0.0, 0.0)),
)
_FORCE, _TORQUE = Dimension((1.0, 1.0, -2.0, 0.0, 0.0)), Dimension((1.0, 2.0, -2.0, 0.0, 0.0))
_FREQUENCY, _SPEED = Dimension((0.0, 0.0, -1.0, 0.0, 1.0)), Dimension((0.0, 0.0, -1.0, 1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit's factor to SI and its dimension."""

    factor: float
    dimension: Dimension


UNITS: Mapping[str, Unit] = {
    name: Unit(factor, dimension)
    for dimension, units in {
        _LENGTH: {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254},
        _ANGLE: {"rad": 1.0, "deg": math.pi / 180.0, "turn": 2.0 * math.pi},
        _MASS: {"kg": 1.0, "g": 1e-3},
        _FORCE: {"N": 1.0, "kN": 1e3},
        _TORQUE: {"Nm": 1.0, "mNm": 1e-3},
        _TIME: {"s": 1.0, "ms": 1e-3},
        _FREQUENCY: {"Hz": 1.0},
        _SPEED: {"rpm": 2.0 * math.pi / 60.0},
    }.items()
    for name, factor in units.items()
}
