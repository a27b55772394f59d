"""URDF and side YAML written from robots: Pinocchio finds the same tree, reading back gives the same robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from tests.robot.exchange_reference import inertias, loops_of_most_kinds, same_tree_dynamics, tree_of_all_joints
from tests.robot.mujoco_reference import CLOSED, MODELS, cut_open, frames

from dalembert.errors import ExportError
from dalembert.robot import BASE, Body, Coupling, Joint, JointType, Limit, Loop, Robot
from dalembert.robot.geometry import Placement, rpy_rotation
from dalembert.robot.mjcf_reader import read_mjcf
from dalembert.robot.urdf_reader import read_urdf
from dalembert.robot.urdf_writer import write_urdf


def test_every_joint_type_and_effort(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = tree_of_all_joints(rng)
    write_urdf(robot, tmp_path / "all.urdf")
    again = read_urdf(tmp_path / "all.urdf")
    same_tree_dynamics(robot, again, rng)
    assert again.motors == robot.motors
    assert again.efforts == robot.efforts
    assert again.home == robot.home
    assert again.limits == robot.limits
    assert again.gravity == robot.gravity
    assert again.platform == "drone"
    assert again.nominal == pytest.approx(dict(robot.nominal), rel=1e-9, abs=1e-12)


def test_pinocchio_reads_the_same_tree(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = tree_of_all_joints(rng)
    kinds = (JointType.FREE, JointType.PLANAR)
    whole = {b.name for b in robot.bodies if b.joint.type in kinds}
    bodies = tuple(b for b in robot.bodies if b.name not in whole)
    kept = replace(robot.with_efforts(()), bodies=bodies, motors=(), nominal={}, home={}, platform=None, limits={})
    kept = replace(kept, nominal=inertias([b.name for b in bodies if not b.massless], rng))
    write_urdf(kept, tmp_path / "tree.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "tree.urdf"))
    data = model.createData()
    y = rng.uniform(-1.0, 1.0, len(kept.coordinates))
    q = np.zeros(model.nq)
    for value, name in zip(y, kept.coordinates, strict=True):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(value), np.sin(value)) if joint.nq == 2 else value
    pin.framesForwardKinematics(model, data, q)
    for name, pose in frames(kept, y).items():
        np.testing.assert_allclose(data.oMf[model.getFrameId(name)].homogeneous, pose, atol=1e-11)
    assert pin.computeTotalMass(model) == pytest.approx(sum(v for k, v in kept.nominal.items() if k.startswith("M_")))


def test_loops_go_to_the_side_file_and_simple_couplings_are_mimics(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = loops_of_most_kinds(rng)
    write_urdf(robot, tmp_path / "loops.urdf")
    again = read_urdf(tmp_path / "loops.urdf")
    loops = {loop.name: loop for loop in again.loops}
    assert loops["qb_mimic"] == Coupling("qb_mimic", "qb", (("qa", -2.0),), 0.1)
    assert loops["h_advance_mimic"] == Coupling("h_advance_mimic", "h_advance", (("h", 0.02),), 0.0)
    assert loops["three"] == robot.loops[1]
    for loop in robot.loops[2:]:
        assert isinstance(loop, Loop)
        _same_loop(loop, loops[loop.name])


@pytest.mark.parametrize("name", CLOSED)
def test_closed_loops_survive(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    robot = read_mjcf(MODELS / f"{name}.xml")
    write_urdf(robot, tmp_path / "robot.urdf")
    again = read_urdf(tmp_path / "robot.urdf")
    same_tree_dynamics(cut_open(robot), cut_open(again), rng)
    assert again.motors == robot.motors
    assert again.home == robot.home
    loops = {loop.name: loop for loop in again.loops}
    for loop in robot.loops:
        if isinstance(loop, Loop):
            _same_loop(loop, loops[loop.name])
        else:
            mimic = loops.get(f"{loop.coordinate}_mimic", loops.get(loop.name))
            assert isinstance(mimic, Coupling)
            assert (mimic.coordinate, mimic.terms, mimic.constant) == (loop.coordinate, loop.terms, loop.constant)


def _same_loop(expected: Loop, found: Loop | Coupling) -> None:
    """Anchors may differ by the rounding of a rotation made orthogonal again."""
    assert isinstance(found, Loop)
    assert (found.kind, found.length) == (expected.kind, expected.length)
    for one, other in ((found.a, expected.a), (found.b, expected.b)):
        assert one.body == other.body
        np.testing.assert_allclose(one.placement.p, other.placement.p, atol=1e-15)
        np.testing.assert_allclose(one.placement.R, other.placement.R, atol=1e-15)


def test_right_angles_stay_exact(tmp_path: Path) -> None:
    for k, rpy in enumerate([(0.0, np.pi / 2, 0.3), (1.0, -np.pi / 2, 0.0), (np.pi, np.pi / 2 - 1e-7, 2.0)]):
        body = Body("a", BASE, Joint("q", JointType.REVOLUTE), Placement.of((0, 0, 0), rpy_rotation(rpy)))
        write_urdf(Robot("r", (body,)), tmp_path / f"{k}.urdf")
        again = read_urdf(tmp_path / f"{k}.urdf")
        np.testing.assert_allclose(again.body("a").placement.R, body.placement.R, atol=1e-15)


def test_nothing_to_say_leaves_no_bounds(tmp_path: Path) -> None:
    body = Body("a", BASE, Joint("q", JointType.PRISMATIC))
    write_urdf(Robot("r", (body,), limits={"q": Limit(lower=-2.0)}), tmp_path / "r.urdf")
    again = read_urdf(tmp_path / "r.urdf")
    assert again.limits["q"] == Limit(lower=-2.0)
    assert again.body("a").massless  # no nominal values, no inertia to write


def test_what_cannot_be_written_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    body = Body("a", BASE, Joint("q", JointType.REVOLUTE))
    with pytest.raises(ExportError, match="body 'a': nominal mass 0 kg with first moments"):
        write_urdf(Robot("r", (body,), nominal={"MX_a": 1.0}), tmp_path / "r.urdf")
    assert not list(tmp_path.iterdir())
