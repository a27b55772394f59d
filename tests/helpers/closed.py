"""A closed-loop robot with its model, random states and referee, built once for all tests of a session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from tests.helpers.catalog import catalog_loops, catalog_robot
from tests.helpers.pinocchio_bridge import Engine, to_pinocchio
from tests.helpers.robots import effort_values, loop_robots, random_parameters

from dalembert.model import Model, build_model
from dalembert.motion import States, random_states
from dalembert.robot import EffortKind, Robot

Array = NDArray[np.float64]
N_STATES = 4


@dataclass
class Closed:
    robot: Robot
    model: Model
    engine: Engine
    pi: Array
    states: States

    @property
    def values(self) -> dict[str, float]:
        return effort_values(self.robot, self.pi)

    def tree_torque(self, y: Array, yd: Array, ydd: Array) -> Array:
        """Generalised force of the opened tree by the referee, efforts included."""
        return self.engine.rnea(y, yd, ydd) + self.engine.effort(self.values, y, yd, ydd)

    def rotor_mass(self) -> Array:
        """What the rotors add to the mass matrix."""
        n_y = self.model.n_y
        none = np.zeros(n_y)
        rotors = self.robot.with_efforts([e for e in self.robot.efforts if e.kind is EffortKind.ROTOR])
        engine = Engine(rotors, self.engine.model, self.engine.data, {}, {}, self.engine.order)
        return np.stack([engine.effort(self.values, none, none, e) for e in np.eye(n_y)], axis=1)

    def samples(self) -> zip:  # type: ignore[type-arg]
        s = self.states
        return zip(s.y, s.yd, s.ydd, strict=True)


def closed_names() -> list[str]:
    return [*loop_robots(), *catalog_loops()]


def robot_named(name: str) -> Robot:
    return loop_robots()[name] if name in loop_robots() else catalog_robot(name)


@cache
def closed(name: str, backend: str = "numpy") -> Closed:
    robot = robot_named(name)
    model = build_model(robot, backend=backend)
    rng = np.random.default_rng(7)
    pi = random_parameters(robot, rng)
    states = random_states(model, N_STATES, rng)
    # the referee gets the robot as the model sees it: idle mobilities held
    return Closed(model.robot, model, to_pinocchio(model.robot, pi), pi, states)
