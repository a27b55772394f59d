"""Limits in a YAML file, over those of the robot.

shares: {velocity: 0.8, torque: 0.7}         # of each limit that a motion may use
motion:
  j1: {lower: -90 deg, upper: 90 deg, velocity: 2, acceleration: 20, jerk: 500}
torque: {j1: 50 Nm}
workspace:
  - {shape: hemisphere, centre: [0, 0, -0.8], radius: 0.5, axis: -z}
  - {shape: box, lower: [-0.2, -0.2, 0], upper: [0.2, 0.2, 0.5], body: tool, point: [0, 0, 0.1]}
singularity: {closure: 0.1, motors: 0.2, condition: 20}
tilt: [{name: ball1, a: crank1, axis_a: y, b: rod1, axis_b: z, angle: 30 deg}]
clearance: {floor: 0, distance: 0.02, pairs: [[arm, hand]],
            capsules: [{name: arm, body: link2, start: [0, 0, 0], end: [0.2, 0, 0], radius: 0.05},
                       {name: hand, body: link6, start: [0, 0, 0], end: [0, 0, 0.1], radius: 0.04}]}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path

from dalembert.excitation.constraints.clearance import Capsule
from dalembert.excitation.limits import Clearance, Limits, Margin, Shares, Tilt, Workspace
from dalembert.excitation.workspace import Box, Cone, Cylinder, HalfSpace, Hemisphere, Region, Sphere
from dalembert.robot import Limit, Robot
from dalembert.robot.geometry import Vector
from dalembert.robot.quantity import ANGLE, ANY, EFFORT, LENGTH, PURE, Motion, motion_of
from dalembert.robot.yaml_source import Located, parse_file

__all__ = ["read_limits"]

Keys = Mapping[str, Located]


def read_limits(path: str | Path, robot: Robot) -> Limits:
    """The robot's limits, replaced where the file says otherwise; errors name file and line."""
    sections = ("shares", "motion", "torque", "workspace", "singularity", "tilt", "clearance")
    keys = parse_file(Path(path)).mapping(sections, what="limits")
    limits = Limits.of(robot)
    if "shares" in keys:
        names = [item.name for item in fields(Shares)]
        given = keys["shares"].mapping(names, what="shares")
        limits = replace(limits, shares=Shares(**{name: value.number(PURE) for name, value in given.items()}))
    if "motion" in keys:
        own = dict(limits.motion)
        for name, value in keys["motion"].entries("limits by coordinate or motor").items():
            own[name] = _motion(value, own.get(name, Limit()), motion_of(robot.bodies, name))
        limits = replace(limits, motion=own)
    if "torque" in keys:
        torque = {name: value.positive(EFFORT) for name, value in keys["torque"].entries().items()}
        limits = replace(limits, torque={**limits.torque, **torque})
    if "workspace" in keys:
        limits = replace(limits, workspace=tuple(_workspace(item) for item in keys["workspace"].items()))
    if "singularity" in keys:
        names = [item.name for item in fields(Margin)]
        given = keys["singularity"].mapping(names, what="singularity margins")
        margin = Margin(**{name: value.positive(ANY, "a margin") for name, value in given.items()})
        limits = replace(limits, singularity=margin)
    if "tilt" in keys:
        limits = replace(limits, tilt=tuple(_tilt(item) for item in keys["tilt"].items()))
    if "clearance" in keys:
        limits = replace(limits, clearance=_clearance(keys["clearance"]))
    limits.check(robot)
    return limits


def _motion(value: Located, own: Limit, of: Motion) -> Limit:
    given = {
        name: item.number(of[name]) if name in ("lower", "upper") else item.positive(of[name], name)
        for name, item in value.mapping(of, what="limits").items()
    }
    return replace(own, **given)


def _vector(keys: Keys, name: str, default: Vector = (0.0, 0.0, 0.0)) -> Vector:
    return keys[name].vector(LENGTH) if name in keys else default


def _axis(keys: Keys, default: Vector) -> Vector:
    return keys["axis"].axis() if "axis" in keys else default


def _height(keys: Keys, name: str, default: float) -> float:
    return keys[name].number(LENGTH) if name in keys else default


_SHAPES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Callable[[Keys], Region]]] = {
    "box": (("lower", "upper"), (), lambda k: Box(k["lower"].vector(LENGTH), k["upper"].vector(LENGTH))),
    "sphere": (
        ("radius",), ("centre",),
        lambda k: Sphere(_vector(k, "centre"), k["radius"].positive(LENGTH, "a radius")),
    ),
    "hemisphere": (
        ("radius",), ("centre", "axis"),
        lambda k: Hemisphere(
            _vector(k, "centre"), k["radius"].positive(LENGTH, "a radius"), _axis(k, (0.0, 0.0, -1.0))
        ),
    ),
    "cylinder": (
        ("radius",), ("centre", "axis", "lower", "upper"),
        lambda k: Cylinder(
            _vector(k, "centre"), k["radius"].positive(LENGTH, "a radius"), _axis(k, (0.0, 0.0, 1.0)),
            _height(k, "lower", -math.inf), _height(k, "upper", math.inf),
        ),
    ),
    "cone": (
        ("apex", "axis", "angle"), (),
        lambda k: Cone(k["apex"].vector(LENGTH), k["axis"].axis(), k["angle"].positive(ANGLE)),
    ),
    "half-space": (("normal", "offset"), (), lambda k: HalfSpace(k["normal"].axis(), k["offset"].number(LENGTH))),
}  # fmt: skip


def _workspace(item: Located) -> Workspace:
    entries = item.entries("a region with a shape")
    if "shape" not in entries:
        item.fail(f"the key 'shape' is missing, expected one of {', '.join(_SHAPES)}")
    required, optional, make = _SHAPES[entries["shape"].choice_of(_SHAPES)]
    keys = item.mapping(("shape", "body", "point", *required, *optional), required, "a region")
    body = keys["body"].text() if "body" in keys else ""
    return Workspace(make(keys), body, _vector(keys, "point"))


def _tilt(item: Located) -> Tilt:
    names = ("name", "a", "axis_a", "b", "axis_b", "angle")
    k = item.mapping(names, names, "a tilt")
    return Tilt(
        k["name"].text(), k["a"].text(), k["axis_a"].axis(), k["b"].text(), k["axis_b"].axis(),
        k["angle"].positive(ANGLE),
    )  # fmt: skip


def _clearance(item: Located) -> Clearance:
    keys = item.mapping(("capsules", "pairs", "distance", "floor"), what="clearances")
    capsules = tuple(_capsule(c) for c in keys["capsules"].items()) if "capsules" in keys else ()
    pairs = []
    for pair in keys["pairs"].items() if "pairs" in keys else ():
        a, b = pair.exactly(2, "two names of capsules")
        pairs.append((a.text(), b.text()))
    floor = keys["floor"].number(LENGTH) if "floor" in keys else None
    return Clearance(capsules, tuple(pairs), keys["distance"].number(LENGTH) if "distance" in keys else 0.0, floor)


def _capsule(item: Located) -> Capsule:
    names = ("name", "body", "start", "end", "radius")
    k = item.mapping(names, names, "a capsule")
    return Capsule(
        k["name"].text(),
        k["body"].text(),
        k["start"].vector(LENGTH),
        k["end"].vector(LENGTH),
        k["radius"].number(LENGTH),
    )
