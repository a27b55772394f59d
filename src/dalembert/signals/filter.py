"""Zero-phase Butterworth low-pass, run forward and backward; the same result in memory and streamed.

Convention: the cutoff is that of **one pass**, -3 dB there, as in the papers (``filtfilt`` of ``butter(4,
fc)``), so the two passes together have gain exactly 1/2 (-6 dB) at the cutoff. With ``at="total"`` the design
is moved so that both passes together have -3 dB there.

The signal is filtered in chunks of fixed size and place, each with enough neighbours on both sides that what
lies beyond them has decayed below rounding. So the result does not depend on how the caller cuts the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal

from dalembert.errors import UsageError
from dalembert.logs.log import Array
from dalembert.signals.windows import CHUNK, Window, windows

__all__ = ["Butterworth", "low_pass"]

SETTLED = 1e-16  # relative size of what is left of a transient where a chunk is cut: double precision


@dataclass(frozen=True, slots=True)
class Butterworth:
    """A low-pass of ``order`` per pass with cutoff ``cutoff`` [Hz] for samples at ``rate`` [Hz]."""

    cutoff: float
    rate: float
    order: int = 4
    at: Literal["per pass", "total"] = "per pass"

    def __post_init__(self) -> None:
        if self.order < 1:
            raise UsageError(f"filter order {self.order}, expected at least 1")
        if not (math.isfinite(self.rate) and self.rate > 0.0):
            raise UsageError(f"sampling rate {self.rate}, expected a positive frequency in Hz")
        if not 0.0 < self.cutoff < self.rate / 2.0:
            raise UsageError(
                f"filter cutoff {self.cutoff:g} Hz, expected above 0 and below half the sampling rate "
                f"({self.rate / 2:g} Hz)"
            )
        if self.at not in ("per pass", "total"):
            raise UsageError(f"filter convention {self.at!r}; choose from per pass, total")

    @property
    def design_cutoff(self) -> float:
        """Cutoff [Hz] of one pass: where it has -3 dB."""
        if self.at == "per pass":
            return self.cutoff
        # Both passes: |H|^2 = 1 / (1 + (w/wc)^2N) = 1/sqrt(2) at w, on the axis of the bilinear transform.
        warped = math.tan(math.pi * self.cutoff / self.rate)
        return self.rate / math.pi * math.atan(warped * (math.sqrt(2.0) - 1.0) ** (-0.5 / self.order))

    @property
    def sections(self) -> Array:
        """Second-order sections, shape (sections, 6)."""
        return np.asarray(signal.butter(self.order, self.design_cutoff, fs=self.rate, output="sos"))

    def settling(self, remainder: float) -> int:
        """Samples after which the slowest transient of a pass has decayed to ``remainder`` of its size."""
        _, poles, _ = signal.butter(self.order, self.design_cutoff, fs=self.rate, output="zpk")
        return max(1, math.ceil(math.log(remainder) / math.log(float(np.max(np.abs(poles))))))

    def gain(self, frequency: ArrayLike) -> Array:
        """Gain of both passes together at each frequency [Hz]."""
        _, response = signal.sosfreqz(self.sections, worN=np.atleast_1d(np.asarray(frequency, float)), fs=self.rate)
        return np.asarray(np.abs(response) ** 2, dtype=np.float64)

    def apply(self, window: Window) -> Array:
        """The filtered samples of a window, its neighbours included; only the inner ones are free of cut
        transients.

        Where the window ends at an end of the log it is continued by point reflection, which keeps value and
        slope.
        """
        x = window.values
        pad = min(self.settling(SETTLED), window.total - 1)
        left = 2.0 * x[0] - x[pad:0:-1] if window.low == 0 else x[:0]
        right = 2.0 * x[-1] - x[-2 : -pad - 2 : -1] if window.high == window.total else x[:0]
        y = signal.sosfiltfilt(self.sections, np.concatenate([left, x, right]), axis=0, padtype=None, padlen=0)
        return np.asarray(y[len(left) : len(left) + len(x)], dtype=np.float64)

    def windows(self, blocks: Iterable[Array], total: int, margin: int = 0) -> Iterator[Window]:
        """Windows over a stream of ``total`` samples, wide enough that ``margin`` neighbours are filtered
        exactly.
        """
        need = 2 * self.settling(SETTLED)
        return windows(blocks, total, max(CHUNK, 4 * need), need + margin)


def low_pass(x: ArrayLike, lowpass: Butterworth) -> Array:
    """Filtered copy of ``x`` (n,) or (n, k), n samples in, n out."""
    values = np.asarray(x, dtype=np.float64)
    if len(values) < 2:
        raise UsageError(f"{len(values)} samples to filter, expected at least 2")
    out = np.empty_like(values)
    for window in lowpass.windows([values], len(values)):
        inner = slice(window.first - window.low, window.last - window.low)
        out[window.first : window.last] = lowpass.apply(window)[inner]
    return out
