"""Which positions, speeds and accelerations the logs reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.report.evidence import Evidence, Track
from dalembert.report.numbers import significant
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.contract import Content

__all__ = ["section"]


def section(evidence: Evidence) -> Content | None:
    """Ranges over the logs of the identification, portraits of each log."""
    if not evidence.tracks or evidence.model is None:
        return None
    robot = evidence.model.model.robot
    angle = {s.coordinate: s.is_angle for b in robot.bodies for s in b.joint.steps}
    sensors = [(m.name, angle[m.turns[0][0]]) for m in robot.motors]
    sensors += [(s.name, angle[s.reads[0][0]]) for s in robot.sensors]
    used = [track for track in evidence.tracks if not track.held_out] or list(evidence.tracks)
    low = np.min([track.motion.lowest for track in used], axis=0)
    high = np.max([track.motion.highest for track in used], axis=0)
    rows = [_row(name, "rad" if turns else "m", low[:, k], high[:, k]) for k, (name, turns) in enumerate(sensors)]
    pictures, logs = [], []
    for number, track in enumerate(evidence.tracks):
        own = [_portrait(track, number, k, *sensor) for k, sensor in enumerate(sensors)]
        pictures += own
        logs.append({"name": track.name, "held_out": track.held_out, "keys": [p.key for p in own]})
    return Content(
        "coverage", "Excitation", "Excitation", {"rows": rows, "logs": logs, "several": len(used) > 1}, tuple(pictures)
    )  # fmt: skip


def _row(name: str, unit: str, low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    return {
        "name": name,
        "unit": unit,
        "ranges": [(significant(a, 3), significant(b, 3)) for a, b in zip(low.tolist(), high.tolist(), strict=True)],
    }


def _portrait(track: Track, number: int, k: int, name: str, turns: bool) -> Panel:
    unit, motion = "rad" if turns else "m", track.motion
    return Panel(
        f"portrait-{number}-{k}", name, f"position [{unit}]", (f"speed [{unit}/s]",),
        (Curve("path", motion.qd[:, k], "1", x=motion.q[:, k]),), height=220,
    )  # fmt: skip
