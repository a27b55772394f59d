"""Do the loops close along the log, and do the encoders agree with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.report.envelope import thinned
from dalembert.report.evidence import Evidence, Track
from dalembert.report.numbers import significant
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.contract import Content

__all__ = ["section"]

_POINTS = 3000
_ROLES: tuple[Any, ...] = ("1", "2", "3", "4", "5", "6")


def section(evidence: Evidence) -> Content | None:
    """Closure error of each log and, with more encoders than mobilities, what they disagree by."""
    if evidence.model is None or not evidence.tracks or not evidence.model.model.robot.loops:
        return None
    model = evidence.model.model
    sensors = tuple(model.robot.readings)
    more = len(sensors) > model.r
    pictures, logs = [], []
    for number, track in enumerate(evidence.tracks):
        own = [_loops(track, number)]
        if more:
            own.append(_disagreement(track, number, sensors))
        pictures += own
        logs.append(
            {
                "name": track.name,
                "held_out": track.held_out,
                "keys": [p.key for p in own],
                "worst": significant(float(track.motion.closure.max()), 2),
                "mismatch": significant(float(np.abs(track.motion.mismatch).max()), 3),
                "rms": significant(float(np.sqrt(np.mean(track.motion.mismatch**2))), 3),
            }
        )
    return Content("closure", "Loop closure", "Loops", {"logs": logs, "more": more, "extra": len(sensors) - model.r},
                   tuple(pictures))  # fmt: skip


def _loops(track: Track, number: int) -> Panel:
    thin = thinned(np.maximum(track.motion.closure, 1e-17), track.start, track.period, _POINTS)
    curve = Curve("largest error", thin.y, "1", start=thin.start, step=thin.step)
    return Panel(
        f"closure-{number}", "Loops: largest error of any loop", "time [s]", ("error [m, rad]",), (curve,),
        link=f"time-{number}", log_y=True, height=220,
    )  # fmt: skip


def _disagreement(track: Track, number: int, sensors: tuple[str, ...]) -> Panel:
    curves = []
    for k, name in enumerate(sensors):
        thin = thinned(track.motion.mismatch[:, k], track.start, track.period, _POINTS)
        curves.append(Curve(name, thin.y, _ROLES[k % len(_ROLES)], start=thin.start, step=thin.step))
    return Panel(
        f"mismatch-{number}", "Encoders: measured less reconciled position", "time [s]", ("[rad, m]",), tuple(curves),
        link=f"time-{number}", height=240,
    )  # fmt: skip
