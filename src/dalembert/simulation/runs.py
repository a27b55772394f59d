"""A run in Python: the plant by CasADi's VM, or a controller in Python around either plant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.kernels import Program
from dalembert.simulation.compiled import CompiledRun
from dalembert.simulation.controllers.contract import CHANNELS, Controller, Target
from dalembert.simulation.setup import Fault, Setup
from dalembert.simulation.stepper import Evaluated, Stepper

__all__ = ["LawTicks", "Progress", "PythonRun", "PythonTicks", "Run", "Ticks", "Work", "run_compiled", "run_ticks"]

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]

_CHUNK = 2000  # samples between two reports of progress


class Run(Protocol):
    """A plant under way: positions measured at a sample, torques applied until the next."""

    @property
    def counts(self) -> dict[str, int]: ...

    @property
    def saturated(self) -> int: ...

    def sense(self, i: int) -> None: ...

    def apply(self, i: int) -> Fault: ...


class Ticks(Protocol):
    """A controller under way: the torques (n,) of one tick from measured positions (n_s,)."""

    def __call__(self, tick: int, t: float, q: Array) -> Array: ...


class PythonRun:
    """The plant of loop.c in Python, over the same arrays."""

    def __init__(self, setup: Setup, arrays: dict[str, Array | None], whole: dict[str, int], delay: float) -> None:
        self._setup, self._arrays, self._delay = setup, arrays, delay
        self._samples, self._substeps = whole["samples"], whole["substeps"]
        self._stepper = Stepper(setup)
        self.saturated = 0

    @property
    def counts(self) -> dict[str, int]:
        """See :class:`CompiledRun`."""
        return dict(self._stepper.counts)

    def _array(self, name: str) -> Array:
        array = self._arrays[name]
        assert array is not None
        return array

    def sense(self, i: int) -> None:
        """See :class:`CompiledRun`."""
        theta, q = self._array("theta"), self._array("q")
        theta[i] = self._array("theta_map") @ self._stepper.y
        when = max(i - self._delay, 0.0)
        early = int(np.floor(when))
        late = early + 1 if early < i else i
        q[i] = theta[early] + (when - early) * (theta[late] - theta[early])
        noise, quantum = self._arrays["noise"], self._array("quantum")
        if noise is not None:
            q[i] += noise[i]
        counted = quantum > 0.0
        q[i, counted] = np.rint(q[i, counted] / quantum[counted]) * quantum[counted]

    def apply(self, i: int) -> Fault:
        """See :class:`CompiledRun`."""
        tau, limit, stepper = self._array("tau")[i], self._array("limit"), self._stepper
        if not np.isfinite(tau).all():
            return Fault.DIVERGED
        self.saturated += bool((np.abs(tau) > limit).any())
        np.clip(tau, -limit, limit, out=tau)
        for name, value in (("y", stepper.y), ("v", stepper.v), ("e", stepper.work)):
            self._array(name)[i] = value
        stepper.settle(tau)
        self._array("vd")[i] = stepper.stage(stepper.y, stepper.v, tau)[1]
        if i + 1 >= self._samples:
            return Fault.FINE
        for _ in range(self._substeps):
            fault = stepper.advance(self._setup.step, tau)
            if fault:
                return fault
        return Fault.FINE


class LawTicks:
    """A law by CasADi's VM."""

    def __init__(self, law: Program, locate: Program | None, arrays: dict[str, Array | None], channels: list[Array],
                 locate_steps: int) -> None:  # fmt: skip
        self._law = Evaluated(law)
        self._locate = Evaluated(locate) if locate is not None else None
        self._arrays, self._channels, self._steps = arrays, channels, locate_steps

    def __call__(self, tick: int, t: float, q: Array) -> Array:
        """See :class:`Ticks`."""
        arrays, channels = self._arrays, self._channels
        x, y, pi, k = (arrays[name] for name in ("x", "y_model", "pi_model", "gains"))
        assert x is not None and y is not None and pi is not None and k is not None
        q = q[: channels[-1].shape[0]]
        for _ in range(self._steps if self._locate is not None else 0):
            assert self._locate is not None
            y[:] = self._locate(y, q)[0]
        references = [channel[tick] for channel in channels[: len(CHANNELS)]]
        tau, following = self._law(x, q, *references, y, pi, k, channels[-1])
        x[:] = following
        return tau.copy()


class PythonTicks:
    """A user's controller."""

    def __init__(self, controller: Controller, channels: list[Array]) -> None:
        self._controller, self._channels = controller, channels
        controller.reset()

    def __call__(self, tick: int, t: float, q: Array) -> Array:
        """See :class:`Ticks`."""
        target = Target(*(channel[tick] for channel in self._channels[: len(CHANNELS)]))
        answer = self._controller.torque(t, q.copy(), target)
        try:
            torque = np.asarray(answer, dtype=float)
        except (TypeError, ValueError):
            torque = np.zeros(0)
        if torque.shape != target.q.shape:
            raise UsageError(
                f"controller {type(self._controller).__name__}: found {answer!r} at t = {t:.6g} s, expected "
                f"{len(target.q)} torques"
            )
        return torque


@dataclass(frozen=True, slots=True)
class Work:
    """What one run reads and writes."""

    setup: Setup
    arrays: dict[str, Array | None]
    channels: list[Array]
    whole: dict[str, int]
    delay: float


def run_compiled(run: CompiledRun, samples: int, progress: Progress | None) -> tuple[int, Fault]:
    """The loop in C: the samples done, and why it stopped there."""
    first = 0
    while first < samples:
        first, fault = run.simulate(first, min(first + _CHUNK, samples))
        if fault:
            return first, fault
        if progress is not None:
            progress(first, samples)
    return samples, Fault.FINE


def run_ticks(run: Run, control: Ticks, work: Work, times: Array, progress: Progress | None) -> tuple[int, Fault]:
    """The loop with its controller in Python; ``times`` (ticks,) are the controller's."""
    q, tau = work.arrays["q"], work.arrays["tau"]
    assert q is not None and tau is not None
    samples, every = work.whole["samples"], work.whole["control_every"]
    for i in range(samples):
        run.sense(i)
        if i % every == 0:
            tau[i] = control(i // every, float(times[i // every]), q[i])
        else:
            tau[i] = tau[i - 1]
        fault = run.apply(i)
        if fault:
            return i, fault
        if progress is not None and i % _CHUNK == 0:
            progress(i, samples)
    return samples, Fault.FINE
