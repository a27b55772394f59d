"""What a field of a file holds: a name for messages, and the units that its value may be written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from dalembert.parameters import UNITS as INERTIAL_UNITS
from dalembert.robot.description import Body, Robot
from dalembert.robot.dimension import Dimension
from dalembert.robot.expression import dimension_of, parse

__all__ = [
    "ACCELERATION",
    "ANGLE",
    "ANY",
    "DAMPING",
    "DENSITY",
    "EFFORT",
    "EITHER",
    "FORCE",
    "INERTIA",
    "LENGTH",
    "MASS",
    "MOMENT",
    "PITCH",
    "POSITION",
    "PURE",
    "RATE",
    "RATIO",
    "SLIDE",
    "STIFFNESS",
    "TIME",
    "TORQUE",
    "TURN",
    "Motion",
    "Quantity",
    "effort_unit",
    "motion_of",
    "parameter_quantity",
    "position_units",
    "turning",
]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A physical quantity; ``units`` are examples of every dimension it may have, none where it may have any."""

    name: str
    units: tuple[str, ...] = ()
    dimensions: tuple[Dimension, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every = (dimension_of(parse(f"1 {unit}"), {}, {}) for unit in self.units)
        object.__setattr__(self, "dimensions", tuple(dict.fromkeys(every)))

    def __or__(self, other: Quantity) -> Quantity:
        names, units = (dict.fromkeys(both) for both in ((self.name, other.name), (*self.units, *other.units)))
        return Quantity(" or ".join(names), tuple(units))

    def admits(self, dimension: Dimension) -> bool:
        """True for a dimension that a value may have."""
        return not self.units or any(dimension.fits(own) for own in self.dimensions)

    def __str__(self) -> str:
        units = [unit for unit in self.units if unit]
        return f"{self.name} in {', '.join(units)}" if units else self.name


ANY = Quantity("a number")
PURE = Quantity("a number without unit", ("",))
TIME = Quantity("a time", ("s", "ms"))
RATE = Quantity("a rate", ("Hz",))
LENGTH = Quantity("a length", ("m", "cm", "mm", "um", "inch"))
ANGLE = Quantity("an angle", ("rad", "deg", "turn"))
ACCELERATION = Quantity("an acceleration", ("m/s^2",))
MASS = Quantity("a mass", ("kg", "g"))
MOMENT = Quantity("a moment of mass", ("kg m", "g mm"))
INERTIA = Quantity("an inertia", ("kg m^2", "g mm^2"))
DENSITY = Quantity("a density", ("kg/m^3", "g/cm^3"))
FORCE = Quantity("a force", ("N", "kN"))
TORQUE = Quantity("a torque", ("Nm", "mNm"))
POSITION = ANGLE | LENGTH
EFFORT = TORQUE | FORCE
STIFFNESS = Quantity("a stiffness", ("Nm/rad", "N/m"))
DAMPING = Quantity("a damping", ("Nm s/rad", "N s/m"))
RATIO = Quantity("a ratio", ("", "rad/m", "m/rad"))
PITCH = Quantity("an advance", ("m/rad", "mm/turn"))


Motion = Mapping[str, Quantity]  # what the limits of a coordinate hold, by key

TURN: Motion = {
    **dict.fromkeys(("lower", "upper"), ANGLE),
    "velocity": Quantity("a speed", ("rad/s", "deg/s", "rpm")),
    "acceleration": Quantity("an acceleration", ("rad/s^2", "deg/s^2")),
    "jerk": Quantity("a jerk", ("rad/s^3", "deg/s^3")),
}
SLIDE: Motion = {
    **dict.fromkeys(("lower", "upper"), LENGTH),
    "velocity": Quantity("a speed", ("m/s", "mm/s")),
    "acceleration": ACCELERATION,
    "jerk": Quantity("a jerk", ("m/s^3",)),
}
# A motor may turn or slide, whatever it moves: gears, screws and racks are written as mere numbers.
EITHER: Motion = {key: turn | SLIDE[key] for key, turn in TURN.items()}


def turning(bodies: Iterable[Body]) -> dict[str, bool]:
    """True for every joint coordinate that is an angle, False for those that slide."""
    return {step.coordinate: step.is_angle for body in bodies for step in body.joint.steps}


def motion_of(bodies: Iterable[Body], name: str) -> Motion:
    """Quantities of a joint coordinate, or of a motor or sensor."""
    turns = turning(bodies)
    return EITHER if name not in turns else TURN if turns[name] else SLIDE


def position_units(robot: Robot) -> dict[str, str]:
    """``rad`` or ``m`` for every coordinate, motor and sensor; what turns with several joints is in the first one's."""
    of = {name: "rad" if angle else "m" for name, angle in turning(robot.bodies).items()}
    places = [(motor.name, motor.turns) for motor in robot.motors] + [(s.name, s.reads) for s in robot.sensors]
    return {name: of[terms[0][0]] for name, terms in places} | of


def effort_unit(position: str) -> str:
    """Unit of the torque or force that works on a position in rad or m."""
    return {"rad": "N m", "m": "N"}[position]


_OF_SYMBOL: Mapping[str, Quantity] = {
    **{symbol: {"kg m^2": INERTIA, "kg m": MOMENT, "kg": MASS}[unit] for symbol, unit in INERTIAL_UNITS.items()},
    "Ia": INERTIA | MASS,
    "Fv": DAMPING,
    **dict.fromkeys(("Fc", "off", "F", "kr"), EFFORT),
    "k": STIFFNESS,
}


def parameter_quantity(*names: str) -> Quantity:
    """What parameters hold, by the symbols their names begin with; of several, what any of them may hold."""
    kinds = list(dict.fromkeys(_OF_SYMBOL.get(name.partition("_")[0], ANY) for name in names))
    return ANY if ANY in kinds or not kinds else reduce(Quantity.__or__, kinds)
