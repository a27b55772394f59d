"""What one may believe of Delta-like robots before any log: shapes of some material, the paper's own guesses, and the
zeros that the symmetry of their parts allows [Gnad24, section VI].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.identification.constraints import Constraints
from dalembert.identification.prior import Cylinder, Prior
from dalembert.parameters import inertial_names
from dalembert.robot import Robot
from dalembert.robot.geometry import Placement, rotation_about

__all__ = ["FAMILIES", "Family", "belief", "heavy", "light", "paper_geometry", "paper_simple"]

Shapes = Mapping[str, Sequence[Cylinder]]
_TURN = {"x": ((0.0, 1.0, 0.0), np.pi / 2), "y": ((1.0, 0.0, 0.0), -np.pi / 2), "z": ((0.0, 0.0, 1.0), 0.0)}


def _rod(
    axis: str, start: float, end: float, radius: float, inner: float = 0.0, material: str | float = "aluminium"
) -> Cylinder:
    """A rod or tube along an axis of its body's frame, from one place on it to another. Lengths in m."""
    middle = [0.5 * (start + end) if name == axis else 0.0 for name in "xyz"]
    return Cylinder(radius, abs(end - start), material, inner, Placement.of(middle, rotation_about(*_TURN[axis])))


def _weighing(mass: float, shape: Cylinder) -> Cylinder:
    """The same shape, of the density that gives it a mass [kg]."""
    return replace(shape, material=mass / float(replace(shape, material=1.0).parameters()[9]))


@dataclass(frozen=True)
class Family:
    """A Delta-like robot as one sees it: ``shapes`` of its parts, ``along`` the axis each slender part lies on.

    Parts not in ``along`` only translate: nothing but their mass matters. ``drives`` are the equal ones. ``bent`` parts
    may have their mass beside the axis, in z; the parameters of ``known`` bodies are known (a tool).
    """

    shapes: Shapes
    along: Mapping[str, str]
    drives: tuple[str, ...] = ("m1", "m2", "m3")
    bent: tuple[str, ...] = ("arm",)
    known: tuple[str, ...] = ()

    def constraints(self, robot: Robot) -> Constraints:
        """Zeros of section VI, equal rotors of equal drives, the tool of the robot's description."""
        zero: list[str] = []
        for body in self.shapes:
            aside = [f"M{axis}" for axis in "XYZ" if axis != self.along.get(body, "").upper()]
            if body in self.bent:
                aside.remove("MZ")
            zero += [f"{symbol}_{body}" for symbol in ("XY", "XZ", "YZ", *aside)]
        fixed = {name: robot.nominal[name] for body in self.known for name in inertial_names(body)}
        return Constraints(fixed=fixed, zero=tuple(zero), ties=(tuple(f"Ia_{motor}" for motor in self.drives),))


# Outer shapes: lengths between joints are known from the kinematics, radii and walls can be measured from outside. The
# two struts of a parallelogram are one body.
FAMILIES: Mapping[str, Family] = {
    "delta": Family(
        {
            "arm": [_rod("x", 0.0, 0.5, 0.03, 0.027)],
            "struts": [_rod("x", 0.0, 1.106, 0.012, 0.011)] * 2,
            "platform": [_rod("z", -0.01, 0.01, 0.08)],
            "telescope_upper": [_rod("z", -0.7, 0.0, 0.008)],
            "telescope_lower": [_rod("z", 0.0, 0.78, 0.014, 0.008)],
        },
        {"arm": "x", "struts": "x", "telescope_upper": "z", "telescope_lower": "z"},
        known=("ee",),
    ),
    "delta3": Family(
        {
            "arm": [_rod("x", 0.0, 0.2, 0.015, 0.012)],
            "struts": [_rod("x", 0.0, 0.45, 0.006, 0.004)] * 2,
            "platform": [_rod("z", -0.01, 0.01, 0.05)],
        },
        {"arm": "x", "struts": "x"},
    ),
    "linear-delta": Family(
        {
            "carriage": [_rod("z", -0.03, 0.03, 0.03)],
            "struts": [_rod("x", 0.0, 0.36, 0.005, 0.004)] * 2,
            "platform": [_rod("z", -0.01, 0.01, 0.04)],
        },
        {"struts": "x"},
    ),
    "par4": Family(
        {
            "arm": [_rod("x", 0.0, 0.3, 0.025, 0.022)],
            "struts": [_rod("x", 0.0, 0.75, 0.008, 0.007)] * 2,
            "plate": [_rod("x", 0.0, 0.12, 0.02)],
            "link": [_rod("y", -0.12, 0.0, 0.015)],
        },
        {"arm": "x", "struts": "x", "link": "y"},
        ("m1", "m2", "m3", "m4"),
    ),
}

# Section VIII A: rods of a guessed mass; and tubes of carbon fibre with a wall of 3 mm (arms) and 1 mm (struts, whose
# sockets weigh as much again). Radii are not printed; these give the masses and inertias of table I.
_TELESCOPE: Shapes = {
    "telescope_upper": [_weighing(0.9, _rod("z", -0.7, 0.0, 0.008))],
    "telescope_lower": [_weighing(0.6, _rod("z", 0.0, 0.78, 0.014, 0.008))],
}
_SIMPLE: Shapes = {
    "arm": [_weighing(1.0, _rod("x", 0.0, 0.5, 0.015))],
    "struts": [_weighing(0.2, _rod("x", 0.0, 1.106, 0.0055))] * 2,
    "platform": [_weighing(0.8, _rod("z", -0.01, 0.01, 0.08))],
    **_TELESCOPE,
}
_TUBE = _rod("x", 0.0, 1.106, 0.012, 0.011, "carbon fibre")
_SOCKETS = [_weighing(0.5 * _TUBE.parameters()[9], _rod("x", at, at + 0.02, 0.012, 0.011)) for at in (0.0, 1.086)]
_GEOMETRY: Shapes = {
    "arm": [_rod("x", 0.0, 0.5, 0.029, 0.026, "carbon fibre")],
    "struts": [_TUBE, *_SOCKETS] * 2,
    "platform": [_rod("z", at, at + 0.01, 0.077) for at in (-0.01, 0.0)],
    **_TELESCOPE,
}
_ROTOR = 0.093  # [kg m^2] what RG geom of table I holds in Theta_yy beside the tube of the arm


def light(name: str, robot: Robot) -> Prior:
    """Every part of a light plastic, a hundredth of each drive's torque for rotor and friction: all below the truth."""
    return belief(robot, _of_material(FAMILIES[name].shapes, "abs"), 0.01)


def heavy(name: str, robot: Robot) -> Prior:
    """Every part of steel, a tenth of each drive's torque for rotor and friction: nearly all above the truth."""
    return belief(robot, _of_material(FAMILIES[name].shapes, "steel"), 0.1)


def paper_simple(robot: Robot) -> Prior:
    """'RG simple' of table I; friction is not printed."""
    return belief(robot, _SIMPLE, 0.01)


def paper_geometry(robot: Robot) -> Prior:
    """'RG geom' of table I; friction is not printed."""
    rotors = {f"Ia_{motor}": _ROTOR for motor in FAMILIES["delta"].drives}
    return belief(robot, _GEOMETRY, 0.01) | Prior(rotors)


def _of_material(shapes: Shapes, material: str) -> Shapes:
    return {body: [replace(shape, material=material) for shape in parts] for body, parts in shapes.items()}


def belief(robot: Robot, shapes: Shapes, share: float) -> Prior:
    """Bodies of given shapes; rotor at full acceleration, dry friction, and viscous friction at full speed each take a
    ``share`` of a drive's torque limit, and may be off by all of it; on a coordinate without drive, of 100 N.
    """
    values: dict[str, float] = {}
    for motor in robot.motors:
        limit = robot.limits[motor.name]
        values[f"Ia_{motor.name}"] = motor.torque_limit / limit.acceleration
        values[f"Fc_{motor.name}"] = motor.torque_limit
        values[f"Fv_{motor.name}"] = motor.torque_limit / limit.velocity
    for effort in robot.efforts:
        for name in effort.parameters:
            values.setdefault(name, 100.0)
    return Prior.of_bodies(shapes) | Prior({name: share * value for name, value in values.items()}, values)
