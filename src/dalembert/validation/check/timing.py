"""Delays between torque and position: the lag at which the positions' torque is most like the measured one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.identification.factor import triangle
from dalembert.validation.check.evidence import Evidence, likeness, residuals
from dalembert.validation.check.finding import Change, Finding, Level

__all__ = ["delay"]

Array = NDArray[np.float64]

REACH = 0.1  # [s] looked at on both sides
LAGS = 15  # on each side, geometric from one sample
SEEN = 0.05  # gain in log relative error, summed over the groups, from which a lag is more than noise
LEAST = 2.0  # samples: a shorter lag is that of the sampling itself
TURNED = 0.03  # share of the inertial torque that a delay may turn into friction


def delay(evidence: Evidence, change: Change) -> list[Finding]:
    """A finding when the torque is late or early by more than the sampling explains.

    A delay of ``d`` turns the share ``w d`` of an inertial torque at frequency w into one along the velocity. The
    motion's own w is what its accelerations are beside its velocities.
    """
    s = evidence.samples
    most = min(round(REACH / s.period), int(s.at[0]) + len(s.tau) // 10)
    if most < LEAST:
        return []
    steps = np.unique(np.rint(np.geomspace(1, most, LAGS)).astype(int))
    lags = np.concatenate([-steps[::-1], [0], steps])
    try:
        rows = evidence.rows(change)
    except ClosureError:
        return []
    gains = _gains(evidence, change, rows, lags)
    best, gain = _finest(lags, gains)
    if gain > -SEEN or abs(best) < LEAST:
        return []
    seconds = best * s.period
    rate, acceleration = s.qd @ change.A.T, s.qdd @ change.A.T
    moving = np.linalg.norm(rate, axis=0) > 0.0
    w = float(np.median(np.linalg.norm(acceleration[:, moving], axis=0) / np.linalg.norm(rate[:, moving], axis=0)))
    turned = abs(w * seconds)
    late, shift = ("after", "earlier") if seconds > 0.0 else ("before", "later")
    size = f"{1e3 * abs(seconds):.2g} ms"
    text = (
        f"the torque is logged {size} {late} the positions it belongs to: {100.0 * turned:.2g} % of the inertial "
        "torque looks like friction"
    )
    shift = f"shift the torque columns {size} {shift}, or look for a filter on one side only"
    return [Finding(Level.SUSPECT if turned > TURNED else Level.NOTE, "delay", text, shift)]


def _gains(evidence: Evidence, change: Change, rows: list[tuple[Array, Array]], lags: NDArray[np.int64]) -> Array:
    """Likeness at each lag less that at none."""
    torques = [evidence.samples.torque(int(lag))[evidence.usable] @ change.C.T for lag in lags]
    factors = []
    for W, L in rows:
        there = W.any(axis=0)
        small = triangle(np.column_stack([W[:, there], *(np.einsum("nj,nj->n", L, tau) for tau in torques)]))
        whole = np.zeros((len(small), W.shape[1]))
        whole[:, there] = small[:, : there.sum()]
        factors.append((whole, small[:, there.sum() :]))
    gains = np.array([likeness(residuals([(W, y[:, k]) for W, y in factors], evidence.friction))
                      for k in range(len(lags))])  # fmt: skip
    return np.asarray(gains - gains[np.flatnonzero(lags == 0)[0]])


def _finest(lags: NDArray[np.int64], gains: Array) -> tuple[float, float]:
    """Lag [samples] and gain at the bottom of a parabola through the best three; the ends are no optimum."""
    i = int(np.argmin(gains))
    if not 0 < i < len(lags) - 1:
        return 0.0, 0.0
    a, b, c = np.polyfit(lags[i - 1 : i + 2].astype(float), gains[i - 1 : i + 2], 2)
    bottom = float(-b / (2.0 * a)) if a > 0.0 else float(lags[i])
    return bottom, float(np.polyval([a, b, c], bottom)) if a > 0.0 else float(gains[i])
