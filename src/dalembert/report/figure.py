"""Stick figure of a robot: bodies, joints, actuated joints marked, loops, frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.model import Model
from dalembert.report.labels import Label, gathered
from dalembert.report.skeleton import skeleton
from dalembert.robot.interchange import whole_files

__all__ = ["Sketch", "draw", "interactive", "sketch", "title"]

Array = NDArray[np.float64]

SUFFIXES = (".png", ".svg", ".pdf", ".html")
# Okabe-Ito: told apart by colour-blind readers
LINK, JOINT, ACTUATED, LOOP, PLATFORM, GROUND = "#0072B2", "#666666", "#D55E00", "#009E73", "#CC79A7", "#8C959F"
AXES = ("#D55E00", "#009E73", "#0072B2")


@dataclass(frozen=True, slots=True)
class Sketch:
    """Points and lines of a robot in the base frame [m]; polylines are (k, 3)."""

    links: tuple[tuple[str, Array], ...]
    joints: tuple[tuple[str, Array, Array], ...]  # name, position, axis
    actuated: frozenset[str]
    loops: tuple[tuple[str, Array], ...]
    ground: Array
    frames: tuple[tuple[str, Array, Array], ...]  # body, position, rotation
    platform: str | None

    @property
    def points(self) -> Array:
        """All points, for the limits of the axes."""
        lines = [line for _, line in (*self.links, *self.loops)]
        return np.concatenate([np.zeros((1, 3)), self.ground, *lines, *(p[None] for _, p, _ in self.joints)])

    @property
    def size(self) -> float:
        """The longest edge of the box around it [m]."""
        return float(np.ptp(self.points, axis=0).max()) or 1.0


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
        ground=points[list(lines.ground)],
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
    with whole_files(path) as (draft,):
        if path.suffix.lower() == ".html":
            interactive(model, figure).write_html(draft, include_plotlyjs=True)
        else:
            from dalembert.report.printed import printed

            printed(figure, title(model), draft)


def title(model: Model) -> str:
    """What stands above the picture."""
    return f"{model.robot.name}: mobility {model.r}, {model.n} motors"


def interactive(model: Model, figure: Sketch) -> Any:
    """The stick figure as a plotly figure that can be turned."""
    import plotly.graph_objects as go

    size, ground = figure.size, figure.ground
    traces = []
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
    traces.append(
        go.Scatter3d(
            x=ground[:, 0], y=ground[:, 1], z=ground[:, 2], mode="lines", name="base",
            line={"color": GROUND, "width": 4, "dash": "dash"},
        )
    )  # fmt: skip
    for label, driven, colour in (("actuated joints", True, ACTUATED), ("passive joints", False, JOINT)):
        named = [Label(n, p, colour) for n, p, _ in figure.joints if (n in figure.actuated) is driven]
        chosen = gathered(named, 0.02 * size)
        if chosen:
            points = np.array([label.at for label in chosen])
            traces.append(
                go.Scatter3d(
                    x=points[:, 0], y=points[:, 1], z=points[:, 2], mode="markers+text", name=label,
                    text=[label.text for label in chosen], textposition="top center" if driven else "bottom center",
                    marker={"color": colour, "size": 6},
                )
            )  # fmt: skip
    if figure.loops:
        closed = gathered([Label(name, line[0], LOOP) for name, line in figure.loops], 0.02 * size)
        points = np.array([label.at for label in closed])
        traces.append(
            go.Scatter3d(
                x=points[:, 0], y=points[:, 1], z=points[:, 2], mode="markers", name="loops closed here",
                text=[label.text for label in closed], marker={"color": LOOP, "size": 7, "symbol": "square-open"},
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
    page.update_layout(title=title(model), scene=_scene(figure), margin={"l": 0, "r": 0, "t": 40, "b": 0})
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
