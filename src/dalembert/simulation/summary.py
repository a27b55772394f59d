"""A run in numbers: how well the reference was followed, and whether the simulation itself can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.model import Model, Parameters
from dalembert.simulation.result import Simulation

__all__ = ["Summary", "energy_imbalance", "summarise"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Summary:
    """Per motor (n,): RMS and largest tracking error [rad or m], RMS and largest torque [N m or N]. ``closure`` is the
    largest loop error [m or rad], ``imbalance`` what is missing in the energy balance relative to the work done.
    """

    rms_error: Array
    max_error: Array
    rms_torque: Array
    max_torque: Array
    closure: float
    imbalance: float


def summarise(model: Model, run: Simulation, pi: Parameters = "nominal") -> Summary:
    """The numbers of a run; zeros for one without samples."""
    truth = run.truth
    if not len(truth.t):
        none = np.zeros(model.n)
        return Summary(none, none, none, none, 0.0, 0.0)
    error, tau = truth.error, truth.tau
    closure = np.abs(model.loops_kernel()(truth.y)["c"]).max(initial=0.0) if model.dynamics.assembly.rows else 0.0
    return Summary(
        np.sqrt(np.mean(error**2, axis=0)), np.abs(error).max(axis=0), np.sqrt(np.mean(tau**2, axis=0)),
        np.abs(tau).max(axis=0), float(closure), energy_imbalance(model, run, pi),
    )  # fmt: skip


def energy_imbalance(model: Model, run: Simulation, pi: Parameters = "nominal") -> float:
    """Largest |work of the motors - losses - change of energy|, relative to all the work done on the way."""
    truth = run.truth
    if len(truth.t) < 2:
        return 0.0
    out = model.energy_kernel()(truth.y, truth.yd, model.vector(pi))
    energy = out["T"].ravel() + out["V"].ravel()
    missing = truth.work[:, 0] - truth.work[:, 1] - (energy - energy[0])
    moved = np.abs(np.diff(truth.work, axis=0)).sum() + np.ptp(energy)
    return float(np.abs(missing).max() / moved) if moved else 0.0
