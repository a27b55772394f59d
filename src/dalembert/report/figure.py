"""Stick figure of a robot: bodies, joints, actuated joints marked, loops, frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.model import Model
from dalembert.report.skeleton import skeleton

__all__ = ["Sketch", "draw", "interactive", "sketch"]

Array = NDArray[np.float64]

SUFFIXES = (".png", ".svg", ".pdf", ".html")
# Okabe-Ito: told apart by colour-blind readers
LINK, JOINT, ACTUATED, LOOP, PLATFORM = "#0072B2", "#666666", "#D55E00", "#009E73", "#CC79A7"
AXES = ("#D55E00", "#009E73", "#0072B2")


@dataclass(frozen=True, slots=True)
class Sketch:
    """Points and lines of a robot in the base frame [m]; polylines are (k, 3)."""

    links: tuple[tuple[str, Array], ...]
    joints: tuple[tuple[str, Array, Array], ...]  # name, position, axis
    actuated: frozenset[str]
    loops: tuple[tuple[str, Array], ...]
    frames: tuple[tuple[str, Array, Array], ...]  # body, position, rotation
    platform: str | None

    @property
    def points(self) -> Array:
        """All points, for the limits of the axes."""
        lines = [line for _, line in (*self.links, *self.loops)]
        return np.concatenate([np.zeros((1, 3)), *lines, *(p[None] for _, p, _ in self.joints)])


def sketch(model: Model, y: ArrayLike | None = None) -> Sketch:
    """The stick figure at a configuration (home unless given)."""
    lines = skeleton(model)
    configuration = model.home if y is None else np.asarray(y, dtype=float)
    points = lines.points(configuration)[0]
    origin, rotation = (values[0] for values in lines.poses(configuration))
    return Sketch(
        links=tuple((name, points[list(through)]) for name, through in lines.links),
        joints=tuple((name, points[at], rotation[lines.owner[own]] @ axis) for name, at, own, axis in lines.joints),
        actuated=lines.actuated,
        loops=tuple((name, points[[a, b]]) for name, a, b in lines.loops),
        frames=tuple((name, origin[k + 1], rotation[k + 1]) for k, name in enumerate(model.robot.body_names)),
        platform=model.robot.platform,
    )


def draw(model: Model, path: Path, y: ArrayLike | None = None) -> None:
    """Write the stick figure as .png, .svg, .pdf (a view that shows the robot best) or interactive .html."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"picture {path.name!r}: unknown ending {path.suffix!r}; choose from {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise UsageError(f"picture {str(path)!r}: there is no folder {str(path.parent)!r}")
    figure = sketch(model, y)
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        if path.suffix.lower() == ".html":
            interactive(model, figure).write_html(temporary, include_plotlyjs=True)
        else:
            _printed(model, figure, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _title(model: Model) -> str:
    return f"{model.robot.name}: mobility {model.r}, {model.n} motors"


def _length(figure: Sketch) -> float:
    return float(np.ptp(figure.points, axis=0).max()) or 1.0


def _printed(model: Model, figure: Sketch, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(7.5, 6.5), dpi=150)
    FigureCanvasAgg(sheet)
    axes = sheet.add_subplot(projection="3d", proj_type="ortho")
    size = _length(figure)
    _links(axes, figure)
    _joints(axes, figure, size)
    for k, (_, position, rotation) in enumerate(figure.frames):
        for column, colour in enumerate(AXES):
            tip = position + 0.06 * size * rotation[:, column]
            axes.plot(*np.array([position, tip]).T, color=colour, lw=1.0, label="xyz"[column] if not k else None)
    for _, line in figure.loops:
        axes.plot(*line.T, "s", color=LOOP, ms=6, mfc="none", mew=1.8, zorder=5)
    for position, names in _labels([(name, line[0]) for name, line in figure.loops], size):
        axes.text(*position, f"  {names}", color=LOOP, fontsize=7, va="bottom")
    _frame_axes(axes, figure, size)
    axes.set_title(_title(model))
    _legend(axes, figure)
    sheet.savefig(path, bbox_inches="tight", pad_inches=0.2)


def _links(axes, figure: Sketch) -> None:  # type: ignore[no-untyped-def]
    for name, line in figure.links:
        colour = PLATFORM if name == figure.platform else LINK
        axes.plot(*line.T, "-", color=colour, lw=3.0, solid_capstyle="round", alpha=0.85)


def _joints(axes, figure: Sketch, size: float) -> None:  # type: ignore[no-untyped-def]
    for name, position, axis in figure.joints:
        driven = name in figure.actuated
        half = 0.035 * size * axis
        axes.plot(*np.array([position - half, position + half]).T, color=ACTUATED if driven else JOINT, lw=1.5)
        axes.plot(*position[:, None], "o", color=ACTUATED if driven else JOINT, ms=7 if driven else 4.5, zorder=6)
    for position, names in _labels([(name, position) for name, position, _ in figure.joints], size):
        axes.text(*position, f"  {names}", fontsize=7, color="#222222", va="top")


def _labels(points: Sequence[tuple[str, Array]], size: float) -> list[tuple[Array, str]]:
    """Names gathered where points sit on the same spot."""
    spots: list[tuple[Array, list[str]]] = []
    for name, position in points:
        near = next((names for at, names in spots if np.abs(at - position).max() < 0.02 * size), None)
        if near is None:
            spots.append((position, [name]))
        else:
            near.append(name)
    return [(at, ", ".join(names)) for at, names in spots]


def _frame_axes(axes, figure: Sketch, size: float) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.ticker import MaxNLocator

    low, high = figure.points.min(axis=0), figure.points.max(axis=0)
    flat = (high - low) < 0.05 * size
    middle = (low + high) / 2
    half = np.where(flat, 0.12 * size, (high - low) / 2 + 0.05 * size)
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_zlim(middle[2] - half[2], middle[2] + half[2])
    axes.set_box_aspect(2 * half)
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_zlabel("z [m]")
    if flat[2]:
        axes.view_init(90, -90)
        axes.zaxis.set_ticklabels([])
        axes.set_zlabel("")
    else:
        axes.view_init(22, -55)
    axes.tick_params(labelsize=7)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MaxNLocator(4))


def _legend(axes, figure: Sketch) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=LINK, lw=3, label="body"),
        Line2D([], [], color=ACTUATED, marker="o", ls="", label="actuated joint"),
        Line2D([], [], color=JOINT, marker="o", ms=4.5, ls="", label="passive joint"),
    ]
    if any(name == figure.platform for name, _ in figure.links):
        entries.insert(1, Line2D([], [], color=PLATFORM, lw=3, label=f"platform ({figure.platform})"))
    if figure.loops:
        entries.append(Line2D([], [], color=LOOP, marker="s", mfc="none", ls="", label="loop closed here"))
    entries += [Line2D([], [], color=c, lw=1, label=n) for n, c in zip("xyz", AXES, strict=True)]
    axes.legend(handles=entries, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def interactive(model: Model, figure: Sketch) -> Any:
    """The stick figure as a plotly figure that can be turned."""
    import plotly.graph_objects as go

    size, traces = _length(figure), []
    for name, line in figure.links:
        colour = PLATFORM if name == figure.platform else LINK
        traces.append(
            go.Scatter3d(
                x=line[:, 0],
                y=line[:, 1],
                z=line[:, 2],
                mode="lines",
                name=name,
                line={"color": colour, "width": 9},
            )
        )
    for label, driven, colour in (("actuated joints", True, ACTUATED), ("passive joints", False, JOINT)):
        chosen = [(n, p) for n, p, _ in figure.joints if (n in figure.actuated) is driven]
        if chosen:
            points = np.array([p for _, p in chosen])
            traces.append(
                go.Scatter3d(
                    x=points[:, 0], y=points[:, 1], z=points[:, 2], mode="markers+text", name=label,
                    text=[n for n, _ in chosen], textposition="top center", marker={"color": colour, "size": 6},
                )
            )  # fmt: skip
    if figure.loops:
        points = np.array([line[0] for _, line in figure.loops])
        traces.append(
            go.Scatter3d(
                x=points[:, 0], y=points[:, 1], z=points[:, 2], mode="markers", name="loops closed here",
                text=[n for n, _ in figure.loops], marker={"color": LOOP, "size": 7, "symbol": "square-open"},
            )
        )  # fmt: skip
    for column, colour in enumerate(AXES):
        xyz = np.full((3 * len(figure.frames), 3), np.nan)
        for k, (_, position, rotation) in enumerate(figure.frames):
            xyz[3 * k], xyz[3 * k + 1] = position, position + 0.06 * size * rotation[:, column]
        traces.append(
            go.Scatter3d(
                x=xyz[:, 0], y=xyz[:, 1], z=xyz[:, 2], mode="lines", name=f"{'xyz'[column]} axes",
                line={"color": colour, "width": 3}, hoverinfo="skip",
            )
        )  # fmt: skip
    page = go.Figure(traces)
    page.update_layout(title=_title(model), scene=_scene(figure), margin={"l": 0, "r": 0, "t": 40, "b": 0})
    return page


def _scene(figure: Sketch) -> dict[str, Any]:
    """True proportions in parallel projection; a flat robot is seen from above."""
    extent = np.ptp(figure.points, axis=0)
    flat = bool(extent[2] < 0.05 * extent.max())
    above = {"eye": {"x": 0.0, "y": 0.0, "z": 2.0}, "up": {"x": 0.0, "y": 1.0, "z": 0.0}}
    aside = {"eye": {"x": 1.1, "y": -1.5, "z": 0.8}}
    share = 1.3 * np.maximum(extent / (float(extent.max()) or 1.0), 0.1)
    axis = {"backgroundcolor": "rgba(0,0,0,0)", "gridcolor": "#d0d7de", "zerolinecolor": "#d0d7de"}
    return {
        "aspectmode": "manual", "aspectratio": dict(zip("xyz", share.tolist(), strict=True)),
        "camera": {**(above if flat else aside), "projection": {"type": "orthographic"}},
        **{f"{name}axis": {**axis, "title": f"{name} [m]", "visible": not (flat and name == "z")} for name in "xyz"},
    }  # fmt: skip
