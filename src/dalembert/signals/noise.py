"""Noise of positions and torques, from what is left at high frequencies, and what it becomes in velocities."""

from __future__ import annotations

import numpy as np

from dalembert.logs.log import Array
from dalembert.signals.derivative import Differences
from dalembert.signals.filter import Butterworth
from dalembert.signals.spectrum import power_spectrum

__all__ = ["noise_sigma", "quantisation_step", "unresolved_speed", "velocity_noise"]

_MULTIPLE = 1e-3  # of a step: how close to whole steps the changes of a quantised signal are
_MOSTLY = 0.99  # share of the changes that must be whole steps
_GRID = 4096  # frequencies of the noise integral


def noise_sigma(x: Array, rate: float) -> Array:
    """Standard deviation of the white noise of each column of ``x`` (n, k): its high-frequency density times
    the band.
    """
    return np.asarray(np.sqrt(power_spectrum(x, rate).floor() * rate / 2.0))


def quantisation_step(x: Array) -> Array:
    """Step of each column of ``x`` (n, k): the smallest change of which nearly all changes are multiples,
    else 0.
    """
    steps = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        changes = np.abs(np.diff(column))
        rounding = 8.0 * np.spacing(np.max(np.abs(column), initial=0.0))
        changes = changes[changes > rounding]
        if len(changes) < 8:
            continue
        smallest = float(np.min(changes))
        smallest = float(np.median(changes[changes < 1.5 * smallest]))
        whole = np.abs(changes / smallest - np.rint(changes / smallest))
        if np.mean(whole <= np.maximum(_MULTIPLE, rounding / smallest)) >= _MOSTLY:
            steps[j] = smallest
    return steps


def velocity_noise(sigma: Array, rate: float, lowpass: Butterworth | None, differences: Differences) -> Array:
    """Standard deviation [1/s] of velocities made from positions with white noise ``sigma`` (k,), after the
    filter.
    """
    frequency = (np.arange(_GRID) + 0.5) / _GRID * rate / 2.0
    gain, _ = differences.gains(frequency, 1.0 / rate)
    if lowpass is not None:
        gain = gain * lowpass.gain(frequency)
    return np.asarray(sigma * np.sqrt(np.mean(gain**2)))


def unresolved_speed(step: Array, rate: float, lowpass: Butterworth | None) -> Array:
    """Speed [1/s] of one ``step`` (k,) per period of the cutoff: slower, filtered velocities may have the wrong sign.

    At a constant speed v the rounding of an encoder is a sawtooth of frequency v / step. Its derivative begins with
    a wave of amplitude 2 v G(v / step), which exceeds v where the gain G of both passes exceeds 1/2: below the
    cutoff. There the velocity is a train of pulses, one for each step, with undershoots between them of at most
    0.6 of this speed; it is no white noise, nor seen as such where a joint hardly moves.
    """
    cutoff = rate / 2.0 if lowpass is None else lowpass.cutoff
    return np.asarray(step * cutoff)
