"""Identified models of Delta-like robots, and the parts of their equations of motion beside the simulator's."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.constraints import Constraints
from dalembert.identification.fitted import FittedModel, fitted
from dalembert.identification.friction import FrictionModel
from dalembert.identification.identify import Identification, identify
from dalembert.identification.physical import Physical
from dalembert.identification.prior import Prior
from dalembert.identification.problem import Problem
from dalembert.identification.sdp import Sdp
from dalembert.logs import Log
from dalembert.model import Model
from dalembert.parameters import inertial_names, is_physical
from dalembert.robot import EffortKind
from dalembert.simulation.result import Truth

__all__ = ["Errors", "Found", "Motion", "Terms", "compare", "find"]

Array = NDArray[np.float64]

_SAMPLES = 500  # of a motion, at which models are compared
_ROUNDS = 3  # a time is the shortest of these
# Of sqrt(M_ii M_jj): a smaller element of the mass matrix couples nothing, and its relative error says nothing.
_COUPLING = 0.01


@dataclass(frozen=True)
class Found:
    """A physically consistent model from one prior, by log-Cholesky; ``usable`` to predict with.

    ``gap``: what its cost differs from that of the semidefinite optimum, relatively; ``seconds`` that one took from the
    triangle of ``[W tau]`` on.
    """

    prior: Prior
    fit: Identification
    usable: FittedModel
    gap: float
    seconds: float

    @property
    def values(self) -> dict[str, float]:
        """Standard parameters by name, tied ones under their common name."""
        return dict(self.fit.standard)

    @property
    def parameters(self) -> dict[str, float]:
        """Standard parameters of the model by name, every body on its own."""
        return dict(zip(self.usable.model.parameters, self.usable.pi.tolist(), strict=True))

    @property
    def inconsistent(self) -> tuple[str, ...]:
        """Bodies that could not exist."""
        known = self.parameters
        bodies = [body.name for body in self.usable.model.robot.bodies if not body.massless]
        return tuple(b for b in bodies if not is_physical([known[name] for name in inertial_names(b)]))

    def friction_errors(self, truth: Mapping[str, float]) -> dict[str, float]:
        """Relative error [%] of each viscous and dry friction."""
        known = self.parameters
        return {n: 100.0 * (known[n] / truth[n] - 1.0) for n in known if n.startswith(("Fv_", "Fc_"))}


def find(
    model: Model, logs: Sequence[Log], prior: Prior, constraints: Constraints, friction: FrictionModel | None = None
) -> Found:
    """Identify by log-Cholesky with equal legs, and solve the same problem by semidefinite programming."""
    fit = identify(
        model, logs, estimator=Physical(), prior=prior, constraints=constraints, symmetric=True, friction=friction
    )
    cost, seconds = _semidefinite(fit.prepared.problem)
    gap = abs(fit.estimate.cost / cost - 1.0)
    return Found(prior, fit, fitted(fit, fit.prepared.model), gap, seconds)


def _semidefinite(problem: Problem) -> tuple[float, float]:
    """Cost of the optimum, and the time it took."""
    times = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        cost = Sdp().estimate(problem).cost
        times.append(time.perf_counter() - begun)
    return cost, min(times)


@dataclass(frozen=True)
class Motion:
    """Samples of a true motion: times (n,) and tree coordinates with their rates (n, n_y)."""

    t: Array
    y: Array
    yd: Array
    ydd: Array

    @classmethod
    def of(cls, truth: Truth) -> Motion:
        """Evenly spaced samples of a simulation."""
        step = max(1, len(truth.t) // _SAMPLES)
        return cls(truth.t[::step], truth.y[::step], truth.yd[::step], truth.ydd[::step])


@dataclass(frozen=True)
class Terms:
    """Mass matrix (n, r, r) on the drives' coordinates, Coriolis and acceleration torques (n, r) along a motion."""

    mass: Array
    coriolis: Array
    acceleration: Array

    @classmethod
    def of(cls, model: Model, motion: Motion, parameters: Mapping[str, float]) -> Terms:
        """Of a model whose independent coordinates are the drives' own."""
        lossy = {EffortKind.VISCOUS, EffortKind.COULOMB}
        friction = {name for e in model.robot.efforts if e.kind in lossy for name in e.parameters}
        pi = np.array([0.0 if name in friction else parameters[name] for name in model.parameters])
        bias = model.bias_kernel()
        moving, still = (bias(motion.y, yd, pi)["h"] for yd in (motion.yd, np.zeros_like(motion.yd)))
        mass = model.mass_matrix(motion.y, pi)
        where = [model.coordinates.index(name) for name in model.independent]
        return cls(mass, np.asarray(moving - still), np.einsum("nij,nj->ni", mass, motion.ydd[:, where]))


@dataclass(frozen=True)
class Errors:
    """How far an identified model is from the true one along a motion, as the paper measures it, in percent.

    ``mass`` (n, r, r): of each element over its mean size, of one that couples nothing over the size it could have.
    ``coriolis``, ``acceleration``: largest error of a drive over the drive's largest such torque. ``smallest``: least
    eigenvalue of M over its largest.
    """

    mass: Array
    coriolis: float
    acceleration: float
    smallest: float

    @property
    def diagonal(self) -> float:
        """Largest error on the diagonal of M."""
        return float(np.abs(np.diagonal(self.mass, axis1=1, axis2=2)).max())

    @property
    def off_diagonal(self) -> float:
        """Largest error beside the diagonal of M."""
        return float(np.abs(self.mass[:, ~np.eye(self.mass.shape[1], dtype=bool)]).max())


def compare(found: Terms, true: Terms) -> Errors:
    """The paper's errors of an identified model."""
    size = np.abs(true.mass).mean(axis=0)
    own = np.sqrt(np.diag(size))
    possible = np.outer(own, own)
    mass = 100.0 * (true.mass - found.mass) / np.where(size > _COUPLING * possible, size, possible)
    eigenvalues = np.linalg.eigvalsh(found.mass)
    return Errors(
        mass, _worst(found.coriolis, true.coriolis), _worst(found.acceleration, true.acceleration),
        float((eigenvalues[:, 0] / eigenvalues[:, -1]).min()),
    )  # fmt: skip


def _worst(found: Array, true: Array) -> float:
    """Largest error [%] of a drive over its peak, of drives that have such a torque."""
    peak = np.abs(true).max(axis=0)
    error = np.abs(found - true).max(axis=0)
    loaded = peak > 1e-3 * peak.max()
    return float(100.0 * (error[loaded] / peak[loaded]).max())
