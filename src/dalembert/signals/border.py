"""How many samples to cut at each end of a log, and what is left of the ends in those that stay."""

from __future__ import annotations

import math

import numpy as np

from dalembert.signals.derivative import Differences
from dalembert.signals.filter import SETTLED, Butterworth
from dalembert.signals.windows import Window

__all__ = ["border_samples", "turning_shift"]

DECAYED = math.exp(-3.0)


def border_samples(lowpass: Butterworth | None, differences: Differences) -> int:
    """Samples to cut at each end.

    Rule: three time constants of the filter's slowest pole - the continuation beyond the end is a guess, of
    which 5 % is left then - and the samples the differences cannot reach.
    """
    return differences.margin + (lowpass.settling(DECAYED) if lowpass is not None else 0)


def turning_shift(lowpass: Butterworth | None, differences: Differences, border: int) -> int:
    """Samples by which the continuation beyond a log's ends moves the instant a joint turns back, ``border`` samples
    from them or further.

    The continuation keeps value and slope, so what it gets wrong is the acceleration. The error that a steady one
    leaves in the velocity is a share of it, hence a time, whatever its size: that by which the velocity crosses zero
    too early or too late.
    """
    if lowpass is None:
        return 0
    memory = lowpass.settling(SETTLED)
    t = np.arange(border + 3 * memory, dtype=np.float64)
    smooth = lowpass.apply(Window(0, len(t), 0, len(t), len(t), 0.5 * t**2))
    qd, _ = differences.both(smooth, 1.0)
    margin, end = differences.margin, border + memory
    return math.ceil(float(np.max(np.abs(qd[border - margin : end - margin] - t[border:end]))))
