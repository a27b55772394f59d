"""Cutoff and decimation factor from the data, with the reasons in words.

* The *motion band* holds 99 % of the velocity power of every position, the *acceleration band* 99 % of the acceleration
  power (median over positions), both above the noise floor and below the cutoff.
* Cutoff: where positions no longer stand 20 dB above their noise floor, median over positions, but not below ten motion
  bands (there the filter takes 1e-8 of the motion) nor above a fifth of the sampling rate.
* Decimation: the low-pass 0.8 fm / (2 nd) keeps the acceleration band and five motion bands, at most half the cutoff:
  the torque is not filtered with the positions, so only what that filter leaves alone may be compared. At least 200
  rows are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalembert.errors import UsageError
from dalembert.logs.log import Array
from dalembert.signals.spectrum import Spectrum, power_spectrum

__all__ = ["FLAT", "Choice", "choose"]

_ABOVE_FLOOR = 100.0  # 20 dB
_MOTIONS, _RATE_SHARE = 10.0, 0.2
_BAND, _KEPT_MOTIONS = 0.99, 5.0
_LEAST_ROWS = 200
FLAT = 0.5  # of the cutoff: up to there a filter of order 4 takes less than 0.4 %


@dataclass(frozen=True, slots=True)
class Choice:
    """A cutoff [Hz], a decimation factor, and why; ``band`` [Hz] holds 99 % of the acceleration power (inf: not looked
    at).
    """

    cutoff: float
    decimate: int
    reasons: tuple[str, ...]
    band: float = math.inf


def choose(q: Array, rate: float, samples: int, cutoff: float | None = None, decimate: int | None = None) -> Choice:
    """Choose what is None from positions ``q`` (n, k) sampled at ``rate`` [Hz] of a log of ``samples``
    samples.
    """
    reasons: list[str] = []
    if cutoff is not None and decimate is not None:
        return Choice(cutoff, decimate, ())
    moving = q[:, np.ptp(q, axis=0) > 0.0]
    if moving.shape[1] == 0:
        raise UsageError("no position moves, so no cutoff can be chosen; give a cutoff and a decimation factor")
    found = power_spectrum(moving, rate)
    crossing = float(np.median(_crossing(found)))
    motion = float(np.max(_band(found, 2, crossing if cutoff is None else cutoff)))
    if cutoff is None:
        cutoff = _rounded(min(max(crossing, _MOTIONS * motion), _RATE_SHARE * rate))
        reasons.append(
            f"cutoff {cutoff:g} Hz: positions stand 20 dB above their noise up to {crossing:.3g} Hz (median), "
            f"99 % of the velocity power is below {motion:.3g} Hz, sampling {rate:g} Hz"
        )
    acceleration = float(np.median(_band(found, 4, cutoff or rate / 2.0)))
    if decimate is None:
        wanted = int(0.4 * rate / max(acceleration, _KEPT_MOTIONS * motion, float(found.frequency[1])))
        least = math.ceil(0.4 * rate / (FLAT * cutoff)) if cutoff > 0.0 else 1
        most = max(1, samples // _LEAST_ROWS)
        decimate = max(1, min(max(wanted, least), most))
        reasons.append(
            f"decimation {decimate}: low-pass {0.4 * rate / decimate:.3g} Hz, 99 % of the acceleration power is below "
            f"{acceleration:.3g} Hz, {-(-samples // decimate)} rows are left"
        )
    return Choice(cutoff, decimate, tuple(reasons), acceleration)


def _band(found: Spectrum, power: int, limit: float) -> Array:
    """Frequency (k,) below which 99 % of the power of the derivative of order power / 2 lies, up to ``limit`` [Hz]."""
    density = np.maximum(found.power - 3.0 * found.floor(), 0.0)
    density[found.frequency > limit] = 0.0
    weight = np.cumsum(density * found.frequency[:, None] ** power, axis=0)
    total = np.maximum(weight[-1], np.finfo(float).tiny)
    return np.asarray(found.frequency[np.argmax(weight >= _BAND * total, axis=0)])


def _crossing(found: Spectrum) -> Array:
    """First frequency (k,) from which the density stays within 20 dB of the floor over half a percent of the band."""
    floor = np.maximum(found.floor(), np.finfo(float).tiny)
    quiet = found.power < _ABOVE_FLOOR * floor
    width = max(3, len(found.frequency) // 200)
    out = np.empty(found.power.shape[1])
    for j in range(found.power.shape[1]):
        run = np.convolve(quiet[1:, j], np.ones(width), mode="valid")
        first = int(np.argmax(run == width)) if (run == width).any() else len(quiet) - 2
        out[j] = found.frequency[first + 1]
    return out


def _rounded(value: float) -> float:
    """Two significant digits: the choice is no sharper."""
    return float(f"{value:.2g}")
