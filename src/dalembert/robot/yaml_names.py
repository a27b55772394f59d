"""Names of a robot file - bodies, frames, joints, motors - and the linear forms written with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from dalembert.errors import RobotError, choices
from dalembert.robot.description import BASE, Anchor, Body, Coordinate, Motor
from dalembert.robot.expression import CONSTANTS, Call, Expression, Name, Number, evaluate, names_in, parse, summands
from dalembert.robot.geometry import IDENTITY
from dalembert.robot.quantity import POSITION, RATIO, Motion, Quantity, motion_of
from dalembert.robot.yaml_source import Located

__all__ = ["Names"]

Terms = tuple[tuple[str, float], ...]
Linear = tuple[dict[str, float], float]


@dataclass(frozen=True, slots=True)
class Names:
    """What a file may refer to, once its bodies (and later its motors) are known."""

    bodies: tuple[str, ...]
    frames: Mapping[str, Anchor]
    joints: Mapping[str, tuple[str, ...]]
    motors: Mapping[str, Terms]
    motion: Callable[[str], Motion]

    @classmethod
    def of(cls, bodies: Iterable[Body], frames: Mapping[str, Anchor], motors: Iterable[Motor] = ()) -> Names:
        """Names of these bodies, frames and motors; a frame called like a body is that body."""
        bodies = tuple(bodies)
        own = {BASE: Anchor(BASE, IDENTITY), **{body.name: Anchor(body.name, IDENTITY) for body in bodies}}
        return cls(
            tuple(body.name for body in bodies),
            {**frames, **own},
            {body.joint.name: body.joint.coordinates for body in bodies if body.joint.coordinates},
            {motor.name: motor.turns for motor in motors},
            partial(motion_of, bodies),
        )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the joint coordinates, in the order of the bodies."""
        return tuple(name for names in self.joints.values() for name in names)

    def body(self, item: Located) -> str:
        """A body's name."""
        name = item.text("the name of a body")
        if name not in self.bodies:
            item.fail(f"no body {name!r}; {choices(name, self.bodies)}")
        return name

    def frame(self, item: Located) -> Anchor:
        """A body, the base or a frame of an MDH table, as an anchor."""
        name = item.text("the name of a body")
        if name not in self.frames:
            item.fail(f"no body {name!r}; {choices(name, self.frames)}")
        return self.frames[name]

    def coordinate(self, item: Located, name: str | None = None) -> str:
        """One joint coordinate."""
        name = item.text("the name of a joint") if name is None else name
        if name in self.coordinates:
            return name
        if name in self.joints:
            item.fail(f"the joint {name!r} has several coordinates; choose from {', '.join(self.joints[name])}")
        item.fail(f"no joint coordinate {name!r}; {choices(name, self.coordinates)}")

    def expanded(self, item: Located, name: str | None = None) -> tuple[str, ...]:
        """One joint coordinate, or all coordinates of a joint."""
        name = item.text("the name of a joint") if name is None else name
        return self.joints[name] if name in self.joints else (self.coordinate(item, name),)

    def position(self, name: str) -> Quantity:
        """What a position of a coordinate or motor is."""
        return self.motion(name)["lower"]

    def motor(self, item: Located) -> str:
        """A motor's name."""
        name = item.text("the name of a motor")
        if name not in self.motors:
            item.fail(f"no motor {name!r}; {choices(name, self.motors)}")
        return name

    # linear forms

    def terms(self, item: Located) -> Terms:
        """``{q1: 45, q2: -1}`` or ``45*q1 - q2``: ratios of joint coordinates, no constant."""
        on = self.linear(item)
        if on.constant != 0.0:
            item.fail(f"found the constant {on.constant:g}, expected ratios of joint coordinates only")
        return on.terms

    def linear(self, item: Located) -> Coordinate:
        """``q7 - q6 + 90 deg`` or ``{q7: 1, q6: -1, constant: 90 deg}``; motor names stand for what they turn with."""
        if item.is_mapping:
            ratios, constant = self._from_mapping(item)
        else:
            text = item.raw("a joint, or ratios of joints")
            ratios, constant = self._from_text(item, text)
        kept = tuple((name, ratio) for name, ratio in ratios.items() if ratio != 0.0)
        if not kept:
            item.fail(f"acts on nothing, expected at least one joint; {choices('', self.coordinates)}")
        return Coordinate(kept, constant)

    def _from_mapping(self, item: Located) -> Linear:
        ratios: dict[str, float] = {}
        constant = 0.0
        for name, value in item.entries("ratios of joints, {q1: 1, q2: -1}").items():
            if name == "constant" and name not in self.coordinates:
                constant += value.number(POSITION)
                continue
            ratio = value.number(RATIO)
            if ratio == 0.0:
                value.fail(f"found the ratio 0 on {name!r}, expected a finite non-zero number")
            for coordinate, factor in self._meaning(value, name):
                ratios[coordinate] = ratios.get(coordinate, 0.0) + ratio * factor
        return ratios, constant

    def _from_text(self, item: Located, text: str) -> Linear:
        if text in self.coordinates or text in self.motors or text in self.joints:
            return dict(self._meaning(item, text)), 0.0
        tree = item.expression("a joint, or ratios of joints")
        form = self.linear_form(item, tree)
        for term in summands(tree):
            if names_in(term) <= set(item.scope.constants):
                item.check(item.dimension(term), POSITION)
        return form

    def _meaning(self, item: Located, name: str) -> Terms:
        """A coordinate as itself, a motor as what it turns with."""
        if name in self.coordinates or name not in self.motors:
            return ((self.coordinate(item, name), 1.0),)
        return self.motors[name]

    def linear_form(self, item: Located, tree: Expression) -> Linear:
        """Ratios and constant of an expression that is linear in the coordinates."""
        if isinstance(tree, Number):
            return {}, tree.value
        if isinstance(tree, Name):
            if self._is_constant(item, tree.name):
                return {}, self._value(item, tree)
            return dict(self._meaning(item, tree.name)), 0.0
        parts = [self.linear_form(item, argument) for argument in tree.arguments]
        if not any(ratios for ratios, _ in parts):
            return {}, self._value(item, Call(tree.function, tuple(_constant(c) for _, c in parts)))
        if tree.function == "neg":
            return _combined(parts[0], -1.0)
        if tree.function in ("+", "-"):
            return _combined(parts[0], 1.0, parts[1], 1.0 if tree.function == "+" else -1.0)
        if tree.function == "*" and not (parts[0][0] and parts[1][0]):
            factor, form = (parts[0][1], parts[1]) if parts[1][0] else (parts[1][1], parts[0])
            return _combined(form, factor)
        if tree.function == "/" and not parts[1][0] and parts[1][1] != 0.0:
            return _combined(parts[0], 1.0 / parts[1][1])
        item.expected("a linear combination of joints, such as q7 - q6 or 45*q5 + 90 deg")

    def _is_constant(self, item: Located, name: str) -> bool:
        constant = name in item.scope.constants or name in CONSTANTS
        moving = name in self.coordinates or name in self.motors or name in self.joints
        if constant and moving:
            item.fail(f"{name!r} is both a constant and a joint or motor, expected different names")
        if not constant and not moving:
            valid = (*self.coordinates, *self.motors, *item.scope.constants)
            item.fail(f"unknown name {name!r}; {choices(name, valid)}")
        return constant

    def _value(self, item: Located, tree: Expression) -> float:
        try:
            return evaluate(tree, item.scope.constants)
        except RobotError as error:
            item.fail(str(error))

    # expressions of coordinates

    def law(self, item: Located) -> Expression:
        """An expression of joint coordinates and their rates d(q), dd(q), constants and motors replaced."""
        text = item.raw("an expression of joints")
        if text in self.coordinates:
            return Name(text)
        try:
            tree = parse(text)
        except RobotError as error:
            item.fail(str(error))
        return self._replaced(item, tree)

    def _replaced(self, item: Located, tree: Expression) -> Expression:
        if isinstance(tree, Number):
            return tree
        if isinstance(tree, Name):
            if self._is_constant(item, tree.name):
                return _constant(self._value(item, tree)) if tree.name not in CONSTANTS else tree
            return _sum(self._meaning(item, tree.name), None)
        if tree.function in ("d", "dd"):
            ratios, _ = self.linear_form(item, tree.arguments[0])
            if not ratios:
                item.fail(f"{tree.function}(...) of a constant, expected the rate of a joint or motor")
            return _sum(tuple(ratios.items()), tree.function)
        return Call(tree.function, tuple(self._replaced(item, argument) for argument in tree.arguments))


def _constant(value: float) -> Expression:
    """A number as the grammar gives it: literals have no sign."""
    return Number(value) if value >= 0.0 else Call("neg", (Number(-value),))


def _combined(a: Linear, factor_a: float, b: Linear = ({}, 0.0), factor_b: float = 0.0) -> Linear:
    """factor_a a + factor_b b, cancelled terms left out."""
    ratios = {name: factor_a * ratio for name, ratio in a[0].items()}
    for name, ratio in b[0].items():
        ratios[name] = ratios.get(name, 0.0) + factor_b * ratio
    return {name: ratio for name, ratio in ratios.items() if ratio != 0.0}, factor_a * a[1] + factor_b * b[1]


def _sum(terms: Terms, rate: str | None) -> Expression:
    """Sum ratio * coordinate as a tree, of the coordinates or of their rates."""
    out: Expression | None = None
    for name, ratio in terms:
        term: Expression = Call(rate, (Name(name),)) if rate else Name(name)
        term = term if ratio == 1.0 else Call("*", (Number(abs(ratio)), term))
        if ratio < 0.0:
            term = Call("neg", (term,))
        out = term if out is None else Call("+", (out, term))
    return out if out is not None else Number(0.0)
