"""Where friction acts on a robot, and the description without what a friction model replaces."""

from __future__ import annotations

from dalembert.identification.friction.model import FrictionModel
from dalembert.robot.description import Coordinate, Distance, Effort, EffortKind, Robot
from dalembert.robot.quantity import turning

__all__ = ["coordinate_units", "friction_coordinates", "without_friction"]

_FRICTION = (EffortKind.VISCOUS, EffortKind.COULOMB)


def friction_coordinates(robot: Robot) -> dict[str, Coordinate | Distance]:
    """Name and coordinate of everything the description gives viscous or Coulomb friction, in its order."""
    return {e.name: e.on for e in robot.efforts if e.kind in _FRICTION and e.on is not None}


def coordinate_units(robot: Robot) -> dict[str, str]:
    """Length unit of each friction coordinate by name, rad or m."""
    angle = turning(robot.bodies)
    places = friction_coordinates(robot)
    return {name: "rad" if isinstance(on, Coordinate) and angle[on.terms[0][0]] else "m" for name, on in places.items()}


def without_friction(robot: Robot, model: FrictionModel) -> Robot:
    """The robot less the efforts that ``model`` takes the place of: viscous and Coulomb ones, and offsets of the same
    coordinates where the model has its own. Rotors, springs and all others stay.
    """
    places = friction_coordinates(robot)

    def replaced(effort: Effort) -> bool:
        own_offset = effort.kind is EffortKind.OFFSET and model.has_offset and effort.name in places
        return effort.kind in _FRICTION or own_offset

    return robot.with_efforts(effort for effort in robot.efforts if not replaced(effort))
