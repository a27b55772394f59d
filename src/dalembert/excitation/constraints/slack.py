"""All limits over one grid of times as slacks of the unknowns, with their derivative in the cheapest form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.excitation.constraints.linear import LinearBounds
from dalembert.excitation.constraints.source import Source
from dalembert.excitation.family import Family
from dalembert.excitation.states import Motion, States

__all__ = ["Grid", "Slacks", "Tight"]

Array = NDArray[np.float64]

_JUMP = 8.0  # times its neighbours' least: a second difference that says of a jump beside it


class Grid:
    """A family's functions at fixed times, and the coordinates they make of scaled unknowns ``z`` (r * m,).

    The unknowns of coordinate j are ``reach[j] * z_j``: of order one whatever its unit.
    """

    def __init__(self, family: Family, times: Array, reach: Array, orders: int = 4) -> None:
        self.family, self.times, self.reach = family, times, reach
        self.basis = tuple(family.basis(times, order) for order in range(orders))
        self.shape = (len(reach), family.unknowns)

    def coefficients(self, z: Array) -> Array:
        """Unknowns (r, m) of the motion."""
        return np.asarray(z.reshape(self.shape) * self.reach[:, None])

    def derivatives(self, z: Array) -> tuple[Array, ...]:
        """X and its time derivatives, each (n, r)."""
        c = self.coefficients(z)
        return tuple(b @ c.T for b in self.basis)

    def gradient(self, *by: Array) -> Array:
        """Gradient by z from gradients by x, xd, ..., each (n, r)."""
        total = sum(g.T @ b for g, b in zip(by, self.basis, strict=False))
        return np.asarray((total * self.reach[:, None]).ravel())

    def rows(self, slopes: Sequence[Array | None]) -> Array:
        """Derivative by z (n, k, nz) of quantities whose derivatives by x, xd, ... are (n, k, r)."""
        given = [(s, b) for s, b in zip(slopes, self.basis, strict=False) if s is not None]
        n, k, r = given[0][0].shape
        out = np.zeros((n, k, r, self.shape[1]))
        for slope, b in given:
            out += (slope * self.reach)[:, :, :, None] * b[:, None, None, :]
        return out.reshape(n, k, -1)


@dataclass(frozen=True, slots=True)
class Tight:
    """The limit kept by least: its name, the value, the bound, the time, and the slack in units of its range.

    ``over``: it is an upper bound; ``alone``: there is none on the other side.
    """

    name: str
    value: float
    bound: float
    time: float
    slack: float
    over: bool
    alone: bool

    @property
    def used(self) -> float:
        """Share of the limit that is used, 1 where it is reached; of a least value, what is asked over what is."""
        if self.alone and not self.over and self.value > self.bound > 0.0:
            return self.bound / self.value
        return 1.0 - min(self.slack, 1.0)


class Slacks:
    """Slacks (m,) of all limits on one grid, each divided by the range of its limit; positive where kept.

    ``margins`` (per group) are taken off each range. With ``between`` a quantity counts as far out as it can get
    between grid points, by its curvature: for checks, without a derivative.
    """

    def __init__(
        self, grid: Grid, states: States, linear: Sequence[LinearBounds], sources: Sequence[Source], *,
        between: bool = False,
    ) -> None:  # fmt: skip
        self.grid, self.states, self.between = grid, states, between
        self.linear, self.sources = tuple(linear), tuple(sources)
        self.groups: tuple[LinearBounds | Source, ...] = (*self.linear, *self.sources)
        self.sizes = [group.size for group in self.linear] + [_size(s.lower, s.upper) for s in self.sources]
        self.margins = [np.zeros(len(size)) for size in self.sizes]
        self._last: tuple[tuple[Array, ...], Motion | None] | None = None

    # --- values --------------------------------------------------------------------------------------------------

    def quantities(self, z: Array) -> list[Array]:
        """The bounded quantities of every group, each (n, k); ClosureError where a state does not exist."""
        return self.along(self.grid.derivatives(z))

    def along(self, x: tuple[Array, ...]) -> list[Array]:
        """The same for any motion, given by x and its derivatives up to the third, each (n, r)."""
        out = [group.values(x) for group in self.linear]
        motion = replace(self.states.motion(*x[:3]), xddd=x[3]) if self.sources else None
        if motion is not None:
            out += [source.values(motion) for source in self.sources]
        self._last = (x, motion)
        return out

    def least(self, x: tuple[Array, ...]) -> float:
        """Smallest slack along any motion; minus infinity where a state does not exist."""
        try:
            values = self.along(x)
        except ClosureError:
            return -np.inf
        return min((float(room.min()) for k, value in enumerate(values) for room in self._room(k, value)), default=1.0)

    def _room(self, k: int, value: Array) -> tuple[Array, Array]:
        """Room to the upper and to the lower bounds (n, k) in ranges; infinite where there is no bound."""
        lower, upper = self._bounds(k)
        out = _bulge(value) if self.between else 0.0
        return (upper - value - out) / self.sizes[k], (value - lower - out) / self.sizes[k]

    def __call__(self, z: Array) -> Array:
        """Slacks (m,); nan where a state does not exist."""
        try:
            values = self.quantities(z)
        except ClosureError:
            return np.full(self.count, np.nan)
        return np.concatenate(
            [part for k, value in enumerate(values) for part in self._sides(k, value)] or [np.ones(0)]
        )

    def _bounds(self, k: int) -> tuple[Array, Array]:
        group = self.groups[k]
        return group.lower, group.upper

    def _sides(self, k: int, value: Array) -> list[Array]:
        lower, upper = self._bounds(k)
        margin = self.margins[k]
        up, down = np.isfinite(upper), np.isfinite(lower)
        above, below = self._room(k, value)
        return [(above[:, up] - margin[up]).ravel(), (below[:, down] - margin[down]).ravel()]

    @property
    def count(self) -> int:
        """Number of slacks m."""
        n = len(self.grid.times)
        return n * sum(int(np.isfinite(g.lower).sum() + np.isfinite(g.upper).sum()) for g in self.groups)

    # --- derivative ----------------------------------------------------------------------------------------------

    def slope(self) -> _Slope:
        """Derivative at the unknowns last evaluated."""
        assert self._last is not None
        motion = self._last[1]
        dense = []
        if motion is not None:
            dense = [self.grid.rows(source.slopes(motion)) for source in self.sources]
        return _Slope(self, dense)

    # --- reading -------------------------------------------------------------------------------------------------

    def tightest(self, z: Array) -> list[Tight]:
        """For every limit its smallest slack, most critical first."""
        found = []
        for k, value in enumerate(self.quantities(z)):
            lower, upper = self._bounds(k)
            for i, name in enumerate(self.groups[k].names):
                alone = not np.isfinite(upper[i] - lower[i])
                for over, bound in ((True, float(upper[i])), (False, float(lower[i]))):
                    if np.isfinite(bound):
                        room = bound - value[:, i] if over else value[:, i] - bound
                        at = int(room.argmin())
                        slack = float(room[at] / self.sizes[k][i])
                        time = float(self.grid.times[at])
                        found.append(Tight(name, float(value[at, i]), bound, time, slack, over, alone))
        return sorted(found, key=lambda tight: tight.slack)

    def worst(self, z: Array) -> list[Array]:
        """Smallest slack of every quantity of every group (k,), without the margins."""
        out = []
        for k, value in enumerate(self.quantities(z)):
            out.append(np.minimum(*self._room(k, value)).min(axis=0))
        return out


class _Slope:
    """J by groups: linear ones as products of small matrices, the others as rows."""

    def __init__(self, slacks: Slacks, dense: list[Array]) -> None:
        self.s = slacks
        self.dense = dense
        self.n = len(slacks.grid.times)

    def _split(self, weights: Array) -> list[tuple[Array, Array]]:
        """For each group the weights of its upper and lower sides (n, k), zero where there is no bound."""
        out, first = [], 0
        for k, size in enumerate(self.s.sizes):
            lower, upper = self.s._bounds(k)
            sides = []
            for finite in (np.isfinite(upper), np.isfinite(lower)):
                count = self.n * int(finite.sum())
                full = np.zeros((self.n, len(size)))
                full[:, finite] = weights[first : first + count].reshape(self.n, -1)
                first += count
                sides.append(full)
            out.append((sides[0], sides[1]))
        return out

    def times(self, z: Array) -> Array:
        c = self.s.grid.coefficients(z)
        parts = []
        for k, size in enumerate(self.s.sizes):
            if k < len(self.s.linear):
                group = self.s.linear[k]
                change = self.s.grid.basis[group.order] @ c.T @ group.combinations.T
            else:
                change = self.dense[k - len(self.s.linear)] @ z
            lower, upper = self.s._bounds(k)
            change = change / size
            parts += [-change[:, np.isfinite(upper)].ravel(), change[:, np.isfinite(lower)].ravel()]
        return np.concatenate(parts or [np.ones(0)])

    def transposed(self, weights: Array) -> Array:
        grid = self.s.grid
        by = [np.zeros((self.n, grid.shape[0])) for _ in grid.basis]
        total = np.zeros(grid.shape[0] * grid.shape[1])
        for k, (up, down) in enumerate(self._split(weights)):
            net = (down - up) / self.s.sizes[k]
            if k < len(self.s.linear):
                group = self.s.linear[k]
                by[group.order] += net @ group.combinations
            else:
                total += np.tensordot(net, self.dense[k - len(self.s.linear)], 2)
        return total + grid.gradient(*by)

    def condensed(self, weights: Array) -> Array:
        grid = self.s.grid
        r, m = grid.shape
        blocks = np.zeros((r, m, r, m))
        total = np.zeros((r * m, r * m))
        for k, (up, down) in enumerate(self._split(weights)):
            both = (up + down) / self.s.sizes[k] ** 2
            if k < len(self.s.linear):
                group = self.s.linear[k]
                b = grid.basis[group.order]
                gram = np.matmul(b.T[None] * both.T[:, None, :], b)  # (k, m, m)
                scaled = group.combinations * grid.reach
                for q, a in zip(gram, scaled, strict=True):
                    for j in np.flatnonzero(a):
                        for i in np.flatnonzero(a):
                            blocks[j, :, i, :] += a[j] * a[i] * q
            else:
                rows = self.dense[k - len(self.s.linear)].reshape(-1, r * m)
                used = np.flatnonzero(both.ravel() > 0.0)
                rows, root = rows[used], np.sqrt(both.ravel()[used])
                scaled_rows = rows * root[:, None]
                total += scaled_rows.T @ scaled_rows
        return total + blocks.reshape(r * m, r * m)


def _bulge(value: Array) -> Array:
    """How far a quantity (n, k) can reach beyond its samples: an eighth of its second difference where it is smooth,
    the least of three neighbours, as a jump (dry friction) spoils two of them.

    Beside a jump it may go on as it came until just before: by a step of its own side, the least of three, as one may
    be the jump, or two where a motor stands still at a sample.
    """
    if len(value) < 7:
        return np.zeros_like(value)
    step = np.abs(np.diff(value, axis=0))
    second = np.abs(np.diff(value, 2, axis=0))
    least = _least_of_three(second)[1:-1]
    own = _least_of_three(step)
    onward = np.maximum(own[:-3], own[3:]) + least
    out = np.where(second[2:-2] > _JUMP * least, onward, least / 8.0)
    return np.asarray(np.pad(out, ((3, 3), (0, 0)), mode="edge"))


def _least_of_three(value: Array) -> Array:
    """Of each three successive rows (n - 2, k)."""
    return np.asarray(np.minimum(np.minimum(value[2:], value[1:-1]), value[:-2]))


def _size(lower: Array, upper: Array) -> Array:
    return LinearBounds(0, np.zeros((len(lower), 1)), lower, upper, ()).size
