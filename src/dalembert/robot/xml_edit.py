"""XML changed in place: every byte that is not asked to change stays, comments and layout included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from dalembert.errors import ExportError

__all__ = ["Tag", "XmlText"]

_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=<>/"']+)(\s*=\s*)("[^"]*"|'[^']*')""")


@dataclass(slots=True, eq=False)
class Tag:
    """An element and where its text is: start tag from ``start`` to ``head``, whole from ``start`` to ``end``."""

    name: str
    attributes: dict[str, str]
    start: int
    head: int
    end: int = 0
    children: list[Tag] = field(default_factory=list)

    def all(self, *names: str) -> Iterator[Tag]:
        """Children of those names."""
        return (child for child in self.children if child.name in names)

    def first(self, name: str) -> Tag | None:
        """The first child of that name, if any."""
        return next(self.all(name), None)


class XmlText:
    """The bytes of a file, its elements, and the changes made so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.data = path.read_bytes()
        except OSError as error:
            raise ExportError(f"{path}: cannot be read ({error.strerror or error})") from None
        if self.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ExportError(f"{path}: found UTF-16, expected UTF-8 to change it in place")
        self.root = self._parse()
        self._set: dict[int, tuple[Tag, dict[str, str | None]]] = {}
        self._names: dict[int, str] = {}
        self._inside: dict[int, tuple[Tag, list[str], list[str]]] = {}

    def _parse(self) -> Tag:
        parser = expat.ParserCreate()
        opened: list[Tag] = []
        roots: list[Tag] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            at = parser.CurrentByteIndex
            tag = Tag(name, attributes, at, _head(self.data, at))
            (opened[-1].children if opened else roots).append(tag)
            opened.append(tag)

        def end(_name: str) -> None:
            tag = opened.pop()
            empty = self.data[tag.head - 2 : tag.head] == b"/>"
            tag.end = tag.head if empty else self.data.index(b">", parser.CurrentByteIndex) + 1

        parser.StartElementHandler, parser.EndElementHandler = start, end
        try:
            parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise ExportError(f"{self.path}:{error.lineno}: not XML ({expat.ErrorString(error.code)})") from None
        return roots[0]

    # changes

    def set(self, tag: Tag, values: Mapping[str, str | None]) -> None:
        """Give attributes other values; None takes one away."""
        self._set.setdefault(tag.start, (tag, {}))[1].update(values)

    def rename(self, tag: Tag, name: str) -> None:
        """Give an element another name."""
        self._set.setdefault(tag.start, (tag, {}))
        self._names[tag.start] = name

    def prepend(self, tag: Tag, text: str) -> None:
        """A new first child, on a line of its own."""
        self._inside.setdefault(tag.start, (tag, [], []))[1].append(text)

    def append(self, tag: Tag, text: str) -> None:
        """A new last child, on lines of its own."""
        self._inside.setdefault(tag.start, (tag, [], []))[2].append(text)

    def result(self) -> bytes:
        """The file with all changes."""
        edits: list[tuple[int, int, bytes]] = []
        for at in self._set.keys() | self._inside.keys():
            tag = self._set[at][0] if at in self._set else self._inside[at][0]
            edits += self._edits(tag)
        out, last = [], 0
        for start, end, text in sorted(edits):
            out += [self.data[last:start], text]
            last = end
        return b"".join([*out, self.data[last:]])

    def _edits(self, tag: Tag) -> list[tuple[int, int, bytes]]:
        values = self._set.get(tag.start, (tag, {}))[1]
        head = _with(self.data[tag.start : tag.head], values)
        name = self._names.get(tag.start, tag.name).encode()
        head = b"<" + name + head[1 + len(tag.name.encode()) :]
        _, first, last = self._inside.get(tag.start, (tag, [], []))
        if not first and not last:
            edits = [(tag.start, tag.head, head)]
            if tag.end > tag.head and tag.start in self._names:
                edits.append((self.data.rindex(b"</", tag.head, tag.end), tag.end, b"</" + name + b">"))
            return edits
        own = self._indent(tag.start)
        inner = self._indent(tag.children[0].start) if tag.children else own + b"  "
        lines = [b"\n" + inner + text.replace("\n", "\n" + inner.decode()).encode() for text in first]
        if tag.end == tag.head:
            lines += [b"\n" + inner + text.replace("\n", "\n" + inner.decode()).encode() for text in last]
            close = b"\n" + own + b"</" + tag.name.encode() + b">"
            return [(tag.start, tag.head, head[:-2].rstrip() + b">" + b"".join(lines) + close)]
        edits = [(tag.start, tag.head, head + b"".join(lines))]
        if last:
            close_at = self.data.rindex(b"</", tag.head, tag.end)
            text = b"".join(inner + t.replace("\n", "\n" + inner.decode()).encode() + b"\n" for t in last)
            line = self.data.rfind(b"\n", tag.head, close_at) + 1
            alone = line > tag.head and not self.data[line:close_at].strip()
            edits.append((line, line, text) if alone else (close_at, close_at, b"\n" + text + own))
        return edits

    def _indent(self, at: int) -> bytes:
        line = self.data.rfind(b"\n", 0, at) + 1
        found = self.data[line:at]
        return found if not found.strip() else b""


def _head(data: bytes, at: int) -> int:
    """End of the start tag at ``at``: its > outside of quotes."""
    quote = b""
    for k in range(at, len(data)):
        c = data[k : k + 1]
        if quote:
            quote = b"" if c == quote else quote
        elif c in (b'"', b"'"):
            quote = c
        elif c == b">":
            return k + 1
    return len(data)


def _with(head: bytes, values: Mapping[str, str | None]) -> bytes:
    """A start tag with other attribute values, the rest of it untouched."""
    left = dict(values)

    def changed(found: re.Match[bytes]) -> bytes:
        name = found[2].decode()
        if name not in left:
            return found[0]
        value = left.pop(name)
        if value is None:
            return b""
        mark = found[4][:1].decode()
        return found[1] + found[2] + found[3] + f"{mark}{value}{mark}".encode()

    head = _ATTRIBUTE.sub(changed, head)
    new = "".join(f" {name}={quoteattr(value)}" for name, value in left.items() if value is not None).encode()
    cut = len(head) - (2 if head.endswith(b"/>") else 1)
    body, tail = head[:cut], head[cut:]
    return body.rstrip() + new + (b" " if body.endswith(b" ") and new else body[len(body.rstrip()) :]) + tail
