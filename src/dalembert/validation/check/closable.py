"""Which of many ways to read the positions close the loops at all: all of them followed along the log together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.model import Model
from dalembert.motion import Closer

__all__ = ["closable"]

Array = NDArray[np.float64]

APPROACH, ALONG = 30, 80  # steps from home to the first instant, and through the log
NEWTON = 3  # steps of each
CLOSED = 1e-6  # [rad or m]: close enough to be worth closing exactly
APART = 0.3  # [rad or m] that redundant positions may disagree by
JUMP = 0.7  # [rad or m] between two instants: another assembly mode


def closable(closer: Closer, theta: Array) -> NDArray[np.bool_]:
    """True for each way (w,) whose positions ``theta`` (w, n, n_s) can be followed from home with closed loops.

    A screen: steps of fixed size, no second attempt. What fails here is not worth the patience of a :class:`Closer`.
    """
    model: Model = closer.model
    newton = model.newton_kernel(closer.given)
    y = np.tile(model.home, (len(theta), 1))
    start = y @ closer.sensors.T
    share = np.linspace(0.0, 1.0, APPROACH + 1)[1:, None, None]
    at = np.unique(np.linspace(0, theta.shape[1] - 1, ALONG).astype(int))
    path = np.concatenate([start + share * (theta[:, 0] - start), np.swapaxes(theta[:, at], 0, 1)])
    good = np.ones(len(theta), dtype=bool)
    with np.errstate(all="ignore"):
        for target in path:
            before = y
            for _ in range(NEWTON):
                y = np.asarray(newton(y, target, closer.weight)["y"])
            out = newton(y, target, closer.weight)
            good &= np.abs(out["c"]).max(axis=1, initial=0.0) < CLOSED
            good &= np.abs(out["e"]).max(axis=1) < APART * np.abs(closer.sensors).max()
            good &= np.abs(y - before).max(axis=1) < JUMP
            y = np.where(good[:, None], y, model.home)
            if not good.any():
                break
    return good
