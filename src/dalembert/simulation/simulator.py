"""A robot under control, simulated: experiments without a robot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import ClosureError, UsageError
from dalembert.kernels import Program
from dalembert.logs import Log, make_log
from dalembert.model import Model, Parameters
from dalembert.simulation.compiled import CompiledLoop, compiled_loop
from dalembert.simulation.controllers.contract import Controller, Law, Loop, motor_inertia
from dalembert.simulation.options import Options
from dalembert.simulation.outcome import judge, truth_of, unreachable
from dalembert.simulation.plant import Plant, Ripple
from dalembert.simulation.reference import Path, Reference, make_reference
from dalembert.simulation.result import Simulation
from dalembert.simulation.runs import (
    LawTicks,
    Progress,
    PythonRun,
    PythonTicks,
    Run,
    Ticks,
    Work,
    run_compiled,
    run_ticks,
)
from dalembert.simulation.sensing import Sensing, averaged, sensed
from dalembert.simulation.setup import Fault, Setup
from dalembert.simulation.stepper import Evaluated
from dalembert.simulation.tableau import tableau

__all__ = ["Options", "Simulator", "simulate"]

Array = NDArray[np.float64]

_LOCATE_STEPS = 2  # Newton steps of a controller per tick: its robot moves little between two


class Simulator:
    """A robot with a controller, compiled once; :meth:`run` may be called for many references and parameters.

    ``tuned`` are the parameters the controller's gains are tuned on, and its model's unless a run gives others.
    """

    def __init__(
        self,
        model: Model,
        controller: Law | Controller,
        options: Options | None = None,
        *,
        tuned: Parameters = "nominal",
        ripple: Ripple | None = None,
    ) -> None:
        self.model, self.controller, self.options = model, controller, options or Options()
        self.plant = Plant(model, ripple)
        self.tuned = model.vector(tuned)
        self.rate, self._every, self._log_every = self.options.sample_rate()
        self._programs = (self.plant.rates(), self.plant.friction(), self.plant.slip(), self.plant.correct())
        self._law: Program | None = None
        self._locate: Program | None = None
        self._gains = np.zeros(1)
        if isinstance(controller, Law):
            self._write(controller)
        self._compiled: CompiledLoop | bool | None = False

    def _write(self, law: Law) -> None:
        inertia = motor_inertia(self.model, self.tuned, self.model.home)[0]
        self.loop = Loop(self.plant, 1.0 / self.options.control_rate, inertia, self.tuned)
        self._law = self.loop.program(law.write(self.loop))
        self._locate = self.plant.locate() if self.loop.uses_model else None
        self._gains = self.loop.packed_gains()

    def _setup(self, pi: Array, y0: Array, v0: Array) -> Setup:
        o, assembly = self.options, self.model.dynamics.assembly
        method = tableau(o.method)
        substeps = 1 if method.adaptive else math.ceil(1.0 / (self.rate * o.max_step) - 1e-9)
        size = float(np.linalg.norm(self.model.velocity_maps(self.model.home)[0]))
        return Setup(
            self._programs, pi, y0, v0, self.model.n, self.plant.m, len(assembly.closures.loops) * bool(assembly.rows),
            method, 1.0 / (self.rate * substeps), tolerance_r=o.tolerance, tolerance_a=o.tolerance * 1e-2,
            spread=1e3 * max(1.0, size),
        )  # fmt: skip

    def run(
        self,
        reference: Reference,
        pi: Parameters = "nominal",
        *,
        sensing: Sensing | None = None,
        rng: np.random.Generator | None = None,
        preload: ArrayLike | Callable[[Array], Array] | None = None,
        scale: ArrayLike = 1.0,
        controller_pi: Parameters | None = None,
        gains: ArrayLike | None = None,
        saturation: bool | None = None,
        start: tuple[ArrayLike, ArrayLike] | None = None,
        name: str = "simulated",
        payload: str = "",
        progress: Progress | None = None,
    ) -> Simulation:
        """Simulate along a reference with true parameters ``pi``, from its first state or from ``start`` (y, v).

        ``preload`` (n,) or a function of times (ticks,) is the internal torque a :class:`Preload` law prescribes;
        ``scale`` (n,) multiplies the feedback; ``controller_pi`` is the controller's model; ``rng`` draws the noise.
        ``gains`` replaces the law's packed gains, ``saturation`` what the options say of torque limits.
        """
        if abs(reference.rate - self.options.control_rate) > 1e-9 * reference.rate:
            raise UsageError(
                f"simulation: reference at {reference.rate:g} Hz, expected the controller's "
                f"{self.options.control_rate:g} Hz"
            )
        seen = sensing or Sensing()
        if seen.ripples(self.model.n) != self.plant.ripple:
            raise UsageError("simulation: the sensing's torque ripple must be given to the Simulator, as ripple=")
        rng = rng if rng is not None else np.random.default_rng(0)
        true = self.model.vector(pi)
        known = self.tuned if controller_pi is None else self.model.vector(controller_pi)
        y0, v0 = self._start(reference, start)
        setup = self._setup(true, y0, v0)
        samples = (len(reference.t) - 1) * self._every + 1
        arrays = self._arrays(samples, seen, rng, known, y0)
        if gains is not None:
            arrays["gains"] = np.array(gains, dtype=float)
        if saturation is not None:
            arrays["limit"] = self._limits(saturation)
        channels = self._channels(reference, known, preload, scale)
        work = Work(setup, arrays, channels, self._whole(samples, setup), seen.delay * self.rate)
        reached, fault, run, compiled = self._drive(work, reference.t, progress)
        kept = {k: a[:reached] for k in ("q", "tau", "y", "v", "vd", "e") if (a := arrays[k]) is not None}
        truth = truth_of(self.model, kept, self.rate, reference, self._law is not None)
        status, reason = judge(truth, fault, run.saturated, samples, self.rate)
        log = self._log(kept, len(truth.t), seen, rng, name, payload, float(reference.t[0]))
        return Simulation(status, reason, log, truth, run.counts, compiled)

    def _log(
        self, kept: dict[str, Array], n: int, seen: Sensing, rng: np.random.Generator, name: str, payload: str,
        start: float,
    ) -> Log:  # fmt: skip
        every = slice(0, n, self._log_every)
        robot = self.model.robot
        measured = [k for k, motor in enumerate(robot.motor_names) if motor not in robot.unmeasured]
        logged = [k for k, name in enumerate(sensed(robot)) if name in robot.readings]
        applied = averaged(kept["tau"][:n], self._every)
        tau = seen.torques(applied[every], rng)[:, measured]
        rate = self.rate / self._log_every
        return make_log(robot, rate, kept["q"][every][:, logged], tau, name=name, start=start, payload=payload)

    def stiffness(self, known: Parameters, y: ArrayLike) -> Array:
        """Torque (n,) a law answers a unit of each motor's own position error with [N m/rad or N/m], at rest at its
        reference in ``y`` (n_y,); ``known`` are the parameters of its model.
        """
        if self._law is None:
            raise UsageError("simulation: the gains of a controller in Python are not known, expected a law")
        law, pi, n = Evaluated(self._law), self.model.vector(known), self.model.n
        y, none = np.asarray(y, dtype=float), np.zeros(self.model.n)
        qr, still = self.model.robot.motor_map() @ y, np.zeros((1, len(y)))
        forward = self.model.torque_kernel()(y[None], still, still, pi, none)["tau"][0]
        state = np.zeros(next(port.size for port in self._law.inputs if port.name == "x"))

        def torque(q: Array) -> Array:
            return law(state, q, qr, none, none, forward, none, y, pi, self._gains, np.ones(n))[0].ravel().copy()

        at_rest, small = torque(qr), 1e-3  # laws are linear in the error: any size will do
        return np.array([(torque(qr - small * row)[k] - at_rest[k]) / small for k, row in enumerate(np.eye(n))])

    # --- preparation ---------------------------------------------------------------------------------------------

    def _start(self, reference: Reference, start: tuple[ArrayLike, ArrayLike] | None) -> tuple[Array, Array]:
        if start is not None:
            return np.array(start[0], dtype=float), np.array(start[1], dtype=float)
        independent = [self.model.coordinates.index(name) for name in self.model.independent]
        return reference.y[0].copy(), reference.yd[0][independent].copy()

    def _arrays(
        self, samples: int, seen: Sensing, rng: np.random.Generator, known: Array, y0: Array
    ) -> dict[str, Array | None]:
        model = self.model
        robot = model.robot
        sensors = robot.linear_map(sensed(robot).values())
        shapes = {"q": len(sensors), "tau": model.n, "y": model.n_y, "v": model.r, "vd": model.r, "e": 2}
        arrays: dict[str, Array | None] = {name: np.zeros((samples, size)) for name, size in shapes.items()}
        states = next(p.size for p in self._law.inputs if p.name == "x") if self._law else 1
        return arrays | {
            "theta": np.zeros((samples, len(sensors))),
            "limit": self._limits(self.options.saturation),
            "theta_map": np.ascontiguousarray(sensors),
            "noise": seen.noise(samples, len(sensors), rng),
            "quantum": seen.steps(len(sensors)),
            "gains": self._gains,
            "pi_model": known,
            "x": np.zeros(states),
            "y_model": y0.copy(),
        }

    def _limits(self, saturation: bool) -> Array:
        return np.array([m.torque_limit if saturation else np.inf for m in self.model.robot.motors])

    def _channels(
        self, reference: Reference, known: Array, preload: ArrayLike | Callable[[Array], Array] | None, scale: ArrayLike
    ) -> list[Array]:
        n = self.model.n
        forward = self.model.torque_kernel()(reference.y, reference.yd, reference.ydd, known, np.zeros(n))["tau"]
        inner: Any = 0.0 if preload is None else preload(reference.t) if callable(preload) else preload
        wanted = [reference.q, reference.qd, reference.qdd, forward]
        inner = np.broadcast_to(np.asarray(inner, dtype=float), (len(reference.t), n))
        factor = np.broadcast_to(np.asarray(scale, dtype=float), (n,))
        return [np.ascontiguousarray(a, dtype=float) for a in (*wanted, inner, factor)]

    def _whole(self, samples: int, setup: Setup) -> dict[str, int]:
        substeps = round(1.0 / (self.rate * setup.step))
        exact = not self.model.dynamics.assembly.rows
        steps = 0 if self._locate is None else 1 if exact else _LOCATE_STEPS
        return {"samples": samples, "substeps": substeps, "control_every": self._every, "locate_steps": steps}

    # --- the loop ------------------------------------------------------------------------------------------------

    def _drive(self, work: Work, times: Array, progress: Progress | None) -> tuple[int, Fault, Run, bool]:
        if self._compiled is False:
            self._compiled = compiled_loop(self.model, work.setup, self._law, self._locate)
        library = self._compiled
        run: Run
        if isinstance(library, CompiledLoop):
            begun = library.begin(work.setup, work.arrays, work.channels, work.whole, work.delay)
            if self._law is not None:
                return (*run_compiled(begun, work.whole["samples"], progress), begun, True)
            run = begun
        else:
            run = PythonRun(work.setup, work.arrays, work.whole, work.delay)
        control: Ticks
        if self._law is not None:
            control = LawTicks(self._law, self._locate, work.arrays, work.channels, work.whole["locate_steps"])
        else:
            assert isinstance(self.controller, Controller)
            control = PythonTicks(self.controller, work.channels)
        return (*run_ticks(run, control, work, times, progress), run, library is not None)


def simulate(
    model: Model,
    path: Path | Reference,
    controller: Law | Controller,
    *,
    duration: float | None = None,
    pi: Parameters = "nominal",
    tuned: Parameters | None = None,
    options: Options | None = None,
    sensing: Sensing | None = None,
    rng: np.random.Generator | None = None,
    preload: ArrayLike | Callable[[Array], Array] | None = None,
    name: str = "simulated",
    payload: str = "",
    progress: Progress | None = None,
) -> Simulation:
    """One experiment: the robot with parameters ``pi`` follows a path under a controller.

    The controller is tuned on, and knows, the parameters ``tuned`` (``pi`` unless given). A reference that cannot be
    reached gives a result of that status without samples.
    """
    options = options or Options()
    seen = sensing or Sensing()
    simulator = Simulator(
        model, controller, options, tuned=pi if tuned is None else tuned, ripple=seen.ripples(model.n)
    )
    try:
        reference = path if isinstance(path, Reference) else make_reference(model, path, duration, options.control_rate)
    except ClosureError as error:
        return unreachable(model, str(error), options, name)
    return simulator.run(
        reference, pi, sensing=seen, rng=rng, preload=preload, name=name, payload=payload, progress=progress
    )
