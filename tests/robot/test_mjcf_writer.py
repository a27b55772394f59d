"""MJCF written from robots: MuJoCo finds the same dynamics in it, and reading it back gives the same robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.robot.exchange_reference import inertias, loops_of_most_kinds, same_tree_dynamics, tree_of_all_joints
from tests.robot.mujoco_reference import ALL, MODELS, Engine, cut_open, frames

from dalembert.errors import ExportError
from dalembert.model import build_model
from dalembert.robot import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Coupling,
    Effort,
    EffortKind,
    Joint,
    JointType,
    Loop,
    LoopKind,
    Placement,
    Robot,
)
from dalembert.robot.expression import parse
from dalembert.robot.mjcf_reader import read_mjcf
from dalembert.robot.mjcf_writer import write_mjcf


@pytest.mark.parametrize("name", ALL)
def test_a_file_survives_reading_and_writing(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    robot = read_mjcf(MODELS / f"{name}.xml")
    write_mjcf(robot, tmp_path / "again.xml")
    again = read_mjcf(tmp_path / "again.xml")
    same_tree_dynamics(cut_open(robot), cut_open(again), rng)
    assert again.motors == robot.motors
    assert [(e.name, e.kind) for e in again.efforts] == [(e.name, e.kind) for e in robot.efforts]
    assert again.gravity == robot.gravity
    assert again.limits.keys() == robot.limits.keys()
    assert [loop.name for loop in again.loops] == [loop.name for loop in robot.loops]
    for key, value in robot.home.items():
        assert again.home[key] == pytest.approx(value, abs=1e-12)
    # without what is massless, and so gets a negligible mass in the file
    assert again.nominal == pytest.approx(dict(robot.nominal), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["4rrr", "delta", "stewart_ups"])
def test_mujoco_simulates_what_was_written(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    robot = read_mjcf(MODELS / f"{name}.xml")
    write_mjcf(robot, tmp_path / "again.xml")
    first, second = Engine(MODELS / f"{name}.xml", robot), Engine(tmp_path / "again.xml", robot)
    y, yd, ydd = rng.uniform(-1.0, 1.0, (3, len(robot.coordinates)))
    expected = first.tree_effort(y, yd, ydd)
    np.testing.assert_allclose(
        second.tree_effort(y, yd, ydd), expected, atol=1e-9 * np.abs(expected).max()
    )  # bodies without mass weigh 1e-12 kg in MuJoCo


def test_every_joint_type_and_effort(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = tree_of_all_joints(rng)
    write_mjcf(robot, tmp_path / "all.xml")
    again = read_mjcf(tmp_path / "all.xml")
    same_tree_dynamics(robot, again, rng)
    assert again.motors == robot.motors
    assert again.home["b.ry"] == pytest.approx(-0.1)
    assert again.home["d.rz"] == pytest.approx(1.2)
    assert again.limits["z"].upper == 2.0
    assert {b.name: b.joint.type for b in again.bodies}["drone"] is JointType.FREE
    assert {b.name: b.joint.type for b in again.bodies}["body_b"] is JointType.SPHERICAL


def test_every_loop_mjcf_knows(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = loops_of_most_kinds(rng)
    write_mjcf(robot, tmp_path / "loops.xml")
    again = read_mjcf(tmp_path / "loops.xml")
    loops = {loop.name: loop for loop in again.loops}
    y = rng.uniform(-1.0, 1.0, len(again.coordinates))
    known = [name in robot.coordinates for name in again.coordinates]
    poses = frames(robot, y[known]), frames(again, y)
    for loop in robot.loops:
        if isinstance(loop, Coupling):
            assert loops[loop.name] == loop
            continue
        found = loops[loop.name]
        assert isinstance(found, Loop)
        assert found.kind is (LoopKind.POINT if loop.kind is LoopKind.AXIS else loop.kind)
        assert found.length == pytest.approx(loop.length)
        for ours, theirs in ((loop.a, found.a), (loop.b, found.b)):
            np.testing.assert_allclose(
                poses[1][theirs.body] @ _matrix(theirs), poses[0][ours.body] @ _matrix(ours), atol=1e-12
            )
    second = loops["hinge_axis"]
    assert isinstance(second, Loop)
    assert np.linalg.norm(second.a.placement.p - (0.1, 0.2, 0.3)) == pytest.approx(0.1)
    assert loops["h_advance"] == Coupling("h_advance", "h_advance", (("h", 0.02),), 0.0)


def _matrix(anchor: Anchor) -> np.ndarray:
    return np.block([[anchor.placement.R, anchor.placement.p[:, None]], [np.zeros(3), 1.0]])


def test_a_screw_keeps_its_dynamics(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = loops_of_most_kinds(rng)
    screw = replace(robot, bodies=tuple(b for b in robot.bodies if b.name == "screw"), loops=(), nominal={})
    screw = replace(screw, nominal=inertias(["screw"], rng), gravity=(1.0, 2.0, 3.0))
    write_mjcf(screw, tmp_path / "screw.xml")
    first, second = (build_model(r, backend="numpy") for r in (screw, read_mjcf(tmp_path / "screw.xml")))
    motion = rng.uniform(-1.0, 1.0, (3, 6, 1))
    led = [np.concatenate([q if name == "h" else 0.02 * q for name in second.coordinates], 1) for q in motion]
    expected = first.inverse_kernel("platform")(*motion, first.nominal())["gamma"]
    found = second.inverse_kernel("platform")(*led, second.nominal())["gamma"]
    scale = 1.0 if second.independent == ("h",) else 0.02
    np.testing.assert_allclose(found * scale, expected, atol=1e-12 * np.abs(expected).max())


def test_home_of_the_file_is_home(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = tree_of_all_joints(rng)
    write_mjcf(robot, tmp_path / "all.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "all.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    poses = frames(robot, np.array([robot.home.get(name, 0.0) for name in robot.coordinates]))
    for name in ("body_b", "body_f", "drone"):
        np.testing.assert_allclose(data.body(name).xpos, poses[name][:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.body(name).xmat.reshape(3, 3), poses[name][:3, :3], atol=1e-12)


def _pendulum(**changes: object) -> Robot:
    body = Body("rod", BASE, Joint("q", JointType.REVOLUTE))
    other = Body("other", BASE, Joint("p", JointType.REVOLUTE))
    rng = np.random.default_rng(1)
    robot = Robot("pendulum", (body, other), nominal=inertias(["rod", "other"], rng))
    return replace(robot, **changes)  # type: ignore[arg-type]


ON_Q = Coordinate((("q", 1.0),))
BROKEN = {
    "loop 'l' of kind slide": {"loops": (Loop("l", LoopKind.SLIDE, Anchor("rod"), Anchor("other")),)},
    "loop 'l' of kind cylinder": {"loops": (Loop("l", LoopKind.CYLINDER, Anchor("rod"), Anchor("other")),)},
    "offset effort 'q'": {"efforts": (Effort("q", EffortKind.OFFSET, ON_Q),), "nominal": {"off_q": 1.0}},
    "constant effort 'q'": {"efforts": (Effort("q", EffortKind.CONSTANT, ON_Q),), "nominal": {"F_q": 1.0}},
    "basis effort 'q'": {
        "efforts": (Effort("q", EffortKind.BASIS, ON_Q, basis=(parse("q^2"),)),),
        "nominal": {"c0_q": 1.0},
    },
    "force effort 'q'": {
        "efforts": (Effort("q", EffortKind.FORCE, None, force=(("q", parse("q")),)),),
        "nominal": {"c_q": 1.0},
    },
    "viscous effort 'q'": {"efforts": (Effort("q", EffortKind.VISCOUS, ON_Q),), "nominal": {"Fv_q": -1.0}},
    "body 'rod'": {"nominal": {"M_rod": 1.0, "XX_rod": 1.0}},
    "first moments": {"nominal": {"MX_rod": 1.0}},
}


@pytest.mark.parametrize("culprit", BROKEN)
def test_what_has_no_counterpart_is_named(culprit: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=culprit) as error:
        write_mjcf(_pendulum(**BROKEN[culprit]), tmp_path / "no.xml")
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text("old")
    with pytest.raises(ExportError):
        write_mjcf(_pendulum(**BROKEN["loop 'l' of kind slide"]), path)
    assert path.read_text() == "old"
    write_mjcf(_pendulum(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["robot.xml"]
    with pytest.raises(ExportError, match="cannot be written"):
        write_mjcf(_pendulum(), tmp_path / "missing" / "robot.xml")


def test_ball_joints_with_something_on_one_turn_become_hinges(tmp_path: Path, rng: np.random.Generator) -> None:
    body = Body("cup", BASE, Joint("s", JointType.SPHERICAL), Placement.of((0.1, 0.2, 0.3)))
    friction = Effort("s.ry", EffortKind.VISCOUS, Coordinate((("s.ry", 1.0),)))
    robot = Robot("cup", (body,), efforts=(friction,), nominal={**inertias(["cup"], rng), "Fv_s.ry": 0.3})
    write_mjcf(robot, tmp_path / "cup.xml")
    same_tree_dynamics(robot, read_mjcf(tmp_path / "cup.xml"), rng)
