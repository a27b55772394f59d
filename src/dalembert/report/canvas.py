"""A sheet for matplotlib to draw on that needs no display, and no pyplot with its global state."""

from __future__ import annotations

from typing import Any, Literal

__all__ = ["blank"]


def blank(width: float, height: float, dpi: float | None = None, layout: Literal["constrained"] | None = None) -> Any:
    """An empty figure of a size [in]; matplotlib is imported here, only when something is drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(width, height), dpi=dpi, layout=layout)
    FigureCanvasAgg(sheet)
    return sheet
