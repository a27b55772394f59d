"""Which effort terms of a robot count: its own, or friction, offsets and rotor inertia on chosen coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, get_args

from dalembert.errors import RobotError, choices
from dalembert.robot.description import Body, Coordinate, Effort, EffortKind, Robot
from dalembert.robot.expression import Call, Expression
from dalembert.robot.joints import Joint

__all__ = ["Friction", "select_efforts", "with_payload"]

Friction = Literal["own", "actuated", "all", "none"]
FRICTION_KINDS = (EffortKind.VISCOUS, EffortKind.COULOMB)


def select_efforts(
    robot: Robot, friction: Friction = "own", offsets: bool | None = None, rotor: bool | None = None
) -> Robot:
    """The robot with the effort terms asked for; springs, constants and known laws stay.

    ``friction`` "actuated" or "all" replaces the robot's own friction by viscous and Coulomb terms on each motor or on
    each joint coordinate (called after the motor that drives exactly that coordinate, if one does), "none" removes it.
    ``offsets`` and ``rotor``: None keeps the robot's own, True puts one on each motor instead, False removes them.
    """
    if friction not in get_args(Friction):
        raise RobotError(f"friction {friction!r}; {choices(friction, get_args(Friction))}")
    kept = list(robot.efforts)
    added: list[Effort] = []
    motors = [(motor.name, Coordinate(motor.turns)) for motor in robot.motors]
    if rotor is not None:
        kept = [effort for effort in kept if effort.kind is not EffortKind.ROTOR]
        added += _terms([EffortKind.ROTOR], motors if rotor else [])
    if friction != "own":
        kept = [effort for effort in kept if not is_friction(effort)]
        where = {"actuated": motors, "all": _joints(robot), "none": []}[friction]
        added += _terms(FRICTION_KINDS, where)
    if offsets is not None:
        kept = [effort for effort in kept if effort.kind is not EffortKind.OFFSET]
        added += _terms([EffortKind.OFFSET], motors if offsets else [])
    return robot.with_efforts([*kept, *added])


def is_friction(effort: Effort) -> bool:
    """True for viscous and Coulomb terms, and for given forces that depend on a velocity."""
    if effort.kind is EffortKind.FORCE:
        return any(_has_rate(law) for _, law in effort.force)
    return effort.kind in FRICTION_KINDS


def _has_rate(tree: Expression) -> bool:
    return isinstance(tree, Call) and (tree.function == "d" or any(_has_rate(a) for a in tree.arguments))


def _terms(kinds: Iterable[EffortKind], where: Iterable[tuple[str, Coordinate]]) -> list[Effort]:
    """One effort of each kind on each named coordinate."""
    where = list(where)
    return [Effort(name, kind, on) for name, on in where for kind in kinds]


def _joints(robot: Robot) -> list[tuple[str, Coordinate]]:
    """Every joint coordinate; where a motor drives exactly one, the motor in its place.

    Several motors on one coordinate have one friction: the first motor's. A coordinate named like a motor that does
    something else keeps its name and takes ``.joint``.
    """
    drives: dict[str, tuple[str, Coordinate]] = {}
    for motor in robot.motors:
        if len(motor.turns) == 1:
            drives.setdefault(motor.turns[0][0], (motor.name, Coordinate(motor.turns)))
    taken = {name for name, _ in drives.values()}
    out = []
    for name in robot.coordinates:
        own = f"{name}.joint" if name in taken else name
        out.append(drives.get(name, (own, Coordinate(((name, 1.0),)))))
    return out


def with_payload(robot: Robot, name: str = "payload") -> Robot:
    """The robot with one more body fixed on its platform, frames coinciding [Briot15, eq. 38]."""
    if robot.platform is None:
        raise RobotError(
            f"robot {robot.name!r} declares no platform to fix a payload to; "
            f"set 'platform' to a body: {choices('platform', robot.body_names)}"
        )
    if name in robot.body_names:
        raise RobotError(f"robot {robot.name!r}: a body is named {name!r} already; expected another payload name")
    return replace(robot, bodies=(*robot.bodies, Body(name, robot.platform, Joint(name))))
