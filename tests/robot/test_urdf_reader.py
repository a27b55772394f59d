"""URDF trees against Pinocchio; side files; files that are wrong."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pinocchio as pin
import pytest
from tests.robot.mujoco_reference import MODELS, Array, ball_rates, cut_open, frames, frictionless, turn, world_inertia

from dalembert.errors import RobotError
from dalembert.identification.base import base_parameters
from dalembert.model import build_model
from dalembert.robot import BASE, Coordinate, Coupling, Effort, EffortKind, JointType, Loop, LoopKind, Robot
from dalembert.robot.urdf_reader import read_urdf

ZOO = MODELS / "zoo.urdf"
SAME = 1e-12
_PIECES = st.sampled_from(["", '"', "<", "/>", "1e999", "-", "nan", "0", "&#10;", "e308", " ", "link", "\x01", "é"])


class Pinocchio:
    """Pinocchio's model of a URDF file in our coordinates."""

    def __init__(self, path: Path, robot: Robot) -> None:
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.robot = robot
        index = {name: i for i, name in enumerate(robot.coordinates)}
        self.joints = [
            (self.model.joints[self.model.getJointId(b.joint.name)], [index[c] for c in b.joint.coordinates])
            for b in robot.bodies
            if b.joint.coordinates
        ]

    def configuration(self, y: Array) -> Array:
        q = np.zeros(self.model.nq)
        for joint, at in self.joints:
            if len(at) == 1:
                angle = y[at[0]]
                q[joint.idx_q : joint.idx_q + joint.nq] = (math.cos(angle), math.sin(angle))[: joint.nq]
                if joint.nq == 1:
                    q[joint.idx_q] = angle
            elif len(at) == 3:
                q[joint.idx_q : joint.idx_q + 4] = (*y[at[:2]], math.cos(y[at[2]]), math.sin(y[at[2]]))
            else:
                rotation = np.eye(3)
                for axis, angle in zip(np.eye(3), y[at[3:]], strict=True):
                    rotation = rotation @ turn(axis, angle)
                q[joint.idx_q : joint.idx_q + 7] = pin.SE3ToXYZQUAT(pin.SE3(rotation, y[at[:3]]))
        return q

    def rates(self, y: Array) -> Array:
        """E (nv, n_y): Pinocchio's velocity from yd; planar and free joints have theirs in the child's axes."""
        out = np.zeros((self.model.nv, len(y)), dtype=y.dtype)
        for joint, at in self.joints:
            rows = slice(joint.idx_v, joint.idx_v + joint.nv)
            if len(at) == 1:
                out[rows, at] = 1.0
            elif len(at) == 3:
                c, s = np.cos(y[at[2]]), np.sin(y[at[2]])
                zero = 0.0 * c
                out[rows, at] = np.array([[c, s, zero], [-s, c, zero], [zero, zero, zero + 1.0]])
            else:
                rotation = np.eye(3)
                for axis, angle in zip(np.eye(3), y[at[3:]], strict=True):
                    rotation = rotation @ turn(axis, angle)
                out[rows, at] = np.block([[rotation.T, np.zeros((3, 3))], [np.zeros((3, 3)), ball_rates(y[at[3:]])]])
        return out

    def tree_effort(self, y: Array, yd: Array, ydd: Array) -> Array:
        e, step = self.rates(y), 1e-30
        bias = np.imag(self.rates(y + 1j * step * yd)) @ yd / step
        self.model.armature[:] = 0.0
        effort: Array = e.T @ pin.rnea(self.model, self.data, self.configuration(y), e @ yd, e @ ydd + bias)
        return effort


@pytest.fixture
def zoo() -> Robot:
    return read_urdf(ZOO)


def test_link_frames_are_where_pinocchio_puts_them(zoo: Robot, rng: np.random.Generator) -> None:
    reference = Pinocchio(ZOO, zoo)
    for _ in range(5):
        y = rng.uniform(-1.0, 1.0, len(zoo.coordinates))
        pin.framesForwardKinematics(reference.model, reference.data, reference.configuration(y))
        poses = frames(zoo, y)
        for name in zoo.body_names:
            frame = reference.data.oMf[reference.model.getFrameId("base" if name == "base_2" else name)]
            # rpy and planar axes go through nine and more digits in Pinocchio, and are exact here
            np.testing.assert_allclose(poses[name], frame.homogeneous, atol=1e-11)


def test_inertias_are_pinocchios(zoo: Robot, rng: np.random.Generator) -> None:
    reference = Pinocchio(ZOO, zoo)
    y = rng.uniform(-1.0, 1.0, len(zoo.coordinates))
    pin.forwardKinematics(reference.model, reference.data, reference.configuration(y))
    ours = world_inertia(zoo, y)
    for body in zoo.bodies:
        if body.massless:
            continue
        joint = reference.model.getJointId(body.joint.name)
        world = reference.data.oMi[joint].act(reference.model.inertias[joint])
        found = pin.PseudoInertia.FromInertia(world).toMatrix()
        np.testing.assert_allclose(ours[body.name], found, atol=1e-11)


def test_inverse_dynamics_is_pinocchios(zoo: Robot, rng: np.random.Generator) -> None:
    reference = Pinocchio(ZOO, zoo)
    robot = cut_open(zoo).with_efforts(())
    y, yd, ydd = rng.uniform(-1.0, 1.0, (3, 6, len(zoo.coordinates)))
    expected = [reference.tree_effort(*sample) for sample in zip(y, yd, ydd, strict=True)]
    tau = build_model(robot, backend="numpy").inverse_dynamics(y, yd, ydd)
    np.testing.assert_allclose(tau, expected, atol=1e-9 * np.abs(expected).max())


def test_what_the_joints_say(zoo: Robot) -> None:
    types = {body.joint.name: body.joint.type for body in zoo.bodies}
    assert types["table"] is JointType.PLANAR
    assert types["fly"] is JointType.FREE
    assert types["flange_fixed"] is JointType.FIXED
    assert zoo.body("flange").massless
    assert zoo.body("turret").placement.rotation[0][2] == 1.0  # 1.57079632679 is a right angle
    assert (zoo.nominal["Fv_turn"], zoo.nominal["Fc_turn"], zoo.nominal["Fc_rail"]) == (0.7, 0.2, 4.0)
    assert [(e.name, e.kind) for e in zoo.efforts][2:] == [("rail", EffortKind.COULOMB)]
    assert zoo.loops == (Coupling("finger_mimic", "finger", (("rail", -0.5),), 0.01),)
    assert [(m.name, m.torque_limit) for m in zoo.motors] == [("turn", 40.0), ("spin", 5.0), ("rail", 100.0)]
    assert (zoo.limits["turn"].lower, zoo.limits["turn"].upper, zoo.limits["turn"].velocity) == (-2.0, 2.5, 3.0)
    assert "spin" not in zoo.limits
    assert {body.name: body.parent for body in zoo.bodies}["turret"] == BASE


def test_a_floating_root_is_a_free_body() -> None:
    robot = read_urdf(ZOO, floating=True)
    assert robot.bodies[0].joint.type is JointType.FREE
    assert (robot.bodies[0].name, robot.nominal["M_plinth"]) == ("plinth", 50.0)


ARM = """<robot name="arm">
<link name="root"/>
<link name="one"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<link name="two"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="a" type="continuous"><parent link="root"/><child link="one"/><axis xyz="0 0 1"/></joint>
<joint name="b" type="{type}"><parent link="{parent}"/><child link="two"/><origin xyz="1 0 0"/><axis xyz="{axis}"/>
{more}</joint>
{end}</robot>
"""


def _arm(folder: Path, **changes: str) -> Path:
    values = {"type": "continuous", "parent": "one", "axis": "0 0 1", "more": "", "end": ""} | changes
    path = folder / "arm.urdf"
    path.write_text(ARM.format(**values))
    return path


def test_transmissions_say_which_joints_are_driven(tmp_path: Path) -> None:
    end = '<transmission name="t"><joint name="b"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction>'
    robot = read_urdf(_arm(tmp_path, end=end + "</actuator></transmission>"))
    assert [(m.name, m.turns) for m in robot.motors] == [("b", (("b", 1.0),))]


@pytest.mark.parametrize("normal", ["1 0 0", "0 -1 0", "0 0 -1", "0.36 0.48 0.8"])
def test_a_planar_joint_moves_across_its_normal(normal: str, tmp_path: Path) -> None:
    robot = read_urdf(_arm(tmp_path, type="planar", axis=normal))
    assert robot.coordinates == ("a", "b.x", "b.y", "b.angle")
    axis = np.array([float(word) for word in normal.split()])
    rest = frames(robot, np.zeros(4))["two"]
    for k in (1, 2):
        moved = frames(robot, np.eye(4)[k])["two"]
        assert np.linalg.norm(moved[:3, 3] - rest[:3, 3]) == pytest.approx(1.0)
        assert (moved[:3, 3] - rest[:3, 3]) @ axis == pytest.approx(0.0)
    np.testing.assert_allclose(frames(robot, np.eye(4)[3])["two"][:3, :3], turn(axis, 1.0), atol=SAME)


SIDE = """
constants: {l: 30 cm}
gravity: [0, -9.81, 0]
loops:
  - {name: pin, type: point, between: [{body: two, at: [l, 0, 0]}, {body: base, at: [1.1, 0.2, 0]}]}
motors:
  - {name: m, turns: {a: 50}, efforts: {rotor: 0.001, viscous: unknown}}
efforts:
  - {spring: b, stiffness: 4, rest: 0.1}
platform: two
home: {a: 20 deg, b: -30 deg}
limits: {a: {lower: -1, upper: 1}}
"""


def test_a_side_file_closes_loops_and_couples_motors(tmp_path: Path) -> None:
    path = _arm(tmp_path, more='<dynamics damping="3"/>')
    assert read_urdf(path).motors[0].name == "a"
    (tmp_path / "arm.dalembert.yaml").write_text(SIDE)
    robot = read_urdf(path)
    (pin_loop,) = robot.loops
    assert isinstance(pin_loop, Loop)
    assert (pin_loop.kind, pin_loop.b.body) == (LoopKind.POINT, BASE)
    assert [(m.name, m.turns) for m in robot.motors] == [("m", (("a", 50.0),))]
    assert {(e.name, e.kind) for e in robot.efforts} == {
        ("m", EffortKind.ROTOR),
        ("m", EffortKind.VISCOUS),
        ("b", EffortKind.SPRING),
    }
    assert robot.nominal["M_two"] == 1.0
    assert (robot.platform, robot.gravity, robot.home["a"]) == ("two", (0.0, -9.81, 0.0), math.radians(20.0))
    assert frictionless(robot).limits["a"].upper == 1.0
    other = tmp_path / "other.yaml"
    other.write_text("gravity: [1, 2, 3]\n")
    assert read_urdf(path, other).gravity == (1.0, 2.0, 3.0)


def test_a_mistake_in_the_side_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = _arm(tmp_path)
    side = tmp_path / "arm.dalembert.yaml"
    side.write_text("gravity: [0, 0, 0]\nmotors:\n  - {name: m, turns: {elbow: 3}}\n")
    with pytest.raises(RobotError, match=r"arm\.dalembert\.yaml:3: .*elbow.*choose from a, b"):
        read_urdf(path)
    side.write_text("gravity: [0, 0, 0]\nmotor: []\n")
    with pytest.raises(RobotError, match=r"arm\.dalembert\.yaml:2: .*'motor'.*did you mean 'motors'"):
        read_urdf(path)
    with pytest.raises(RobotError, match=r"missing\.yaml"):
        read_urdf(path, tmp_path / "missing.yaml")


MIMIC = '<mimic joint="{}"/>'
BROKEN = {
    r":6: <parent>: joint 'b': no link 'on'; choose from root, one, two; did you mean 'one'": {"parent": "on"},
    r":6: <joint>: joint 'b': type 'hinge'; choose from revolute": {"type": "hinge"},
    r":6: <axis>: joint 'b': the axis is zero": {"axis": "0 0 0"},
    r":6: <axis>: attribute 'xyz': found '0 0 nan', expected 3 finite numbers": {"axis": "0 0 nan"},
    r":6: <axis>: attribute 'xyz': found '0 1', expected 3 finite": {"axis": "0 1"},
    r":6: <joint>: joint 'b': link 'two' is its own parent": {"parent": "two"},
    r":7: <mimic>: joint 'b' mimics no joint 'c'; choose from a": {"more": MIMIC.format("c")},
    r":7: <mimic>: joint 'b' mimics no joint 'b'": {"more": MIMIC.format("b")},
    r":7: <mimic>: joint 'b' is fixed": {"type": "fixed", "more": MIMIC.format("a")},
    r":7: <limit>: joint 'b': lower 2 is not below upper 1": {
        "type": "revolute",
        "more": '<limit lower="2" upper="1" effort="1" velocity="1"/>',
    },
    r":7: <limit>: joint 'b': effort -1": {"more": '<limit effort="-1" velocity="1"/>'},
    r":7: <dynamics>: joint 'b': damping -2, expected a number >= 0": {"more": '<dynamics damping="-2"/>'},
    r":7: <dynamics>: attribute 'damping': found 'much', expected a finite": {"more": '<dynamics damping="much"/>'},
    r":8: <link>: the link name 'two' is used twice": {"end": '<link name="two"/>'},
    r":8: <link>: no attribute 'name'": {"end": "<link/>"},
    r":8: <link>: 2 root links \(root, lost\)": {"end": '<link name="lost"/>'},
    r":8: <joint>: no <child> inside": {"end": '<joint name="c" type="fixed"><parent link="two"/></joint>'},
    r":8: <joint>: the joint name 'a' is used twice": {
        "end": '<joint name="a" type="fixed"><parent link="two"/><child link="x"/></joint><link name="x"/>'
    },
    r":8: <joint>: link 'one' has two parents, 'root' and 'two'": {
        "end": '<joint name="c" type="fixed"><parent link="two"/><child link="one"/></joint>'
    },
    r":8: <joint>: joint 'c' is not reached from the root 'root'": {
        "end": '<joint name="c" type="fixed"><parent link="y"/><child link="x"/></joint>'
        '<joint name="d" type="fixed"><parent link="x"/><child link="y"/></joint><link name="x"/><link name="y"/>'
    },
    r":8: <joint>: no joint 'c'; choose from a, b": {"end": '<transmission><joint name="c"/></transmission>'},
    r":8: <xacro:macro>: an unexpanded macro": {"end": "<xacro:macro/>"},
    r":8: <mass>: link 'x': mass -3 kg, expected a mass >= 0": {
        "end": '<link name="x"><inertial><mass value="-3"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
        '<joint name="c" type="fixed"><parent link="two"/><child link="x"/></joint>'
    },
    r": robot 'arm': nominal: XX_x: found inf, expected a finite number": {
        "end": '<link name="x"><inertial><origin xyz="0 9e9 0"/><mass value="1e308"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
        '<joint name="c" type="fixed"><parent link="two"/><child link="x"/></joint>'
    },
    r":8: <inertial>: no <inertia> inside": {
        "end": '<link name="x"><inertial><mass value="3"/></inertial></link>'
        '<joint name="c" type="fixed"><parent link="two"/><child link="x"/></joint>'
    },
}


@pytest.mark.parametrize("message", BROKEN)
def test_mistakes_are_named_with_their_line(message: str, tmp_path: Path) -> None:
    path = _arm(tmp_path, **BROKEN[message])
    with pytest.raises(RobotError, match=r"^\S*arm\.urdf" + message) as error:
        read_urdf(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r":1: not XML"),
        ("hello", r":1: not XML"),
        ("<robot>\n<link name='a'>\n</robot>", r":3: not XML \(mismatched tag\)"),
        ("<mujoco/>", r":1: found <mujoco>, expected <robot>"),
        ("<robot/>", r":1: <robot>: no <link>"),
        ("<robot name='r'><link name='a'/></robot>", r"no bodies"),
        ("<robot>" + "<a>" * 300 + "</a>" * 300 + "</robot>", r"nested deeper than"),
        ('<?xml version="1.0" encoding="klingon"?><robot/>', r"not XML"),
    ],
)
def test_files_that_are_no_robot(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(RobotError, match=message) as error:
        read_urdf(path)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.urdf", tmp_path):
        with pytest.raises(RobotError, match="cannot be read"):
            read_urdf(path)


def test_mimics_may_not_go_round(tmp_path: Path) -> None:
    end = (
        '<link name="x"/><joint name="c" type="continuous"><parent link="two"/><child link="x"/>'
        '<axis xyz="0 0 1"/><mimic joint="b"/></joint>'
    )
    with pytest.raises(RobotError, match=r"joint 'b' mimics itself"):
        read_urdf(_arm(tmp_path, more=MIMIC.format("c"), end=end))


@hypothesis.given(cuts=st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 6), _PIECES), min_size=1, max_size=3))
def test_damaged_files_give_a_robot_or_one_line(cuts: list[tuple[float, int, str]]) -> None:
    text = ZOO.read_text()
    for at, length, piece in cuts:
        start = int(at * len(text))
        text = text[:start] + piece + text[start + length :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.urdf"
        path.write_text(text)
        message = "damaged.urdf"
        try:
            read_urdf(path)
        except RobotError as error:
            message = str(error)
    assert "\n" not in message
    assert "damaged.urdf" in message


ROUNDED = """<robot name="arm">
  <link name="root"/>{links}
  <joint name="a" type="revolute"><parent link="root"/><child link="l1"/><axis xyz="0 0 1"/></joint>
  <joint name="b" type="revolute"><parent link="l1"/><child link="l2"/><origin rpy="{rpy} 0 0"/><axis xyz="0 0 1"/></joint>
</robot>"""


def rounded_arm(tmp_path: Path, rpy: str) -> Robot:
    link = '<link name="l{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    path = tmp_path / "rounded.urdf"
    path.write_text(ROUNDED.format(links="".join(link.format(k) for k in (1, 2)), rpy=rpy))
    robot = read_urdf(path)
    rotor = Effort("b", EffortKind.ROTOR, Coordinate((("b", 1.0),)))
    return robot.with_efforts([*robot.efforts, rotor])


@pytest.mark.parametrize("rpy", ["1.57", "1.570", "1.5707", "1.5708", "1.570796", "-1.5708", "4.712", "-4.71239"])
def test_a_rounded_right_angle_is_one(tmp_path: Path, rpy: str) -> None:
    """Joint b lies across gravity: its rotor inertia adds to ZZ_l2, and a tilt of 4e-6 rad must not tell them apart."""
    with pytest.warns(UserWarning, match=r"rounded.urdf:4: rpy .* is taken as -?(3\*)?pi/2, which it is rounded from"):
        robot = rounded_arm(tmp_path, rpy)
    exact = round(float(rpy) / (np.pi / 2)) * np.pi / 2
    np.testing.assert_array_equal(robot.bodies[1].placement.R, rounded_arm(tmp_path, repr(exact)).bodies[1].placement.R)
    base = base_parameters(build_model(robot, backend="numpy"))
    assert [relation for relation in base.relations().values() if "Ia_b" in relation] == ["ZZ_l2 + Ia_b"]
    assert base.condition < 100.0


@pytest.mark.parametrize(
    "rpy", ["1.58", "1.56", "1.5", "1.6", "1.5709", "1.5706", "0.7854", "1e-3", "3.1", "0.00", "2"]
)
def test_other_angles_are_what_is_written(tmp_path: Path, rpy: str) -> None:
    robot = rounded_arm(tmp_path, rpy)
    cosine = float(robot.bodies[1].placement.R[2, 2])
    assert cosine == pytest.approx(np.cos(float(rpy)), abs=1e-15)
