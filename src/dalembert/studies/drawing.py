"""Figures of the studies as PNG: one look for all, told apart by colour-blind readers and without colour."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dalembert.report.canvas import blank
from dalembert.robot.interchange import whole_files
from dalembert.studies.study import Curve, Figure, Panel

__all__ = ["draw"]

# Okabe-Ito without yellow, which is lost on white; truth is black
_TRUTH = "#000000"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_STYLES = ("--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 1)), (0, (8, 3)))
_MARKERS = ("o", "s", "^", "D", "v", "P")
_MOST_POINTS = 4000  # drawn of a curve: more are not seen


def draw(figure: Figure, path: Path) -> None:
    """Write a figure; nothing is left behind when it fails."""
    columns = min(figure.columns, len(figure.panels))
    rows = math.ceil(len(figure.panels) / columns)
    canvas = blank(2.0 + 4.4 * columns, 0.9 + 2.5 * rows, layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False).ravel()
    for axis, panel in zip(axes, figure.panels, strict=False):
        _panel(axis, panel)
    for axis in axes[len(figure.panels) :]:
        axis.set_visible(False)
    _legends(canvas, axes, figure)
    canvas.suptitle(figure.caption, fontsize=10)
    with whole_files(path) as (draft,):
        canvas.savefig(draft, dpi=130)


def _panel(axis: Any, panel: Panel) -> None:
    estimates = 0
    for curve in panel.curves:
        _curve(axis, curve, estimates, named=bool(panel.ticks))
        estimates += curve.role != "truth"
    for bound in panel.bounds:
        axis.axhline(bound, color="#888888", lw=0.9, ls=(0, (2, 2)), zorder=0)
    if panel.title:
        axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.x_label, fontsize=8)
    axis.set_ylabel(panel.y_label, fontsize=8)
    axis.tick_params(labelsize=7, which="both")
    axis.grid(alpha=0.25, lw=0.5)
    if panel.logarithmic:
        axis.set_yscale("log")
    if panel.equal:
        axis.set_aspect("equal", adjustable="datalim")
    if panel.ticks:
        slanted = max(len(tick) for tick in panel.ticks) * len(panel.ticks) > 60
        axis.set_xticks(
            range(len(panel.ticks)), panel.ticks, rotation=40 if slanted else 0, ha="right" if slanted else "center"
        )


def _curve(axis: Any, curve: Curve, number: int, *, named: bool) -> None:
    step = max(1, len(curve.x) // _MOST_POINTS)
    x, y = curve.x[::step], curve.y[::step]
    truth = curve.role == "truth"
    colour = _TRUTH if truth else _COLOURS[number % len(_COLOURS)]
    if named or curve.role == "points":
        marker = "_" if truth and named else _MARKERS[number % len(_MARKERS)]
        size = 12.0 if marker == "_" else 5.0 if named else 3.0
        axis.plot(x, y, ls="", marker=marker, ms=size, mew=1.6, mfc="none", color=colour, label=curve.label)
        return
    style = "-" if truth else _STYLES[number % len(_STYLES)]
    axis.plot(x, y, ls=style, lw=2.0 if truth else 1.3, color=colour, alpha=0.55 if truth else 1.0, label=curve.label)


def _legends(canvas: Any, axes: Any, figure: Figure) -> None:
    """One legend for all panels where they share their labels, else one for each."""
    labels = [tuple(curve.label for curve in panel.curves) for panel in figure.panels]
    if len(set(labels)) == 1:
        handles, names = axes[0].get_legend_handles_labels()
        canvas.legend(handles, names, loc="outside lower center", ncols=min(len(names), 4), fontsize=8, frameon=False)
        return
    for axis, _ in zip(axes, figure.panels, strict=False):
        axis.legend(fontsize=7, framealpha=0.8)
