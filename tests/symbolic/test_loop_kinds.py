"""Each loop kind against the same mechanism modelled in another way, and what must be refused or noticed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.pinocchio_bridge import to_pinocchio
from tests.helpers.robots import (
    Y,
    Z,
    at,
    ball_rod,
    five_bar,
    four_bar,
    parallelogram,
    planar_2r,
    random_inertia,
    random_parameters,
    revolute,
    rod_inertia,
    single_loop,
    slider,
    stewart,
)

from dalembert.errors import ClosureError, DalembertError, ModelError
from dalembert.model import Model, build_model
from dalembert.motion import Closer, close_motion, random_states
from dalembert.parameters import BodyInertia
from dalembert.robot import (
    BASE,
    Anchor,
    Body,
    Coupling,
    Joint,
    JointType,
    Loop,
    LoopKind,
    Motor,
    Placement,
    Robot,
    Sensor,
)

# Two exact models of one mechanism: rounding, times the condition of the loops
SAME = 1e-10


def model_of(robot: Robot) -> Model:
    return build_model(robot, backend="numpy")


def coordinates_of(source: Model, target: Model, z: np.ndarray) -> np.ndarray:
    """A state of one model in the coordinates another one shares with it by name."""
    return z[:, [source.coordinates.index(name) for name in target.coordinates]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", list(LoopKind))
def test_a_loop_stands_for_its_joint(kind: LoopKind, seed: int, rng: np.random.Generator) -> None:
    """Cut at the joint, or the joint kept in the tree as a massless body that is welded: the same W.

    A rod is a massless body on a universal joint and a ball; a weld is compared with the chain cut at a hinge or
    slider elsewhere, half of it hanging from behind.
    """
    short, full = model_of(single_loop(kind, seed)), model_of(single_loop(kind, seed, explicit=True))
    assert short.r == full.r == 2
    if kind is LoopKind.WELD:  # the full model lost a coordinate to its loop: states come from the short one
        source, target = short, full
    else:
        source, target = full, short
    s = random_states(source, 8, rng)
    state = [coordinates_of(source, target, z) for z in (s.y, s.yd, s.ydd)]
    assert np.abs(target.loops_kernel()(state[0])["c"]).max() < 1e-11
    ours, theirs = (m.regressor(*z, "platform") for m, z in ((source, (s.y, s.yd, s.ydd)), (target, state)))
    columns = [source.parameters.index(name) for name in target.parameters]
    np.testing.assert_allclose(theirs, ours[:, :, columns], rtol=0, atol=SAME * np.abs(ours).max())
    bias = [m.velocity_kernel()(*z)["g"] for m, z in ((source, (s.y, s.yd)), (target, state[:2]))]
    np.testing.assert_allclose(
        bias[1], coordinates_of(source, target, bias[0]), rtol=0, atol=SAME * np.abs(bias[0]).max()
    )


@pytest.mark.parametrize("closing", ["point", "weld", "slide", "cylinder"])
def test_a_planar_loop_may_be_closed_in_many_ways(closing: str, rng: np.random.Generator) -> None:
    """Redundant rows out of the plane do not matter: hinge, ball, welded pin, slider and cylinder give one robot."""
    hinge, other = model_of(four_bar("axis")), model_of(four_bar(closing))
    pi = random_parameters(hinge.robot, rng)
    s = random_states(other, 10, rng)
    state = [coordinates_of(other, hinge, z) for z in (s.y, s.yd, s.ydd)]
    np.testing.assert_allclose(
        hinge.inverse_dynamics(*state, pi), other.inverse_dynamics(s.y, s.yd, s.ydd, pi), rtol=0,
        atol=SAME * np.abs(hinge.inverse_dynamics(*state, pi)).max(),
    )  # fmt: skip


def test_a_four_bar_may_be_cut_at_another_hinge(rng: np.random.Generator) -> None:
    """Rocker hung on the coupler and cut at the ground: its parameters move to the other end of the body."""
    hinge, other = model_of(four_bar("axis")), model_of(four_bar("ground"))
    pi = random_parameters(hinge.robot, rng)
    rocker = BodyInertia.of(pi[20:30])
    # frame at the coupler end, x back to the ground hinge: p_new = l3 - x, y and z as the turn by pi leaves them
    turn = np.diag([-1.0, -1.0, 1.0])
    com = turn @ (np.array(rocker.com) - [0.45, 0.0, 0.0])
    full = np.array([rocker.tensor[i] for i in (0, 1, 2, 1, 3, 4, 2, 4, 5)]).reshape(3, 3)
    there = turn @ full @ turn.T
    moved = BodyInertia(rocker.mass, tuple(com), tuple(there[np.triu_indices(3)])).parameters()
    # crank angles of the same closed motion
    s = random_states(hinge, 10, rng)
    y = s.y
    q4 = y[:, 2] - y[:, 0] - y[:, 1]  # absolute angle of the rocker less that of the coupler
    lift = [np.column_stack([z[:, 0], z[:, 1], z[:, 2] - z[:, 0] - z[:, 1]]) for z in (s.yd, s.ydd)]
    state = (np.column_stack([y[:, 0], y[:, 1], q4]), *lift)
    assert np.abs(other.loops_kernel()(state[0])["c"]).max() < 1e-12
    ours = hinge.inverse_dynamics(s.y, s.yd, s.ydd, pi)
    theirs = other.inverse_dynamics(*state, np.concatenate([pi[:20], moved]))
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=SAME * np.abs(ours).max())


def test_couplings_make_a_parallelogram(rng: np.random.Generator) -> None:
    coupled, looped = model_of(parallelogram("coupling")), model_of(parallelogram("point"))
    s = random_states(coupled, 10, rng)
    np.testing.assert_allclose(
        coupled.regressor(s.y, s.yd, s.ydd), looped.regressor(s.y, s.yd, s.ydd), rtol=0, atol=1e-11
    )


def test_a_coupling_with_gears_and_a_constant(rng: np.random.Generator) -> None:
    """q2 = 3 q1 - 0.5: the chain rule by hand on the free arm."""
    free = planar_2r()
    coupled = replace(
        free, loops=(Coupling("gear", "q2", (("q1", 3.0),), -0.5),), motors=free.motors[:1], name="geared"
    )
    a, b = model_of(free), model_of(coupled)
    assert b.r == 1
    pi = random_parameters(free, rng)
    q, qd, qdd = rng.standard_normal((3, 10, 1))
    y, yd, ydd = (np.hstack([x, 3.0 * x - offset]) for x, offset in ((q, 0.5), (qd, 0.0), (qdd, 0.0)))
    tree = a.inverse_dynamics(y, yd, ydd, pi)
    np.testing.assert_allclose(b.inverse_dynamics(y, yd, ydd, pi)[:, 0], tree @ [1.0, 3.0], rtol=0, atol=1e-11)


def test_a_stewart_platform_is_one_robot_however_modelled(rng: np.random.Generator) -> None:
    """Ball joints as point loops; as tree joints of massless feet welded to the platform; platform on leg 0."""
    models = {closing: model_of(stewart(closing)) for closing in ("point", "spherical", "hanging")}
    point = models["point"]
    pi = {name: random_inertia(rng) for name in (*(f"barrel{k}" for k in range(6)), *(f"rod{k}" for k in range(6)))}
    pi["platform"] = random_inertia(rng)
    torque = []
    for model in models.values():
        assert model.r == 6
        assert model.n == 6
        values = np.concatenate([pi[b.name] for b in model.robot.bodies if not b.massless])
        # the same platform motion: leg lengths and their rates from the first model
        s = random_states(point, 5, np.random.default_rng(5))
        theta = [z @ point.robot.motor_map().T for z in (s.y, s.yd, s.ydd)]
        motion = close_motion(model, *theta)
        torque.append(model.inverse_dynamics(motion.y, motion.yd, motion.ydd, values))
    # each sample is reached from home by continuation: 1e-12 m of closure times the legs' gear of 500
    np.testing.assert_allclose(torque[1], torque[0], rtol=0, atol=1e-8 * np.abs(torque[0]).max())
    np.testing.assert_allclose(torque[2], torque[0], rtol=0, atol=1e-8 * np.abs(torque[0]).max())


# --- idle mobilities -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", ["spherical", "free"])
def test_a_rod_between_balls_has_its_spin_held(joint: str, rng: np.random.Generator) -> None:
    """A thin rod's spin has no inertia: held or on a universal joint, the crank feels the same."""
    model, referee = model_of(ball_rod(joint)), model_of(ball_rod("universal"))
    assert model.r == referee.r == 1
    (note,) = [note for note in model.notes if "idle" in note]
    assert "rod.r" in note
    assert not any("idle" in note for note in referee.notes)
    thin = rod_inertia(0.8, 0.6)
    thin[0] = 0.0
    crank, rocker = random_inertia(rng), random_inertia(rng)
    pi = {"crank": crank, "rocker": rocker, "rod": thin}
    t = np.linspace(0.0, 1.0, 60)
    theta = 0.4 + 0.3 * np.sin(3 * t)[:, None]
    rates = (0.9 * np.cos(3 * t)[:, None], -2.7 * np.sin(3 * t)[:, None])
    torque = []
    for m in (model, referee):
        motion = close_motion(m, theta, *rates)
        values = np.concatenate([pi[body.name] for body in m.robot.bodies])
        torque.append(m.inverse_dynamics(motion.y, motion.yd, motion.ydd, values))
    np.testing.assert_allclose(torque[0], torque[1], rtol=0, atol=1e-9 * np.abs(torque[1]).max())


def test_a_passive_swing_is_not_idle() -> None:
    """A pendulum on the coupler moves nobody's joint centre, yet it is a mobility: it pulls on the crank."""
    robot = four_bar("axis")
    pendulum = Body("bob", "coupler", revolute("swing"), at(0.2, 0.1))
    model = model_of(replace(robot, bodies=(*robot.bodies, pendulum), independent=(), name="with bob"))
    assert model.r == 2
    assert "swing" not in " ".join(model.notes)


# --- refused, in one line --------------------------------------------------------------------------------------------


def refuses(error: type[DalembertError], robot: Robot, *words: str) -> None:
    with pytest.raises(error) as caught:
        model_of(robot)
    message = str(caught.value)
    assert "\n" not in message
    for word in (robot.name, *words):
        assert word in message


def test_a_loop_that_cannot_close_is_named() -> None:
    robot = four_bar("axis")
    # 0.25 + 0.1 + 0.05 m of links do not span 0.6 m of ground
    far = replace(robot.loops[0], a=Anchor("coupler", at(0.1)), b=Anchor("rocker", at(0.05)))
    refuses(ClosureError, replace(robot, loops=(far,)), "'B'", "home")


def test_a_loop_out_of_its_plane_is_named() -> None:
    robot = five_bar()
    lifted = replace(robot.loops[0], b=Anchor("rod2", at(0.45, 0, 0.01)))
    refuses(ClosureError, replace(robot, loops=(lifted,)), "'tip'", "0.01")


def test_a_flat_four_bar_is_a_singular_home() -> None:
    """All four hinges of a parallelogram on one line: two assembly modes meet."""
    robot = parallelogram("point")
    refuses(ModelError, replace(robot, home={}), "singular")


def test_a_structure_does_not_move() -> None:
    robot = four_bar("axis")
    strut = Loop("strut", LoopKind.ROD, Anchor("crank", at(0.1)), Anchor(BASE, at(0, -1, 0)), length=1.0)
    home = build_model(robot, backend="numpy").home
    # its length is what home has, so that only mobility is wrong
    engine = to_pinocchio(replace(robot, loops=(*robot.loops, strut)))
    f = engine.constraints(home, np.zeros(3))[0][-1]
    strut = replace(strut, length=math.sqrt(2 * f + 1.0))
    refuses(ModelError, replace(robot, loops=(*robot.loops, strut)), "0 degrees of freedom")


def test_wrong_independent_coordinates_are_named() -> None:
    with pytest.raises(ModelError, match="q9"):
        build_model(five_bar(), independent=("q1", "q9"))
    with pytest.raises(ModelError, match="expected 2"):
        build_model(five_bar(), independent=("q1",))
    with pytest.raises(ModelError, match="do not determine"):
        build_model(_two_separate(), independent=("a", "b"), backend="numpy")


def _two_separate() -> Robot:
    """Coordinates a and b move together, c on its own: a and b cannot be independent."""
    return Robot(
        "pair",
        tuple(Body(f"body_{n}", BASE, revolute(n)) for n in "abc"),
        loops=(Coupling("ab", "b", (("a", 1.0),)),),
        motors=(Motor("a", (("a", 1.0),)), Motor("c", (("c", 1.0),))),
    )


# --- few motors, other sensors ---------------------------------------------------------------------------------------


def test_an_under_actuated_robot_has_rows_without_torque(rng: np.random.Generator) -> None:
    """Double pendulum with one motor: the platform projection keeps the passive row, whose torque is zero."""
    robot = replace(planar_2r(), motors=planar_2r().motors[:1], name="acrobot")
    model, full = model_of(robot), model_of(planar_2r())
    assert (model.r, model.n, model.default_projection) == (2, 1, "platform")
    pi = random_parameters(robot, rng)
    y, yd = rng.standard_normal((2, 10, 2))
    tau = rng.standard_normal((10, 1))
    ydd = model.forward_dynamics(y, yd, tau, pi)
    both = full.inverse_dynamics(y, yd, ydd, pi)
    np.testing.assert_allclose(both, np.hstack([tau, np.zeros((10, 1))]), rtol=0, atol=1e-11)
    out = model.regressor_kernel()(y, yd, ydd, np.ones(1))
    left = out["L"].reshape(10, 2, 1)
    np.testing.assert_allclose(out["W"] @ pi, (left @ tau[:, :, None])[:, :, 0], rtol=0, atol=1e-11)
    for projection in ("whitened", "actuators"):
        with pytest.raises(ModelError) as caught:
            model.regressor_kernel(projection)
        assert "\n" not in str(caught.value)


def test_passive_joints_need_sensors(rng: np.random.Generator) -> None:
    robot = replace(planar_2r(), motors=planar_2r().motors[:1], name="acrobot")
    with pytest.raises(ClosureError, match="1 of 2 mobilities") as caught:
        Closer(model_of(robot))
    assert "\n" not in str(caught.value)
    seen = model_of(replace(robot, sensors=(Sensor("encoder", (("q1", 1.0), ("q2", 1.0))),)))
    theta = rng.standard_normal((20, 2))
    y = Closer(seen).positions(theta)
    np.testing.assert_allclose(y, np.column_stack([theta[:, 0], theta[:, 1] - theta[:, 0]]), rtol=0, atol=1e-12)


def test_sensors_on_passive_joints_of_a_loop(rng: np.random.Generator) -> None:
    """Five-bar: an encoder on a passive joint makes one measurement too many, and nothing changes without noise."""
    robot = five_bar()
    plain, more = model_of(robot), model_of(replace(robot, sensors=(Sensor("elbow", (("p1", 1.0),)),)))
    t = np.linspace(0, 1, 80)[:, None]
    y = Closer(plain).positions(robot.motor_map() @ plain.home + np.hstack([4 * np.sin(t), 3 * np.sin(2 * t)]))
    found = Closer(more).positions(y @ more.robot.sensor_map().T)
    np.testing.assert_allclose(found, y, rtol=0, atol=1e-10)


def test_a_slider_crank_is_closed_by_a_slide(rng: np.random.Generator) -> None:
    """Crank, rod and slider: by hand, x = r cos q + sqrt(l^2 - r^2 sin^2 q)."""
    r, length = 0.2, 0.5
    rail = Placement.of((0, 0, 0), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))  # z of the rail along x
    bodies = (
        Body("crank", BASE, revolute("q")),
        Body("rod", "crank", revolute("p"), at(r)),
        Body("pin", "rod", revolute("s"), at(length), massless=True),
    )
    turn = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    loop = Loop("rail", LoopKind.SLIDE, Anchor(BASE, rail), Anchor("pin", Placement.of((0, 0, 0), turn)))
    robot = Robot(
        "slider-crank", bodies, (loop,), (Motor("m", (("q", 1.0),)),), independent=("q",), home={"q": 0.7, "p": -1.0}
    )
    model = model_of(robot)
    assert model.r == 1
    s = random_states(model, 10, rng)
    poses = model.poses_kernel()(s.y)["poses"]
    q = s.y[:, 0]
    expected = r * np.cos(q) + np.sqrt(length**2 - (r * np.sin(q)) ** 2)
    np.testing.assert_allclose(poses[:, 2, 9], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(poses[:, 2, 10], 0.0, rtol=0, atol=1e-12)


def test_a_nut_on_a_screw(rng: np.random.Generator) -> None:
    """Inertia ZZ + pitch^2 m about the screw, and the torque that holds the weight."""
    pitch = 0.01
    robot = Robot(
        "screw", (Body("nut", BASE, Joint("h", JointType.HELICAL, Z, pitch=pitch)),),
        motors=(Motor("m", (("h", 1.0),)),), gravity=(0, 0, -9.81),
    )  # fmt: skip
    model = model_of(robot)
    pi = random_inertia(rng)
    m = model.mass_matrix(np.array([[0.3]]), pi)
    assert m[0, 0, 0] == pytest.approx(pi[5] + pitch**2 * pi[9], rel=1e-12)
    tau = model.inverse_dynamics(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), pi)
    assert tau[0, 0] == pytest.approx(pitch * 9.81 * pi[9], rel=1e-12)


def test_a_slide_moves_along_its_axis() -> None:
    """A slide along y is one along y: the joint frame's axis, turned by the placement."""
    robot = Robot("rail", (Body("cart", BASE, slider("s", Y), at(1, 2, 3)),), motors=(Motor("m", (("s", 1.0),)),))
    pose = model_of(robot).poses_kernel()(np.array([[0.25]]))["poses"].ravel()
    np.testing.assert_allclose(pose[9:], [1.0, 2.25, 3.0], rtol=0, atol=0)


def test_a_home_that_has_to_move_is_said() -> None:
    """Guesses of the passive joints far off pull the cranks from where they were written to be."""
    rough = build_model(replace(five_bar(), home={"q1": 2.2, "p1": -0.8, "q2": 0.9, "p2": 0.8}), backend="numpy")
    (note,) = [note for note in rough.notes if "home written" in note]
    q1 = rough.home[rough.coordinates.index("q1")]
    assert abs(q1 - 2.2) > 0.02 and f"q1 = {q1:.4g} for 2.2" in note
    # what the note advises: the passive joints as found at these crank angles
    closed = Closer(build_model(five_bar(), backend="numpy")).positions(np.array([[20.0 * 2.2, -15.0 * 0.9]]))[0]
    near = build_model(
        replace(five_bar(), home=dict(zip(rough.coordinates, closed.tolist(), strict=True))), backend="numpy"
    )
    assert not any("home written" in note for note in near.notes)
    assert near.home[near.coordinates.index("q1")] == pytest.approx(2.2, abs=1e-9)
