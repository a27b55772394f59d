"""Where a search begins: a posture with room on every side, and random motions about it that keep every limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError, DalembertError
from dalembert.excitation.constraints.slack import Tight
from dalembert.excitation.setup import Setup
from dalembert.motion import random_configurations

__all__ = ["Infeasible", "centre_of", "random_start", "scaled_to_fit"]

Array = NDArray[np.float64]

_POSTURES = 300  # random postures tried as centres
_HALVINGS = 24  # of the amplitude of a random motion
_ROOM = 1e-4  # least slack, in ranges, of a posture that a motion can start from


class Infeasible(DalembertError):
    """No motion keeps the limits asked for."""


def _refuse(setup: Setup, where: str, tight: Tight) -> Infeasible:
    return Infeasible(
        f"robot {setup.model.robot.name!r}: {where}: {tight.name} is {tight.value:.4g}, limit "
        f"{'at most' if tight.over else 'at least'} {tight.bound:.4g}: it cannot be met; widen this limit or move home"
    )


def _home(setup: Setup) -> Array:
    return np.asarray(setup.model.position_map("independent") @ setup.model.home)


def _slack(setup: Setup, x: Array) -> float:
    try:
        return float(setup.at_rest(x)[0].slack) if setup.linear or setup.sources else np.inf
    except (ClosureError, IndexError):
        return -np.inf


def centre_of(setup: Setup, rng: np.random.Generator) -> Array:
    """The posture x (r,) with the most room, among home, the middle of the ranges and random ones.

    A robot whose home itself breaks a limit is refused: its loops are followed from there.
    """
    home = _home(setup)
    resting = setup.at_rest(home)
    if resting and resting[0].slack < 0.0:
        raise _refuse(setup, "at rest at home", resting[0])
    candidates = [home, _middle(setup, home)]
    y = random_configurations(setup.model, _POSTURES, rng)
    x = y @ setup.model.position_map("independent").T
    for group in setup.linear:
        if group.order == 0:
            values = x @ group.combinations.T
            x = x[((values <= group.upper) & (values >= group.lower)).all(axis=1)]
    candidates += list(0.5 * (x[:20] + home))
    room = [_slack(setup, c) for c in candidates]
    best = int(np.argmax(np.minimum(room, 0.999)))
    if room[best] < _ROOM:
        tight = setup.at_rest(candidates[best])[0]
        raise _refuse(setup, "at rest", tight)
    return np.asarray(candidates[best])


def _middle(setup: Setup, home: Array) -> Array:
    middle = home.copy()
    for group in setup.linear:
        if group.order:
            continue
        for a, low, high in zip(group.combinations, group.lower, group.upper, strict=True):
            used = np.flatnonzero(a)
            if len(used) == 1 and np.isfinite(high - low):
                middle[used[0]] = (low + high) / 2.0 / a[used[0]]
    return middle


def random_start(setup: Setup, centre: Array, rng: np.random.Generator) -> Array:
    """Unknowns z of a random motion about ``centre`` that keeps every limit on the coarse grid, with some room."""
    rest = setup.still(centre)
    shift = np.array([setup.family.draw(rng) for _ in range(setup.model.r)])
    shift = shift / _largest(setup, shift)[:, None]
    amplitude = rng.uniform(0.6, 0.95)
    shift = (amplitude * shift).ravel()
    found = scaled_to_fit(rest, shift, setup.coarse)
    if found is None:  # what stops the smallest motion tried stops them all
        tight = setup.coarse.tightest(rest + 0.5**_HALVINGS * shift)[0]
        raise _refuse(setup, "moving ever so little", tight)
    return rest + 0.9 * (found - rest)


def _largest(setup: Setup, z: Array) -> Array:
    """Factor per coordinate (r,) by which a motion about zero exceeds the linear limits of that coordinate."""
    grid = setup.coarse.grid
    worst = np.full(len(z), 1e-12)
    for group in setup.linear:
        moved = grid.basis[group.order] @ (z * setup.reach[:, None]).T
        for a, low, high in zip(group.combinations, group.lower, group.upper, strict=True):
            half = (high - low) / 2.0 if group.order == 0 else min(abs(low), high)
            used = np.flatnonzero(a)
            if np.isfinite(half) and half > 0.0:
                factor = np.abs(moved @ a).max() / half
                worst[used] = np.maximum(worst[used], factor)
    free = np.abs(grid.basis[0] @ z.T).max(axis=0)  # at most one reach where nothing bounds the coordinate
    return np.asarray(np.maximum(worst, np.where(worst > 1e-12, 0.0, free)))


def scaled_to_fit(rest: Array, shift: Array, slacks: Callable[[Array], Array], least: float = _ROOM) -> Array | None:
    """The point ``rest + alpha shift``, alpha in (0, 1], nearest to 1 that is feasible by bisection; None if none."""

    def fits(alpha: float) -> bool:
        s = slacks(rest + alpha * shift)
        return bool(np.isfinite(s).all() and s.min() > least)

    if fits(1.0):
        return rest + shift
    alpha = 0.5
    for _ in range(_HALVINGS):
        if fits(alpha):
            break
        alpha *= 0.5
    else:
        return None
    low, high = alpha, min(1.0, 2.0 * alpha)
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return rest + low * shift
