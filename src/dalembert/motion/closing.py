"""Measured positions -> full configuration of every sample, by Newton from home.

The log is followed from home sample by sample on a coarse set of anchors (continuation keeps the assembly mode), the
configurations between them are guessed by cubic interpolation and all samples are then closed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from dalembert.errors import ClosureError
from dalembert.model import Given, Model

__all__ = ["Closer", "Motion", "close_motion", "unobserved"]

Array = NDArray[np.float64]

CLOSED = 1e-12  # [m or rad] what a closed configuration leaves in any loop
STEP_DONE = 1e-13  # [m or rad] a Newton step this small ends a reconciliation whose residual cannot vanish
_ANCHOR_SPACING = 16  # samples between anchors at first; doubled or halved as the motion allows
_MAX_SPACING = 256
_MAX_SURPRISE = 0.1  # [rad or m] an anchor further than this from its extrapolation is approached in smaller steps
_ANCHOR_ITERATIONS = 12
_BATCH_ITERATIONS = 25
_MAX_JUMP = 0.5  # [rad or m] Newton steps larger than this mean that the branch is being left
_NEAR_SINGULAR = 0.3  # share of the largest determinant below which samples between anchors are checked one by one
_SMALLEST_STEP = 1e-4  # share of the way between two samples below which following gives up


@dataclass(frozen=True, slots=True)
class Motion:
    """Full state of every sample: ``y yd ydd`` (n, n_y), the largest closure error (n,) and what the measured
    positions are off the closed configuration (n, n_s), zero unless there are more sensors than mobilities.
    """

    y: Array
    yd: Array
    ydd: Array
    closure: Array
    mismatch: Array


class _OneSample:
    """The Newton step of one sample by CasADi's VM, which for single calls beats a kernel; buffers are reused."""

    def __init__(self, model: Model, weight: Array, given: Given) -> None:
        inputs, outputs = model.newton_expression(given)
        outputs = {**outputs, "C": model.dynamics.C}
        function = ca.Function("step", list(inputs.values()), [ca.densify(ca.cse(out)) for out in outputs.values()])
        self._y, self._theta = np.zeros(model.n_y), np.zeros(len(weight))
        self._out = [np.zeros(function.numel_out(k)) for k in range(4)]
        self._buffer, self._run = function.buffer()
        buffer: Any = self._buffer
        for k, value in enumerate((self._y, self._theta, weight)):
            buffer.set_arg(k, memoryview(value.data))
        for k, value in enumerate(self._out):
            buffer.set_res(k, memoryview(value.data))

    def __call__(self, y: Array, theta: Array) -> list[Array]:
        """Y after one step; closure rows, position mismatch and C (column by column) before it; overwritten by the
        next call.
        """
        self._y[:], self._theta[:] = y, theta
        self._run()
        return self._out


def unobserved(model: Model, given: Given = "sensors") -> str:
    """In words what keeps positions from determining the motion; empty where nothing does."""
    jacobian = model.position_map(given) @ model.velocity_maps(model.home)[0][0]
    rank = int(np.linalg.matrix_rank(jacobian, tol=1e-9 * max(1.0, np.abs(jacobian).max(initial=0.0))))
    if rank == model.r:
        return ""
    return (
        f"robot {model.robot.name!r}: the positions of {', '.join(model.robot.readings) or 'no sensor'} determine "
        f"{rank} of {model.r} mobilities; add 'sensors:' on passive joints"
    )


_REFUSED = {  # by whether positions are measured: what is said of them, and what to do
    True: ("measured", "check their units, offsets and signs ('dalembert check' finds most)"),
    False: ("asked for", "they are out of reach: make the motion smaller or move it towards home"),
}


class Closer:
    """Solves ``c(y) = 0, T_s y = theta`` over the samples of a log.

    ``given`` says what theta is: the robot's sensors (motors first), or its independent coordinates, as for a motion
    planned on the platform. ``weight`` (n_s,) weighs the sensors where there are more than mobilities: 1 / sigma.
    ``measured`` (of the sensors unless said otherwise) False: positions are asked for, which errors say.
    """

    def __init__(
        self,
        model: Model,
        weight: ArrayLike | None = None,
        *,
        given: Given = "sensors",
        measured: bool | None = None,
    ) -> None:
        self.model = model
        self.given = given
        self.measured = given == "sensors" if measured is None else measured
        self.sensors = model.position_map(given)
        self.weight = np.ones(len(self.sensors)) if weight is None else np.array(weight, dtype=float)
        self._check_observed()
        self._newton = model.newton_kernel(given)
        self._step = _OneSample(model, self.weight, given)
        self._loops = model.dynamics.assembly.closures.loops
        self._guarded = bool(self._loops) and len(self.sensors) == model.r
        self._home_determinant = self._determinant(self._jacobian(model.home)) if self._guarded else 1.0

    def _check_observed(self) -> None:
        hidden = unobserved(self.model, self.given)
        if hidden:
            raise ClosureError(hidden)

    # --- which assembly mode -------------------------------------------------------------------------------------
    #
    # Two modes meet where [C; T_s] is singular. Close to it they lie closer together than any bound on Newton's steps
    # can tell; but its determinant changes sign from one to the other.

    def _jacobian(self, y: Array) -> Array:
        """C of the independent rows (n, m, n_y)."""
        return np.asarray(self.model.loops_kernel()(y)["C"]).reshape(-1, self.model.n_y - self.model.r, self.model.n_y)

    def _determinant(self, jacobian: Array) -> Array:
        sensors = np.broadcast_to(self.sensors, (*jacobian.shape[:-2], *self.sensors.shape))
        return np.asarray(np.linalg.det(np.concatenate([jacobian, sensors], axis=-2)))

    def _side(self, jacobian: Array) -> Array:
        """Determinant of [C; T_s] relative to home's: negative in another assembly mode."""
        return self._determinant(jacobian) / self._home_determinant

    # --- one sample ----------------------------------------------------------------------------------------------

    def _solve(self, y: Array, theta: Array) -> Array | None:
        """Configuration at ``theta`` by Newton from ``y``; None when it does not follow."""
        for _ in range(_ANCHOR_ITERATIONS):
            new, c, _, jacobian = self._step(y, theta)
            step = np.abs(new - y).max()
            if not step < _MAX_JUMP:
                return None
            y = new.copy()
            if step < 1e-9 and np.abs(c).max(initial=0.0) < 1e-8:
                return y if self._same_side(jacobian) else None
        return None

    def _same_side(self, columns: Array) -> bool:
        return not self._guarded or bool(self._side(columns.reshape(self.model.n_y, -1).T) > 0.0)

    def _follow(self, y: Array, start: Array, target: Array, where: str) -> Array:
        """Configuration at ``target`` by continuation from ``y`` at ``start``, in as many steps as it takes."""
        done, step = 0.0, 1.0
        while done < 1.0:
            step = min(step, 1.0 - done)
            found = self._solve(y, start + (done + step) * (target - start))
            if found is not None:
                y, done, step = found, done + step, 2.0 * step
            else:
                step *= 0.5
                if step < _SMALLEST_STEP:
                    self._refuse(where, y, target)
        return y

    def _refuse(self, where: str, y: Array, theta: Array) -> None:
        _, c, mismatch, _ = self._step(y, theta)
        left = np.concatenate([c, mismatch])
        jacobian = self._jacobian(y)[0]
        sigma = np.linalg.svd(np.vstack([jacobian, self.sensors]), compute_uv=False)[-1]
        which, remedy = _REFUSED[self.measured]
        raise ClosureError(
            f"robot {self.model.robot.name!r}: {where}: the loops do not close at the positions {which} "
            f"(last error {np.abs(left).max(initial=0.0):.2g} rad or m, smallest singular value {sigma:.2g}); "
            f"{remedy}, and check that home is in the same assembly mode"
        )

    # --- all samples ---------------------------------------------------------------------------------------------

    def positions(self, theta: ArrayLike, t: ArrayLike | None = None, start: ArrayLike | None = None) -> Array:
        """Configurations y (n, n_y) at measured positions ``theta`` (n, n_s); from home, or from a known ``start``.

        ``t`` (n,) [s] only serves error messages.
        """
        theta = np.asarray(theta, dtype=float)
        times = np.arange(len(theta), dtype=float) if t is None else np.asarray(t, dtype=float)
        unit = "sample {0}" if t is None else "sample {0} (t = {1:.6g} s)"
        if theta.ndim != 2 or theta.shape[1] != len(self.sensors):
            raise ClosureError(f"positions: found shape {theta.shape}, expected (samples, {len(self.sensors)})")
        if not np.isfinite(theta).all():
            bad = int(np.flatnonzero(~np.isfinite(theta).all(axis=1))[0])
            raise ClosureError(f"positions: {unit.format(bad, times[bad])} is not finite")
        if not len(theta):
            return np.empty((0, self.model.n_y))
        y = self.model.home if start is None else np.asarray(start, dtype=float)
        if not self._loops:  # a tree needs no continuation: its positions are linear in y
            return self._close_all(np.broadcast_to(y, (len(theta), len(y))).copy(), theta, times, unit)
        y = self._follow(y, self.sensors @ y, theta[0], unit.format(0, times[0]))
        at, anchors = self._anchors(y, theta, times, unit)
        y = self._close_all(self._between(at, anchors, len(theta)), theta, times, unit)
        return self._keep_mode(y, at, theta, times, unit) if self._guarded else y

    def _keep_mode(self, y: Array, at: list[int], theta: Array, times: Array, unit: str) -> Array:
        """Follow again, one by one, the samples near a singularity that were closed in another assembly mode."""
        side = self._side(self._jacobian(y[at]))
        near = np.minimum(side[:-1], side[1:]) < _NEAR_SINGULAR * side.max(initial=1.0)
        between = [np.arange(a, b) for a, b, close in zip(at[:-1], at[1:], near, strict=True) if close]
        if not between:
            return y
        checked = np.concatenate(between)
        for k in checked[~(self._side(self._jacobian(y[checked])) > 0.0)]:
            y[k] = self._follow(y[k - 1], theta[k - 1], theta[k], unit.format(k, times[k]))
        self._verify(y, theta, times, unit)
        return y

    def _anchors(self, y: Array, theta: Array, times: Array, unit: str) -> tuple[list[int], list[Array]]:
        """Samples followed one by one, closer together where Newton does not follow."""
        at, anchors, spacing = [0], [y], _ANCHOR_SPACING
        while at[-1] < len(theta) - 1:
            here = at[-1]
            there = min(here + spacing, len(theta) - 1)
            guess = self._ahead(at, anchors, there)
            found = self._solve(guess, theta[there])
            if found is None or np.abs(found - guess).max() > _MAX_SURPRISE:
                if there > here + 1:
                    spacing = max(1, (there - here) // 2)
                    continue
                found = self._follow(anchors[-1], theta[here], theta[there], unit.format(there, times[there]))
            elif np.abs(found - guess).max() < _MAX_SURPRISE / 4:
                spacing = min(2 * spacing, _MAX_SPACING)
            at.append(there)
            anchors.append(found)
        return at, anchors

    @staticmethod
    def _ahead(at: Sequence[int], anchors: Sequence[Array], there: int) -> Array:
        """Linear extrapolation of the last two anchors."""
        if len(at) < 2:
            return anchors[-1]
        slope = (anchors[-1] - anchors[-2]) / (at[-1] - at[-2])
        return anchors[-1] + slope * (there - at[-1])

    @staticmethod
    def _between(at: Sequence[int], anchors: Sequence[Array], n: int) -> Array:
        if len(at) == 1:
            return np.array(anchors)
        guess: Array = (
            CubicSpline(at, np.array(anchors))(np.arange(n))
            if len(at) > 3
            else np.stack([np.interp(np.arange(n), at, column) for column in np.array(anchors).T], axis=1)
        )
        return guess

    def _close_all(self, y: Array, theta: Array, times: Array, unit: str) -> Array:
        """Newton on all samples together until every one is closed."""
        open_ = np.arange(len(y))
        exact = len(self.sensors) == self.model.r
        for _ in range(_BATCH_ITERATIONS):
            everything = len(open_) == len(y)
            now, target = (y, theta) if everything else (y[open_], theta[open_])
            new, c, mismatch = self._newton(now, target, self.weight)
            step = np.abs(new - now).max(axis=1)
            left = np.abs(c).max(axis=1, initial=0.0)
            if exact:
                left = np.maximum(left, np.abs(mismatch).max(axis=1))
            # a step below 1e-7 squares to below rounding; a reconciliation converges linearly and needs more
            keep = ~(((left < CLOSED / 2) & exact) | (step < (1e-8 if exact else STEP_DONE)))
            if everything:
                y = np.ascontiguousarray(new)
            else:
                y[open_] = new
            open_ = open_[keep & np.isfinite(step)]  # a lost sample must not stop the others: the first lost is named
            if not len(open_):
                break
        self._verify(y, theta, times, unit)
        return y

    def _verify(self, y: Array, theta: Array, times: Array, unit: str) -> None:
        _, c, mismatch = self._newton(y, theta, self.weight)
        left = np.abs(c).max(axis=1, initial=0.0)
        if len(self.sensors) == self.model.r:
            left = np.maximum(left, np.abs(mismatch).max(axis=1) / np.maximum(1.0, np.abs(theta).max(axis=1)))
        bad = np.flatnonzero(~(left < CLOSED * max(1.0, float(np.abs(self.sensors).max()))))
        if len(bad):
            k = int(bad[0])
            self._refuse(unit.format(k, times[k]), y[k], theta[k])

    def rates(self, y: ArrayLike, rate: ArrayLike, acceleration: ArrayLike) -> tuple[Array, Array]:
        """Yd and ydd (n, n_y) at configurations ``y`` from the rates of the given positions, each (n, n_s)."""
        yd, ydd = self.model.rates_kernel(self.given)(y, rate, acceleration, self.weight)
        return yd, ydd

    def motion(self, theta: ArrayLike, rate: ArrayLike, acceleration: ArrayLike, t: ArrayLike | None = None) -> Motion:
        """Full state from measured positions and their rates, each (n, n_s)."""
        y = self.positions(theta, t)
        yd, ydd = self.rates(y, rate, acceleration)
        _, c, mismatch = self._newton(y, theta, self.weight)
        return Motion(y, yd, ydd, np.abs(c).max(axis=1, initial=0.0), mismatch)


def close_motion(
    model: Model,
    theta: ArrayLike,
    rate: ArrayLike,
    acceleration: ArrayLike,
    t: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    *,
    given: Given = "sensors",
) -> Motion:
    """Full state of every sample from given positions and their rates, each (n, n_s)."""
    return Closer(model, weight, given=given).motion(theta, rate, acceleration, t)
