"""Exact states of presliding friction over sampled motion: Dahl elements and play, without a loop per sample.

Both are first-order recursions whose steps compose, so they are evaluated on monotone stretches of the motion: in
closed form inside a stretch, by a doubling scan over the ends of the stretches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.rows import Array

__all__ = ["dahl_states", "linear_scan", "play"]


class _Stretches:
    """Monotone stretches of a sampled path that starts at ``before``.

    ``of`` (n,): number of each sample's stretch; ``sign``, ``start``, ``ends``: of each stretch, its direction, the
    position it starts from and its last sample.
    """

    __slots__ = ("ends", "of", "sign", "start")

    def __init__(self, x: Array, before: float) -> None:
        moved = np.sign(np.diff(x, prepend=before))
        last = np.maximum.accumulate(np.where(moved != 0.0, np.arange(len(x)), 0))
        sign = moved[last]  # a pause belongs to the stretch it interrupts
        first = np.flatnonzero(np.diff(sign, prepend=sign[0]) != 0.0)
        self.of: NDArray[np.intp] = np.zeros(len(x), dtype=np.intp)
        self.of[first] = 1
        self.of = np.cumsum(self.of)
        self.ends: NDArray[np.intp] = np.append(first - 1, len(x) - 1)
        self.sign: Array = sign[self.ends]  # per stretch
        self.start: Array = np.append(before, x[self.ends[:-1]])  # position at which each stretch began


def linear_scan(a: Array, b: Array, first: Array) -> Array:
    """All ``z_j = a_j z_{j-1} + b_j`` (J, K) from ``z_{-1} = first`` (K,), with 0 <= a <= 1; about log2(J) passes."""
    a, z = a.copy(), b.copy()
    z[0] += a[0] * first
    a[0] = 0.0
    step = 1
    while step < len(z):
        z[step:] = z[step:] + a[step:] * z[:-step]
        a[step:] = a[step:] * a[:-step]
        step *= 2
    return z


def _clamp_scan(low: Array, high: Array, first: float) -> Array:
    """All ``u_j = clip(u_{j-1}, low_j, high_j)`` (J,) from ``u_{-1} = first``: clips compose into clips."""
    low, high = low.copy(), high.copy()
    low[0] = high[0] = min(max(first, low[0]), high[0])
    step = 1
    while step < len(low):
        a, b = low[step:].copy(), high[step:].copy()
        low[step:], high[step:] = np.clip(low[:-step], a, b), np.clip(high[:-step], a, b)
        step *= 2
    return low


def play(x: Array, half_width: float, before: float, held: float) -> Array:
    """Position ``u`` (n,) that follows ``x`` with play: it stays while x is within ``half_width`` of it.

    ``before`` and ``held`` are x and u at the sample before the first. Reversals smaller than twice the half width
    leave no trace: encoder noise is not taken for motion.
    """
    if half_width == 0.0 or not len(x):
        return x
    runs = _Stretches(x, before)
    tips = x[runs.ends]
    ends = _clamp_scan(tips - half_width, tips + half_width, held)
    u: Array = np.clip(np.append(held, ends[:-1])[runs.of], x - half_width, x + half_width)
    return u


def dahl_states(u: Array, lengths: Array, before: float, z: Array) -> Array:
    """States z (n, K) of Dahl elements of ``lengths`` (K,), from position ``before`` and states ``z`` (K,).

    ``dz/du = (1 - z sign(ud)) / length`` [Dahl 1968], exact between samples: along a stretch of sign s,
    ``z = s + (z_start - s) exp(-|u - u_start| / length)``.
    """
    if not len(u):
        return np.zeros((0, len(lengths)))
    runs = _Stretches(u, before)
    sign = runs.sign[:, None]
    whole = -np.abs(u[runs.ends] - runs.start)[:, None] / lengths
    ends = linear_scan(np.exp(whole), -np.expm1(whole) * sign, z)
    began = np.vstack([z[None], ends[:-1]])
    decay = np.exp(-np.abs(u - runs.start[runs.of])[:, None] / lengths)
    states: Array = sign[runs.of] + (began - sign)[runs.of] * decay
    return states
