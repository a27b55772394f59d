"""The integrator in Python over CasADi's VM, the same step for step as loop.c: where no compiler is found.

Dry friction: mode +-1 slides with that sign, mode 0 is held by the sign that keeps its velocity zero, found in [-1, 1]
by a complementarity problem on accelerations. A sliding velocity that changes sign inside a step is met where it is
zero, so the order of the Runge-Kutta method is kept.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.kernels import Program
from dalembert.simulation.setup import Fault, Setup

__all__ = ["Evaluated", "Stepper"]

Array = NDArray[np.float64]

_DEPENDENT = 1e-10  # share of its diagonal a column keeps that depends on others: rounding leaves 1e-15
_DUST = 1e-18  # [rad/s or m/s] what rounding leaves of a velocity that is held


class Evaluated:
    """A program at one sample by CasADi's VM, buffers reused: outputs are overwritten by the next call."""

    def __init__(self, program: Program) -> None:
        inputs = [ca.SX.sym(port.name, port.size) for port in program.inputs]
        dense = [ca.densify(out) for out in program.function.call(inputs)]
        function = ca.Function(program.name, inputs, dense)
        self._in = [np.zeros(port.size) for port in program.inputs]
        self._out = [np.zeros(out.numel()) for out in dense]
        shapes = [out.shape for out in dense]
        self.out = [o.reshape(s, order="F") if s[1] > 1 else o for o, s in zip(self._out, shapes, strict=True)]
        self._buffer, self._run = function.buffer()
        buffer: Any = self._buffer
        for k, value in enumerate(self._in):
            buffer.set_arg(k, memoryview(value.data))
        for k, value in enumerate(self._out):
            buffer.set_res(k, memoryview(value.data))

    def __call__(self, *inputs: Array) -> list[Array]:
        for held, value in zip(self._in, inputs, strict=True):
            held[:] = value
        self._run()
        return self.out


def _clip(a: float) -> float:
    return 1.0 if a > 1.0 else -1.0 if a < -1.0 else a


def _solve(a: Array, b: Array, chosen: NDArray[np.bool_]) -> Array:
    """X of A x = b over the chosen rows, by Gauss; columns that depend on those before them get zero."""
    x = np.zeros(len(b))
    index = np.flatnonzero(chosen)
    m = np.column_stack([a[np.ix_(index, index)], b[index]])
    pivots = []
    row = 0
    for i in range(len(index)):
        if row == len(index):
            break
        best = row + int(np.argmax(np.abs(m[row:, i])))
        if not abs(m[best, i]) > _DEPENDENT * abs(a[index[i], index[i]]):
            continue
        m[[row, best]] = m[[best, row]]
        m[row + 1 :] -= np.outer(m[row + 1 :, i] / m[row, i], m[row])
        pivots.append((row, i))
        row += 1
    for k, i in reversed(pivots):
        x[index[i]] = (m[k, -1] - m[k, i + 1 : -1] @ x[index[i + 1 :]]) / m[k, i]
    return x


def _complementarity(a: Array, free: Array, mode: NDArray[np.int64], sign: Array) -> None:
    """Signs of the held velocities: wd = 0 inside [-1, 1], wd > 0 at 1, wd < 0 at -1; in place."""
    held = np.flatnonzero(mode == 0)
    scale = float((np.abs(free) + np.abs(np.diag(a))).max())
    for _ in range(6):
        for _ in range(40):
            change = 0.0
            for k in held:
                old = sign[k]
                sign[k] = _clip(old + (free[k] - a[k] @ sign) / a[k, k])
                change = max(change, abs(sign[k] - old) * a[k, k])
            if change <= 1e-14 * scale:
                return
        inside = (mode == 0) & (np.abs(sign) < 1.0)
        step = _solve(a, free - a @ sign, inside)
        sign[inside] = np.clip(sign[inside] + step[inside], -1.0, 1.0)


class Stepper:
    """State of one simulation and its steps; ``y v work`` are overwritten by every step."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.rates, self.friction, self.slip, self.correct = (Evaluated(p) for p in setup.programs)
        self.y, self.v, self.work = setup.y0.copy(), setup.v0.copy(), np.zeros(2)
        m = setup.m
        self.mode, self.active = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
        self.sign, self.w, self.slipped = np.zeros(m), np.zeros(m), np.zeros(m, dtype=bool)
        self.h_next = setup.step
        self.counts = {"steps": 0, "rejected": 0, "events": 0, "chatter": 0}
        self._start()

    def _start(self) -> None:
        s = self.setup
        self.y, _ = self._close(self.y)
        w, _, a, _ = self.friction(self.y, self.v, np.zeros(s.n), s.pi)
        self.w = w.copy()
        self.active = np.diag(a) > 0.0
        resting = self.active & (np.abs(self.w) <= s.rest)
        self.mode = np.where(resting, 0, np.where(self.w < 0.0, -1, 1))
        self.sign = self.mode.astype(float)

    # --- one step ------------------------------------------------------------------------------------------------

    def stage(self, y: Array, v: Array, tau: Array) -> list[Array]:
        """``yd vd power`` at the present modes."""
        s = self.setup
        if (self.mode == 0).any():
            _, free, a, _ = self.friction(y, v, tau, s.pi)
            _complementarity(a, free, self.mode, self.sign)
            self.slipped |= (self.mode == 0) & (np.abs(self.sign) >= 1.0)
        return self.rates(y, v, tau, s.pi, self.sign)

    def _close(self, y: Array) -> tuple[Array, Fault]:
        s = self.setup
        if not s.closures:
            return y, Fault.FINE
        for _ in range(8):
            closed, c, size = self.correct(y)
            worst = float(np.abs(c).max())
            if not worst < 1e-2:
                return y, Fault.OPEN
            y = closed.copy()
            if not size[0] < s.spread:
                return y, Fault.SINGULAR
            if worst < 1e-7:
                return y, Fault.FINE
        return y, Fault.OPEN

    def _attempt(self, h: float, tau: Array) -> tuple[Fault, tuple[Array, Array, Array], Array, float]:
        """A step of length h: why it failed, the state after it, w there and the error relative to the tolerance."""
        s = self.setup
        ny, r = len(self.y), len(self.v)
        start = np.concatenate([self.y, self.v, self.work])
        k = np.zeros((s.method.stages, len(start)))
        for i in range(s.method.stages):
            at = start[: ny + r].copy()
            for j in range(i):
                f = h * s.method.a[i, j]
                if f != 0.0:
                    at += f * k[j, : ny + r]
            yd, vd, power = self.stage(at[:ny], at[ny:], tau)
            k[i] = np.concatenate([yd, vd, power])
        end, gap = start.copy(), np.zeros(ny + r)
        total = np.zeros(len(start))
        for i in range(s.method.stages):
            total += s.method.b[i] * k[i]
            gap += s.method.gap[i] * k[i, : ny + r]
        end = start + h * total
        self.first = k[0, ny : ny + r]
        state = (end[:ny], end[ny : ny + r], end[ny + r :])
        if not (np.abs(end) < s.far).all():
            return Fault.DIVERGED, state, self.w, math.inf
        size = np.maximum(np.abs(start[: ny + r]), np.abs(end[: ny + r]))
        error = float((np.abs(h * gap) / (s.tolerance_a + s.tolerance_r * size)).max())
        y, fault = self._close(state[0])
        state = (y, state[1], state[2])
        return fault, state, (self.slip(y, state[1])[0].copy() if not fault else self.w), error

    def settle(self, tau: Array) -> None:
        """Held velocities are made exactly zero, then those that break away are released."""
        s = self.setup
        chosen = self.mode == 0
        self.sign[~chosen] = self.mode[~chosen]
        if not chosen.any():
            return
        for _ in range(3):
            w, free, a, b = self.friction(self.y, self.v, tau, s.pi)
            self.w = w.copy()
            if np.abs(self.w[chosen]).max() <= _DUST:
                break
            self.v = self.v - b @ _solve(a, self.w, chosen)
        self.w[chosen] = 0.0
        self.v = np.where(np.abs(self.v) <= _DUST, 0.0, self.v)
        _complementarity(a, free, self.mode, self.sign)
        wd = free - a @ self.sign
        scale = float((np.abs(free) + np.abs(np.diag(a))).max())
        leaves = chosen & (np.abs(self.sign) >= 1.0) & (self.sign * wd > 1e-12 * scale)
        self.mode[leaves] = np.where(self.sign[leaves] > 0.0, 1, -1)

    def _meet(
        self, h: float, crossing: NDArray[np.bool_], tau: Array, w_end: Array
    ) -> tuple[Fault, float, tuple[Array, Array, Array], Array]:
        """The step's length at which the first of the crossing velocities is zero, and the state there."""

        def nearest(w: Array) -> float:
            return float((self.mode[crossing] * w[crossing]).min())

        lo, hi, g_lo, g_hi = 0.0, h, nearest(self.w), nearest(w_end)
        for k in range(60):
            at = 0.5 * (lo + hi) if k % 3 == 2 else (lo * g_hi - hi * g_lo) / (g_hi - g_lo)
            if not lo < at < hi:
                at = 0.5 * (lo + hi)
            fault, state, w, _ = self._attempt(at, tau)
            if fault:
                return fault, at, state, w
            g = nearest(w)
            if abs(g) <= self.setup.rest or hi - lo < 1e-15 * hi:
                break
            shrink = 1.0 if k % 3 == 2 else 0.5
            if g < 0.0:
                hi, g_hi, g_lo = at, g, g_lo * shrink
            else:
                lo, g_lo, g_hi = at, g, g_hi * shrink
        return Fault.FINE, at, state, w

    def _accept(self, state: tuple[Array, Array, Array], w: Array) -> None:
        rest = self.setup.rest
        self.y, self.v, self.work = state
        self.w = w.copy()
        for k in range(len(w)):
            if not self.active[k]:
                self.mode[k] = -1 if w[k] < 0.0 else 1
            elif self.mode[k] and self.mode[k] * w[k] <= rest:
                self.mode[k] = 0
            elif not self.mode[k] and self.slipped[k] and self.sign[k] * w[k] > rest:
                self.mode[k] = 1 if w[k] > 0.0 else -1
        self.counts["steps"] += 1

    def _trial(
        self, h: float, span: float, tau: Array
    ) -> tuple[Fault, float, tuple[Array, Array, Array], Array, float]:
        """A step short enough for the tolerance, with modes that can be."""
        s = self.setup
        at_rest = np.abs(self.w) <= s.rest
        self.slipped[:] = False
        while True:
            fault, state, w, error = self._attempt(h, tau)
            if s.method.adaptive and (fault or error > 1.0):
                h *= 0.1 if fault else max(0.2, 0.9 * error ** (-1.0 / s.method.order))
                self.h_next = h
                self.counts["rejected"] += 1
                if h < 1e-9 * span:
                    return fault or Fault.STIFF, h, state, w, error
                continue
            back = self.active & (self.mode != 0) & at_rest & (self.mode * w < -s.rest)
            if fault or not back.any():
                return fault, h, state, w, error
            self.mode[back] = 0

    def advance(self, span: float, tau: Array) -> Fault:
        """Move the state by ``span`` [s] under constant torque."""
        s = self.setup
        left, events = span, 0
        self.settle(tau)
        while left > 1e-13 * span:
            h = min(left, self.h_next) if s.method.adaptive else left
            fault, h, state, w, error = self._trial(h, span, tau)
            if fault:
                return fault
            crossing = self.active & (self.mode != 0) & (self.mode * w < -s.rest)
            crossed = bool(crossing.any())
            if crossed and events < s.event_limit:
                fault, h, state, w = self._meet(h, crossing, tau, w)
                if fault:
                    return fault
                events += 1
                self.counts["events"] += 1
            elif crossed:
                self.counts["chatter"] += 1
            self._accept(state, w)
            left -= h
            self.settle(tau)
            if s.method.adaptive and not crossed:
                grown = h * min(5.0, 0.9 * max(error, 1e-10) ** (-1.0 / s.method.order))
                self.h_next = max(self.h_next, grown) if h < self.h_next else grown
        return Fault.FINE
