"""Plain text tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

__all__ = ["aligned", "number"]


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = (), indent: str = "") -> list[str]:
    """Lines of a table whose columns line up; those in ``right`` to the right. The first row may be a header."""
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = enumerate(zip(row, width, strict=True))
        lines.append(indent + "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in cells))
    return [line.rstrip() for line in lines]


def number(value: float | None, spec: str = ".4g") -> str:
    """A number as text; ``-`` where there is none."""
    return "-" if value is None or not math.isfinite(value) else format(value, spec)
