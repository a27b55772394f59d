"""What a controller is: torques from measured motor positions and a reference, tick by tick, with a state of its own.

Two kinds, one use. A :class:`Law` writes itself as a symbolic expression once and then runs in the compiled loop; the
built-in ones are laws, composed by nesting. Anything with a ``torque`` method is a :class:`Controller` and runs in
Python around the compiled plant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.kernels import Program, trace
from dalembert.model import Model
from dalembert.simulation.plant import Plant
from dalembert.symbolic import SX, pseudo_inverse

__all__ = ["CHANNELS", "Controller", "Law", "Loop", "Target", "motor_inertia"]

Array = NDArray[np.float64]

CHANNELS = ("qr", "qrd", "qrdd", "ff", "inner")  # references a law may use, (ticks, n) each


@dataclass(frozen=True, slots=True)
class Target:
    """What the robot should do now: motor positions, velocities, accelerations (n,), the model's torque along the
    reference ``ff`` and the prescribed internal torque ``inner``.
    """

    q: Array
    qd: Array
    qdd: Array
    ff: Array
    inner: Array


@runtime_checkable
class Controller(Protocol):
    """Torques asked of the motors. ``reset`` is called before a run."""

    def reset(self) -> None:
        """Forget everything."""
        ...

    def torque(self, t: float, q: Array, target: Target) -> Array:
        """Motor torques (n,) at time ``t`` [s] from measured positions ``q`` (n_s,), motors first."""
        ...


@runtime_checkable
class Law(Protocol):
    """A controller written in symbols."""

    def write(self, loop: Loop) -> SX:
        """Motor torques (n,); states and gains are asked of the loop."""
        ...


def motor_inertia(model: Model, pi: ArrayLike, y: ArrayLike) -> Array:
    """Inertia each motor feels (samples, n): ``(J M^-1 J')^-1`` where motors are at most the mobilities, else
    ``J+' M J+``, diagonal.
    """
    y = np.atleast_2d(np.asarray(y, dtype=float))
    jacobian, mass = model.velocity_maps(y)[1], model.mass_matrix(y, np.asarray(pi, dtype=float))
    if model.n > model.r:
        inverse = np.linalg.pinv(jacobian)
        seen = np.einsum("kia,kij,kjb->kab", inverse, mass, inverse)
    else:
        seen = np.linalg.inv(np.einsum("kai,kij,kbj->kab", jacobian, np.linalg.inv(mass), jacobian))
    felt: Array = np.einsum("kaa->ka", seen).copy()
    return felt


@dataclass
class Loop:
    """The symbols a law is written over, and the states and gains it asked for.

    ``q`` measured and ``qr qrd qrdd`` reference motor positions and rates, ``ff`` and ``inner`` as in :class:`Target`,
    ``y`` the configuration located from ``q``, ``pi`` the controller's model, ``scale`` (n,) multiplies feedback.
    ``period`` [s] is the time between ticks; ``inertia`` (n,) what each motor feels, from the controller's model.
    """

    plant: Plant
    period: float
    inertia: Array
    pi_values: Array
    uses_model: bool = False
    _states: list[tuple[SX, SX]] = field(default_factory=list)
    _gains: list[tuple[str, SX, Array]] = field(default_factory=list)
    _signals: dict[str, SX] = field(default_factory=dict)

    def __post_init__(self) -> None:
        model = self.plant.model
        sizes = {**dict.fromkeys((*CHANNELS, "scale"), model.n), "q": model.n, "pi": len(model.parameters)}
        self._signals = {name: ca.SX.sym(name, size) for name, size in sizes.items()}

    @property
    def model(self) -> Model:
        """The robot's model."""
        return self.plant.model

    @property
    def n(self) -> int:
        """Number of motors."""
        return self.model.n

    def __getattr__(self, name: str) -> SX:
        """A signal by name."""
        signals = self.__dict__.get("_signals", {})
        if name in signals:
            return signals[name]
        raise AttributeError(name)

    @property
    def y(self) -> SX:
        """Configuration located from the measured motor positions (n_y,)."""
        self.uses_model = True
        return self.model.dynamics.y

    def state(self, size: int) -> SX:
        """A state, zero at the start; say what it becomes with :meth:`keep`."""
        symbol = ca.SX.sym(f"x{len(self._states)}", size)
        self._states.append((symbol, symbol))
        return symbol

    def keep(self, state: SX, value: SX) -> None:
        """What a state is at the next tick."""
        k = next(k for k, (symbol, _) in enumerate(self._states) if symbol is state)
        self._states[k] = (state, value)

    def gain(self, name: str, values: ArrayLike) -> SX:
        """A gain per motor (n,), an input of the compiled law."""
        array = np.broadcast_to(np.asarray(values, dtype=float), (self.n,)).copy()
        symbol = ca.SX.sym(name, self.n)
        self._gains.append((name, symbol, array))
        return symbol

    @cached_property
    def started(self) -> SX:
        """0 at the first tick, 1 after."""
        flag = self.state(1)
        self.keep(flag, ca.SX(1))
        return flag

    def derivative(self, signal: SX, cutoff: float | None) -> SX:
        """Rate of a signal (n,) by Tustin's rule through a first-order low-pass of ``cutoff`` [Hz] (None: backward
        difference): zero at the first tick.
        """
        before = self.state(self.n)
        change = self.started * (signal - before)
        self.keep(before, signal)
        if cutoff is None:
            return change / self.period
        filtered = self.state(self.n)
        w = 2.0 * np.pi * cutoff
        rate = ((2.0 - w * self.period) * filtered + 2.0 * w * change) / (2.0 + w * self.period)
        self.keep(filtered, rate)
        return rate

    @cached_property
    def spread(self) -> SX:
        """Motor velocities to independent velocities at the located configuration, ``J+`` (r, n)."""
        self.uses_model = True
        return pseudo_inverse(ca.densify(self.model.dynamics.J_inv))

    def gains(self) -> dict[str, Array]:
        """Values of the gains, by name."""
        return {name: value for name, _, value in self._gains}

    def packed_gains(self) -> Array:
        """All gains in one row, as the compiled law reads them."""
        return np.concatenate([value for _, _, value in self._gains] or [np.zeros(1)])

    def program(self, torque: SX) -> Program:
        """``x, q, references, y, pi, k, scale`` -> ``tau`` and the next ``x``."""
        pad: list[Any] = [(ca.SX.sym("none"), ca.SX(0))]
        symbols = ca.vertcat(*[s for s, _ in self._states or pad])
        following = ca.vertcat(*[ca.densify(v) for _, v in self._states or pad])
        gains = ca.vertcat(*[s for _, s, _ in self._gains]) if self._gains else ca.SX.sym("k")
        inputs = {"x": symbols, "q": self._signals["q"]}
        inputs |= {name: self._signals[name] for name in CHANNELS}
        inputs |= {"y": self.model.dynamics.y, "pi": self._signals["pi"], "k": gains, "scale": self._signals["scale"]}
        return trace("law", inputs, {"tau": ca.densify(torque), "x_next": following})
