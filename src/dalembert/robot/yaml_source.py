"""YAML text as located values: every value knows its file, line and path, and checks itself when it is read.

What a value is depends on who asks: ``15.52 deg`` is a number with a unit to a field that holds an angle.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NoReturn, TypeVar

from dalembert.errors import RobotError, choices
from dalembert.robot.dimension import Dimension
from dalembert.robot.expression import CONSTANTS, Expression, dimension_of, evaluate, parse
from dalembert.robot.geometry import Vector, rounded_quarter, said_of_quarter
from dalembert.robot.quantity import ANGLE, LENGTH, Quantity
from dalembert.robot.yaml_nodes import Node, compose

__all__ = ["Located", "Node", "Scope", "is_file", "is_name", "parse_file", "parse_text"]

MAX_BYTES = 1_000_000  # far beyond any robot file; a bound for hostile ones

Kind = TypeVar("Kind", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the values of a section may use: constants (SI) and their dimensions in numbers, ``{label}`` in texts."""

    constants: Mapping[str, float] = field(default_factory=dict)
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


_LABEL = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_AXES: Mapping[str, Vector] = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Located:
    """A value of a file, read through accessors that say what was expected and where."""

    node: Node
    file: str
    path: str
    scope: Scope = Scope()

    def fail(self, message: str) -> NoReturn:
        """Raise the RobotError of this place."""
        raise RobotError(f"{self.file}:{self.node.line}: {self.path + ': ' if self.path else ''}{message}")

    def expected(self, what: str) -> NoReturn:
        """Raise the RobotError that says what was found instead of what."""
        self.fail(f"found {self.node.describe()}, expected {what}")

    def within(self, scope: Scope) -> Located:
        """The same value, read with other constants and labels."""
        return replace(self, scope=scope)

    @property
    def is_null(self) -> bool:
        """True where nothing is written."""
        return self.node.is_null

    @property
    def is_text(self) -> bool:
        """True for a scalar that is written."""
        return self.node.is_scalar and not self.node.is_null

    @property
    def is_list(self) -> bool:
        """True for a list."""
        return self.node.items is not None

    @property
    def is_mapping(self) -> bool:
        """True for a mapping."""
        return self.node.pairs is not None

    # scalars

    def _filled(self, text: str) -> str:
        """The text with every ``{label}`` replaced by its value."""
        labels = self.scope.labels
        if not labels or "{" not in text:
            return text

        def value(match: re.Match[str]) -> str:
            if match.group(1) not in labels:
                self.fail(f"unknown {match.group(0)}; {choices(match.group(1), labels)}")
            return labels[match.group(1)]

        return _LABEL.sub(value, text)

    def raw(self, what: str = "text") -> str:
        """The scalar as written, labels filled in."""
        if not self.is_text:
            self.expected(what)
        return self._filled(self.node.text)

    def text(self, what: str = "a name") -> str:
        """A name: printable text on one line that is not a plain number or boolean."""
        text = self.raw(what)
        if not text or not text.isprintable():
            self.expected(f"{what} of printable characters")
        if not self.node.quoted and text == self.node.text and (_is_number(text) or text in ("true", "false")):
            self.expected(f"{what} (in quotes, if it is one)")
        return text

    def prose(self) -> str:
        """Free text, possibly of several lines."""
        return self.raw().strip()

    def boolean(self) -> bool:
        """``true`` or ``false``."""
        if self.node.quoted or self.node.text not in ("true", "false"):
            self.expected("true or false")
        return self.node.text == "true"

    def choice_of(self, words: Iterable[str]) -> str:
        """One of the given words."""
        words = tuple(words)
        text = self.raw(f"one of {', '.join(words)}")
        if text not in words:
            self.fail(f"found {text!r}; {choices(text, words)}")
        return text

    def choice(self, kinds: type[Kind]) -> Kind:
        """A member of an enumeration, by its value."""
        return kinds(self.choice_of(kind.value for kind in kinds))

    def expression(self, what: str = "an expression") -> Expression:
        """A parsed expression."""
        text = self.raw(what)
        try:
            return parse(text)
        except RobotError as error:
            self.fail(str(error))

    def number(self, of: Quantity, what: str = "") -> float:
        """A finite number, SI: a literal or an expression of constants, in units of the quantity or without."""
        value, dimension = self.amount(what or of.name)
        self.check(dimension, of)
        return value

    def angle(self) -> float:
        """An angle; decimals of a multiple of pi/2 are that multiple, which is said."""
        value = self.number(ANGLE)
        exact = rounded_quarter(self.raw())
        if exact is None:
            return value
        where = f"{self.file}:{self.node.line}: {self.path}"
        warnings.warn(f"{where}: {said_of_quarter(self.raw(), exact)}; write it so", stacklevel=2)
        return exact

    def amount(self, what: str = "a number") -> tuple[float, Dimension]:
        """A finite number of any quantity, SI, and its dimension."""
        text = self.raw(what)
        if text.lower().lstrip("+-.") in ("nan", "inf"):
            self.expected("a finite number")
        try:
            tree = parse(text)
            value = evaluate(tree, self.scope.constants)
            return value, self.dimension(tree)
        except RobotError as error:
            self.fail(f"{error}{self._hint(text)}")

    def dimension(self, tree: Expression) -> Dimension:
        """Dimension of an expression of constants."""
        return dimension_of(tree, self.scope.dimensions, self.scope.constants)

    def check(self, dimension: Dimension, of: Quantity) -> None:
        """Fail where a value written here has units of something else."""
        if not of.admits(dimension):
            self.fail(f"found {self.raw()!r} in {dimension}, expected {of}")

    def _hint(self, text: str) -> str:
        """Why a name of a leg has no value as a number, if that is the reason."""
        words = [w for w in re.findall(r"[A-Za-z_]\w*", text) if w in self.scope.labels]
        words = [w for w in words if w not in self.scope.constants]
        return f" ({words[0]} is {self.scope.labels[words[0]]!r} in this leg, not a number)" if words else ""

    def positive(self, of: Quantity, what: str = "") -> float:
        """A number greater than zero."""
        value = self.number(of, what)
        if not value > 0.0:
            self.fail(f"found {value:g}, expected {what or of.name} greater than zero")
        return value

    # lists

    def items(self, what: str = "a list") -> tuple[Located, ...]:
        """The entries of a list."""
        if self.node.items is None:
            self.expected(what)
        return tuple(
            Located(item, self.file, f"{self.path}[{i}]", self.scope) for i, item in enumerate(self.node.items)
        )

    def exactly(self, n: int, what: str) -> tuple[Located, ...]:
        """The entries of a list of n."""
        items = self.items(what)
        if len(items) != n:
            self.expected(what)
        return items

    def numbers(self, of: Quantity, n: int, what: str) -> tuple[float, ...]:
        """A list of n numbers."""
        return tuple(item.number(of) for item in self.exactly(n, what))

    def vector(self, of: Quantity, what: str = "three numbers [x, y, z]") -> Vector:
        """Three numbers."""
        x, y, z = self.numbers(of, 3, what)
        return (x, y, z)

    def axis(self) -> Vector:
        """A direction: x, y, z, -x, -y, -z or three numbers that are not all zero."""
        if self.is_text:
            text = self.raw()
            if text not in _AXES:
                self.fail(f"found {text!r}; choose from {', '.join(_AXES)} or three numbers")
            return _AXES[text]
        vector = self.vector(LENGTH, "an axis: x, y, z, -x, -y, -z or three numbers")
        if not math.hypot(*vector) > 1e-9:
            self.fail("found a direction of length zero, expected three numbers that are not all zero")
        return vector

    # mappings

    def entries(self, what: str = "a mapping") -> dict[str, Located]:
        """The values of a mapping by key, labels filled in."""
        out: dict[str, Located] = {}
        if self.node.pairs is None:
            self.expected(what)
        for key, value in self.node.pairs:
            name = self.key(key)._filled(key.text)
            if name in out:
                self.key(key).fail(f"the key {name!r} is used twice, expected different keys")
            out[name] = Located(value, self.file, f"{self.path}.{name}" if self.path else name, self.scope)
        return out

    def key(self, key: Node) -> Located:
        """A key of this mapping as a value, to fail at its line."""
        return Located(key, self.file, self.path, self.scope)

    def mapping(self, keys: Iterable[str], required: Iterable[str] = (), what: str = "a mapping") -> dict[str, Located]:
        """The values of a mapping that has only the given keys, and all required ones."""
        keys = tuple(keys)
        out = self.entries(f"{what} with {', '.join(keys)}")
        for key, _ in self.node.pairs or ():
            if key.text not in keys:
                self.key(key).fail(f"unknown key {key.text!r}; {choices(key.text, keys)}")
        for name in required:
            if name not in out:
                self.fail(
                    f"the key {name!r} is missing, found {', '.join(out) or 'no key'}; expected {', '.join(keys)}"
                )
        return out


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower().lstrip("+-") not in ("nan", "inf", "infinity")


def is_name(text: str) -> bool:
    """True for a text that expressions can refer to as a constant."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) is not None and text not in CONSTANTS


# from a file to nodes


def is_file(path: Path) -> bool:
    """True for a file; False too for a name the system refuses."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def parse_file(path: Path) -> Located:
    """The root value of a YAML file; RobotError when it cannot be read or is not YAML."""
    file = str(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RobotError(f"{file}:1: {reason}, expected a readable YAML file") from None
    if len(data) > MAX_BYTES:
        raise RobotError(f"{file}:1: found {len(data)} bytes, expected at most {MAX_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RobotError(f"{file}:{line}: found byte {data[error.start]:#04x}, expected text in UTF-8") from None
    return parse_text(text, file)


def parse_text(text: str, file: str) -> Located:
    """The root value of YAML text; ``file`` is what messages call it."""
    return Located(compose(text, file), file, "")
