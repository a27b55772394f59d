"""Serial robots of the catalog: published counts and values, physical bodies, and Pinocchio's dynamics."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray

from dalembert.identification.base import BaseSet, base_parameters
from dalembert.model import Model, build_model
from dalembert.parameters import inertial_names, is_physical
from dalembert.robot import Coordinate, EffortKind, JointType, Robot
from dalembert.robot.load import load_robot
from dalembert.robot.selection import select_efforts

pin = pytest.importorskip("pinocchio")

Array = NDArray[np.float64]

SERIAL = ("tx40", "tx40-paper", "puma560", "panda", "ur5", "stanford", "scara")
# theory.md, section 5: (standard, base) inertial only, with the robot's rotors, with all its own terms
COUNTS = {
    "tx40": ((60, 36), (66, 40), (86, 60)),
    "tx40-paper": ((60, 36), (66, 40), (86, 60)),
    "puma560": ((60, 36), (66, 40), (78, 52)),
    "panda": ((70, 43), (77, 48), (91, 62)),
    "ur5": ((60, 36), (66, 40), (78, 52)),
    "stanford": ((60, 33), (66, 37), (78, 49)),
    "scara": ((40, 8), (44, 11), (52, 19)),
}
DECADES = 10  # a rank is believed when the first dropped pivot is this far below the last one kept
INERTIAL_ONLY = {"friction": "none", "offsets": False, "rotor": False}
WITH_ROTORS = {"friction": "none", "offsets": False}


@functools.cache
def model_of(name: str, **selected: object) -> Model:
    robot = load_robot(name)
    return build_model(select_efforts(robot, **selected) if selected else robot, backend="numpy")


def base_of(model: Model) -> BaseSet:
    """Regrouped as Khalil and the papers do: bodies from the base outwards, efforts last."""
    return base_parameters(model, order=model.parameters)


def states(robot: Robot, rng: np.random.Generator, n: int = 40) -> tuple[Array, Array, Array]:
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, n, len(robot.coordinates)))
    return q, qd, qdd


def pinocchio_model(robot: Robot, inertias: bool) -> pin.Model:
    """The same tree built by Pinocchio from the description, bodies at their nominal inertia."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    at = {"base": 0}
    for body in robot.bodies:
        joint = {JointType.REVOLUTE: pin.JointModelRZ, JointType.PRISMATIC: pin.JointModelPZ}[body.joint.type]
        assert body.joint.axis == (0.0, 0.0, 1.0)
        placement = pin.SE3(body.placement.R, body.placement.p)
        at[body.name] = model.addJoint(at[body.parent], joint(), placement, body.joint.name)
        inertia = pin.Inertia.Random()
        if inertias:
            xx, xy, xz, yy, yz, zz, mx, my, mz, m = (robot.nominal[name] for name in inertial_names(body.name))
            inertia = pin.Inertia.FromDynamicParameters(np.array([m, mx, my, mz, xx, xy, yy, xz, yz, zz]))
        model.appendBodyToJoint(at[body.name], inertia, pin.SE3.Identity())
    return model


def effort_torque(robot: Robot, qd: Array, qdd: Array) -> Array:
    """Joint torque of the robot's own linear effort terms at nominal values, one state; written out by hand."""
    tau = np.zeros(len(qd))
    for effort in robot.efforts:
        if effort.kind is EffortKind.FORCE:  # tx40-paper: [Gautier11, section IV]
            value = robot.nominal[effort.parameters[0]]
            other = np.array([qd[5], qd[4]])
            tau[4:6] += value * (other if effort.name == "fvm6" else np.sign(other))
            continue
        assert isinstance(effort.on, Coordinate)
        along = np.zeros(len(qd))
        for name, ratio in effort.on.terms:
            along[robot.coordinates.index(name)] = ratio
        rate, acceleration = along @ qd, along @ qdd
        column = {
            EffortKind.ROTOR: acceleration,
            EffortKind.VISCOUS: rate,
            EffortKind.COULOMB: np.sign(rate),
            EffortKind.OFFSET: 1.0,
        }[effort.kind]
        tau += along * column * robot.nominal[effort.parameters[0]]
    return tau


@pytest.mark.parametrize("name", SERIAL)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["inertial", "rotors", "own"])
def test_standard_and_base_counts(name: str, which: int) -> None:
    model = model_of(name, **(INERTIAL_ONLY, WITH_ROTORS, {})[which])
    base = base_of(model)
    assert (len(model.parameters), base.n_base) == COUNTS[name][which]
    assert base.gap > DECADES


@pytest.mark.parametrize("name", ["tx40", "tx40-paper"])
def test_tx40_has_54_base_parameters_without_offsets(name: str) -> None:
    model = model_of(name, offsets=False)
    assert (len(model.parameters), base_of(model).n_base) == (80, 54)


@pytest.mark.parametrize("name", [name for name in SERIAL if name != "tx40-paper"])
def test_inertial_count_is_the_rank_of_pinocchios_regressor(name: str, rng: np.random.Generator) -> None:
    robot = load_robot(name)
    model = pinocchio_model(robot, inertias=False)
    data = model.createData()
    rows = [pin.computeJointTorqueRegressor(model, data, *s) for s in zip(*states(robot, rng), strict=True)]
    sigma = np.linalg.svd(np.vstack(rows), compute_uv=False)
    rank = COUNTS[name][0][1]
    assert sigma[rank] < 10.0**-DECADES * sigma[rank - 1]


@pytest.mark.parametrize("name", SERIAL)
def test_inverse_dynamics_is_pinocchios(name: str, rng: np.random.Generator) -> None:
    robot = load_robot(name)
    q, qd, qdd = states(robot, rng)
    reference = pinocchio_model(robot, inertias=True)
    data = reference.createData()
    expected = np.array(
        [pin.rnea(reference, data, *s) + effort_torque(robot, s[1], s[2]) for s in zip(q, qd, qdd, strict=True)]
    )
    found = model_of(name).inverse_dynamics(q, qd, qdd)
    # both sum some hundred products of numbers up to the largest torque: 1e-12 of it is their rounding
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", SERIAL)
def test_nominal_values_are_complete_and_physical(name: str) -> None:
    robot = load_robot(name)
    assert set(robot.nominal) == set(robot.parameters())
    for body in robot.bodies:
        assert is_physical([robot.nominal[parameter] for parameter in inertial_names(body.name)]), body.name
    for effort in robot.efforts:
        if effort.kind in (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB):
            assert robot.nominal[effort.parameters[0]] > 0.0, effort


@pytest.mark.parametrize("name", SERIAL)
def test_motion_limits_are_there_and_home_is_within_them(name: str) -> None:
    robot = load_robot(name)
    assert robot.platform == robot.bodies[-1].name
    assert robot.motor_names == robot.coordinates  # logs: joint side
    for coordinate in robot.coordinates:
        limit = robot.limits[coordinate]
        assert limit.lower < robot.home[coordinate] < limit.upper
        assert 0.0 < limit.velocity < np.inf


@pytest.mark.parametrize("name", SERIAL)
def test_every_joint_moves_the_last_body_at_home(name: str) -> None:
    """The Jacobian of the platform is of full rank at home: no wrist or elbow singularity to start from."""
    robot = load_robot(name)
    model = pinocchio_model(robot, inertias=False)
    q = np.array([robot.home[c] for c in robot.coordinates])
    jacobian = pin.computeJointJacobian(model, model.createData(), q, model.njoints - 1)
    sigma = np.linalg.svd(jacobian, compute_uv=False)
    assert sigma[min(6, len(q)) - 1] > 0.03  # m/rad or rad/rad; these arms are about 1 m long


# Where the last frame is in poses that the makers (or the data's own notes) describe in words.
POSES = {
    # arm upright [data sheet of the log]: the wrist 0.225 + 0.225 m above the shoulder
    "tx40": ([0, -np.pi / 2, np.pi / 2, 0, 0, 0], [0.0, 0.035, 0.45]),
    # "ready", arm up (Robotics Toolbox)
    "puma560": ([0, -np.pi / 2, np.pi / 2, 0, 0, 0], [-0.0203, 0.2435 - 0.0934, 0.4318 + 0.4331]),
    # all zeros: frame 7 is 0.107 m above the flange, which points down 0.926 m above the base
    "panda": ([0] * 7, [0.088, 0.0, 0.926 + 0.107]),
    # all zeros: the tool flange as the maker's controller shows it
    "ur5": ([0] * 6, [-0.81725, -0.19145, -0.005491]),
    # boom up and out by 0.5 m
    "stanford": ([0, 0, 0.5, 0, 0, 0], [0.0, 0.154, 0.412 + 0.5]),
    # stretched, quill down by 0.1 m
    "scara": ([0, 0, 0.1, 0], [0.6, 0.0, 0.387 - 0.1]),
}


@pytest.mark.parametrize("name", list(POSES))
def test_kinematics_in_a_known_pose(name: str) -> None:
    q, expected = POSES[name]
    poses = model_of(name).poses_kernel()(np.array([q], dtype=float))["poses"]
    assert poses[0, -1, 9:] == pytest.approx(np.array(expected), abs=1e-12)


# [Gautier11, table 2], as printed
TX40_BASE = {
    "ZZ_link1": "1.30", "XX_link2": "-0.53", "XZ_link2": "-0.16", "ZZ_link2": "1.09", "MX_link2": "2.11",
    "ZZ_link3": "0.14", "MY_link3": "-0.64", "Ia_j3": "0.083", "Ia_j4": "0.029",
    "Fv_j1": "8.71", "Fv_j2": "7", "Fv_j3": "2.37", "Fv_j4": "1.0", "Fv_j5": "2.52", "Fv_j6": "0.72",
    "Fc_j1": "7.69", "Fc_j2": "7.74", "Fc_j3": "6.6", "Fc_j4": "2.47", "Fc_j5": "2.77", "Fc_j6": "0.9",
}  # fmt: skip
TX40_SHARED = {
    "tx40": {"Fv_m6": "0.8", "Fc_m6": "1.6"},
    "tx40-paper": {"c_fvm6": "0.8", "c_fcm6": "1.6"},
}


@pytest.mark.parametrize("name", ["tx40", "tx40-paper"])
def test_tx40_nominal_values_regroup_to_the_printed_ones(name: str) -> None:
    model = model_of(name)
    base = base_of(model)
    beta = dict(zip((base.names[i] for i in base.independent), base.project(model.nominal()), strict=True))
    for parameter, printed in (TX40_BASE | TX40_SHARED[name]).items():
        digits = len(printed.partition(".")[2])
        assert f"{beta[parameter]:.{digits}f}" == printed, parameter
    # [Gautier11, (29)]: Ia5 = K5^2 Ja5 + K6^2 Ja6
    assert beta["Ia_j5"] + beta["Ia_m6"] == pytest.approx(0.053, abs=1e-12)


@pytest.mark.parametrize("name", ["tx40", "tx40-paper"])
def test_tx40_wrist_coupling_is_the_papers(name: str, rng: np.random.Generator) -> None:
    """tau_c5 and tau_c6 of [Gautier11, section IV] beside the uncoupled arm."""
    robot = load_robot(name)
    q, qd, qdd = states(robot, rng)
    own = {"j5": 2.52, "j6": 0.72}, {"j5": 2.77, "j6": 0.9}
    bodies = model_of(name, **INERTIAL_ONLY).inverse_dynamics(q, qd, qdd)
    wrist = model_of(name).inverse_dynamics(q, qd, qdd)[:, 4:] - bodies[:, 4:]
    d5, d6, dd5, dd6 = qd[:, 4], qd[:, 5], qdd[:, 4], qdd[:, 5]
    ia5, ia6 = 0.053, 0.018
    expected = np.stack([ia5 * dd5 + ia6 * dd6, ia6 * (dd5 + dd6)], axis=1)
    expected += np.stack([own[0]["j5"] * d5, own[0]["j6"] * d6], axis=1)
    expected += np.stack([own[1]["j5"] * np.sign(d5), own[1]["j6"] * np.sign(d6)], axis=1)
    if name == "tx40-paper":
        expected += np.stack([0.8 * d6 + 1.6 * np.sign(d6), 0.8 * d5 + 1.6 * np.sign(d5)], axis=1)
    else:
        expected += (0.8 * (d5 + d6) + 1.6 * np.sign(d5 + d6))[:, None]
    assert np.abs(wrist - expected).max() < 1e-12 * np.abs(wrist).max()


def test_only_the_papers_friction_columns_create_energy(rng: np.random.Generator) -> None:
    lowest = {}
    for name in ("tx40", "tx40-paper"):
        model = model_of(name)
        q, qd, _ = states(model.robot, rng, 400)
        qd[:, :4] = 0.0
        rest = np.zeros_like(q)
        bodies = model_of(name, **INERTIAL_ONLY).inverse_dynamics(q, qd, rest)
        friction = model.inverse_dynamics(q, qd, rest) - bodies
        lowest[name] = (friction * qd).sum(axis=1).min()
    assert lowest["tx40"] > 0.0 > lowest["tx40-paper"]
