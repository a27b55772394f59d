"""Two small robots with limits and nominal values: a tree with gravity, and a loop moved in joint or task space."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
from tests.helpers.robots import at, five_bar, random_parameters, revolute, slider

from dalembert.model import Model, build_model
from dalembert.robot import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Effort,
    EffortKind,
    Joint,
    JointType,
    Limit,
    Loop,
    LoopKind,
    Motor,
    Placement,
    Robot,
)
from dalembert.robot.geometry import rotation_about

FRICTION = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB)


def _with_nominal(robot: Robot, seed: int = 3) -> Robot:
    pi = random_parameters(robot, np.random.default_rng(seed))
    return replace(robot, nominal=dict(zip(robot.parameters(), pi.tolist(), strict=True)))


def arm() -> Robot:
    """A vertical axis, a shoulder, a slide: motor b turns shoulder and slide together."""
    tilt = rotation_about((1.0, 0.0, 0.0), math.pi / 2)
    bodies = (
        Body("column", BASE, revolute("turn"), at(0, 0, 0.2)),
        Body("upper", "column", revolute("lift"), at(0.1, rotation=tilt)),
        Body("rod", "upper", slider("reach", (1.0, 0.0, 0.0)), at(0.3)),
    )
    turns = {"a": (("turn", 1.0),), "b": (("lift", 1.0), ("reach", 2.0)), "c": (("reach", 5.0),)}
    motors = tuple(Motor(name, terms, torque_limit=60.0) for name, terms in turns.items())
    efforts = tuple(Effort(name, kind, Coordinate(terms)) for name, terms in turns.items() for kind in FRICTION)
    limits = {
        "turn": Limit(-2.5, 2.0, velocity=4.0, acceleration=25.0, jerk=400.0),
        "lift": Limit(-1.0, 1.4, velocity=3.0, acceleration=20.0),
        "reach": Limit(-0.1, 0.2, velocity=0.8, acceleration=6.0),
        "b": Limit(velocity=3.5),
    }
    return _with_nominal(
        Robot("arm", bodies, motors=motors, efforts=efforts, platform="rod", limits=limits, home={"lift": 0.2})
    )


def rig(independent: tuple[str, ...] = ("q1", "q2")) -> Robot:
    """A five-bar with gravity: two geared motors; rods passive."""
    limits = {
        "q1": Limit(1.5, 2.9, velocity=6.0, acceleration=60.0),
        "q2": Limit(0.2, 1.6, velocity=6.0, acceleration=60.0),
        "p1": Limit(-2.2, -0.2, velocity=9.0, acceleration=150.0, jerk=4000.0),
    }
    robot = replace(five_bar(), independent=independent, limits=limits)
    motors = tuple(replace(m, torque_limit=3.0) for m in robot.motors)
    return _with_nominal(replace(robot, motors=motors))


def crane() -> Robot:
    """The same five-bar carrying a massive tip in the plane: planned in the tip's coordinates, its task space."""
    bodies = (
        Body("tip", BASE, Joint("pose", JointType.TRANSLATION), Placement.of((0.0, 0.5, 0.0))),
        Body("crank1", BASE, revolute("q1"), at(-0.25)),
        Body("rod1", "crank1", revolute("p1"), at(0.3)),
        Body("crank2", BASE, revolute("q2"), at(0.25)),
        Body("rod2", "crank2", revolute("p2"), at(0.3)),
    )
    loops = tuple(
        Loop(f"end{k}", LoopKind.POINT, Anchor(f"rod{k}", at(0.45)), Anchor("tip")) for k in (1, 2)
    )  # fmt: skip
    motors = tuple(Motor(f"m{k}", ((f"q{k}", 1.0),), torque_limit=60.0) for k in (1, 2))
    efforts = tuple(Effort(f"m{k}", kind, Coordinate(((f"q{k}", 1.0),))) for k in (1, 2) for kind in FRICTION)
    limits = {
        "pose.x": Limit(-0.15, 0.15, velocity=1.5, acceleration=15.0),
        "pose.y": Limit(-0.15, 0.15, velocity=1.5, acceleration=15.0),
        "q1": Limit(1.2, 3.2, velocity=6.0, acceleration=80.0),
        "p2": Limit(-2.4, 2.4, jerk=3000.0),
    }
    return _with_nominal(
        Robot(
            "crane",
            bodies,
            loops,
            motors,
            efforts=efforts,
            gravity=(0.0, -9.81, 0.0),
            platform="tip",
            limits=limits,
            independent=("pose.x", "pose.y"),
            home={"q1": 2.2, "p1": -1.2, "q2": 0.9, "p2": 1.2},
        )
    )


ROBOTS = {"arm": arm, "rig": rig, "crane": crane}


@cache
def model_of(name: str) -> Model:
    """The model of one of the robots, built once."""
    return build_model(ROBOTS[name]())
