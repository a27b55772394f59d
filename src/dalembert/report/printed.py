"""The stick figure on paper: one view that shows the robot best, names beside what they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.report.canvas import blank
from dalembert.report.figure import ACTUATED, AXES, GROUND, JOINT, LINK, LOOP, PLATFORM, Sketch
from dalembert.report.labels import Label, gathered, placed

__all__ = ["printed"]

Array = NDArray[np.float64]

_FONT = 7.0  # [pt] of names
_GLYPH = 0.56  # width of a letter over its height, on average
_INK = "#222222"


def printed(figure: Sketch, title: str, path: Path) -> None:
    """Write it as an image of the ending's kind."""
    sheet = blank(7.5, 6.5, dpi=150)
    axes = sheet.add_subplot(projection="3d", proj_type="ortho")
    axes.plot(*figure.ground.T, "--", color=GROUND, lw=1.5)
    for name, line in figure.links:
        colour = PLATFORM if name == figure.platform else LINK
        axes.plot(*line.T, "-", color=colour, lw=3.0, solid_capstyle="round", alpha=0.85)
    _frames(axes, figure)
    _joints(axes, figure)
    for _, line in figure.loops:
        axes.plot(*line.T, "s", color=LOOP, ms=6, mfc="none", mew=1.8, zorder=5)
    _view(axes, figure)
    axes.set_title(title)
    _legend(axes, figure)
    sheet.draw_without_rendering()  # where points fall on the sheet is known from here on
    _names(axes, figure)
    sheet.savefig(path, bbox_inches="tight", pad_inches=0.2)


def _frames(axes: Any, figure: Sketch) -> None:
    base = ("base", np.zeros(3), np.eye(3))
    for _, position, rotation in (base, *figure.frames):
        for column, colour in enumerate(AXES):
            tip = position + 0.06 * figure.size * rotation[:, column]
            axes.plot(*np.array([position, tip]).T, color=colour, lw=1.0)


def _joints(axes: Any, figure: Sketch) -> None:
    for name, position, axis in figure.joints:
        driven = name in figure.actuated
        half = 0.035 * figure.size * axis
        axes.plot(*np.array([position - half, position + half]).T, color=ACTUATED if driven else JOINT, lw=1.5)
        axes.plot(*position[:, None], "o", color=ACTUATED if driven else JOINT, ms=7 if driven else 4.5, zorder=6)


def _view(axes: Any, figure: Sketch) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high, size = figure.points.min(axis=0), figure.points.max(axis=0), figure.size
    flat = (high - low) < 0.05 * size
    middle = (low + high) / 2
    half = np.where(flat, 0.12 * size, (high - low) / 2 + 0.05 * size)
    for name, at, reach in zip("xyz", middle, half, strict=True):
        getattr(axes, f"set_{name}lim")(at - reach, at + reach)
        getattr(axes, f"set_{name}label")(f"{name} [m]")
    axes.set_box_aspect(2 * half, zoom=0.85)  # panes keep clear of the sheet's edge, which would cut them
    if flat[2]:
        axes.view_init(90, -90)
        axes.zaxis.set_ticklabels([])
        axes.set_zlabel("")
    else:
        axes.view_init(22, -55)
    axes.tick_params(labelsize=7)
    for k, axis in enumerate((axes.xaxis, axes.yaxis, axes.zaxis)):
        axis.set_major_locator(MaxNLocator(2 if half[k] < 0.3 * half.max() else 4))


def _names(axes: Any, figure: Sketch) -> None:
    """Names of joints and loops where there is room for them; a thread to those that had to move away."""
    from mpl_toolkits.mplot3d import proj3d

    def on_sheet(points: Array) -> Array:
        x, y, _ = proj3d.proj_transform(*points.T, axes.get_proj())
        return np.asarray(axes.transData.transform(np.column_stack([x, y])))

    marks = [(name, position, _INK) for name, position, _ in figure.joints]
    marks += [(name, line[0], LOOP) for name, line in figure.loops]
    if not marks:
        return
    pixel = axes.figure.dpi / 72.0  # per point of the font
    where = on_sheet(np.array([position for _, position, _ in marks]))
    named = [Label(name, at, colour) for (name, _, colour), at in zip(marks, where, strict=True)]
    labels = gathered(named, 5.0 * pixel)
    sizes = np.array([[_GLYPH * _FONT * pixel * len(label.text), 1.3 * _FONT * pixel] for label in labels])
    lines = [on_sheet(line) for line in (figure.ground, *(line for _, line in figure.links))]
    centres = placed(np.array([label.at for label in labels]), sizes, where, lines, 6.0 * pixel)
    for label, centre, size in zip(labels, centres, sizes, strict=True):
        shift = (centre - label.at) / pixel
        far = np.abs(centre - label.at).max() > 1.6 * size.max()
        axes.annotate(
            label.text, axes.transData.inverted().transform(label.at), shift, textcoords="offset points",
            ha="center", va="center", fontsize=_FONT, color=label.colour, annotation_clip=False, zorder=10,
            arrowprops={"arrowstyle": "-", "color": label.colour, "lw": 0.4} if far else None,
        )  # fmt: skip


def _legend(axes: Any, figure: Sketch) -> None:
    from matplotlib.lines import Line2D

    entries = [Line2D([], [], color=LINK, lw=3, label="body")]
    if any(name == figure.platform for name, _ in figure.links):
        entries.append(Line2D([], [], color=PLATFORM, lw=3, label=f"platform ({figure.platform})"))
    entries.append(Line2D([], [], color=GROUND, lw=1.5, ls="--", label="base"))
    if any(name in figure.actuated for name, *_ in figure.joints):
        entries.append(Line2D([], [], color=ACTUATED, marker="o", ls="", label="actuated joint"))
    if any(name not in figure.actuated for name, *_ in figure.joints):
        entries.append(Line2D([], [], color=JOINT, marker="o", ms=4.5, ls="", label="passive joint"))
    if figure.loops:
        entries.append(Line2D([], [], color=LOOP, marker="s", mfc="none", ls="", label="loop closed here"))
    entries += [Line2D([], [], color=c, lw=1, label=n) for n, c in zip("xyz", AXES, strict=True)]
    axes.legend(handles=entries, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
