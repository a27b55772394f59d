"""XML elements that remember their line, so that an error can name it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from dalembert.errors import RobotError
from dalembert.robot.geometry import Vector

__all__ = ["Element", "read_xml"]


@dataclass(slots=True)
class Element:
    """A tag, its attributes and children, and where it was written."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def error(self, message: str) -> RobotError:
        """An error at this element, to be raised."""
        return RobotError(f"{self.file}:{self.line}: <{self.tag}>: {message}")

    def all(self, tag: str) -> Iterator[Element]:
        """Children of that tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child of that tag, if any."""
        return next(self.all(tag), None)

    def need(self, tag: str) -> Element:
        """The first child of that tag; an error when there is none."""
        child = self.first(tag)
        if child is None:
            raise self.error(f"no <{tag}> inside, expected one")
        return child

    def attribute(self, name: str) -> str:
        """An attribute that must be there, not be empty, and fit on one line."""
        value = self.attributes.get(name, "").strip()
        if not value:
            raise self.error(f"no attribute {name!r}, found {', '.join(self.attributes) or 'none'}")
        if not value.isprintable():
            raise self.error(f"attribute {name!r}: found {value!r}, expected printable characters")
        return value

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """That many finite numbers of an attribute that must be there."""
        text = self.attribute(name)
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            values = ()
        if len(values) != count or not all(map(math.isfinite, values)):
            expected = "a finite number" if count == 1 else f"{count} finite numbers"
            raise self.error(f"attribute {name!r}: found {text!r}, expected {expected}")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number; the default where the attribute is absent."""
        if default is not None and name not in self.attributes:
            return default
        return self.numbers(name, 1)[0]

    def vector(self, name: str, default: Vector) -> Vector:
        """Three finite numbers; the default where the attribute is absent."""
        if name not in self.attributes:
            return default
        x, y, z = self.numbers(name, 3)
        return (x, y, z)


class _Builder:
    """Collects what expat reports; elements deeper than any robot file are refused."""

    _MAX_DEPTH = 200

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Element | None = None
        self.open: list[Element] = []
        self.parser = expat.ParserCreate(namespace_separator=None)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.file, self.parser.CurrentLineNumber)
        if len(self.open) >= self._MAX_DEPTH:
            raise element.error(f"nested deeper than {self._MAX_DEPTH} levels")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, _tag: str) -> None:
        self.open.pop()

    def _text(self, data: str) -> None:
        self.open[-1].text += data


def read_xml(path: Path, root: str) -> Element:
    """The root element of a file, which must be of that tag."""
    builder = _Builder(str(path))
    try:
        builder.parser.Parse(path.read_bytes(), True)
    except OSError as error:
        raise RobotError(f"{path}: cannot be read ({error.strerror or error})") from None
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise RobotError(f"{path}:{error.lineno}: not XML ({reason}), expected <{root}>...</{root}>") from None
    except (ValueError, LookupError) as error:  # an encoding Python does not know
        raise RobotError(f"{path}: not XML ({error}), expected <{root}>...</{root}>") from None
    if builder.root is None or builder.root.tag != root:
        found = builder.root.tag if builder.root else "nothing"
        raise RobotError(f"{path}:1: found <{found}>, expected <{root}>")
    return builder.root
