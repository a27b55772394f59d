"""Panels drawn by matplotlib as a journal prints them: small type, two columns wide, text kept as text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.report.canvas import blank
from dalembert.report.envelope import thinned
from dalembert.report.palette import palette
from dalembert.report.panels import Curve, Heat, Panel, Picture

__all__ = ["drawn"]

_WIDTH, _COLUMN = 7.16, 3.5  # [in] of a page and of one of its two columns, IEEE
_POINTS = 4000  # of a curve: more than a printer sets on a column
_STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7, "axes.linewidth": 0.6, "lines.solid_capstyle": "round", "pdf.fonttype": 42,
    "svg.fonttype": "none", "axes.grid": True, "grid.linewidth": 0.4, "grid.alpha": 0.4, "legend.frameon": False,
}  # fmt: skip
_LINES = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (5, 1.5, 1, 1.5)), (0, (9, 3)), (0, (9, 2, 1, 2)))
_MARKERS = ("o", "s", "D", "P", "^", "X")
_THICK = {"raw": 0.4, "measured": 1.0, "predicted": 0.8, "residual": 0.6}


def drawn(pictures: Sequence[Picture], columns: int, formats: Sequence[str]) -> dict[str, bytes]:
    """Files of one sheet, by format."""
    from matplotlib import rc_context

    out = {}
    with rc_context(_STYLE):
        rows = -(-len(pictures) // columns)
        tall = len(pictures) == 1 or any(len(p.ticks) if isinstance(p, Panel) else True for p in pictures)
        width = _WIDTH if columns > 1 or tall else _COLUMN
        sheet = blank(width, rows * max(_height(p, width) for p in pictures) + 0.3, layout="constrained")
        grid = sheet.add_gridspec(rows, columns)
        axes = [_picture(sheet, grid[k // columns, k % columns], p) for k, p in enumerate(pictures)]
        _legends(sheet, axes)
        sheet.draw_without_rendering()
        sheet.set_layout_engine("none")  # found once for all formats
        for kind in formats:
            data = io.BytesIO()
            sheet.savefig(data, format=kind, dpi=300)
            out[kind] = data.getvalue()
    return out


def _height(picture: Picture, width: float) -> float:
    if isinstance(picture, Heat):
        return 0.86 * width
    if picture.ticks:
        return 0.8 + 0.13 * len(picture.ticks)
    return 2.3 if len(picture.y_labels) > 1 else 1.7


def _picture(sheet: Any, cell: Any, picture: Picture) -> list[Any]:
    """Axes of one picture, from the top."""
    if isinstance(picture, Heat):
        return [_heat(sheet, cell, picture)]
    count = len(picture.y_labels)
    parts = cell.subgridspec(count, 1, height_ratios=[2.0, 1.0][:count])
    axes: list[Any] = []
    for k, label in enumerate(picture.y_labels):
        axes.append(sheet.add_subplot(parts[k], sharex=axes[0] if axes else None))
        axes[k].set_ylabel(_plain(label))
    for curve in picture.curves:
        _curve(axes[curve.row], curve)
    for axis in axes:
        axis.set_xscale("log" if picture.log_x else "linear")
        axis.set_yscale("log" if picture.log_y else "linear")
        axis.margins(x=0.02 if picture.ticks else 0.0)
    for axis in axes[:-1]:
        axis.tick_params(labelbottom=False)
    axes[-1].set_xlabel(_plain(picture.x_label))
    axes[0].set_title(_plain(picture.title), loc="left")
    for y in picture.limits:
        axes[0].axhline(y, color=palette()["poor"], lw=0.6, ls=":")
    for x, _ in picture.marks:
        axes[0].axvline(x, color=palette()["faint"], lw=0.6, ls=":")
    if picture.ticks:
        axes[0].set_yticks(range(len(picture.ticks)), [_plain(name) for name in picture.ticks], fontsize=6)
        axes[0].set_ylim(len(picture.ticks) - 0.5, -0.5)
        axes[0].axvline(0.0, color=palette()["faint"], lw=0.6)
    return axes


def _curve(axis: Any, curve: Curve) -> None:
    number = int(curve.role) - 1 if curve.role.isdigit() else 0
    ink, label = palette()[curve.role], _plain(curve.label)
    if curve.points:
        axis.errorbar(
            curve.abscissae, curve.y, xerr=curve.error, ls="", marker=_MARKERS[number], ms=3.0, color=ink, label=label,
            mfc=ink if number == 0 else "none", mew=0.8, elinewidth=0.7,
        )  # fmt: skip
        return
    x, y = curve.abscissae, curve.y
    if curve.x is None and len(y) > _POINTS:
        thin = thinned(y, curve.start, curve.step, _POINTS)
        x, y = thin.x, thin.y
    axis.plot(x, y, color=ink, lw=_THICK.get(curve.role, 0.9), ls=_LINES[number], label=label)


def _heat(sheet: Any, cell: Any, heat: Heat) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    ink = palette()
    colours = LinearSegmentedColormap.from_list("correlation", [ink["1"], ink["paper"], ink["2"]])
    axis = sheet.add_subplot(cell)
    shown = axis.imshow(np.asarray(heat.values), cmap=colours, vmin=-1.0, vmax=1.0, interpolation="nearest")
    names, place = [_plain(name) for name in heat.names], range(len(heat.names))
    size = min(7.0, 300.0 / len(names))
    axis.set_xticks(place, names, rotation=90, fontsize=size)
    axis.set_yticks(place, names, fontsize=size)
    axis.grid(visible=False)
    axis.set_title(_plain(heat.title), loc="left")
    sheet.colorbar(shown, ax=axis, shrink=0.6, label=heat.label)
    return axis


def _legends(sheet: Any, pictures: Sequence[Sequence[Any]]) -> None:
    """One legend for the sheet where all pictures share their labels, else one in each."""
    named: list[dict[str, Any]] = []
    for axes in pictures:
        found = [pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
        named.append({label: handle for handle, label in found})
    if len({tuple(labels) for labels in named}) == 1:
        if len(named[0]) > 1:
            sheet.legend(named[0].values(), named[0].keys(), loc="outside lower center", ncols=min(len(named[0]), 6))
        return
    for labels, axes in zip(named, pictures, strict=True):
        if len(labels) > 1:
            axes[0].legend(labels.values(), labels.keys())


def _plain(text: str) -> str:
    """Text without mathematics in it."""
    return text.replace("$", r"\$")
