"""How many samples to cut at each end of a log."""

from __future__ import annotations

import math

from dalembert.signals.derivative import Differences
from dalembert.signals.filter import Butterworth

__all__ = ["border_samples"]

DECAYED = math.exp(-3.0)


def border_samples(lowpass: Butterworth | None, differences: Differences) -> int:
    """Samples to cut at each end.

    Rule: three time constants of the filter's slowest pole - the continuation beyond the end is a guess, of
    which 5 % is left then - and the samples the differences cannot reach.
    """
    return differences.margin + (lowpass.settling(DECAYED) if lowpass is not None else 0)
