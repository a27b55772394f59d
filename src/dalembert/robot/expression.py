"""The arithmetic of robot files: numbers, constants, units, a few functions; a grammar, never Python's eval.

    sum     = product (("+" | "-") product)*
    product = power (("*" | "/") power | units)*         "15.52 deg", "2*pi/(5 mm)"
    units   = unit ("^" whole)? ("/"? unit ("^" whole)?)*     "100 deg/s", "0.2 kg m^2", "30 N/m"
    power   = ("+" | "-")* atom (("^" | "**") power)?    "-x^2" is -(x^2)
    atom    = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"

A unit belongs to all of the product before it ("2*3 mm", "pi/2 rad"), but a unit that scales cannot follow a
division: "2*pi/5 mm" may be meant either way and asks for brackets. After a unit, a unit's name is a unit.

A parsed expression is a tree that any algebra can evaluate: floats here, CasADi in ``symbolic``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import RobotError, choices
from dalembert.robot.dimension import PLAIN, UNITS, Dimension

__all__ = [
    "FUNCTIONS",
    "Call",
    "Expression",
    "Name",
    "Number",
    "dimension_of",
    "evaluate",
    "names_in",
    "parse",
    "to_text",
    "summands",
]

FUNCTIONS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "sin": (1, math.sin), "cos": (1, math.cos), "tan": (1, math.tan), "sqrt": (1, math.sqrt),
    "abs": (1, abs), "exp": (1, math.exp), "tanh": (1, math.tanh), "sign": (1, lambda x: float((x > 0) - (x < 0))),
    "asin": (1, math.asin), "acos": (1, math.acos), "atan": (1, math.atan), "atan2": (2, math.atan2),
}  # fmt: skip
CONSTANTS: Mapping[str, float] = {"pi": math.pi}


@dataclass(frozen=True, slots=True)
class Number:
    """A literal, or the factor to SI of a unit."""

    value: float
    dimension: Dimension = PLAIN


@dataclass(frozen=True, slots=True)
class Name:
    """A constant or a coordinate."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator (+ - * / ^ neg) or a function of the grammar, applied to its arguments."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Number | Name | Call

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_.]*)|(?P<op>\*\*|[-+*/^(),]))"
)
# Far beyond any robot file; they keep a hostile one from exhausting the stack, here or in what walks the tree.
_MAX_LENGTH, _MAX_DEPTH, _MAX_TREE_DEPTH = 2000, 60, 250


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        if len(text) > _MAX_LENGTH:
            raise RobotError(f"expression of {len(text)} characters, expected at most {_MAX_LENGTH}")
        self.tokens = self._tokens()

    def _tokens(self) -> list[tuple[str, str]]:
        out, at = [], 0
        text = self.text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise RobotError(f"expression {self.text!r}: unexpected {text[at:].strip()[:1]!r}")
            at = match.end()
            kind = match.lastgroup or ""
            out.append((kind, match.group(kind)))
        return out

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def whole(self) -> Expression:
        tree = self.sum()
        if self.peek()[0] != "end":
            raise RobotError(f"expression {self.text!r}: unexpected {self.peek()[1]!r}")
        if _depth(tree) > _MAX_TREE_DEPTH:
            raise RobotError(f"expression {self.text[:40]!r}...: more than {_MAX_TREE_DEPTH} operations in a row")
        return tree

    def sum(self) -> Expression:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise RobotError(f"expression {self.text[:40]!r}...: nested deeper than {_MAX_DEPTH} levels")
        left = self.product()
        while self.peek()[1] in ("+", "-"):
            left = Call(self.take()[1], (left, self.product()))
        self.depth -= 1
        return left

    def product(self) -> Expression:
        left, divided = self.power(), False
        while True:
            kind, text = self.peek()
            if text in ("*", "/") and kind == "op":
                divided = text == "/"
                left = Call(self.take()[1], (left, self.power()))
            elif kind == "name":  # a number or bracket followed by a word: its unit
                unit = self.units()
                if divided and unit.value != 1.0:
                    raise RobotError(
                        f"expression {self.text!r}: the unit {text!r} after a division may belong to the "
                        "divisor or to the whole; expected brackets"
                    )
                left = Call("*", (left, unit))
            else:
                return left

    def units(self) -> Number:
        """Factor to SI of one or more units, ``deg/s``, ``kg m^2``."""
        factor, dimension = 1.0, PLAIN
        inverse = False
        while True:
            _, text = self.take()
            if text not in UNITS:
                raise RobotError(f"expression {self.text!r}: unknown unit {text!r}; {choices(text, UNITS)}")
            exponent = -self.exponent() if inverse else self.exponent()
            factor *= UNITS[text].factor ** exponent
            dimension = dimension.times(UNITS[text].dimension, exponent)
            inverse = self.peek()[1] == "/" and self.peek(1)[1] in UNITS
            if inverse:
                self.take()
            elif self.peek()[0] != "name":
                return Number(factor, dimension)

    def exponent(self) -> int:
        """The exponent of a unit, 1 where none is written."""
        if self.peek()[1] not in ("^", "**"):
            return 1
        self.take()
        kind, text = self.take()
        if kind != "number" or text not in ("1", "2", "3", "4"):
            raise RobotError(f"expression {self.text!r}: unit to the power {text!r}; choose from 1, 2, 3, 4")
        return int(text)

    def power(self) -> Expression:
        negative = False
        while self.peek()[1] in ("+", "-"):
            negative ^= self.take()[1] == "-"
        tree = self.atom()
        if self.peek()[1] in ("^", "**"):
            self.take()
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise RobotError(f"expression {self.text[:40]!r}...: nested deeper than {_MAX_DEPTH} levels")
            tree = Call("^", (tree, self.power()))
            self.depth -= 1
        return Call("neg", (tree,)) if negative else tree  # -x^2 is -(x^2)

    def atom(self) -> Expression:
        kind, text = self.take()
        if kind == "number":
            return Number(float(text))
        if kind == "name" and self.peek()[1] == "(":
            return self.call(text)
        if kind == "name":
            return Name(text)
        if text == "(":
            tree = self.sum()
            self.close()
            return tree
        raise RobotError(f"expression {self.text!r}: unexpected {text or 'end'!r}, expected a number, a name or '('")

    def call(self, function: str) -> Expression:
        self.take()
        arguments = [self.sum()]
        while self.peek()[1] == ",":
            self.take()
            arguments.append(self.sum())
        self.close()
        if function in ("d", "dd") and len(arguments) == 1:  # velocity and acceleration of a coordinate
            return Call(function, tuple(arguments))
        if function not in FUNCTIONS:
            raise RobotError(f"expression {self.text!r}: unknown function {function!r}; {choices(function, FUNCTIONS)}")
        if len(arguments) != FUNCTIONS[function][0]:
            wanted = FUNCTIONS[function][0]
            raise RobotError(f"expression {self.text!r}: {function} takes {wanted} argument(s), found {len(arguments)}")
        return Call(function, tuple(arguments))

    def close(self) -> None:
        if self.take()[1] != ")":
            raise RobotError(f"expression {self.text!r}: expected ')'")


def parse(text: str) -> Expression:
    """Tree of an expression; RobotError with the text and the place when it does not follow the grammar."""
    return _Parser(text).whole()


def _depth(tree: Expression) -> int:
    """Levels of a tree, counted without recursion."""
    level: list[Expression] = [tree]
    depth = 0
    while level:
        depth += 1
        level = [argument for node in level if isinstance(node, Call) for argument in node.arguments]
    return depth


def names_in(tree: Expression) -> set[str]:
    """Names an expression refers to, functions and constants of the grammar left out."""
    if isinstance(tree, Name):
        return set() if tree.name in CONSTANTS else {tree.name}
    if isinstance(tree, Call):
        return set().union(*(names_in(a) for a in tree.arguments))
    return set()


def summands(tree: Expression) -> Iterator[Expression]:
    """What a tree adds up, signs left out."""
    if isinstance(tree, Call) and tree.function in ("+", "-", "neg"):
        for argument in tree.arguments:
            yield from summands(argument)
    else:
        yield tree


def evaluate(tree: Expression, values: Mapping[str, float]) -> float:
    """Numeric value of an expression in which every name has one."""
    try:
        value = _evaluate(tree, values)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise RobotError(f"expression {to_text(tree)!r}: {error}") from None
    if not math.isfinite(value):
        raise RobotError(f"expression {to_text(tree)!r}: found {value}, expected a finite number")
    return value


def _evaluate(tree: Expression, values: Mapping[str, float]) -> float:
    if isinstance(tree, Number):
        return tree.value
    if isinstance(tree, Name):
        if tree.name in values:
            return values[tree.name]
        if tree.name in CONSTANTS:
            return CONSTANTS[tree.name]
        raise RobotError(f"unknown name {tree.name!r}; {choices(tree.name, (*values, *CONSTANTS))}")
    a = [_evaluate(argument, values) for argument in tree.arguments]
    if tree.function in OPERATORS:
        value = OPERATORS[tree.function](*a)
        if isinstance(value, complex):
            raise ValueError("fractional power of a negative number")
        return float(value)
    if tree.function in FUNCTIONS:
        return float(FUNCTIONS[tree.function][1](*a))
    raise RobotError(f"{tree.function}(...) has no value here: it is the rate of a coordinate")


def dimension_of(tree: Expression, dimensions: Mapping[str, Dimension], values: Mapping[str, float]) -> Dimension:
    """Dimension of an expression that :func:`evaluate` accepts; names that are not listed have no unit.

    RobotError where what is added has different dimensions, or a function's argument has one it cannot have.
    """
    if isinstance(tree, Number):
        return tree.dimension
    if isinstance(tree, Name):
        return dimensions.get(tree.name, PLAIN)
    first, *others = (dimension_of(argument, dimensions, values) for argument in tree.arguments)
    if tree.function == "*":
        return first.times(others[0])
    if tree.function == "/":
        return first.times(others[0], -1.0)
    if tree.function == "^":
        return PLAIN if first.is_plain else PLAIN.times(first, _evaluate(tree.arguments[1], values))
    if tree.function == "sqrt":
        return PLAIN.times(first, 0.5)
    if others and not (others[0].fits(first) or first.fits(others[0])):  # + - atan2
        raise RobotError(f"expression {to_text(tree)!r}: joins {first} and {others[0]}, expected the same dimension")
    if tree.function in _TURNING and not first.fits(_ANGLE):
        raise RobotError(f"expression {to_text(tree)!r}: {tree.function} of a value in {first}, expected an angle")
    return _OF_FUNCTION.get(tree.function, others[0] if others and first.is_plain else first)


_ANGLE = UNITS["rad"].dimension
_TURNING = ("sin", "cos", "tan")
_OF_FUNCTION: Mapping[str, Dimension] = {
    **dict.fromkeys((*_TURNING, "exp", "tanh", "sign"), PLAIN),
    **dict.fromkeys(("asin", "acos", "atan", "atan2"), _ANGLE),
}


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "neg": lambda a: -a,
}


def to_text(tree: Expression) -> str:
    """An expression as text that :func:`parse` reads back."""
    if isinstance(tree, Number):
        return repr(tree.value)
    if isinstance(tree, Name):
        return tree.name
    arguments = [to_text(a) for a in tree.arguments]
    if tree.function == "neg":
        return f"(-{arguments[0]})"
    if tree.function in OPERATORS:
        return f"({arguments[0]} {tree.function} {arguments[1]})"
    return f"{tree.function}({', '.join(arguments)})"
