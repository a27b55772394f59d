"""Robots and logs that the tests of logs and signals share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.logs import Log, make_log
from dalembert.robot import Body, Joint, JointType, Motor, Robot, Sensor

SHARED = Path(__file__).parents[3] / "shared" / "data" / "tx40"


def chain(n: int, name: str = "arm", ratio: float = 1.0, sensors: int = 0, unmeasured: tuple[str, ...] = ()) -> Robot:
    """n revolute joints j1 ... in a row, a motor of that name on each, behind gears of that ratio."""
    names = [f"j{i + 1}" for i in range(n)]
    bodies = tuple(
        Body(f"b{i + 1}", "base" if i == 0 else f"b{i}", Joint(joint, JointType.REVOLUTE))
        for i, joint in enumerate(names)
    )
    motors = tuple(Motor(joint, ((joint, ratio),)) for joint in names)
    extra = tuple(Sensor(f"s{i + 1}", ((names[i], 1.0),)) for i in range(sensors))
    return Robot(name, bodies, motors=motors, sensors=extra, unmeasured=unmeasured)


def wave(robot: Robot, n: int = 400, rate: float = 1000.0, seed: int = 0) -> Log:
    """A log whose numbers use all digits."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) / rate
    k = len(robot.motor_names)
    q = np.sin(np.outer(t, 2.0 + np.arange(k))) + 1e-4 * rng.normal(size=(n, k))
    measured = [m for m in robot.motor_names if m not in robot.unmeasured]
    return make_log(robot, rate, q, rng.normal(size=(n, len(measured))), name="wave")
