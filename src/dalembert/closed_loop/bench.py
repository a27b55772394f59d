"""The logged experiments in simulation: the same controller along the same references, with any parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import Estimate
from dalembert.logs import LogSource
from dalembert.model import build_model
from dalembert.parameters import inertial_names
from dalembert.simulation import (
    Controller,
    ControllerFile,
    Law,
    Options,
    Reference,
    Simulation,
    Simulator,
    motor_inertia,
    read_parameters,
)
from dalembert.simulation.reference import Path

__all__ = ["Bench", "Experiment", "Scaling", "as_file", "path_of", "standard_values"]

Array = NDArray[np.float64]

RATE = 1000.0  # [Hz] of a controller that does not say
_LOOKED_AT = 200  # configurations along a reference at which the motors' inertia is felt


def as_file(controller: ControllerFile | Law | Controller) -> ControllerFile:
    """A controller with what a file says around it."""
    if isinstance(controller, ControllerFile):
        return controller
    return ControllerFile(type(controller).__name__, controller)  # type: ignore[arg-type]  # both kinds run alike


def path_of(reference: Path | Reference | Mapping[str, Path | Reference], log: LogSource) -> Path | Reference:
    """The reference of a log: its own, or the one of all."""
    if not isinstance(reference, Mapping):
        return reference
    if log.info.name not in reference:
        raise EstimationError(f"log {log.info.name!r}: no reference; {choices(log.info.name, reference)}")
    return reference[log.info.name]


def standard_values(prepared: Prepared, estimate: Estimate) -> Array:
    """An estimate as values of the problem's parameters (p,), those it has no base value for at zero."""
    if estimate.standard is not None:
        return np.asarray(estimate.standard)
    values = np.zeros(len(prepared.problem.parameters))
    values[[prepared.problem.parameters.index(name) for name in estimate.names]] = estimate.values
    return values


@dataclass(frozen=True, slots=True)
class Experiment:
    """One logged run: its ``reference``, the rate of its log [Hz], the payload it carried."""

    reference: Reference
    rate: float
    payload: str


@dataclass(frozen=True, slots=True)
class Scaling:
    """What the simulated controller is made of while the estimate is still far off: factors (n,) of its feedback, and
    the parameters (p,) of its model.
    """

    factor: Array
    known: Array


class Bench:
    """Simulators of the experiments behind a problem, compiled once.

    ``tuned`` (p,) are the parameters that the controller knows and its gains were tuned on: those its file names, else
    the robot's nominal ones; NaN where nobody gives a value.
    """

    def __init__(
        self, prepared: Prepared, controller: ControllerFile | Law | Controller, experiments: Sequence[Experiment]
    ) -> None:
        if prepared.laws is not None:
            raise EstimationError(
                "identification by simulation: the simulated robot has the friction of its description, expected "
                "friction: own"
            )
        self.model, self.ties, self.payloads = prepared.model, prepared.ties, prepared.rigid.payloads
        self.file = as_file(controller)
        self.experiments = tuple(experiments)
        self.tuned = _tuned(prepared, self.file)
        self.simulators = {rate: self._simulator(rate) for rate in {e.rate for e in experiments}}
        self._check_gains()
        y = np.concatenate([e.reference.y[:: max(1, len(e.reference.y) // _LOOKED_AT)] for e in experiments])
        self.configurations = y

    @property
    def scalable(self) -> bool:
        """True for laws; the gains of a controller in Python are its own affair."""
        return isinstance(self.file.law, Law)

    def _simulator(self, rate: float) -> Simulator:
        options = Options(self.file.rate or RATE, rate, saturation=self.file.saturation)
        return Simulator(self.model, self.file.law, options, tuned=self.tuned)

    def _check_gains(self) -> None:
        """Refuse gains that follow from an inertia nobody gave."""
        if not self.scalable:
            return
        simulator = next(iter(self.simulators.values()))
        if not np.isfinite(simulator.stiffness(self.tuned, self.model.home)).all():
            raise EstimationError(
                f"controller {self.file.name}: it is tuned on, or knows, parameters of robot "
                f"{self.model.robot.name!r} that have no nominal values; expected gains as numbers (kp, kd, ...) and "
                "the controller's own model:"
            )

    def pi(self, values: Array, payload: str) -> Array:
        """Standard parameters (p,) of a run: the payloads it does not carry at zero."""
        pi = np.asarray(self.ties.matrix @ values)
        for body in self.payloads:
            if body != payload:
                pi[[self.model.parameters.index(name) for name in inertial_names(body)]] = 0.0
        return pi

    def run(self, values: Array, scaling: Scaling | None = None) -> tuple[Simulation, ...]:
        """All experiments with parameters ``values`` (p,) of the problem; with scaled gains no torque is cut off."""
        return tuple(
            self.simulators[e.rate].run(
                e.reference, self.pi(values, e.payload), preload=self.file.preload,
                scale=1.0 if scaling is None else scaling.factor,
                controller_pi=None if scaling is None else self.pi(scaling.known, e.payload),
                saturation=None if scaling is None else False,
            )
            for e in self.experiments
        )  # fmt: skip

    def unscalable(self, inertia: Sequence[float]) -> str:
        """Why the controller's gains cannot be scaled, empty where they can: see :meth:`scaling`."""
        if not self.scalable:
            return "a controller in Python keeps its gains to itself"
        unknown = ~np.isfinite(motor_inertia(self.model, self.tuned, self.model.home)[0])
        if not len(inertia) and unknown.any():
            names = [name for name, yes in zip(self.model.robot.motor_names, unknown, strict=True) if yes]
            return f"the inertia that the gains of {', '.join(names)} were tuned on is not known"
        return ""

    def scaling(self, values: Array, inertia: Sequence[float]) -> Scaling | None:
        """Gains that close the loop on a robot of parameters ``values`` as the controller's own do on the real one.

        The feedback of motor j is multiplied by ``J_j / Jap_j`` [Gautier11, section III B], its inertia by the estimate
        over the one it was tuned on (``inertia`` (n,) [kg m^2 or kg], that of ``tuned`` unless given), where the
        estimated one is largest. A law that multiplies its feedback by an inertia itself is given the estimated
        parameters for it, and that share is taken out. None where the estimate gives a motor no inertia.
        """
        simulator = next(iter(self.simulators.values()))
        pi = self.pi(values, self.experiments[0].payload)
        try:
            felt = motor_inertia(self.model, pi, self.configurations)
        except np.linalg.LinAlgError:
            return None
        if not (np.isfinite(felt).all() and (felt.min(axis=0) > 0.0).all()):
            return None
        factor = np.ones(self.model.n)
        for j, k in enumerate(felt.argmax(axis=0)):
            y = self.configurations[k]
            before = inertia[j] if len(inertia) else float(motor_inertia(self.model, self.tuned, y)[0, j])
            own = simulator.stiffness(self.tuned, y)[j] / simulator.stiffness(pi, y)[j]
            factor[j] = felt[k, j] / before * own
        return Scaling(factor, values)


def _tuned(prepared: Prepared, file: ControllerFile) -> Array:
    """What the controller knows; of payloads it knows nothing."""
    model, payloads = prepared.model, prepared.rigid.payloads
    nothing = {name: 0.0 for body in payloads for name in inertial_names(body)}
    if file.model is not None:
        if payloads:
            robot = model.robot
            model = build_model(replace(robot, nominal={**nothing, **robot.nominal}), backend=model.backend)
        return read_parameters(file.model, model).pi
    nominal = {**nothing, **model.robot.nominal}
    return np.array([nominal.get(name, np.nan) for name in model.parameters])
