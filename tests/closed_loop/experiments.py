"""Experiments whose logs are identified by simulation: a robot, its controller, a reference, and the truth apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation import Fourier, FourierPath, fourier_within_limits
from dalembert.identification.identify import Identification
from dalembert.logs import Log
from dalembert.model import Model, build_model
from dalembert.robot import load_robot
from dalembert.simulation import Options, Pid, Sensing, Simulator, make_reference, motor_inertia
from dalembert.studies.laboratory import base_values, values_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recorded:
    """A log with what was known when it was made. ``blind`` is the robot's model without any value of a parameter;
    ``guess`` (n,) the inertia the controller's gains were tuned on, up to 40 % off the true one.
    """

    blind: Model
    law: Pid
    path: FourierPath
    log: Log
    guess: tuple[float, ...]
    truth: Mapping[str, float]
    sensing: Sensing

    def base(self, fit: Identification) -> dict[str, float]:
        """True base values by the names of a fit."""
        return base_values(fit, self.truth)

    def z_scores(self, fit: Identification) -> Array:
        """Errors of the base values in robust sigmas."""
        true = self.base(fit)
        return np.array([(p.value - true[p.name]) / (p.sigma_robust or np.inf) for p in fit.parameters])


@cache
def recorded(name: str, *, seconds: float = 5.0, noise: float = 0.02, encoder: float = 1e-6, seed: int = 1) -> Recorded:
    """A motion within the robot's limits under PID control, recorded at 1 kHz; torque noise as a share of its RMS."""
    robot = load_robot(name)
    model, rng = build_model(robot), np.random.default_rng(seed)
    path = fourier_within_limits(model, Fourier(harmonics=5, duration=seconds), rng, 0.7)
    truth = dict(robot.nominal)
    off = np.exp(rng.uniform(-0.35, 0.35, model.n))
    guess = tuple((motor_inertia(model, values_of(model, truth), model.home)[0] * off).tolist())
    law = tuned(guess)
    simulator = Simulator(model, law, Options(saturation=False), tuned=values_of(model, truth))
    reference = make_reference(model, path, seconds)
    size = np.sqrt(np.mean(simulator.run(reference).log.tau ** 2, axis=0))
    sensing = Sensing(encoder, noise * size)
    run = simulator.run(reference, sensing=sensing, rng=rng)
    assert run.completed
    return Recorded(build_model(replace(robot, nominal={})), law, path, run.log, guess, truth, sensing)


def tuned(inertia: tuple[float, ...], bandwidth: float = 20.0, damping: float = 0.7) -> Pid:
    """PID gains as numbers, for an inertia of each motor."""
    w, j = 2.0 * np.pi * bandwidth, np.array(inertia)
    kp, kd, ki = j * w**2, j * 2.0 * damping * w, j * w**3 / 10.0
    return Pid(derivative_cutoff=300.0, kp=tuple(kp), kd=tuple(kd), ki=tuple(ki))
