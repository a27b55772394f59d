"""Which motions an inertial parameter shows in: accelerations and speeds of which coordinates, or the torque at rest.

Evaluated along the logs themselves, with every independent velocity and acceleration in turn as large as the liveliest
one of its kind (angles, slides) is in the log: the parts of a column of W that a parameter gets from each tell which
motion shows it, or would.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from dalembert.identification.prepare import Prepared
from dalembert.identification.rows import Array
from dalembert.parameters import INERTIAL
from dalembert.robot.quantity import turning

__all__ = ["dependence"]

_STATES, _CONFIGURATIONS = 400, 40  # along the logs: for the size of velocities, for the columns
_SHOWN = 0.2  # share of the largest part (as a norm) from which a motion is named
_MOST = 3  # motions named


def dependence(prepared: Prepared) -> Mapping[str, str]:
    """What moves each inertial column into the torque, in words: ``acceleration of j1, speed of j1 times that of j2``.

    Friction, rotors and offsets say by their names what they need.
    """
    y, v, vd = _states(prepared)
    model, names = prepared.model, prepared.model.independent
    r = model.r
    rest = np.zeros((len(y), r))
    still = _columns(prepared, y, rest, rest)
    parts = {("torque at rest", ""): _norm(still)}
    speeds = {}
    for k, name in enumerate(names):
        only = np.eye(r)[k]
        parts["acceleration", name] = _norm(_columns(prepared, y, rest, only * vd) - still)
        speeds[k] = _columns(prepared, y, only * v, rest) - still
        parts["speed", name] = _norm(speeds[k])
    for k, m in combinations(range(r), 2):
        both = _columns(prepared, y, (np.eye(r)[k] + np.eye(r)[m]) * v, rest) - still
        parts[f"speed of {names[k]} times that of {names[m]}", ""] = _norm(both - speeds[k] - speeds[m])
    sizes = np.array(list(parts.values()))
    return {
        name: _words(list(parts), size)
        for name, size in zip(prepared.ties.names, sizes.T, strict=True)
        if name.partition("_")[0] in INERTIAL
    }


def _words(motions: list[tuple[str, str]], size: Array) -> str:
    """The motions of the largest parts, those of one kind together: ``accelerations of j1 and j2``."""
    order = np.argsort(-size, kind="stable")[:_MOST]
    kinds: dict[str, list[str]] = {}
    for what, name in (motions[k] for k in order if size[k] > _SHOWN * size[order[0]]):
        kinds.setdefault(what, []).append(name)
    out = []
    for what, (*names, last) in kinds.items():
        several = f"s of {', '.join(names)} and {last}" if names else f" of {last}" if last else ""
        out.append(what + several)
    return ", ".join(out)


def _states(prepared: Prepared) -> tuple[Array, Array, Array]:
    """Configurations spread along the logs, and velocities and accelerations of the independent coordinates (r,)."""
    model = prepared.model
    pick = model.position_map("independent")
    y, yd, ydd = prepared.rigid.sampled(_STATES)
    size = np.sqrt([np.mean((rate @ pick.T) ** 2, axis=0) for rate in (yd, ydd)])
    angle = turning(model.robot.bodies)
    kind = np.array([angle[name] for name in model.independent])
    largest = np.zeros((2, model.r))
    for alike in (kind, ~kind):
        largest[:, alike] = size[:, alike].max(axis=1, initial=0.0)[:, None]
    v, vd = np.where(largest > 0.0, largest, 1.0)
    return y[:: max(1, len(y) // _CONFIGURATIONS)], v, vd


def _columns(prepared: Prepared, y: Array, v: Array, vd: Array) -> Array:
    """Columns (n, k, p) of the rigid model at independent velocities and accelerations."""
    model = prepared.model
    shape = (len(y), model.r)
    out = model.motion_kernel()(y, np.broadcast_to(v, shape), np.broadcast_to(vd, shape))
    w = model.regressor(y, np.asarray(out["yd"]), np.asarray(out["ydd"]), prepared.rigid.projection)
    return np.asarray(w) @ prepared.ties.matrix


def _norm(w: Array) -> Array:
    """Size of each column (p,)."""
    return np.asarray(np.sqrt(np.sum(w**2, axis=(0, 1))))
