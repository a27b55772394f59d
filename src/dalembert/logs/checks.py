"""What is looked at while a log is read: missing values, columns that do not move, positions in degrees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dalembert.errors import LogError
from dalembert.logs.log import Array
from dalembert.robot.description import Robot
from dalembert.robot.quantity import turning

__all__ = ["DEGREES", "SLUGGISH", "Scan", "check_signals", "turn_ratios"]

DEGREES = 20.0 * 2.0 * math.pi  # rad of joint motion: no arm turns 20 times, one in degrees easily moves by 126
SUSPECT = 20.0  # rad of joint motion from which a note asks whether the unit is right
ABSURD = 1e12  # rad, m, N m or N: nothing a sensor could have meant
SLUGGISH = 0.05  # s between samples from which a note asks whether the time is in seconds


class Scan:
    """Counts of NaN and infinite values per column with the first places, and each signal's range, block by
    block.
    """

    def __init__(self, where: str, columns: Sequence[str], signals: Sequence[str]) -> None:
        self.where, self.columns, self.signals = where, tuple(columns), tuple(signals)
        self.rows = 0
        self.missing = np.zeros(len(self.columns), dtype=np.int64)
        self.infinite = np.zeros(len(self.columns), dtype=np.int64)
        self.first = np.full(len(self.columns), -1, dtype=np.int64)
        self.low = np.full(len(self.signals), np.inf)
        self.high = np.full(len(self.signals), -np.inf)

    def update(self, raw: Array, values: Array) -> None:
        """Take the next rows: the file's columns and the signals made from them."""
        bad = ~np.isfinite(raw)
        if bad.any():
            for j in np.flatnonzero(bad.any(axis=0)):
                self.missing[j] += int(np.isnan(raw[:, j]).sum())
                self.infinite[j] += int(np.isinf(raw[:, j]).sum())
                if self.first[j] < 0:
                    self.first[j] = self.rows + int(np.argmax(bad[:, j]))
            values = values[~bad.any(axis=1)]
        if len(values):
            self.low = np.minimum(self.low, values.min(axis=0))
            self.high = np.maximum(self.high, values.max(axis=0))
        self.rows += len(raw)

    @property
    def span(self) -> dict[str, float]:
        """Range of each signal over the log."""
        return {s: float(high - low) for s, low, high in zip(self.signals, self.low, self.high, strict=True)}

    def refuse_missing(self) -> None:
        """LogError when any value is NaN or infinite."""
        if not (self.missing.any() or self.infinite.any()):
            return
        parts = [
            f"{name!r} ({self.missing[j]} NaN, {self.infinite[j]} infinite, first in row {self.first[j] + 1})"
            for j, name in enumerate(self.columns)
            if self.missing[j] or self.infinite[j]
        ]
        more = f" and {len(parts) - 4} more columns" if len(parts) > 4 else ""
        raise LogError(
            f"{self.where}: missing values in {', '.join(parts[:4])}{more}, expected numbers; repair: missing=drop"
        )


def turn_ratios(robot: Robot) -> dict[str, float]:
    """Largest ratio from an angle to each motor or sensor; those that read slides are left out."""
    angle = turning(robot.bodies)
    terms = [(m.name, m.turns) for m in robot.motors] + [(s.name, s.reads) for s in robot.sensors]
    return {name: max(abs(r) for _, r in t) for name, t in terms if all(angle[c] for c, _ in t)}


def check_signals(scan: Scan, robot: Robot, units_given: bool) -> tuple[str, ...]:
    """Notes on signals that look wrong; LogError where they cannot be right.

    Degrees: a position whose range, divided by the largest gear ratio it is measured behind, exceeds 20 turns
    is refused unless the channels file gives its unit; from 20 rad on a note is made. A torque that never
    changes while its motor moves was not measured.
    """
    span, notes = scan.span, []
    for signal, low, high in zip(scan.signals, scan.low, scan.high, strict=True):
        if max(-low, high) > ABSURD:
            value = high if high > -low else low
            raise LogError(f"{scan.where}: {signal!r} reaches {value:.3g}, expected a measurement")
    for name, ratio in turn_ratios(robot).items():
        moved = span.get(f"q_{name}", 0.0) / ratio
        if moved > DEGREES and not units_given:
            raise LogError(
                f"{scan.where}: 'q_{name}' moves by {moved * ratio:.4g} (at the joint {moved:.4g} rad), expected rad; "
                "in degrees? give its unit in a channels file"
            )
        if moved > SUSPECT and not units_given:
            notes.append(f"q_{name} moves by {moved:.3g} rad at the joint: is it in rad?")
    for name in robot.motor_names:
        torque, position = span.get(f"tau_{name}"), span.get(f"q_{name}")
        if torque == 0.0 and (position is None or position > 0.0):
            value = scan.low[scan.signals.index(f"tau_{name}")]
            raise LogError(
                f"{scan.where}: 'tau_{name}' is constant ({value:.6g}, {scan.rows} rows) while its motor moves, "
                "expected a measured torque; a motor without torque measurement is listed under unmeasured"
            )
        if torque == 0.0:
            notes.append(f"tau_{name} is constant")
        if position == 0.0:
            notes.append(f"q_{name} does not move")
    return tuple(notes)
