"""Which positions, speeds and accelerations the logs reached."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.report.evidence import Evidence, Track
from dalembert.report.numbers import percent, significant
from dalembert.report.panels import Curve, Panel
from dalembert.report.reach import Sensor, beyond, ranges, sensors, shares
from dalembert.report.sections.contract import Content

__all__ = ["section"]

Array = NDArray[np.float64]


def section(evidence: Evidence) -> Content | None:
    """Ranges over the logs of the identification, and where other logs leave them; portraits of each log."""
    if not evidence.tracks or evidence.model is None:
        return None
    read = sensors(evidence.model.model.robot)
    used = [track for track in evidence.tracks if not track.held_out]
    low, high = ranges(used or evidence.tracks)
    rows = [_row(sensor, low[:, k], high[:, k]) for k, sensor in enumerate(read)]
    pictures, logs = [], []
    for number, track in enumerate(evidence.tracks):
        own = [_portrait(track, number, k, sensor) for k, sensor in enumerate(read)]
        pictures += own
        logs.append({"name": track.name, "held_out": track.held_out, "keys": [p.key for p in own]})
    shown = {
        "rows": rows, "logs": logs, "several": len(used) > 1, "identified": bool(used), "beyond": beyond(evidence),
        "bounded": any(row["position"] for row in rows), "paced": any(row["speed"] for row in rows),
    }  # fmt: skip
    return Content("coverage", "Excitation", "Excitation", shown, tuple(pictures))


def _row(sensor: Sensor, low: Array, high: Array) -> dict[str, Any]:
    position, speed = shares(sensor, low, high)
    return {
        "name": sensor.name, "unit": sensor.unit,
        "ranges": [(significant(a, 3), significant(b, 3)) for a, b in zip(low.tolist(), high.tolist(), strict=True)],
        "position": None if position is None else _bar(*position),
        "speed": None if speed is None else _bar(0.0, speed),
    }  # fmt: skip


def _bar(start: float, end: float) -> dict[str, str]:
    """A bar from 0 to 1 and the share it covers."""
    left, right = (min(max(edge, 0.0), 1.0) for edge in (start, end))
    return {"left": f"{100.0 * left:.1f}", "width": f"{100.0 * (right - left):.1f}", "text": percent(end - start, 2)}


def _portrait(track: Track, number: int, k: int, sensor: Sensor) -> Panel:
    unit, motion = sensor.unit, track.motion
    return Panel(
        f"portrait-{number}-{k}", sensor.name, f"position [{unit}]", (f"speed [{unit}/s]",),
        (Curve("path", motion.qd[:, k], "1", x=motion.q[:, k]),), height=220,
    )  # fmt: skip
