"""Robot files: every form of docs/robot-file.md means what it says."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
from tests.robot.yaml_files import ARM, DUALV, EVERYTHING, MDH, read_text

from dalembert import catalog_names, load_robot
from dalembert.errors import RobotError
from dalembert.parameters import BodyInertia, inertial_names
from dalembert.robot import (
    Anchor,
    Coordinate,
    Coupling,
    Distance,
    Effort,
    EffortKind,
    JointType,
    Limit,
    Loop,
    LoopKind,
    Placement,
    Robot,
    read_yaml,
)
from dalembert.robot.expression import evaluate
from dalembert.robot.geometry import rotation_about, rpy_rotation
from dalembert.robot.interchange import body_poses


@pytest.fixture
def everything(tmp_path: Path) -> Robot:
    return read_text(tmp_path, EVERYTHING)


def _efforts(robot: Robot, name: str) -> dict[EffortKind, Effort]:
    return {effort.kind: effort for effort in robot.efforts if effort.name == name}


# bodies


def test_leg_template_repeats_with_each_legs_values(tmp_path: Path) -> None:
    robot = read_text(tmp_path, DUALV)
    rods = [f"{part}{k}" for k in range(1, 5) for part in ("crank", "rod")]
    assert robot.body_names == ("platform", *rods)
    angle = math.radians(-164.48)
    assert robot.body("crank3").placement.position == pytest.approx((0.41 * math.cos(angle), 0.41 * math.sin(angle), 0))
    assert robot.loops[3] == Loop(
        "C4",
        LoopKind.POINT,
        Anchor("rod4", Placement.of([0.28, 0, 0])),
        Anchor("platform", Placement.of([0, -0.14, 0])),
    )
    assert robot.motor_names == ("m1", "m2", "m3", "m4")
    np.testing.assert_array_equal(robot.motor_map()[2], np.eye(11)[robot.coordinates.index("q13")])
    assert robot.symmetric == (tuple(f"crank{k}" for k in range(1, 5)), tuple(f"rod{k}" for k in range(1, 5)))
    assert robot.independent == ("pose.x", "pose.y", "pose.angle")
    assert robot.home["q11"] == pytest.approx(math.radians(-40))
    assert len(robot.parameters()) == 9 * 10 + 4 * 3


def test_constants_may_be_replaced(tmp_path: Path) -> None:
    robot = read_text(tmp_path, DUALV, r_p="12 cm", d=0.3)
    assert isinstance(robot.loops[0], Loop)
    assert robot.loops[0].b.placement.position == (0.0, 0.12, 0.0)
    assert robot.body("rod1").placement.position == (0.3, 0.0, 0.0)
    with pytest.raises(RobotError, match=r"robot\.yaml:4: .*no constant 'r_q'.*did you mean 'r_p'"):
        read_text(tmp_path, DUALV, r_q=0.1)


def test_a_replaced_constant_reaches_those_made_from_it(tmp_path: Path) -> None:
    robot = read_text(tmp_path, EVERYTHING, l="40 cm")
    assert robot.body("c").placement.position == (0.2, 0.0, 0.0)


def test_placements(everything: Robot) -> None:
    np.testing.assert_allclose(everything.body("b").placement.R, rotation_about([1, 0, 0], math.pi / 2))
    np.testing.assert_array_equal(everything.body("ball").placement.R, rotation_about([0, 0, 1], math.pi / 2))
    assert everything.body("wrist").placement == Placement()


@pytest.mark.parametrize("seed", range(5))
def test_quaternion_and_rpy_and_rotation_agree(tmp_path: Path, seed: int) -> None:
    angles = np.random.default_rng(seed).uniform(-3, 3, 3)
    half = [rotation_about(axis, angle) for axis, angle in zip(np.eye(3), angles, strict=True)]
    rotation = half[2] @ half[1] @ half[0]
    w = math.sqrt(max(0.0, 1 + np.trace(rotation))) / 2
    skew = rotation - rotation.T
    q = [w, skew[2, 1] / (4 * w), skew[0, 2] / (4 * w), skew[1, 0] / (4 * w)]
    body = "name: r\nbodies: [{{name: a, {}, joint: {{type: revolute}}}}]\n"
    forms = (f"rpy: {angles.tolist()}", f"rotation: {rotation.tolist()}", f"quaternion: {[float(x) for x in q]}")
    for form in forms:
        placement = read_text(tmp_path, body.format(form)).body("a").placement
        np.testing.assert_allclose(placement.R, rpy_rotation(angles), atol=1e-12)


def test_joints(everything: Robot) -> None:
    joints = {body.joint.name: body.joint for body in everything.bodies}
    assert joints["slide"].axis == (-1.0, 0.0, 0.0)
    assert joints["slide"].type is JointType.PRISMATIC
    assert joints["wrist"].second_axis == pytest.approx((0, math.sqrt(0.5), math.sqrt(0.5)))
    assert joints["screw"].pitch == 0.005
    assert joints["ball"].coordinates == ("ball.rx", "ball.ry", "ball.rz")
    assert joints["cover"].type is JointType.FIXED


def test_inertia_becomes_nominal(everything: Robot, tmp_path: Path) -> None:
    expected = BodyInertia(2.0, (0.1, 0.0, 0.0), (1, 0, 0, 2, 0, 3)).parameters()
    np.testing.assert_allclose([everything.nominal[name] for name in inertial_names("b")], expected)
    for form in (
        str(expected.tolist()),
        "{XX: 1, YY: 2.02, ZZ: 3.02, MX: 0.2, M: 2}",
        "{mass: 2, com: [0.1, 0, 0], tensor: [1, 0, 0, 2, 0, 3]}",
        "{mass: 2, com: [0.1, 0, 0], tensor: [[1, 0, 0], [0, 2, 0], [0, 0, 3]]}",
    ):
        robot = read_text(tmp_path, f"name: r\nbodies: [{{name: b, joint: {{type: revolute}}, inertia: {form}}}]\n")
        np.testing.assert_allclose([robot.nominal[name] for name in inertial_names("b")], expected, rtol=1e-14)


def test_a_parent_may_be_listed_later(tmp_path: Path) -> None:
    robot = read_text(
        tmp_path, "name: r\nbodies: [{name: b, parent: a, joint: {type: revolute}}, {name: a}, {name: c}]\n"
    )
    assert robot.body_names == ("a", "b", "c")


# Khalil-Kleinfinger tables


def _khalil(gamma: float, b: float, alpha: float, d: float, theta: float, r: float) -> np.ndarray:
    """Rot(z, gamma) Trans(z, b) Rot(x, alpha) Trans(x, d) Rot(z, theta) Trans(z, r)."""

    def factor(rotation: np.ndarray, translation: list[float]) -> np.ndarray:
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = rotation, translation
        return out

    x, _, z = np.eye(3)
    zero = [0.0, 0.0, 0.0]
    return (
        factor(rotation_about(z, gamma), zero) @ factor(np.eye(3), [0, 0, b]) @ factor(rotation_about(x, alpha), zero)
        @ factor(np.eye(3), [d, 0, 0]) @ factor(rotation_about(z, theta), zero) @ factor(np.eye(3), [0, 0, r])
    )  # fmt: skip


def test_mdh_frames_are_the_product_of_khalil_and_kleinfinger(tmp_path: Path) -> None:
    robot = read_text(tmp_path, MDH)
    assert robot.body_names == ("j1", "j2", "j3")
    y = {"j1": 0.7, "j2": -0.4, "j3": 1.1}
    poses = body_poses(robot, y)
    first = _khalil(0.1, 0.2, 0.3, 0.4, 0.5 + 0.7, 0.6)
    second = first @ _khalil(0, 0, -math.pi / 2, 0.1, math.pi / 2, 0.2 - 0.4)
    for name, expected in (("j1", first), ("j2", second), ("j3", _khalil(0, 0, 0.2, 0.7, 1.1, 0))):
        np.testing.assert_allclose(poses[name].R, expected[:3, :3], atol=1e-14)
        np.testing.assert_allclose(poses[name].p, expected[:3, 3], atol=1e-14)
    tip = second @ _khalil(0.2, 0.1, 0, 0.4, 0, 0.3)
    loop = robot.loops[0]
    assert isinstance(loop, Loop)
    assert (loop.kind, loop.a.body) == (LoopKind.AXIS, "j2")
    np.testing.assert_allclose((poses["j2"] @ loop.a.placement).p, tip[:3, 3], atol=1e-14)


def test_mdh_rows_may_be_mappings_with_bodies(tmp_path: Path) -> None:
    robot = read_text(
        tmp_path,
        "name: r\nmdh:\n"
        "  - {joint: q1, antecedent: 0, alpha: -pi/2, body: link, efforts: [viscous], inertia: {mass: 1}}\n"
        "  - {joint: flange, antecedent: q1, sigma: 2, d: 0.1, body: tool}\n",
    )
    assert robot.body_names == ("link", "tool")
    assert robot.body("tool").parent == "link"
    assert robot.coordinates == ("q1",)
    assert robot.parameters()[-1] == "Fv_q1"
    assert robot.nominal["M_link"] == 1.0


# loops, motors, efforts


def test_loops(everything: Robot) -> None:
    hold, pin, screw = everything.loops
    assert isinstance(hold, Loop)
    assert isinstance(pin, Loop)
    assert (hold.kind, hold.length, hold.b.body) == (LoopKind.ROD, 0.3, "base")
    np.testing.assert_allclose(pin.a.placement.R @ [0, 0, 1], [0, 1, 0], atol=1e-15)
    assert screw == Coupling("screw", "screw", (("q2", -1.0), ("q1", 2.0)), math.pi / 2)


@pytest.mark.parametrize(
    "equals",
    [
        "{q1: 2, constant: 0.5}",
        "{q1: 2}, constant: 0.5",
        "2*q1 + 0.5",
        "'q1 + q1 + 1/2'",
        "(4*q1 + 1)/2",
        "-(-2*q1 - 0.5)",
    ],
)
def test_coupling_forms(tmp_path: Path, equals: str) -> None:
    robot = read_text(tmp_path, ARM + f"loops: [{{type: coupling, set: q2, equals: {equals}}}]\n")
    assert robot.loops == (Coupling("q2", "q2", (("q1", 2.0),), 0.5),)


def test_a_coordinate_may_be_held(tmp_path: Path) -> None:
    for equals in ("{constant: 1}", "1", "{}, constant: 1"):
        robot = read_text(tmp_path, ARM + f"loops: [{{type: coupling, set: q2, equals: {equals}}}]\n")
        assert robot.loops == (Coupling("q2", "q2", (), 1.0),)


def test_motors_and_sensors(everything: Robot) -> None:
    first, second = everything.motors
    assert (first.name, first.turns, first.torque_limit) == ("q1", (("q1", 50.0),), 12.0)
    assert second.turns == (("q2", 32.0), ("wrist.first", 32.0))
    assert everything.sensors[0].reads == (("ball.rx", 1.0),)
    assert everything.unmeasured == everything.without_encoder == ("m6",)
    assert "m6" not in everything.readings and "encoder" in everything.readings


def test_a_matrix_of_motors(tmp_path: Path) -> None:
    text = ARM + "motors: {joints: [q1, q2], matrix: [[45, 0], [32, -32]], names: [m5, m6], efforts: [rotor]}\n"
    robot = read_text(tmp_path, text)
    np.testing.assert_array_equal(robot.motor_map(), [[45, 0], [32, -32]])
    assert robot.parameters()[-2:] == ("Ia_m5", "Ia_m6")
    assert read_text(tmp_path, ARM + "motors: {joints: [q2]}\n").motor_names == ("q2",)
    assert read_text(tmp_path, ARM + "motors: [q2, q1]\n").motor_names == ("q2", "q1")
    assert read_text(tmp_path, ARM + "motors: []\n").motors == ()


def test_without_motors_every_coordinate_has_one(tmp_path: Path) -> None:
    robot = read_text(
        tmp_path, "name: r\nbodies: [{name: a, joint: {name: pose, type: planar}}, {name: b, parent: a}]\n"
    )
    assert robot.motor_names == robot.coordinates == ("pose.x", "pose.y", "pose.angle")


def test_efforts_on_joints_and_motors(everything: Robot) -> None:
    assert _efforts(everything, "q2")[EffortKind.VISCOUS].on == Coordinate((("q2", 1.0),))
    rotor = _efforts(everything, "m6")[EffortKind.ROTOR]
    assert rotor.on == Coordinate((("q2", 32.0), ("wrist.first", 32.0)))
    assert everything.nominal["Ia_q1"] == 0.01
    assert everything.nominal["Fc_slide"] == 3.0
    assert "Fv_q1" in everything.parameters()
    assert "Fv_q1" not in everything.nominal


def test_efforts_on_combinations_and_distances(everything: Robot) -> None:
    relative = _efforts(everything, "q2-q1")
    assert relative[EffortKind.COULOMB].on == Coordinate((("q2", 1.0), ("q1", -1.0)))
    assert _efforts(everything, "belt")[EffortKind.COULOMB].on == everything.efforts[5].on
    assert everything.nominal["Fc_belt"] == 2.0
    ram = _efforts(everything, "ram")[EffortKind.VISCOUS].on
    assert ram == Distance(Anchor("a", Placement.of([0.2, 0, 0])), Anchor("wrist"))


def test_springs_and_constants(everything: Robot) -> None:
    assert _efforts(everything, "slide")[EffortKind.SPRING].parameters == ("k_slide", "kr_slide")
    assert everything.nominal["k_slide"] == 30.0
    assert _efforts(everything, "torsion")[EffortKind.SPRING].rest == pytest.approx(math.radians(10))
    assert everything.nominal["F_weight"] == 12.0


def test_known_laws_are_in_coordinates(everything: Robot) -> None:
    cable = _efforts(everything, "cable")[EffortKind.BASIS]
    y = {"q2": 0.3, "wrist.first": 0.1, "slide": 0.7}
    values = [evaluate(law, y) for law in cable.basis]
    assert values == pytest.approx([1.0, 0.7, 0.2 * math.cos(32 * 0.4)])
    assert everything.nominal["c2_cable"] == 3.0
    force = _efforts(everything, "fcm6")[EffortKind.FORCE]
    assert [name for name, _ in force.force] == ["q2", "wrist.first"]
    assert force.on is None


def test_an_effort_on_a_joint_of_several_coordinates(tmp_path: Path) -> None:
    text = (
        "name: r\nbodies: [{name: a, joint: {name: pose, type: planar}}]\nefforts: [{on: pose, friction: [viscous]}]\n"
    )
    assert read_text(tmp_path, text).parameters()[-3:] == ("Fv_pose.x", "Fv_pose.y", "Fv_pose.angle")


def test_values(everything: Robot) -> None:
    assert everything.source == "many things"
    assert everything.gravity == (0.0, -9.81, 0.0)
    assert everything.home == pytest.approx(
        {"q1": math.radians(10), "wrist.first": 0.1, "wrist.second": 0.2, "ball.rz": 0.3}
    )
    assert everything.limits["q1"].acceleration == 30.0
    assert everything.limits["m6"] == Limit(-1.0, 1.0)
    assert everything.limits["slide"].upper == 0.1
    assert everything.nominal["M_a"] == 3.0
    assert everything.nominal["Fv_q2"] == 0.25


def test_joint_names_that_are_no_words(tmp_path: Path) -> None:
    robot = read_text(
        tmp_path,
        "name: r\nbodies:\n  - {name: a b, joint: {name: left-1, type: revolute}}\n"
        "  - {name: 'é', joint: {name: '2', type: revolute}}\n"
        "efforts: [{on: left-1, friction: [viscous]}, {on: {left-1: 1, '2': -1}, name: x, friction: [viscous]}]\n",
    )
    assert robot.efforts[0].on == Coordinate((("left-1", 1.0),))
    assert robot.efforts[1].on == Coordinate((("left-1", 1.0), ("2", -1.0)))


# extends


def test_extends_replaces_and_merges(tmp_path: Path) -> None:
    (tmp_path / "dualv.yaml").write_text(DUALV)
    robot = read_text(
        tmp_path,
        "extends: dualv.yaml\nname: other\nconstants: {r_p: 20 cm}\nhome: {q12: 1}\nindependent: [q11, q12, q13]\n",
    )
    assert robot.name == "other"
    assert isinstance(robot.loops[0], Loop)
    assert robot.loops[0].b.placement.position == (0.0, 0.2, 0.0)
    assert robot.independent == ("q11", "q12", "q13")
    assert robot.home["q12"] == 1.0
    assert robot.home["q11"] == pytest.approx(math.radians(-40))


def test_extends_drops_what_is_removed(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(EVERYTHING)
    robot = read_text(
        tmp_path, "extends: base.yaml\nefforts:\nloops: ~\nunmeasured: []\nwithout_encoder: []\nmotors: [q1]\nlimits:\n"
    )
    assert robot.loops == ()
    assert not any(name.startswith(("c0", "k_", "Ia")) for name in robot.nominal)
    assert robot.nominal["Fv_q2"] == 0.25


def test_extends_a_urdf_with_loops_and_motors(tmp_path: Path) -> None:
    links = "".join(f'<link name="{name}"/>' for name in ("base", "a", "b"))
    joints = "".join(
        f'<joint name="q_{child}" type="continuous"><parent link="base"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
        for child, x in (("a", 0.0), ("b", 0.2))
    )
    (tmp_path / "two.urdf").write_text(f'<robot name="two">{links}{joints}</robot>')
    robot = read_text(
        tmp_path,
        "extends: two.urdf\nloops: [{name: bar, type: rod, length: 0.2, between: [{body: a, at: [0, 0.1, 0]}, "
        "{body: b, at: [0, 0.1, 0]}]}]\nmotors: [{turns: {q_a: 10}, efforts: [rotor]}]\n",
    )
    assert robot.name == "two"
    assert [loop.name for loop in robot.loops] == ["bar"]
    assert robot.motors[0].turns == (("q_a", 10.0),)
    assert robot.parameters()[-1] == "Ia_q_a"


def test_nominal_values_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("M_a: 3 kg\nXX_b: 0.1\n")
    assert read_text(tmp_path, ARM + "nominal: values.yaml\n").nominal == {"M_a": 3.0, "XX_b": 0.1}


# loading


def test_aliases_stand_for_what_they_name(tmp_path: Path) -> None:
    text = ARM.replace("q1,", "q1, efforts: &f [viscous],").replace("q2,", "q2, efforts: *f,")
    assert read_text(tmp_path, text).parameters()[-2:] == ("Fv_q1", "Fv_q2")


def test_words_are_not_booleans(tmp_path: Path) -> None:
    robot = read_text(
        tmp_path, "name: on\nbodies: [{name: yes, joint: {name: off, type: revolute}}, {name: no, parent: yes}]\n"
    )
    assert (robot.name, robot.body_names, robot.coordinates) == ("on", ("yes", "no"), ("off",))


def test_windows_text(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + DUALV.replace("\n", "\r\n").encode())
    assert read_yaml(path) == read_text(tmp_path, DUALV)


@pytest.mark.parametrize("name", catalog_names())
def test_every_catalog_robot_loads_fast(name: str) -> None:
    load_robot(name)  # imports
    start = time.process_time()
    robot = load_robot(name)
    # A slow machine is allowed a factor of ten over the few ms it takes.
    assert time.process_time() - start < 0.1
    assert robot.source


def test_load_by_path_and_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.YAML"
    path.write_text(DUALV)
    assert load_robot(path, r_p=0.14) == load_robot(str(path))
    with pytest.raises(
        RobotError, match=r"no robot 'dualw' in the catalog; choose from .*or give a file ending in \.yaml"
    ):
        load_robot("dualw")
    with pytest.raises(RobotError, match=re.escape("no file 'gone.urdf'")):
        load_robot("gone.urdf")
    (tmp_path / "a.urdf").write_text("<robot/>")
    with pytest.raises(RobotError, match=r"a\.urdf: found constants r_p, expected none"):
        load_robot(tmp_path / "a.urdf", r_p=1)


@pytest.mark.parametrize("block", [0, 1, 2])
def test_the_examples_of_the_reference_read(block: int, tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "robot-file.md"
    text = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[block]
    robot = read_text(tmp_path, text if block == 0 else f"name: example\nconstants: {{l: 0.4}}\n{text}")
    assert len(robot.motors) == (2, 3, 2)[block]
