"""A Delta-like robot in the laboratory, and what its identification may know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from dalembert.excitation import Effort, Fourier, design_excitation, fourier_within_limits
from dalembert.identification.base import symmetric_ties
from dalembert.identification.constraints import Constraints
from dalembert.identification.prior import Prior
from dalembert.logs import Log
from dalembert.model import Model, build_model
from dalembert.robot import Limit, Robot, load_robot
from dalembert.simulation import ComputedTorque, Options, Sensing, Simulation
from dalembert.studies.delta_priors import FAMILIES
from dalembert.studies.laboratory import Array, Laboratory, Path
from dalembert.studies.study import Figure, Finding, Table

__all__ = ["SECONDS", "Bench", "Section"]

SECONDS = 5.0  # one period
_FAMILY = Fourier(harmonics=5, duration=SECONDS)
_PERIODS = 2  # of the designed motion that are recorded
_RANDOM = 4  # motions recorded where none is designed
_STEP = 2.0 * np.pi / 2**20  # [rad or m] of the encoders


@dataclass(frozen=True)
class Section:
    """What one experiment showed."""

    tables: tuple[Table, ...]
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Bench:
    """``lab`` knows the truth; ``model`` and ``drives`` (on the drives' own coordinates) are of a robot without values.

    ``constraints`` are what is known for sure: symmetry, and the tool.
    """

    name: str
    lab: Laboratory
    model: Model
    drives: Model
    constraints: Constraints

    @classmethod
    def of(cls, name: str, noise: ArrayLike, truth: Mapping[str, float] | None = None) -> Bench:
        """A catalog robot; ``noise`` [N m or N] of the torques; ``truth`` replaces some of its values."""
        robot = load_robot(name)
        blank = replace(robot, nominal={})
        motors = sorted(robot.motors, key=lambda motor: motor.name)
        own = tuple(coordinate for motor in motors for coordinate, _ in motor.turns)
        return cls(
            name, _laboratory(robot, noise, truth or {}), build_model(blank), build_model(blank, independent=own),
            FAMILIES[name].constraints(robot),
        )  # fmt: skip

    def again(self, noise: ArrayLike, truth: Mapping[str, float]) -> Bench:
        """The same robot with other true values."""
        return replace(self, lab=_laboratory(load_robot(self.name), noise, truth))

    @property
    def motors(self) -> list[int]:
        """Columns of the motors' torques, in the order of the drives' coordinates."""
        names = self.model.robot.motor_names
        return [names.index(name) for name in sorted(names)]

    def excite(self, priors: Sequence[Prior], *, quick: bool, seed: int = 0) -> list[Path]:
        """Motions to identify from: one designed within what all beliefs allow, twice; or random ones."""
        if quick:
            return self.wander(_RANDOM, seed)
        design = design_excitation(
            self.model, _FAMILY, priors=[self.believed(prior) for prior in priors], repeat=_PERIODS,
            effort=Effort(starts=1, iterations=100, budget=60.0, threads=1, seed=seed),
        )  # fmt: skip
        return [design.path] * _PERIODS

    def wander(self, count: int, seed: int, limits: Mapping[str, Limit] = MappingProxyType({})) -> list[Path]:
        """Random motions within the robot's limits, some of them replaced."""
        robot = self.model.robot
        bounds = {**robot.limits, **limits}
        # a coordinate with a drive of its own may do what that one can
        own = {c: bounds[m.name] for m in robot.motors for c, _ in m.turns if c in self.model.independent}
        rng = np.random.default_rng(seed)
        return [fourier_within_limits(self.model, _FAMILY, rng, limits={**bounds, **own}) for _ in range(count)]

    def believed(self, prior: Prior) -> Array:
        """Standard parameters (p,) of a prior on equal legs, zero where it says nothing."""
        ties = symmetric_ties(self.model.robot)
        return np.asarray(ties.matrix @ [prior.values.get(name, 0.0) for name in ties.names])

    def run(self, path: Path, name: str) -> Simulation:
        """One period."""
        return self.lab.run(path, SECONDS, name=name)

    def record(self, paths: Sequence[Path], name: str) -> list[Log]:
        """Logs of one period each."""
        return [self.run(path, f"{name}{k + 1}").log for k, path in enumerate(paths)]


def _laboratory(robot: Robot, noise: ArrayLike, truth: Mapping[str, float]) -> Laboratory:
    return Laboratory.of(
        robot,
        ComputedTorque(bandwidth=20.0, damping=1.0, derivative_cutoff=100.0),
        Sensing(encoder_step=_STEP, torque_noise=noise),
        1,
        truth={**robot.nominal, **truth},
        options=Options(control_rate=5000.0, log_rate=1000.0, saturation=False),
    )
