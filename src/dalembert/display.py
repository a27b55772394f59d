"""How objects show themselves: tables of plain text in a terminal, tables and pictures in a notebook.

The report, which draws them, stands below everything it draws; it is therefore loaded by name when a picture is asked
for, and importing a robot or a fit imports no plotting library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

__all__ = ["Plotted", "Tabled", "aligned", "number"]


class Tabled:
    """An object that a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(import_module("dalembert.report.notebook").html(self))


class Plotted(Tabled):
    """An object that has a picture, too."""

    __slots__ = ()

    def plot(self) -> Any:
        """A plotly figure: a robot at home, the channels of a log, measured and predicted torque of a fit."""
        return import_module("dalembert.report.plots").plot(self)


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
