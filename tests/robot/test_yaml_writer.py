"""Robot files written and read back are the same robot."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.robot.yaml_files import DUALV, EVERYTHING, MDH, read_text

from dalembert import catalog_names, load_robot
from dalembert.errors import ExportError
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
    Sensor,
    read_yaml,
    write_yaml,
)
from dalembert.robot.expression import Name, parse

# Axes are divided by their length when they are read: a unit in the last place.
ROUNDING = 1e-15


def assert_same(a: Any, b: Any, where: str = "robot") -> None:
    """Field by field equal, numbers to rounding."""
    assert type(a) is type(b), where
    if dataclasses.is_dataclass(a):
        for item in dataclasses.fields(a):
            assert_same(getattr(a, item.name), getattr(b, item.name), f"{where}.{item.name}")
    elif isinstance(a, Mapping):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key}]")
    elif isinstance(a, tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif isinstance(a, float):
        assert a == b or math.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING), where
    else:
        assert a == b, where


def assert_reads_back(robot: Robot, path: Path) -> None:
    write_yaml(robot, path)
    assert_same(read_yaml(path), robot)


@pytest.mark.parametrize("name", catalog_names())
def test_catalog_robots_read_back(name: str, tmp_path: Path) -> None:
    assert_reads_back(load_robot(name), tmp_path / "robot.yaml")


@pytest.mark.parametrize("text", [DUALV, EVERYTHING, MDH], ids=["dualv", "everything", "mdh"])
def test_robot_files_read_back(text: str, tmp_path: Path) -> None:
    assert_reads_back(read_text(tmp_path, text), tmp_path / "again.yaml")


# any robot

_NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8).filter(
    lambda name: name not in (BASE, "constant", "distance")
)
_NUMBERS = st.floats(-1e3, 1e3, allow_subnormal=False)
_RATIOS = _NUMBERS.filter(lambda x: x != 0.0)
_VECTORS = st.tuples(_NUMBERS, _NUMBERS, _NUMBERS)
_AXES = _VECTORS.filter(lambda v: math.hypot(*v) > 1e-3)


@st.composite
def _placements(draw: st.DrawFn) -> Placement:
    q, _ = np.linalg.qr(np.random.default_rng(draw(st.integers(0, 999))).normal(size=(3, 3)))
    rotation = draw(st.sampled_from([np.eye(3), np.eye(3)[[1, 2, 0]], q * np.linalg.det(q)]))
    return Placement.of(draw(_VECTORS), rotation)


@st.composite
def _robots(draw: st.DrawFn) -> Robot:
    names = draw(st.lists(_NAMES, min_size=2, max_size=5, unique=True))
    kinds = [JointType.REVOLUTE, *draw(st.lists(st.sampled_from(JointType), min_size=4, max_size=4))]
    bodies = []
    for i, name in enumerate(names):
        kind = kinds[i]
        pitch = draw(_RATIOS) if kind is JointType.HELICAL else 0.0
        axis = draw(_AXES) if kind is not JointType.UNIVERSAL else draw(st.sampled_from([(1, 0, 0), (0.6, 0.8, 0)]))
        second = (0.0, 0.0, -1.0) if kind is JointType.UNIVERSAL and draw(st.booleans()) else None
        parent = draw(st.sampled_from([BASE, *names[:i]]))
        joint = Joint(f"j{i}" if draw(st.booleans()) else f"{name}!", kind, axis, second, pitch)
        bodies.append(Body(name, parent, joint, draw(_placements()), draw(st.booleans())))
    robot = Robot("r", tuple(bodies))
    coordinate = st.sampled_from(robot.coordinates)
    terms = st.lists(st.tuples(coordinate, _RATIOS), min_size=1, max_size=3, unique_by=lambda t: t[0]).map(tuple)
    anchors = [Anchor(name, draw(_placements())) for name in (BASE, names[0], names[1])]
    on = Coordinate(draw(terms), draw(_NUMBERS))
    simple = draw(st.permutations([k for k in EffortKind if k not in (EffortKind.BASIS, EffortKind.FORCE)]))
    efforts = [Effort("a", k, on, rest=draw(_NUMBERS) if k is EffortKind.SPRING else None) for k in simple]
    efforts.append(Effort("b", EffortKind.SPRING, Distance(anchors[1], anchors[2])))
    efforts.append(Effort("c", EffortKind.BASIS, on, basis=(parse("1"), parse("-sin(pi/3)^2"))))
    efforts.append(Effort("d", EffortKind.FORCE, None, force=((draw(coordinate), parse("2/3")),)))
    loop_kind = draw(st.sampled_from(LoopKind))
    length = draw(st.floats(0.1, 9.0)) if loop_kind is LoopKind.ROD else 0.0
    coupled = [t for t in draw(terms) if t[0] != robot.coordinates[0]]
    motors = tuple(Motor(f"m{i}", t, 3.5) for i, t in enumerate(draw(st.lists(terms, max_size=2))))
    limits = {draw(coordinate): Limit(-1.0, draw(st.floats(0.0, 9.0)), jerk=2.0)}
    home = draw(st.dictionaries(coordinate, _NUMBERS))
    complete = dataclasses.replace(
        robot, name=draw(_NAMES), motors=motors, sensors=(Sensor("s", draw(terms)),), efforts=tuple(efforts),
        loops=(Loop("l", loop_kind, anchors[0], anchors[1], length),
               Coupling("k", robot.coordinates[0], tuple(coupled), draw(_NUMBERS))),
        gravity=draw(_VECTORS), independent=(draw(coordinate),), home=home, platform=names[-1],
        unmeasured=tuple(motor.name for motor in motors[:1]), limits=limits,
        without_encoder=tuple(motor.name for motor in motors[1:2]),
        source=draw(st.text(st.characters(exclude_categories=("Cs",)), max_size=20)).strip(),
    )  # fmt: skip
    massive = [body.name for body in bodies if not body.massless]
    nominal = {name: draw(_NUMBERS) for name in complete.parameters()[::7] if not name.startswith("M_")}
    return dataclasses.replace(complete, nominal=nominal, symmetric=(tuple(massive),) if massive else ())


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(robot=_robots())
def test_any_robot_reads_back(robot: Robot, tmp_path: Path) -> None:
    assert_reads_back(robot, tmp_path / "robot.yaml")


def test_a_rotation_is_read_as_it_was_written() -> None:
    """Orthogonal to rounding is as good as it gets: no reading moves it any further."""
    for seed in range(300):
        q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
        once = Placement.of(rotation=q * np.linalg.det(q))
        assert Placement.of(rotation=once.rotation) == once


def test_plain_rotations_are_written_as_angles(tmp_path: Path) -> None:
    robot = read_text(tmp_path, EVERYTHING)
    write_yaml(robot, tmp_path / "again.yaml")
    assert "rpy: [pi/2, 0, 0]" in (tmp_path / "again.yaml").read_text()


def test_what_a_file_cannot_hold_leaves_the_old_file(tmp_path: Path) -> None:
    robot = read_text(tmp_path, DUALV)
    path = tmp_path / "robot.yaml"
    odd = Effort("odd", EffortKind.BASIS, Coordinate((("q11", 1.0),)), basis=(Name("a b"),))
    with pytest.raises(ExportError, match="cannot hold the expression 'a b'"):
        write_yaml(robot.with_efforts([odd]), path)
    assert path.read_text() == DUALV
    assert [file.name for file in tmp_path.iterdir()] == ["robot.yaml"]
