"""YAML text as a tree of nodes that know their lines: the event stream of ruamel.yaml, folded without recursion.

Nothing is resolved by YAML's own rules, so ``yes`` and ``on`` are words and ``15.52 deg`` is one text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from dalembert.errors import RobotError, choices

__all__ = ["Node", "compose"]

MAX_DEPTH, MAX_NODES = 40, 50_000  # far beyond any robot file; a bound for hostile ones


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


def compose(text: str, file: str) -> Node:
    """The root of YAML text; ``file`` is what messages call it."""
    return _Composer(text, file).root()


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
