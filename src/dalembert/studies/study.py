"""What a reproduced study gives: tables and findings beside the paper's, figures as data, the time it took."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError

__all__ = ["Cell", "Curve", "Figure", "Finding", "Panel", "Progress", "Study", "Table", "silent"]

Array = NDArray[np.float64]
Cell = str | float | int | None
Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Progress nobody asked for."""


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _aligned(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Rows of cells as lines of columns: numbers to the right, words to the left."""
    texts = [[_text(cell) for cell in row] for row in rows]
    width = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
    numeric = [any(isinstance(row[k], float | int) for row in rows[1:]) for k in range(len(width))]
    lines = []
    for row in texts:
        cells = [c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, width, numeric, strict=True)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper with ours beside it; ``note`` says what differs and why. None is an empty cell."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise UsageError(f"table {self.title!r}: a row of {len(row)} cells, expected {len(self.columns)}")

    def __str__(self) -> str:
        """Plain text: title, aligned columns, note."""
        note = textwrap.wrap(self.note, 120)
        return "\n".join([self.title, *_aligned([self.columns, *self.rows]), *note])


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of the paper, what was found here, and whether it holds; ``why`` explains one that does not."""

    name: str
    paper: str
    ours: str
    holds: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Values ``y`` (n,) over ``x`` (n,); ``role`` says how it is drawn: what is measured or true, or an estimate."""

    label: str
    x: Array
    y: Array
    role: Literal["truth", "estimate", "points"] = "estimate"

    @classmethod
    def of(
        cls, label: str, x: ArrayLike, y: ArrayLike, role: Literal["truth", "estimate", "points"] = "estimate"
    ) -> Curve:
        """From anything like arrays, read-only afterwards."""
        arrays = [np.array(a, dtype=float).reshape(-1) for a in (x, y)]
        if len(arrays[0]) != len(arrays[1]):
            raise UsageError(f"curve {label!r}: {len(arrays[0])} abscissae for {len(arrays[1])} values")
        for array in arrays:
            array.setflags(write=False)
        return cls(label, arrays[0], arrays[1], role)


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over common axes; labels carry their unit. ``ticks``: names of the abscissae 0, 1, ... instead of numbers.

    ``bounds``: horizontal lines, such as a paper's error bound. ``equal``: the same length on both axes.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    ticks: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    logarithmic: bool = False
    equal: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels in ``columns``, written as one PNG called ``name``."""

    name: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Study:
    """A paper's experiment reproduced in simulation."""

    name: str
    paper: str
    tables: tuple[Table, ...]
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...] = field(repr=False)
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """True when every finding does."""
        return all(finding.holds for finding in self.findings)

    def finding(self, name: str) -> Finding:
        """One finding by name."""
        return next(f for f in self.findings if f.name == name)

    def __str__(self) -> str:
        """Plain text: all tables, then the findings."""
        marks = [f.name + (": holds" if f.holds else f": DOES NOT HOLD {f.why}".rstrip()) for f in self.findings]
        findings = [
            f"* {mark}\n    paper: {f.paper}\n    here:  {f.ours}" for mark, f in zip(marks, self.findings, strict=True)
        ]
        head = f"{self.name}: {self.paper}"
        return "\n\n".join([head, *(str(t) for t in self.tables), "\n".join(["Findings", *findings])])

    def to_dict(self) -> dict[str, Any]:
        """JSON values; figures by name and caption."""
        return {
            "name": self.name,
            "paper": self.paper,
            "holds": self.holds,
            "seconds": self.seconds,
            "findings": [
                {"name": f.name, "paper": f.paper, "ours": f.ours, "holds": f.holds, "why": f.why}
                for f in self.findings
            ],
            "tables": [
                {"title": t.title, "columns": list(t.columns), "rows": [list(r) for r in t.rows], "note": t.note}
                for t in self.tables
            ],
            "figures": [{"name": f.name, "caption": f.caption} for f in self.figures],
        }
