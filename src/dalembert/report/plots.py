"""Pictures of single objects, as plotly figures: what ``plot()`` of a robot, a log or a fit gives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from dalembert.errors import UsageError
from dalembert.identification.fit import Fit
from dalembert.identification.identify import Identification
from dalembert.logs import Log
from dalembert.model import build_model
from dalembert.report.envelope import thinned
from dalembert.report.evidence import gather
from dalembert.report.figure import interactive, sketch
from dalembert.report.palette import DASHES, palette
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.torque import torque_panel
from dalembert.robot import Robot

__all__ = ["figure", "plot"]

_POINTS = 10_000  # of a curve
_ROW = 220  # pixels of a panel; half of it for each further ordinate


@singledispatch
def plot(thing: object) -> Any:
    """The picture of an object."""
    raise UsageError(f"plot: no picture of a {type(thing).__name__}; expected a robot, a log or an identification")


@plot.register
def _robot(robot: Robot) -> Any:
    model = build_model(robot)
    return interactive(model, sketch(model))


@plot.register
def _log(log: Log) -> Any:
    info, panels = log.info, []
    channels = (
        ("position [rad, m]", info.positions, log.q), ("speed [rad/s, m/s]", info.velocities, log.qd),
        ("acceleration [rad/s², m/s²]", info.accelerations, log.qdd), ("torque [N m, N]", info.torques, log.tau),
    )  # fmt: skip
    for label, names, values in channels:
        if values is None:
            continue
        curves = []
        for k, name in enumerate(names):
            thin = thinned(values[:, k], info.start, info.period, _POINTS)
            curves.append(Curve(name, thin.y, str(k % 6 + 1), start=thin.start, step=thin.step))  # type: ignore[arg-type]
        panels.append(Panel(label, "", "time [s]", (label,), tuple(curves)))
    return figure([panels], log.headline)


@plot.register
def _fit(fit: Fit) -> Any:
    raise UsageError(
        f"plot: the fit of {fit.robot!r} was read from a file and holds no logs; expected what identify() returned, or "
        "a report with a validation"
    )


@plot.register
def _identification(fit: Identification) -> Any:
    evidence = gather(fit)
    columns = [
        [torque_panel(evidence, track, k, _POINTS, number) for k in range(len(track.groups))]
        for number, track in enumerate(evidence.tracks)
    ]
    shown = "measured and predicted torque" + (" after projection" if evidence.projected else "")
    return figure(columns, f"{fit.robot}: {shown}", [track.name for track in evidence.tracks])


def figure(columns: Sequence[Sequence[Panel]], title: str, names: Sequence[str] = ()) -> Any:
    """Panels below each other, in one column for each log; those of a column are zoomed together along x."""
    from plotly.subplots import make_subplots

    heights = [_ROW if row == 0 else _ROW / 2 for panel in columns[0] for row in range(len(panel.y_labels))]
    gap = 40.0 / (sum(heights) + 40.0 * len(heights))
    page = make_subplots(
        rows=len(heights), cols=len(columns), shared_xaxes=True, row_heights=heights, vertical_spacing=gap,
        column_titles=[*names] if len(columns) > 1 else None,
    )  # fmt: skip
    seen: set[str] = set()
    for column, panels in enumerate(columns, start=1):
        row = 1
        for panel in panels:
            for curve in panel.curves:
                page.add_trace(_trace(curve, curve.label not in seen), row=row + curve.row, col=column)
                seen.add(curve.label)
            for k, label in enumerate(panel.y_labels):
                page.update_yaxes(title_text=label, row=row + k, col=column)
            row += len(panel.y_labels)
        page.update_xaxes(title_text=panels[-1].x_label, row=row - 1, col=column)
    page.update_layout(
        title=title, template="plotly_white", height=int(sum(heights) + 40 * len(heights) + 120), hovermode="x",
        legend={"orientation": "h", "yref": "container", "y": 1.0, "yanchor": "top", "x": 1.0, "xanchor": "right"},
    )  # fmt: skip
    return page


def _trace(curve: Curve, first: bool) -> Any:
    import plotly.graph_objects as go

    dash = DASHES[int(curve.role) - 1] if curve.role.isdigit() else "solid"
    return go.Scatter(
        x=np.asarray(curve.abscissae), y=curve.y, name=curve.label, legendgroup=curve.label, showlegend=first,
        mode="lines", line={"color": palette()[curve.role], "width": 0.7 if curve.role == "raw" else 1.4, "dash": dash},
    )  # fmt: skip
