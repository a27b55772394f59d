"""Power spectral densities of the signals of a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

from dalembert.errors import UsageError
from dalembert.logs.log import Array, sealed

__all__ = ["Spectrum", "power_spectrum"]

_SEGMENT = 8192  # samples of a periodogram: 1.6 s at 5 kHz, fine enough to tell motion from noise


@dataclass(frozen=True, slots=True)
class Spectrum:
    """One-sided power spectral densities ``power`` (frequencies, k) [unit^2/Hz] at ``frequency`` [Hz]."""

    frequency: Array
    power: Array

    def floor(self) -> Array:
        """Density of white noise (k,): the median over the upper half of the band."""
        return np.asarray(np.median(self.power[len(self.frequency) // 2 :], axis=0))


def power_spectrum(x: Array, rate: float, segment: int = _SEGMENT) -> Spectrum:
    """Welch's averaged periodogram of ``x`` (n, k), means removed; the Hann window takes a trend to below the floor."""
    if len(x) < 16:
        raise UsageError(f"{len(x)} samples are too few for a spectrum, expected at least 16")
    frequency, power = signal.welch(x, rate, nperseg=min(segment, len(x)), axis=0, detrend="constant")
    return Spectrum(sealed(np.asarray(frequency, dtype=np.float64)), sealed(np.asarray(power, dtype=np.float64)))
