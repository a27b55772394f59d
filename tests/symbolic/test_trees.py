"""Trees against Pinocchio: torque, regressor, mass matrix, forward dynamics, energy, every joint type."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from tests.helpers.pinocchio_bridge import Engine, to_pinocchio
from tests.helpers.robots import random_inertia, random_parameters, random_tree

from dalembert.model import Model, build_model
from dalembert.robot import JointType, Robot

# Both engines carry twists through at most 20 frames: each product rounds at 1e-16, lengths and rates are of order
# one, so 1e-12 of the largest torque is what remains; 1e-10 is asked.
TREE = 1e-10
STATES = 5
BACKENDS = ("numpy", "c")
MOVING = tuple(kind for kind in JointType if kind is not JointType.FIXED)


def states(n_y: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations of STATES samples; the middle turns of balls stay below 90 degrees."""
    return rng.uniform(-1.3, 1.3, (STATES, n_y)), *(rng.standard_normal((STATES, n_y)) for _ in range(2))


def assert_same_tree(robot: Robot, backend: str, rng: np.random.Generator, mass: bool = True) -> None:
    """Regressor, inverse dynamics, and where asked mass matrix, forward dynamics and energy equal Pinocchio's."""
    model = build_model(robot, backend=backend)
    pi = random_parameters(robot, rng)
    engine = to_pinocchio(robot, pi)
    y, yd, ydd = states(model.n_y, rng)
    values = dict(zip(model.parameters, pi.tolist(), strict=True))
    tau = np.stack([engine.rnea(*s) + engine.effort(values, *s) for s in zip(y, yd, ydd, strict=True)])
    # rows of the identity projection: the tree's own coordinates
    w = model.regressor_kernel("platform")(y, yd, ydd, np.ones(model.n))["W"]
    scale = np.abs(tau).max()
    np.testing.assert_allclose(w @ pi, tau, rtol=0, atol=TREE * scale)
    gamma = model.inverse_kernel("platform")(y, yd, ydd, pi)["gamma"]
    np.testing.assert_allclose(gamma, tau, rtol=0, atol=TREE * scale)
    if mass:
        assert_same_motion(model, engine, pi, y, yd, ydd)


def assert_same_motion(
    model: Model, engine: Engine, pi: np.ndarray, y: np.ndarray, yd: np.ndarray, ydd: np.ndarray
) -> None:
    m = model.mass_kernel()(y, pi)["M"]
    referee = np.stack([engine.mass(k) for k in y])
    np.testing.assert_allclose(m, referee, rtol=0, atol=TREE * np.abs(referee).max())
    applied = np.stack([engine.rnea(*s) for s in zip(y, yd, ydd, strict=True)])
    found = model.forward_kernel()(y, yd, applied, pi)["ydd"]
    # the condition of M multiplies the rounding of torque, in both engines alike
    condition = max(np.linalg.cond(k) for k in referee)
    bound = max(TREE, 1e-15 * condition) * np.abs(ydd).max()
    np.testing.assert_allclose(found, [engine.aba(*s) for s in zip(y, yd, applied, strict=True)], rtol=0, atol=bound)
    np.testing.assert_allclose(found, ydd, rtol=0, atol=bound)
    energy = model.energy_kernel()(y, yd, pi)
    kinetic = [[engine.kinetic(a, b)] for a, b in zip(y, yd, strict=True)]
    potential = np.array([[engine.potential(a)] for a in y])
    np.testing.assert_allclose(energy["T"], kinetic, rtol=TREE)
    # its zero is anywhere: Pinocchio does not lift bodies fixed to the base
    np.testing.assert_allclose(
        energy["V"] - energy["V"][0], potential - potential[0], rtol=0, atol=TREE * np.abs(potential).max()
    )


@pytest.mark.parametrize(
    ("generic", "backend"), [(True, "c"), (False, "c"), (True, "numpy")], ids=["generic", "aligned", "numpy"]
)
@pytest.mark.parametrize("kind", MOVING)
def test_each_joint_type_alone_and_in_a_chain(
    kind: JointType, generic: bool, backend: str, rng: np.random.Generator
) -> None:
    """A joint between a revolute and a prismatic neighbour: it is moved, and it moves something."""
    robot = random_tree(rng, [JointType.REVOLUTE, kind, JointType.PRISMATIC], branching=0.0, generic=generic)
    assert_same_tree(robot, backend, rng)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_of_twenty_coordinates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds: list[JointType] = []
    while _size(kinds) < 20:
        kinds.append(MOVING[int(rng.integers(len(MOVING)))])
        if rng.random() < 0.2:
            kinds.append(JointType.FIXED)
    while _size(kinds) > 20:
        kinds.pop()
    # massless bodies make M singular, so torque only: motion is for the test below
    assert_same_tree(random_tree(rng, kinds, generic=seed % 2 == 0, massless=0.15), BACKENDS[seed % 2], rng, mass=False)


def _size(kinds: list[JointType]) -> int:
    size = {
        JointType.CYLINDRICAL: 2, JointType.UNIVERSAL: 2, JointType.SPHERICAL: 3, JointType.PLANAR: 3,
        JointType.TRANSLATION: 3, JointType.FREE: 6, JointType.FIXED: 0,
    }  # fmt: skip
    return sum(size.get(kind, 1) for kind in kinds)


@pytest.mark.parametrize("seed", [500, 503])
def test_twenty_joints_with_every_type(seed: int) -> None:
    """Torque, mass matrix, forward dynamics, energy: some forty coordinates."""
    rng = np.random.default_rng(seed)
    every = [*MOVING, JointType.FIXED]
    kinds = [*every, *(every[int(k)] for k in rng.integers(len(every), size=20 - len(every)))]
    robot = random_tree(rng, [kinds[k] for k in rng.permutation(20)], generic=seed == 500)
    assert_same_tree(robot, "numpy", rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_forward_dynamics_of_twenty_one_axis_joints(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    kinds = [(JointType.REVOLUTE, JointType.PRISMATIC, JointType.HELICAL)[i] for i in rng.integers(0, 3, 20)]
    robot = random_tree(rng, kinds, branching=0.5, generic=seed % 2 == 0)
    assert_same_tree(robot, BACKENDS[seed % 2], rng)


def test_columns_equal_pinocchios_own_regressor(rng: np.random.Generator) -> None:
    """Column by column, not only in the sum W pi."""
    robot = random_tree(rng, [JointType.REVOLUTE, JointType.PRISMATIC, JointType.HELICAL] * 3)
    model, engine = build_model(robot, backend="numpy"), to_pinocchio(robot, random_parameters(robot, rng))
    y, yd, ydd = states(model.n_y, rng)
    w = model.regressor(y, yd, ydd, "platform")
    order = [9, 6, 7, 8, 0, 1, 3, 2, 4, 5]
    for k in range(STATES):
        theirs = engine.torque_regressor(y[k], yd[k], ydd[k])
        bodies = sorted(range(len(robot.bodies)), key=lambda b: engine.frames[robot.body_names[b]][0])
        ours = np.hstack([w[k][:, 10 * b : 10 * b + 10][:, order] for b in bodies])
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TREE * np.abs(theirs).max())


def test_a_free_body_obeys_newton_and_euler(rng: np.random.Generator) -> None:
    """Pinocchio's free flyer knows nothing of our coordinates: its wrench, mapped by the joint's Jacobian, is ours."""
    robot = random_tree(rng, [JointType.FREE])
    model, pi = build_model(robot, backend="numpy"), random_inertia(rng)
    y, yd, ydd = (z[0] for z in states(6, rng))
    flyer = pin.Model()
    flyer.gravity.linear = np.array(robot.gravity)
    flyer.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    flyer.appendBodyToJoint(
        1, pin.Inertia.FromDynamicParameters(pi[[9, 6, 7, 8, 0, 1, 3, 2, 4, 5]]), pin.SE3.Identity()
    )
    engine = to_pinocchio(robot, pi)
    last = engine.model.njoints - 1
    pin.forwardKinematics(engine.model, engine.data, y, yd, ydd)
    pin.computeJointJacobians(engine.model, engine.data, y)
    jacobian = np.array(pin.getJointJacobian(engine.model, engine.data, last, pin.ReferenceFrame.LOCAL))
    place, motion = engine.data.oMi[last], engine.data.v[last]
    quaternion = pin.Quaternion(place.rotation).coeffs()
    wrench = pin.rnea(
        flyer, flyer.createData(), np.concatenate([place.translation, quaternion]), motion.vector,
        engine.data.a[last].vector,
    )  # fmt: skip
    gamma = model.inverse_kernel("platform")(y, yd, ydd, pi)["gamma"][0]
    np.testing.assert_allclose(gamma, jacobian.T @ wrench, rtol=0, atol=TREE * np.abs(gamma).max())


def test_poses_equal_pinocchios(rng: np.random.Generator) -> None:
    robot = random_tree(rng, [*MOVING, JointType.FIXED], branching=0.6)
    model, engine = build_model(robot, backend="numpy"), to_pinocchio(robot)
    y = states(model.n_y, rng)[0]
    found = model.poses_kernel()(y)["poses"]
    for k in range(STATES):
        engine.place(y[k], np.zeros(model.n_y))
        for b, name in enumerate(robot.body_names):
            joint, local = engine.frames[name]
            place = engine.data.oMi[joint] * local
            np.testing.assert_allclose(found[k, b, :9].reshape(3, 3), place.rotation, rtol=0, atol=1e-13)
            np.testing.assert_allclose(found[k, b, 9:], place.translation, rtol=0, atol=1e-13)


def test_backends_agree(rng: np.random.Generator) -> None:
    robot = random_tree(rng, [*MOVING])
    pi = random_parameters(robot, rng)
    numpy_, c = (build_model(robot, backend=backend) for backend in BACKENDS)
    y, yd, ydd = states(numpy_.n_y, rng)
    for name in ("regressor", "inverse_dynamics"):
        arguments = (y, yd, ydd) if name == "regressor" else (y, yd, ydd, pi)
        a, b = (getattr(m, name)(*arguments) for m in (numpy_, c))
        # the same operations in the same order: the last digits of sin and cos are all that differs
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(a).max())


def test_bodies_fixed_to_the_base_need_no_torque(rng: np.random.Generator) -> None:
    robot = random_tree(rng, [JointType.FIXED, JointType.REVOLUTE], branching=0.0)
    model = build_model(robot, backend="numpy")
    w = model.regressor(*states(1, rng))
    assert np.abs(w[:, :, :10]).max() == 0.0
    assert np.abs(w[:, :, 10:]).max() > 0.0
