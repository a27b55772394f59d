"""YAML text as located values: every value knows its file, line and path, and checks itself when it is read.

The event stream of ruamel.yaml is folded into a small tree of nodes; nothing is resolved by YAML's own rules, so
``yes`` and ``on`` are words, ``15.52 deg`` is a number with a unit, and what a value is depends on who asks.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from dalembert.errors import RobotError, choices
from dalembert.robot.dimension import Dimension
from dalembert.robot.expression import CONSTANTS, Expression, dimension_of, evaluate, parse
from dalembert.robot.geometry import Vector, rounded_quarter, said_of_quarter
from dalembert.robot.quantity import ANGLE, LENGTH, Quantity

__all__ = ["Located", "Node", "Scope", "is_file", "is_name", "parse_file", "parse_text"]

# Far beyond any robot file; a bound for hostile ones.
MAX_BYTES, MAX_DEPTH, MAX_NODES = 1_000_000, 40, 50_000

Kind = TypeVar("Kind", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Node:
    """A scalar (text), a list or a mapping, and its line (from 1); ``size`` counts the nodes, aliases expanded."""

    line: int
    text: str = ""
    items: tuple[Node, ...] | None = None
    pairs: tuple[tuple[Node, Node], ...] | None = None
    quoted: bool = False
    size: int = 1

    @property
    def is_scalar(self) -> bool:
        """True for text and numbers."""
        return self.items is None and self.pairs is None

    @property
    def is_null(self) -> bool:
        """True where nothing is written: an empty plain scalar, ``null`` or ``~``."""
        return self.is_scalar and not self.quoted and self.text in ("", "~", "null")

    def describe(self) -> str:
        """What stands there, in words, for a message."""
        if self.items is not None:
            return f"a list of {len(self.items)}"
        if self.pairs is not None:
            keys = [key.text for key, _ in self.pairs[:3]]
            return f"a mapping ({', '.join(keys)}{', ...' if len(self.pairs) > 3 else ''})".replace("\n", " ")
        return "nothing" if self.is_null else repr(self.text if len(self.text) <= 60 else self.text[:57] + "...")


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
    return Located(_Composer(text, file).root(), file, "")


class _Composer:
    """Folds the event stream into nodes, without recursion."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.anchors: dict[str, Node] = {}
        self.open: list[tuple[Any, list[Node]]] = []  # started collections, with the nodes found in them
        self.total = 0

    def fail(self, line: int, message: str) -> NoReturn:
        raise RobotError(f"{self.file}:{line}: {message}")

    def root(self) -> Node:
        from ruamel.yaml import YAML  # 60 ms to import: only when a file is read
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        found: list[Node] = []
        try:
            for event in YAML(typ="safe").parse(self.text):
                self.event(event, found)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = str(error.problem or error.context or "not YAML")
            self.fail(mark.line + 1 if mark else 1, f"not YAML: {_one_line(problem)}{self._tab(mark)}")
        except YAMLError as error:
            line = self._bad_character()
            self.fail(line, f"not YAML: {_one_line(str(error))}, expected printable text")
        if len(found) != 1:
            self.fail(1, f"found {'no' if not found else len(found)} YAML documents, expected one mapping")
        return found[0]

    def _tab(self, mark: Any) -> str:
        lines = self.text.splitlines()
        if mark and mark.line < len(lines) and "\t" in lines[mark.line]:
            return "; the line has a tab, expected spaces"
        return ", expected key: value, - item, [list] or {mapping}"

    def _bad_character(self) -> int:
        match = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", self.text)
        return self.text.count("\n", 0, match.start()) + 1 if match else 1

    def event(self, event: Any, found: list[Node]) -> None:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._tag(event, line)
            self.open.append((event, []))
            if len(self.open) > MAX_DEPTH:
                self.fail(line, f"nested deeper than {MAX_DEPTH} levels")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            start, nodes = self.open.pop()
            self._add(self._collection(start, nodes), start.anchor, found)
        elif kind == "ScalarEvent":
            self._tag(event, line)
            quoted = bool(event.style) and event.style in "'\"|>"
            self._add(Node(line, str(event.value), quoted=quoted), event.anchor, found)
        elif kind == "AliasEvent":
            if event.anchor not in self.anchors:
                self.fail(line, f"*{event.anchor} refers to no anchor; {choices(event.anchor, self.anchors)}")
            self._add(replace(self.anchors[event.anchor], line=line), None, found)

    def _tag(self, event: Any, line: int) -> None:
        if event.tag is not None:
            self.fail(line, f"found the tag {str(event.tag)!r}, expected a plain value")

    def _add(self, node: Node, anchor: str | None, found: list[Node]) -> None:
        if anchor:
            self.anchors[anchor] = node
        self.total += 1
        if max(self.total, node.size) > MAX_NODES:
            self.fail(node.line, f"more than {MAX_NODES} values, aliases expanded; expected a robot")
        (self.open[-1][1] if self.open else found).append(node)

    def _collection(self, start: Any, nodes: list[Node]) -> Node:
        line, size = start.start_mark.line + 1, 1 + sum(node.size for node in nodes)
        if type(start).__name__ == "SequenceStartEvent":
            return Node(line, items=tuple(nodes), size=size)
        seen: dict[str, int] = {}
        pairs = tuple(zip(nodes[::2], nodes[1::2], strict=True))
        for key, _ in pairs:
            if not key.is_scalar or key.is_null or not key.text.isprintable():
                self.fail(key.line, f"found {key.describe()} as a key, expected a name")
            if key.text in seen:
                self.fail(key.line, f"the key {key.text!r} is written twice, first in line {seen[key.text]}")
            seen[key.text] = key.line
        return Node(line, pairs=pairs, size=size)


def _one_line(text: str) -> str:
    return " ".join(text.split())
