"""Simulated logs of a serial, a closed-loop and an over-actuated robot, and what goes wrong with real ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from tests.helpers.catalog import catalog_robot

from dalembert.excitation import Fourier
from dalembert.logs import Log
from dalembert.model import Model, build_model
from dalembert.robot import Body, Coordinate, Effort, EffortKind, Joint, JointType, Limit, Motor, Robot
from dalembert.robot.geometry import Placement
from dalembert.simulation.synthetic import random_recording

Array = np.ndarray


@dataclass(frozen=True)
class Recorded:
    robot: Robot
    model: Model
    log: Log


def arm() -> Robot:
    """A column, an upper and a fore arm: three turns, gravity, friction, unknown to any catalog."""
    places = {"pan": ((0, 0, 0.2), (0, 0, 1)), "lift": ((0.05, 0, 0.1), (0, 1, 0)), "bend": ((0.3, 0, 0), (0, 1, 0))}
    bodies, parent = [], "base"
    for name, (at, axis) in places.items():
        joint = Joint(name, JointType.REVOLUTE, tuple(float(x) for x in axis))  # type: ignore[arg-type]
        bodies.append(Body(f"{name}_link", parent, joint, Placement.of(at)))
        parent = f"{name}_link"
    kinds = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB)
    efforts = [Effort(name, kind, Coordinate(((name, 1.0),))) for name in places for kind in kinds]
    nominal = dict.fromkeys(Robot("arm", tuple(bodies), efforts=tuple(efforts)).parameters(), 0.0)
    nominal |= {"M_pan_link": 4.0, "XX_pan_link": 0.05, "YY_pan_link": 0.05, "ZZ_pan_link": 0.03}
    nominal |= {
        "M_lift_link": 3.0,
        "MX_lift_link": 0.45,
        "XX_lift_link": 0.01,
        "YY_lift_link": 0.1,
        "ZZ_lift_link": 0.1,
    }
    nominal |= {"M_bend_link": 1.5, "MX_bend_link": 0.2, "MZ_bend_link": 0.03, "XX_bend_link": 0.01}
    nominal |= {"YY_bend_link": 0.04, "ZZ_bend_link": 0.04, "Ia_pan": 0.1, "Ia_lift": 0.1, "Ia_bend": 0.05}
    nominal |= {"Fv_pan": 2.0, "Fv_lift": 2.5, "Fv_bend": 1.0, "Fc_pan": 1.5, "Fc_lift": 2.0, "Fc_bend": 0.8}
    return Robot(
        "arm", tuple(bodies), motors=tuple(Motor(n, ((n, 1.0),), 200.0) for n in places), efforts=tuple(efforts),
        limits={n: Limit(-2.5, 2.5, 5.0, 30.0) for n in places}, nominal=nominal, platform="bend_link",
    )  # fmt: skip


ROBOTS = {"serial": arm, "loops": lambda: catalog_robot("delta"), "over-actuated": lambda: catalog_robot("dualv")}


@cache
def recorded(kind: str) -> Recorded:
    """A log with noise: 5 % of the torque, encoder steps, on the over-actuated robot a preload nobody knows."""
    robot = ROBOTS[kind]()
    model = build_model(robot, backend="numpy")
    made = random_recording(
        model, np.random.default_rng(5), family=Fourier(duration=8.0, harmonics=5), rate=250.0, torque_noise=0.05,
        encoder_step=1e-5, preload=_preload if kind == "over-actuated" else None,
    )  # fmt: skip
    return Recorded(robot, model, made.log)


def _preload(t: Array) -> Array:
    return 3.0 * np.stack([np.sin(2.0 * np.pi * (0.7 + 0.3 * k) * t + k) for k in range(4)], axis=1)


def reread(log: Log, A: Array | None = None, b: Array | float = 0.0, C: Array | None = None) -> Log:
    """The log as it is when positions are recorded as ``A q + b`` and torques as ``C tau``."""
    q = log.q if A is None else log.q @ A.T
    return replace(log, q=q + b, tau=log.tau if C is None else log.tau @ C.T)


def flipped(n: int, *at: int) -> Array:
    return np.diag([-1.0 if k in at else 1.0 for k in range(n)])


def exchanged(n: int, i: int, j: int) -> Array:
    out = np.eye(n)
    out[[i, j]] = out[[j, i]]
    return out


def late(log: Log, seconds: float) -> Log:
    """Torque recorded so much after the positions it belongs to."""
    return replace(log, tau=np.roll(log.tau, round(seconds * log.info.rate), axis=0))
