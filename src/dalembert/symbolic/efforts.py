"""Efforts linear in further parameters: rotor inertia, friction, offsets, springs, known laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca

from dalembert.errors import RobotError, choices
from dalembert.robot import Coordinate, Distance, Effort, EffortKind, Robot
from dalembert.robot.expression import (
    CONSTANTS,
    FUNCTIONS,
    OPERATORS,
    Call,
    Expression,
    Name,
    Number,
    names_in,
    to_text,
)
from dalembert.symbolic.algebra import SX
from dalembert.symbolic.tree import Tree

__all__ = ["RelativeMotion", "effort_columns", "relative_motion", "spring_energy"]


@dataclass(frozen=True, slots=True)
class RelativeMotion:
    """A scalar coordinate of the robot: value, rates and its gradient (1, n_y) with respect to ``y``."""

    x: SX
    xd: SX
    xdd: SX
    gradient: SX


def relative_motion(robot: Robot, tree: Tree, on: Coordinate | Distance, y: SX, yd: SX, ydd: SX) -> RelativeMotion:
    """Value and rates of a linear combination of coordinates or of a distance between two points."""
    if isinstance(on, Coordinate):
        row = ca.SX(ca.DM(robot.linear_map([on.terms])))
        return RelativeMotion(ca.mtimes(row, y) + on.constant, ca.mtimes(row, yd), ca.mtimes(row, ydd), row)
    root = tree.common_root(tree.frame_of(on.a.body), tree.frame_of(on.b.body))
    apart = tree.anchor(on.b, y, root)[1] - tree.anchor(on.a, y, root)[1]
    x = ca.sqrt(ca.dot(apart, apart))
    gradient = ca.jacobian(x, y)
    xd = ca.mtimes(gradient, yd)
    return RelativeMotion(x, xd, ca.mtimes(gradient, ydd) + ca.jtimes(xd, y, yd), gradient)


_FUNCTIONS: Mapping[str, Callable[..., SX]] = {
    "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "sqrt": ca.sqrt, "abs": ca.fabs, "exp": ca.exp, "tanh": ca.tanh,
    "sign": ca.sign, "asin": ca.asin, "acos": ca.acos, "atan": ca.atan, "atan2": ca.atan2,
}  # fmt: skip


def _symbolic(tree: Expression, q: Mapping[str, SX], qd: Mapping[str, SX], qdd: Mapping[str, SX]) -> SX:
    """A checked expression of the robot file over joint coordinates; d(q) and dd(q) are their rates."""
    if isinstance(tree, Number):
        return ca.SX(tree.value)
    if isinstance(tree, Name):
        if tree.name in CONSTANTS:
            return ca.SX(CONSTANTS[tree.name])
        return q[tree.name]
    if tree.function in ("d", "dd"):
        rates = qd if tree.function == "d" else qdd
        (argument,) = tree.arguments
        assert isinstance(argument, Name)
        return rates[argument.name]
    arguments = [_symbolic(a, q, qd, qdd) for a in tree.arguments]
    assert isinstance(tree, Call)
    if tree.function in OPERATORS:
        return OPERATORS[tree.function](*arguments)
    assert tree.function in FUNCTIONS
    return _FUNCTIONS[tree.function](*arguments)


def _laws(effort: Effort, motion: RelativeMotion, named: tuple[Mapping[str, SX], ...]) -> list[SX]:
    """The effort per unit of each of its parameters."""
    match effort.kind:
        case EffortKind.ROTOR:
            return [motion.xdd]
        case EffortKind.VISCOUS:
            return [motion.xd]
        case EffortKind.COULOMB:
            return [ca.sign(motion.xd)]
        case EffortKind.OFFSET | EffortKind.CONSTANT:
            return [ca.SX(1)]
        case EffortKind.SPRING:
            return [motion.x - effort.rest] if effort.rest is not None else [motion.x, ca.SX(-1)]
        case _:
            return [_symbolic(e, *named) for e in effort.basis]


def _check_laws(robot: Robot, effort: Effort) -> None:
    """RobotError naming the effort when one of its expressions names what the robot does not have."""
    for law in (*effort.basis, *(law for _, law in effort.force)):
        for name in sorted(names_in(law)):
            if name not in robot.coordinates:
                raise RobotError(
                    f"robot {robot.name!r}: effort {effort.name!r}: no coordinate {name!r}; "
                    f"{choices(name, robot.coordinates)}"
                )
        if not _rates_of_coordinates(law):
            raise RobotError(
                f"robot {robot.name!r}: effort {effort.name!r}: {to_text(law)!r}: d(...) and dd(...) take a coordinate"
            )


def _rates_of_coordinates(tree: Expression) -> bool:
    if not isinstance(tree, Call):
        return True
    if tree.function in ("d", "dd"):
        return isinstance(tree.arguments[0], Name)
    return all(_rates_of_coordinates(argument) for argument in tree.arguments)


def effort_columns(robot: Robot, tree: Tree, y: SX, yd: SX, ydd: SX, velocity_map: SX) -> list[SX]:
    """Columns (k, number of its parameters) of each effort, projected by ``velocity_map`` G (n_y, k)."""
    named = tuple({name: z[i] for i, name in enumerate(robot.coordinates)} for z in (y, yd, ydd))
    blocks = []
    for effort in robot.efforts:
        _check_laws(robot, effort)
        if effort.kind is EffortKind.FORCE:
            index = {name: i for i, name in enumerate(robot.coordinates)}
            column = ca.SX(ca.DM.zeros(velocity_map.shape[1]))
            for name, law in effort.force:
                column += velocity_map[index[name], :].T * _symbolic(law, *named)
            blocks.append(column)
            continue
        assert effort.on is not None
        motion = relative_motion(robot, tree, effort.on, y, yd, ydd)
        direction = ca.mtimes(motion.gradient, velocity_map).T
        blocks.append(ca.horzcat(*[direction * law for law in _laws(effort, motion, named)]))
    return blocks


def spring_energy(robot: Robot, tree: Tree, y: SX, values: Mapping[str, SX]) -> SX:
    """Potential energy of springs, offsets and constant forces [J]; ``values`` maps parameter names to values."""
    still = ca.SX(ca.DM.zeros(tree.n_y))
    energy = ca.SX(0)
    for effort in robot.efforts:
        if effort.on is None:
            continue
        x = relative_motion(robot, tree, effort.on, y, still, still).x
        if effort.kind is EffortKind.SPRING and effort.rest is not None:
            energy += values[effort.parameters[0]] * (x - effort.rest) ** 2 / 2
        elif effort.kind is EffortKind.SPRING:
            stiffness, rest_force = (values[name] for name in effort.parameters)
            energy += stiffness * x**2 / 2 - rest_force * x
        elif effort.kind in (EffortKind.OFFSET, EffortKind.CONSTANT):
            energy += values[effort.parameters[0]] * x
    return energy
