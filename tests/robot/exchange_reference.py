"""Robots with everything the writers of other formats must say, and what it means to be the same robot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from tests.robot.mujoco_reference import frames

from dalembert.model import build_model
from dalembert.robot import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Coupling,
    Distance,
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
from dalembert.robot.geometry import rpy_rotation
from dalembert.robot.interchange import nominal_inertia

_Z = ((("z", 1.0),), (("z", 2.0), ("u.first", -1.0)))


def inertias(names: Iterable[str], rng: np.random.Generator) -> dict[str, float]:
    """Physically consistent random inertias."""
    out: dict[str, float] = {}
    for name in names:
        half = rng.uniform(-0.2, 0.2, (3, 3))
        spread = half @ half.T + 0.01 * np.eye(3)
        tensor = np.trace(spread) * np.eye(3) - spread
        out |= nominal_inertia(name, rng.uniform(0.5, 3.0), rng.uniform(-0.1, 0.1, 3), tensor)
    return out


def tree_of_all_joints(rng: np.random.Generator) -> Robot:
    """A chain of every joint type, placed anyhow, with limits, motors over gears and friction."""
    kinds = {
        "z": JointType.REVOLUTE,
        "p": JointType.PRISMATIC,
        "w": JointType.FIXED,
        "u": JointType.UNIVERSAL,
        "c": JointType.CYLINDRICAL,
        "b": JointType.SPHERICAL,
        "t": JointType.TRANSLATION,
        "e": JointType.PLANAR,
        "f": JointType.FREE,
    }
    bodies, parent = [], BASE
    for name, kind in kinds.items():
        axis = tuple(rng.uniform(-1.0, 1.0, 3))
        placement = Placement.of(rng.uniform(-0.5, 0.5, 3), rpy_rotation(rng.uniform(-3.0, 3.0, 3)))
        bodies.append(Body(f"body_{name}", parent, Joint(name, kind, axis), placement, massless=name == "t"))
        parent = bodies[-1].name
    bodies.append(Body("drone", BASE, Joint("d", JointType.FREE)))
    moving = [b.name for b in bodies if not b.massless]
    efforts = (
        Effort("z", EffortKind.VISCOUS, Coordinate(_Z[0])),
        Effort("z", EffortKind.COULOMB, Coordinate(_Z[0])),
        Effort("z", EffortKind.ROTOR, Coordinate(_Z[0])),
        Effort("mix", EffortKind.ROTOR, Coordinate(_Z[1])),
        Effort("mix", EffortKind.VISCOUS, Coordinate(_Z[1])),
        Effort("p", EffortKind.SPRING, Coordinate((("p", 1.0),)), rest=-0.2),
        Effort("s", EffortKind.SPRING, Coordinate((("z", 1.0), ("p", -3.0)), 0.4), rest=0.1),
        Effort("r", EffortKind.SPRING, Coordinate((("z", 1.0), ("p", -3.0)))),
        Effort("line", EffortKind.SPRING, Distance(_at("body_p", 0.1), _at("drone", 3.0)), rest=0.5),
    )
    values = dict.fromkeys((n for e in efforts for n in e.parameters), 0.7)
    return Robot(
        name="all joints",
        bodies=tuple(bodies),
        motors=(Motor("one", (("z", 30.0),), 4.0), Motor("two", (("p", 2.0), ("z", -5.0)))),
        efforts=efforts,
        gravity=(0.5, -1.0, -9.0),
        home={"z": 0.3, "b.rx": 0.2, "b.ry": -0.1, "d.x": 0.4, "d.rz": 1.2},
        limits={"z": Limit(-1.0, 2.0), "p": Limit(-0.1, 0.2, velocity=3.0)},
        nominal={**inertias(moving, rng), **values},
        platform="drone",
    )


def _at(body: str, x: float) -> Anchor:
    return Anchor(body, Placement.of((x, 0.1, -0.2)))


def loops_of_most_kinds(rng: np.random.Generator) -> Robot:
    """Couplings to none, one and two coordinates, and loops of points, hinges, welds and rods."""
    names = ("a", "b", "c", "d", "e")
    bodies = [
        Body(name, BASE, Joint(f"q{name}", JointType.REVOLUTE, (0.0, 1.0, 0.0)), Placement.of((0.4 * i, 0.0, 0.0)))
        for i, name in enumerate(names)
    ]
    bodies.append(Body("free", BASE, Joint("pose", JointType.FREE)))
    bodies.append(Body("screw", BASE, Joint("h", JointType.HELICAL, (0.0, 0.6, 0.8), pitch=0.02)))
    turned = Placement.of((0.1, 0.2, 0.3), rpy_rotation((0.3, 0.4, 0.5)))
    loops = (
        Coupling("pair", "qb", (("qa", -2.0),), 0.1),
        Coupling("three", "qc", (("qa", 1.0), ("qd", 0.5)), -0.2),
        Loop("pin", LoopKind.POINT, Anchor("d", turned), Anchor("free", turned)),
        Loop("rod", LoopKind.ROD, Anchor("a", turned), Anchor("free"), 1.3),
        Loop("hinge", LoopKind.AXIS, Anchor("e", turned), Anchor("free", turned)),
        Loop("weld", LoopKind.WELD, Anchor(BASE, turned), Anchor("free", turned)),
    )
    return Robot("loops", tuple(bodies), loops, nominal=inertias([b.name for b in bodies], rng))


def same_tree_dynamics(first: Robot, second: Robot, rng: np.random.Generator) -> None:
    """Same coordinates, poses of common bodies and tree efforts, at random motion."""
    assert first.coordinates == second.coordinates
    y, yd, ydd = rng.uniform(-1.0, 1.0, (3, 4, len(first.coordinates)))
    poses = frames(first, y[0]), frames(second, y[0])
    for name in set(first.body_names) & set(second.body_names):
        np.testing.assert_allclose(poses[0][name], poses[1][name], atol=1e-12)
    found = []
    for robot in (first, second):
        model = build_model(robot, backend="numpy")
        found.append(model.inverse_kernel("platform")(y, yd, ydd, model.nominal())["gamma"])
    np.testing.assert_allclose(found[1], found[0], atol=1e-11 * np.abs(found[0]).max())
