"""Time stamps: are they a uniform grid, a quantised one, a jittered one, and where do they break?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import LogError
from dalembert.logs.log import Array

__all__ = ["EXACT", "JITTER_SAFE", "Clock", "places", "read_clock"]

EXACT = 1e-3  # deviation from the grid, in periods, that is rounding: below any encoder's noise at any speed
JITTER_SAFE = 0.05  # deviation, in periods, up to which a uniform grid is assumed without being asked
_GAP = 1.5  # periods: the shortest step that misses a sample
_OFF_MODE = 0.01  # share of unequal steps from which coarse stamps, not lost or repeated rows, explain them
_PART = 1 << 20  # stamps looked at together: a long log has many
_SHOWN = 3  # places printed in a message


@dataclass(frozen=True, slots=True)
class Clock:
    """What the stamps of a log are. ``period`` [s]; ``deviation``: largest distance from the uniform grid, in
    periods.

    ``backwards``, ``repeated`` and ``gaps`` are indices i of steps from sample i to i + 1 that decrease,
    vanish, or miss samples; ``missed`` counts the samples each gap misses. ``quantum`` [s] is the step of the
    stamps' own digits.
    """

    start: float
    period: float
    deviation: float
    quantum: float
    quantised: bool
    backwards: NDArray[np.int64]
    repeated: NDArray[np.int64]
    gaps: NDArray[np.int64]
    missed: NDArray[np.int64]

    @property
    def uniform(self) -> bool:
        """True when the samples may be taken as a uniform grid without being asked."""
        broken = len(self.backwards) + len(self.repeated) + len(self.gaps)
        return broken == 0 and (self.quantised or self.deviation <= JITTER_SAFE)

    def notes(self) -> tuple[str, ...]:
        """What is assumed of stamps that are uniform but not exactly so."""
        grid = f"uniform grid of {1.0 / self.period:.9g} Hz assumed"
        if self.deviation <= EXACT:
            return ()
        if self.quantised:
            return (f"time stamps are rounded to {self.quantum:.3g} s: {grid}",)
        return (f"time stamps jitter by up to {100 * self.deviation:.1f} % of the period (safe below "
                f"{100 * JITTER_SAFE:.0f} %): {grid}",)  # fmt: skip


def read_clock(t: Array, unit: float = 1.0, where: str = "log") -> Clock:
    """Clock of stamps ``t`` [s] (n,), recorded in multiples of ``unit`` [s]; they must be finite."""
    if len(t) < 2:
        raise LogError(f"{where}: {len(t)} rows, expected at least 2")
    steps = np.diff(t)
    backwards, repeated = np.flatnonzero(steps < 0.0), np.flatnonzero(steps == 0.0)
    quantum = _quantum(t, unit)
    period = _typical(steps, quantum)
    if period <= 0.0:
        raise LogError(
            f"{where}: time does not advance from {t[0]:.9g} s (last {t[-1]:.9g} s), expected increasing stamps"
        )
    gaps = np.flatnonzero(steps > period + _slack(steps, period, quantum))
    missed = np.maximum(np.rint(steps[gaps] / period).astype(np.int64) - 1, 1)
    period, start, deviation = _grid(t, gaps, missed)
    quantised = _quantised(steps, quantum, deviation * period, period)
    if quantised:
        repeated = repeated[:0]
    return Clock(start, period, deviation, quantum, quantised, backwards, repeated, gaps, missed)


def _slack(steps: Array, period: float, quantum: float) -> float:
    """How much longer than the period a step is that misses no sample, from rounding and jitter."""
    away = steps - np.median(steps)
    np.abs(away, out=away)
    rounded = quantum if float(np.mean(away > 0.5 * quantum)) >= _OFF_MODE else 0.0
    spread = max(0.0, 1.4826 * float(np.median(away)) - 1.5 * rounded)
    return max((_GAP - 1.0) * period, 1.01 * rounded, 10.0 * spread)


def _typical(steps: Array, quantum: float) -> float:
    """Period before gaps are known: the median step, or the mean of those coarse stamps cannot tell from it."""
    middle = float(np.median(steps))
    if quantum < 0.01 * middle:
        return middle
    near = np.abs(steps - middle) <= 1.01 * quantum
    return float(np.mean(steps[near]))


def _grid(t: Array, gaps: NDArray[np.int64], missed: NDArray[np.int64]) -> tuple[float, float, float]:
    """Period, start, largest deviation (in periods) of the least-squares grid; gaps are whole periods."""
    index = np.arange(len(t), dtype=np.float64)
    if len(gaps):
        index[gaps[0] + 1 :] += np.repeat(np.cumsum(missed), np.diff([*gaps, len(t) - 1]))
    last, middle_k = float(index[-1]), float(np.mean(index))
    centred = np.subtract(index, middle_k, out=index)
    away = t - t[0]
    middle_t = float(np.mean(away))
    away -= middle_t
    period = float(centred @ away / (centred @ centred))
    if period <= 0.0:
        return float(np.median(np.diff(t))) or 1.0, float(t[0]), np.inf
    centred *= period
    away -= centred
    top, bottom = float(np.max(away)), float(np.min(away))
    start = float(t[0]) + middle_t - period * middle_k + (top + bottom) / 2.0
    deviation = (top - bottom) / 2.0 / period
    if deviation <= EXACT:  # the stamps are the grid: keep its ends
        return float((t[-1] - t[0]) / last), float(t[0]), deviation
    return period, start, deviation


def _quantum(t: Array, unit: float) -> float:
    """The largest power of ten (in the recorded unit) all stamps are multiples of, or the step of single precision."""
    largest = max(float(np.max(np.abs(t))) / unit, 1e-300)
    spacing = float(np.spacing(largest))
    parts = [t[i : i + _PART] for i in range(0, len(t), _PART)]
    for digits in range(10):
        scale = 10.0**digits / unit
        tolerance = max(8.0 * spacing * 10.0**digits, 1e-6)
        if tolerance > 0.1:
            break
        if all(float(np.max(np.abs(part * scale - np.rint(part * scale)))) <= tolerance for part in parts):
            return unit * 10.0**-digits
    if all(np.array_equal(part / unit, (part / unit).astype(np.float32)) for part in parts):
        return unit * float(np.spacing(np.float32(largest)))
    return spacing * unit


def _quantised(steps: Array, quantum: float, deviation: float, period: float) -> bool:
    """True when rounding to the quantum explains all deviation.

    Rounding moves a stamp by half a quantum, which the least-squares grid can show as nearly twice that; a lost or
    repeated row leaves half a period. Stamps too coarse for this difference must have unequal steps often.
    """
    if quantum <= 0.5 * period:
        return deviation <= 0.9 * quantum
    off_mode = float(np.mean(np.abs(steps - float(np.median(steps))) > 0.5 * quantum))
    return deviation <= 0.51 * quantum and off_mode >= _OFF_MODE


def places(rows: NDArray[np.int64], offset: int = 2) -> str:
    """First places of a fault as row numbers: step i leads to row i + 2, counted from 1."""
    shown = ", ".join(str(int(r) + offset) for r in rows[:_SHOWN])
    return f"row{'s' if len(rows) > 1 else ''} {shown}{', ...' if len(rows) > _SHOWN else ''}"
