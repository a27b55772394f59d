"""Pictures of a design: paths of the coordinates, room to the limits, the platform's path in the workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation.result import Design
from dalembert.excitation.sampled import table
from dalembert.report.canvas import blank
from dalembert.report.figure import ACTUATED, JOINT, LINK, LOOP, PLATFORM, sketch
from dalembert.report.regions import region_lines
from dalembert.robot.interchange import whole_files
from dalembert.robot.quantity import position_units

__all__ = ["draw_design"]

Array = NDArray[np.float64]

_POINTS, _DPI = 1500, 130
_CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # behind a text, over lines
_COLOURS = (LINK, ACTUATED, LOOP, PLATFORM, "#E69F00", "#56B4E9", "#000000", JOINT)
_KINDS = (("", ""), ("xd_", "/s"), ("xdd_", "/s²"))
Lines = list[tuple[Array, dict[str, Any]]]  # polylines (n, 3) and how each is drawn


def draw_design(design: Design, folder: Path) -> list[Path]:
    """Write ``paths.png``, ``margins.png`` and ``workspace.png`` into an existing folder."""
    columns, motion = table(
        design.model, design.coordinates, design.ride, design.duration, _POINTS / design.duration
    )  # fmt: skip
    sheets = {
        "paths.png": _paths(design, columns),
        "margins.png": _margins(design),
        "workspace.png": _workspace(design, columns["t"], motion.y),
    }
    out = []
    for name, sheet in sheets.items():
        with whole_files(folder / name) as (draft,):
            sheet.savefig(draft, bbox_inches="tight", pad_inches=0.15)
        out.append(folder / name)
    return out


def _paths(design: Design, columns: dict[str, Array]) -> Any:
    """One row of panels for angles and one for lengths: position, velocity, acceleration."""
    units = position_units(design.model.robot)
    groups = [(u, [n for n in design.coordinates if units[n] == u]) for u in ("rad", "m")]
    groups = [(u, names) for u, names in groups if names]
    sheet = blank(13.0, 3.4 * len(groups) + 0.6, _DPI)
    axes = sheet.subplots(len(groups), 3, squeeze=False, sharex=True)
    begin, end = design.ride.record
    for row, (unit, names) in zip(axes, groups, strict=True):
        for panel, (kind, per), what in zip(row, _KINDS, ("position", "velocity", "acceleration"), strict=True):
            for name in names:
                colour = _COLOURS[design.coordinates.index(name) % len(_COLOURS)]
                panel.plot(columns["t"], columns[f"{kind}{name}"], lw=1.2, color=colour, label=name)
            for edges in ((0.0, begin), (end, design.duration)):
                if edges[1] > edges[0]:
                    panel.axvspan(*edges, color="#dddddd", lw=0)
            panel.set_ylabel(f"{what} [{unit}{per}]")
            panel.grid(alpha=0.25)
            panel.margins(x=0)
        row[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    for panel in axes[-1]:
        panel.set_xlabel("time [s]")
    grey = "; grey: from and to rest at home" if design.ride.entry or design.ride.exit else ""
    sheet.suptitle(f"{design.model.robot.name}: {design.family.describe()['family']}, record {end - begin:g} s{grey}")
    sheet.tight_layout()
    return sheet


def _margins(design: Design) -> Any:
    """How much of the room to each limit is used where the motion comes nearest to it."""
    margins = design.margins
    kinds: dict[str, Any] = {}
    for m in margins:  # both sides of a limit: the nearer one
        if m.name not in kinds or m.slack < kinds[m.name].slack:
            kinds[m.name] = m
    shown = sorted(kinds.values(), key=lambda m: -m.used)[:40]
    sheet = blank(9.0, 0.24 * len(shown) + 1.3, _DPI)
    axes = sheet.add_subplot()
    used = np.array([100.0 * m.used for m in shown])
    place = np.arange(len(shown))
    axes.barh(place, used, color=[ACTUATED if share > 99.0 else LINK for share in used], height=0.7)
    axes.set_yticks(place, [m.name for m in shown], fontsize=7)
    axes.invert_yaxis()
    for y, share, m in zip(place, used, shown, strict=True):
        axes.text(
            share + 1.0, y, f"{m.value:.4g} of {m.bound:.4g}", va="center", fontsize=6.5, color="#444444", bbox=_CLEAR
        )
    axes.axvline(100.0, color=JOINT, lw=0.8)
    axes.set_xlim(0.0, 128.0)
    axes.set_xlabel("share of the limit that is used, %, where the motion comes nearest to it (orange: all of it)")
    axes.set_title(f"{design.model.robot.name}: limits, nearest first, on a grid ten times finer than the search's")
    return sheet


def _workspace(design: Design, t: Array, y: Array) -> Any:
    """Path of the platform (of the last body where none is declared) in its workspace, with the robot at home."""
    model = design.model
    body = model.robot.platform or model.robot.body_names[-1]
    poses = np.asarray(model.poses_kernel()(y)["poses"])[:, model.robot.body_names.index(body), 9:]
    if not (np.ptp(poses, axis=0) > 1e-9).any():
        return _orientation(design, t, y)
    figure = sketch(model)
    everything = np.vstack([figure.points, poses])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = float((high - low).max()) or 1.0
    flat = int(np.argmin(high - low)) if (high - low).min() < 0.02 * size else None
    regions = [line for entry in design.limits.workspace for line in region_lines(entry.region, low, high)]
    begin, end = design.ride.record
    inside = poses[(t >= begin) & (t <= end)]
    lines = [(line, {"color": "#bbbbbb", "lw": 2.5, "label": None}) for _, line in (*figure.links, *figure.loops)]
    lines += [(line, {"color": LOOP, "lw": 1.0, "label": "workspace" if k == 0 else None})
              for k, line in enumerate(regions)]  # fmt: skip
    lines += [(poses, {"color": JOINT, "lw": 0.8, "ls": "--", "label": "from and to rest"}),
              (inside, {"color": PLATFORM, "lw": 1.3, "label": f"path of {body}'s origin"})]  # fmt: skip
    sheet = blank(7.5, 6.5, _DPI)
    if flat is not None:
        axes = _plane(sheet, lines, [k for k in range(3) if k != flat])
    else:
        axes = _space(sheet, lines)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    axes.set_title(f"{model.robot.name}: path of {body}'s origin, robot at home in grey")
    return sheet


def _plane(sheet: Any, lines: Lines, shown: list[int]) -> Any:
    """Lines seen along the axis that is not shown."""
    axes = sheet.add_subplot()
    for line, style in lines:
        axes.plot(*line[:, shown].T, **style)
    axes.set_aspect("equal")
    axes.set_xlabel(f"{'xyz'[shown[0]]} [m]")
    axes.set_ylabel(f"{'xyz'[shown[1]]} [m]")
    axes.grid(alpha=0.25)
    return axes


def _space(sheet: Any, lines: Lines) -> Any:
    """Lines in space, all axes to one scale."""
    axes = sheet.add_subplot(projection="3d", proj_type="ortho")
    for line, style in lines:
        axes.plot(*line.T, **style)
    everything = np.vstack([line for line, _ in lines])
    extent = np.ptp(everything, axis=0)
    extent = np.maximum(extent, 0.05 * extent.max())
    middle = (everything.min(axis=0) + everything.max(axis=0)) / 2.0
    for set_limits, centre, width in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, extent, strict=True):
        set_limits(centre - width / 2.0, centre + width / 2.0)
    axes.set_box_aspect(extent)
    axes.view_init(22, -55)
    for set_label, name in zip((axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), "xyz", strict=True):
        set_label(f"{name} [m]")
    axes.tick_params(labelsize=7)
    return axes


def _orientation(design: Design, t: Array, y: Array) -> Any:
    """Where the platform's origin never moves: its coordinates over time instead."""
    sheet = blank(7.5, 4.0, _DPI)
    axes = sheet.add_subplot()
    for k, name in enumerate(design.model.coordinates):
        if np.ptp(y[:, k]) > 0.0:
            axes.plot(t, y[:, k], label=name, lw=1.2)
    axes.legend(fontsize=8, frameon=False)
    axes.set_xlabel("time [s]")
    axes.set_title(f"{design.model.robot.name}: the platform's origin stands still; all coordinates")
    return sheet
