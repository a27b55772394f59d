"""The robot moving as it did in the log, as a stick figure that can be turned and played."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.report.evidence import Evidence, Track
from dalembert.report.panels import packed
from dalembert.report.sections.contract import Content
from dalembert.report.skeleton import Skeleton, skeleton

__all__ = ["section"]

_FRAMES = 600  # pictures of one log, at most
_RATE = 30.0  # pictures a second, at most


def section(evidence: Evidence) -> Content | None:
    """Points of the figure at instants of each log."""
    if evidence.model is None or not evidence.tracks:
        return None
    lines = skeleton(evidence.model.model)
    robot = evidence.model.model.robot
    followed = robot.platform or robot.body_names[-1]
    data = {
        "links": [{"name": n, "through": list(through)} for n, through in lines.links],
        "platform": robot.platform or "",
        "joints": [{"name": n, "at": at, "driven": n in lines.actuated} for n, at, _, _ in lines.joints],
        "loops": [{"name": n, "at": a} for n, a, _ in lines.loops],
        "logs": [_log(lines, track, followed) for track in evidence.tracks],
    }
    platform = any(name == robot.platform for name, _ in lines.links)
    passive = any(name not in lines.actuated for name, *_ in lines.joints)
    legend = (
        ("link", "body", True), ("platform", "platform", platform), ("driven", "actuated joint", True),
        ("joint", "passive joint", passive), ("loop", "loop closed here", bool(lines.loops)),
    )  # fmt: skip
    shown = {
        "logs": [{"name": t.name, "held_out": t.held_out} for t in evidence.tracks], "followed": followed,
        "legend": [(kind, text) for kind, text, there in legend if there],
    }  # fmt: skip
    return Content("motion", "The motion", "Motion", shown, data=data)


def _log(lines: Skeleton, track: Track, followed: str) -> dict[str, Any]:
    t, y = track.motion.t, track.motion.y
    duration = float(t[-1] - t[0]) or 1.0
    count = int(min(len(t), _FRAMES, max(2, round(_RATE * duration))))
    chosen = np.unique(np.round(np.linspace(0, len(t) - 1, count)).astype(int))
    points = lines.points(y[chosen])
    path = lines.poses(y)[0][:, 1 + lines.model.robot.body_names.index(followed)]
    return {
        "t": packed(t[chosen]), "frames": len(chosen), "points": packed(points), "path": packed(path),
        "low": points.min(axis=(0, 1)).tolist(), "high": points.max(axis=(0, 1)).tolist(),
    }  # fmt: skip
