"""Small robots whose motion is known, and controllers that say what the torque is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dalembert.model import Model, build_model
from dalembert.robot import (
    Body,
    Coordinate,
    Effort,
    EffortKind,
    Joint,
    JointType,
    Motor,
    Placement,
    Robot,
)
from dalembert.simulation import Options, Reference, Simulation, Simulator, Target

Array = NDArray[np.float64]


def sliders(coulomb: Mapping[str, float], between: float = 0.0, slope: float = 0.0) -> Robot:
    """Two masses of 2 and 3 kg on a common line, each with a motor; dry friction on the line and between them."""
    gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    bodies = tuple(Body(n, "base", Joint(n, JointType.PRISMATIC, (1.0, 0.0, 0.0)), Placement.of([0, k, 0]))
                   for k, n in enumerate(("a", "b")))  # fmt: skip
    efforts = [Effort(n, EffortKind.COULOMB, Coordinate(((n, 1.0),))) for n in coulomb]
    nominal = {f"{s}_{b}": 0.0 for b in "ab" for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ")}
    nominal |= {"M_a": 2.0, "M_b": 3.0} | {f"Fc_{n}": f for n, f in coulomb.items()}
    if between:
        efforts.append(Effort("rub", EffortKind.COULOMB, Coordinate((("a", 1.0), ("b", -1.0)))))
        nominal["Fc_rub"] = between
    motors = tuple(Motor(n, ((n, 1.0),)) for n in "ab")
    return Robot("sliders", bodies, motors=motors, efforts=tuple(efforts), nominal=nominal, gravity=gravity)


class Open:
    """A controller that ignores the robot: torques of time alone."""

    def __init__(self, law: Callable[[float], list[float]]) -> None:
        self.law = law

    def reset(self) -> None:
        pass

    def torque(self, t: float, q: Array, target: Target) -> Array:
        return np.array(self.law(t), dtype=float)


def standing(model: Model, duration: float, rate: float = 1000.0) -> Reference:
    """A reference that stays at home."""
    t = np.arange(round(duration * rate) + 1) / rate
    y = np.tile(model.home, (len(t), 1))
    q, none, still = y @ model.robot.motor_map().T, np.zeros((len(t), model.n)), np.zeros_like(y)
    return Reference(rate, t, q, none, none, y, still, still)


def pushed(
    robot: Robot | Model,
    law: Callable[[float], list[float]],
    duration: float,
    *,
    pi: Array | None = None,
    speed: list[float] | None = None,
    **options: object,
) -> Simulation:
    """Motion from home, at rest unless ``speed`` (r,) is given, under given torques."""
    model = robot if isinstance(robot, Model) else build_model(robot)
    choices = Options(**options)  # type: ignore[arg-type]
    values = model.nominal() if pi is None else pi
    start = (model.home, np.zeros(model.r) if speed is None else np.array(speed))
    simulator = Simulator(model, Open(law), choices, tuned=values)
    return simulator.run(standing(model, duration, choices.control_rate), values, start=start)


def energy(model: Model, result: Simulation, pi: Array) -> Array:
    """Mechanical energy along a run, less what motors put in and friction took: constant."""
    out = model.energy_kernel()(result.truth.y, result.truth.yd, pi)
    work = result.truth.work
    balance: Array = out["T"].ravel() + out["V"].ravel() - work[:, 0] + work[:, 1]
    return balance
