"""Trees of MJCF files against MuJoCo's own kinematics, inertias, home and inverse dynamics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.robot.mujoco_reference import ALL, CLOSED, MODELS, Engine, cut_open, frames, frictionless, world_inertia

from dalembert.model import build_model
from dalembert.robot import BASE, Coupling, Distance, EffortKind, JointType, LoopKind
from dalembert.robot.mjcf_reader import read_mjcf

# Both engines round differently along chains of at most ten bodies of about a metre.
SAME = 1e-12


@pytest.fixture(params=ALL)
def engine(request: pytest.FixtureRequest) -> Engine:
    return Engine(MODELS / f"{request.param}.xml")


def test_bodies_are_where_mujoco_puts_them(engine: Engine, rng: np.random.Generator) -> None:
    model, data = engine.model, engine.data
    for _ in range(5):
        y = rng.uniform(-1.0, 1.0, len(engine.robot.coordinates))
        engine.kinematics(y)
        poses = frames(engine.robot, y)
        for i, name in enumerate(engine.names):
            if name not in engine.robot.body_names:
                assert model.body_weldid[i] == 0 or name == BASE
                continue
            last = model.body_jntadr[i] + model.body_jntnum[i] - 1
            rotation = data.xmat[i].reshape(3, 3)
            origin = data.xpos[i] + (rotation @ model.jnt_pos[last] if model.body_jntnum[i] else 0.0)
            np.testing.assert_allclose(poses[name][:3, 3], origin, atol=SAME)
            np.testing.assert_allclose(poses[name][:3, :3], rotation, atol=SAME)


def test_inertias_are_mujocos(engine: Engine, rng: np.random.Generator) -> None:
    model, data = engine.model, engine.data
    y = rng.uniform(-1.0, 1.0, len(engine.robot.coordinates))
    engine.kinematics(y)
    ours = world_inertia(engine.robot, y)
    for i, name in enumerate(engine.names):
        if name not in ours:
            assert model.body_weldid[i] == 0 or model.body_mass[i] == 0.0 or name == BASE
            continue
        rotation, com, mass = data.ximat[i].reshape(3, 3), data.xipos[i], model.body_mass[i]
        tensor = rotation @ np.diag(model.body_inertia[i]) @ rotation.T
        sigma = np.trace(tensor) / 2 * np.eye(3) - tensor + mass * np.outer(com, com)
        first = mass * com[:, None]
        np.testing.assert_allclose(ours[name], np.block([[sigma, first], [first.T, mass]]), atol=1e-12)
    moving = [b for b in range(1, model.nbody) if model.body_weldid[b]]
    assert sum(j[3, 3] for j in ours.values()) == pytest.approx(model.body_mass[moving].sum())


def test_subtrees_have_mujocos_mass_and_centre(engine: Engine, rng: np.random.Generator) -> None:
    model, data = engine.model, engine.data
    y = rng.uniform(-1.0, 1.0, len(engine.robot.coordinates))
    engine.kinematics(y)
    total = world_inertia(engine.robot, y)
    for body in reversed(engine.robot.bodies):
        if body.parent != BASE:
            total[body.parent] = total.get(body.parent, 0.0) + total.get(body.name, 0.0)
    for i, name in enumerate(engine.names):
        if name in engine.robot.body_names and model.body_subtreemass[i] > 0.0:
            assert total[name][3, 3] == pytest.approx(model.body_subtreemass[i])
            np.testing.assert_allclose(total[name][:3, 3] / total[name][3, 3], data.subtree_com[i], atol=SAME)


def test_home_is_the_keyframe_or_the_reference(engine: Engine) -> None:
    model = engine.model
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    expected = np.array(model.qpos0 if key < 0 else model.key_qpos[key])
    y = np.array([engine.robot.home.get(name, 0.0) for name in engine.robot.coordinates])
    mujoco.mj_normalizeQuat(model, expected)
    found = engine.configuration(y)
    for j in range(model.njnt):  # q and -q are the same orientation
        if model.jnt_type[j] in (0, 1):
            at = model.jnt_qposadr[j] + (3 if model.jnt_type[j] == 0 else 0)
            found[at : at + 4] *= np.sign(found[at : at + 4] @ expected[at : at + 4])
    np.testing.assert_allclose(found, expected, atol=SAME)


def test_ball_joints_are_far_from_singular_at_home(engine: Engine) -> None:
    for body in engine.robot.bodies:
        if body.joint.type in (JointType.SPHERICAL, JointType.FREE):
            assert abs(engine.robot.home[body.joint.coordinates[-2]]) < np.radians(21.0)


def test_tree_inverse_dynamics_is_mujocos_joint_by_joint(engine: Engine, rng: np.random.Generator) -> None:
    robot = cut_open(engine.robot)
    model = build_model(robot, backend="numpy")
    y, yd, ydd = rng.uniform(-1.0, 1.0, (3, 10, len(robot.coordinates)))
    expected = [engine.tree_effort(*sample) for sample in zip(y, yd, ydd, strict=True)]
    tau = model.inverse_dynamics(y, yd, ydd)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(tau, expected, atol=1e-11 * scale)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_loop_inverse_dynamics_is_mujocos_on_admissible_motion(name: str, rng: np.random.Generator) -> None:
    """J' tau = N' times the effort of MuJoCo's cut-open tree: the loops do no work."""
    engine = Engine(MODELS / f"{name}.xml")
    robot = frictionless(engine.robot)
    model = build_model(robot, backend="numpy")
    samples = 5
    y = np.tile(model.home, (samples, 1))
    n = model.velocity_kernel()(y, 0.0 * y)["N"]
    y = y + np.einsum("sij,sj->si", n, rng.uniform(-0.05, 0.05, (samples, model.r)))
    for _ in range(10):
        y = model.correction_kernel()(y)["y"]
    v, vd = rng.uniform(-1.0, 1.0, (2, samples, model.r))
    yd = np.einsum("sij,sj->si", n := model.velocity_kernel()(y, 0.0 * y)["N"], v)
    maps = model.velocity_kernel()(y, yd)
    ydd = np.einsum("sij,sj->si", n, vd) + maps["g"]
    assert np.abs(model.loops_kernel()(y)["c"]).max() < 1e-12
    tau = model.inverse_dynamics(y, yd, ydd)
    tree = [engine.tree_effort(*sample) for sample in zip(y, yd, ydd, strict=True)]
    expected = np.einsum("sij,si->sj", n, tree)
    found = np.einsum("sij,si->sj", maps["J"], tau)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_joints_bodies_and_names_of_the_tree() -> None:
    robot = read_mjcf(MODELS / "tree.xml")
    parents = {body.name: body.parent for body in robot.bodies}
    assert parents["shoulder_h1"] == BASE  # the plinth is part of the base
    assert parents["shoulder"] == "shoulder_h1"
    assert robot.body("shoulder_h1").massless
    assert robot.body("marker").massless
    assert robot.body("marker").joint.type is JointType.FIXED
    assert parents["base_2"] == BASE
    assert robot.body("body5").joint.name == "b1"
    assert robot.coordinates[:5] == ("h1", "p1", "h2", "elbow_joint2", "b1.rx")
    assert robot.gravity == (0.3, -0.2, -9.7)
    assert robot.limits["h2"].upper == pytest.approx(np.radians(100.0))


def test_actuators_and_passive_forces() -> None:
    robot = read_mjcf(MODELS / "tree.xml")
    assert [(m.name, m.turns) for m in robot.motors] == [("h1", (("h1", 50.0),)), ("servo", (("h2", -3.0),))]
    assert robot.nominal["Fc_elbow_joint2"] == 0.3
    assert robot.nominal["Fv_both"] == 0.4
    assert robot.nominal["k_h2"] == 5.0
    spring = next(e for e in robot.efforts if e.kind is EffortKind.SPRING and e.name == "h2")
    assert spring.rest == pytest.approx(np.radians(15.0))
    assert robot.nominal["c_b1_damping"] == 0.3
    fivebar = read_mjcf(MODELS / "fivebar.xml")
    assert [m.torque_limit for m in fivebar.motors] == [2.0, 2.0]
    assert fivebar.motors[1].turns == (("q12", -20.0),)


def test_loops_of_every_kind() -> None:
    fivebar = read_mjcf(MODELS / "fivebar.xml")
    assert [loop.name for loop in fivebar.loops] == ["pin"]  # the inactive one is left out
    arm = read_mjcf(MODELS / "parallelogram.xml")
    couplings = {loop.name: loop for loop in arm.loops if isinstance(loop, Coupling)}
    assert couplings["level"].coordinate == "q2"
    assert couplings["level"].terms == (("q5", -1.0), ("q6", -1.0))
    assert couplings["slider"].terms == (("q2", 0.05),)
    assert couplings["slider"].constant == pytest.approx(-0.19)  # counted from the references
    assert {m.name: dict(m.turns) for m in arm.motors}["m3"] == {"q3": 90.0, "q2": -90.0}


WELD = """<mujoco><worldbody>
  <body name="a"><joint name="a" axis="0 0 1"/><geom size=".1" pos=".1 0 0" contype="0" conaffinity="0"/>
    <site name="sa" pos="0.3 0 0" euler="10 20 30"/></body>
  <body name="b" pos=".5 .1 0"><joint name="b" axis="0 1 0" pos=".1 0 0"/>
    <geom size=".1" contype="0" conaffinity="0"/><site name="sb" pos="0 .2 .1" euler="0 0 90"/></body>
</worldbody><equality>{}</equality></mujoco>"""


@pytest.mark.parametrize(
    "equality",
    [
        '<weld name="w" body1="a" body2="b"/>',
        '<weld name="w" body1="a" body2="b" anchor="1 2 3" relpose="0.1 0.2 0.3 0.5 0.5 -0.5 0.5"/>',
        '<weld name="w" body1="a" anchor="1 0 3"/>',
        '<weld name="w" site1="sa" site2="sb"/>',
        '<connect name="w" body1="a" body2="b" anchor=".1 .2 .3"/>',
        '<connect name="w" body1="b" anchor=".1 .2 .3"/>',
        '<connect name="w" site1="sa" site2="sb"/>',
    ],
)
def test_anchors_miss_each_other_as_mujoco_says(
    equality: str, tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    """The position error of the constraint, at any configuration, is the distance between our anchors."""
    path = tmp_path_factory.mktemp("weld") / "weld.xml"
    path.write_text(WELD.format(equality))
    engine = Engine(path)
    engine.model.opt.disableflags = 0
    (loop,) = engine.robot.loops
    for _ in range(3):
        y = rng.uniform(-1.0, 1.0, 2)
        engine.data.qpos[:] = y
        mujoco.mj_forward(engine.model, engine.data)
        poses = frames(engine.robot, y)
        a, b = (
            poses[end.body] @ np.block([[end.placement.R, end.placement.p[:, None]], [np.zeros(3), 1.0]])
            for end in (loop.a, loop.b)
        )
        expected = engine.data.efc_pos[:3]
        np.testing.assert_allclose(a[:3, 3] - b[:3, 3], expected, atol=SAME)
        if loop.kind is LoopKind.WELD:
            angle = np.arccos(np.clip((np.trace(a[:3, :3].T @ b[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
            twist = np.linalg.norm(engine.data.efc_pos[3:6])  # sin(angle / 2) times a scale of MuJoCo's own
            assert twist == pytest.approx(np.sin(angle / 2.0), rel=1e-6)


def test_spatial_tendon_is_a_rod_or_a_spring(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rod") / "rod.xml"
    path.write_text(
        WELD.format('<tendon tendon1="t" polycoef="0.05 0 0 0 0"/>').replace(
            "<equality>",
            '<tendon><spatial name="t" stiffness="20" springlength="0.4"><site site="sa"/><site site="sb"/></spatial>'
            "</tendon><equality>",
        )
    )
    robot = read_mjcf(path)
    (rod,) = robot.loops
    (spring,) = robot.efforts
    assert isinstance(spring.on, Distance)
    assert (spring.kind, spring.rest, robot.nominal["k_t"]) == (EffortKind.SPRING, 0.4, 20.0)
    assert not isinstance(rod, Coupling)
    assert rod.kind is LoopKind.ROD
    assert rod.length == pytest.approx(0.05 + np.linalg.norm([0.5 - 0.3, 0.3, 0.1]))
