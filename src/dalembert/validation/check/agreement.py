"""Positions beyond the mobilities must agree: where they do not, which encoder's zero would bring them together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.validation.check.evidence import Evidence
from dalembert.validation.check.finding import Change, Finding, Level

__all__ = ["disagreement"]

Array = NDArray[np.float64]

OFF, LEAST = 20.0, 1e-4  # encoder noises, and rad or m, that redundant positions may disagree by
STEP = 1e-3  # [rad or m] of the differences
TOGETHER = 0.3  # share of the disagreement a single zero must leave to be named


def disagreement(evidence: Evidence, change: Change) -> list[Finding]:
    """A finding where redundant positions are off the closed configuration by more than their noise."""
    s, model = evidence.samples, evidence.model
    if len(change.A) <= model.r:
        return []
    off = _off(evidence, change)
    rms = np.sqrt(np.mean(off**2, axis=0))
    size, noise = float(rms.max()), float(max(s.noise.max(), 1e-9))
    if size < max(OFF * noise, LEAST):
        return []
    text = f"the positions disagree by {size:.2g} (RMS), {size / noise:.0f} times their noise"
    mend = "zeros of the encoders (offset: in the channels file), or lengths in the robot file"
    found = min((_zero(evidence, change, off, k) for k in range(len(change.A))), default=(1.0, 0.0, 0))
    if found[0] < TOGETHER:
        places = list(model.robot.readings)
        share, offset, k = found
        mend = f"{offset:+.3g} on q_{places[k]} brings them together to {share * size:.1g}: its zero? or {mend}"
    return [Finding(Level.SUSPECT, "closure", text, mend)]


def _off(evidence: Evidence, change: Change) -> Array:
    """Positions less those of the closed configuration (n, n_s)."""
    theta = evidence.samples.q @ change.A.T + change.b
    return np.asarray(theta - evidence.state(change)[0] @ evidence.model.robot.sensor_map().T)


def _zero(evidence: Evidence, change: Change, off: Array, k: int) -> tuple[float, float, int]:
    """Share of the disagreement left by the best offset of one position, and that offset, by two Newton steps."""
    b, now = change.b.copy(), off
    try:
        for _ in range(2):
            ahead = b.copy()
            ahead[k] += STEP
            slope = (_off(evidence, replace(change, b=ahead)) - now) / STEP
            b[k] -= float(np.sum(slope * now) / np.sum(slope**2))
            now = _off(evidence, replace(change, b=b))
    except ClosureError:
        return 1.0, 0.0, k
    return float(np.linalg.norm(now) / np.linalg.norm(off)), float(b[k] - change.b[k]), k
