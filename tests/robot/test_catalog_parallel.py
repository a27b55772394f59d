"""Parallel robots of the catalog: published counts, relations and values; sound loops; what their files claim."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dalembert.identification.base import BaseSet, base_parameters
from dalembert.model import Model, build_model
from dalembert.motion import random_states
from dalembert.parameters import inertial_names, is_physical
from dalembert.robot import Anchor, Body, Coupling, Effort, EffortKind, Joint, JointType, Loop, LoopKind, Robot
from dalembert.robot.geometry import Placement
from dalembert.robot.load import load_robot
from dalembert.robot.selection import select_efforts, with_payload

Array = NDArray[np.float64]

PARALLEL = ("dualv", "delta", "delta3", "linear-delta", "par4", "orthoglide", "3prrr")
MOBILITIES = {
    "dualv": (4, 3), "delta": (4, 4), "delta3": (3, 3), "linear-delta": (3, 3), "par4": (4, 4),
    "orthoglide": (3, 3), "3prrr": (6, 6),
}  # fmt: skip
PLATFORM = {
    "dualv": ("pose.x", "pose.y", "pose.angle"),
    "delta": ("pose.x", "pose.y", "pose.z", "psi"),
    "delta3": ("pose.x", "pose.y", "pose.z"),
    "linear-delta": ("pose.x", "pose.y", "pose.z"),
    "par4": ("pose.x", "pose.y", "pose.z", "turn"),
    "orthoglide": ("pose.x", "pose.y", "pose.z"),
    "3prrr": ("zeta1", "theta1", "zeta2", "theta2", "zeta3", "theta3"),
}

BARE = {"friction": "none", "offsets": False, "rotor": False}
# theory.md, section 5: robot, effort terms, legs tied, base parameters
COUNTS = [
    ("dualv", {"friction": "none", "offsets": False}, False, 16),
    ("dualv", {}, False, 24),
    ("dualv", {"friction": "actuated", "offsets": False}, False, 24),
    ("dualv", {"friction": "actuated", "offsets": True}, False, 28),
    ("delta", {"rotor": False, "offsets": False}, True, 37),
    ("delta", BARE, True, 27),
    ("delta", BARE, False, 49),
    ("orthoglide", {}, False, 43),
    ("orthoglide", {"offsets": False}, False, 41),
    ("orthoglide", {}, True, 23),
    ("orthoglide", {"offsets": False}, True, 21),
    ("3prrr", BARE, True, 10),
    ("3prrr", {"friction": "none", "rotor": True, "offsets": False}, True, 14),
    ("3prrr", {"friction": "actuated", "rotor": True, "offsets": False}, True, 26),
    # not published; arm 3, struts 8, platform 1: the struts' M and MX go to their ends
    ("delta3", BARE, True, 12),
    ("delta3", BARE, False, 34),
    ("linear-delta", BARE, True, 10),  # carriage 1
]
DECADES = 10  # a rank is believed when the first dropped pivot is this far below the last one kept
ROUNDING = 1e-9  # of regrouping coefficients, which come out of a triangular solve of condition up to 1e5


@functools.cache
def model_of(name: str, **selected: object) -> Model:
    robot = load_robot(name)
    return build_model(select_efforts(robot, **selected) if selected else robot, backend="numpy")


@functools.cache
def base_of(name: str, projection: str | None = None, symmetric: bool = False, **selected: object) -> BaseSet:
    return base_parameters(model_of(name, **selected), projection, symmetric=symmetric)


def coefficients(base: BaseSet, parameter: str) -> dict[str, float]:
    """Share of every dependent parameter in the base parameter that starts from the given one."""
    row = base.K[[base.names[i] for i in base.independent].index(parameter)]
    return {base.names[j]: k for j, k in zip(base.dependent, row, strict=True)}


def efforts_first(model: Model) -> tuple[str, ...]:
    """Column order of the papers' tables: drives, then platform, then the rest."""
    efforts = [name for effort in model.robot.efforts for name in effort.parameters]
    rest = [name for name in model.parameters if name not in efforts]
    return (*efforts, *sorted(rest, key=lambda name: not name.endswith("_platform")))


# counts


@pytest.mark.parametrize(("name", "selected", "symmetric", "expected"), COUNTS)
def test_base_count(name: str, selected: dict[str, object], symmetric: bool, expected: int) -> None:
    base = base_of(name, symmetric=symmetric, **selected)
    assert base.n_base == expected
    assert base.gap > DECADES


@pytest.mark.parametrize("projection", ["platform", "actuators:m1,m2,m3", "actuators:m1,m2,m4", "whitened"])
@pytest.mark.parametrize(
    ("selected", "expected"), [({"friction": "none"}, 16), ({}, 24), ({"offsets": True}, 28)], ids=["16", "24", "28"]
)
def test_dualv_count_does_not_depend_on_the_projection(
    projection: str, selected: dict[str, object], expected: int
) -> None:
    base = base_of("dualv", projection, **selected)
    assert (base.n_base, base.gap > DECADES) == (expected, True)


@pytest.mark.parametrize("projection", ["platform", "actuators:m1,m2,m3"])
@pytest.mark.parametrize(("stacked", "more"), [(True, 4), (False, 0)], ids=["stacked", "always there"])
def test_dualv_payload_is_told_apart_only_by_stacked_logs(projection: str, stacked: bool, more: int) -> None:
    model = build_model(with_payload(load_robot("dualv")), backend="numpy")
    base = base_parameters(
        model, projection, payloads=("payload",), carried=("", "payload") if stacked else ("payload",)
    )
    assert base.n_base == 24 + more
    # the platform comes first in the order, so what is found of the payload are its own zz5 mx5 my5 m5
    found = {base.names[i] for i in base.independent if base.names[i].endswith("_payload")}
    assert found == ({f"{s}_payload" for s in ("ZZ", "MX", "MY", "M")} if stacked else set())


@pytest.mark.parametrize(("offsets", "expected"), [(False, (14, 14, 15)), (True, (15, 15, 15))])
def test_orthoglide_legs_alone(offsets: bool, expected: tuple[int, ...]) -> None:
    """[Guegan03, section 4.1]: with Ma, Fv, Fs; only along gravity is M_1R3 more than a part of Ma_1R."""
    robot = select_efforts(load_robot("orthoglide"), offsets=None if offsets else False)
    assert tuple(base_parameters(_leg(robot, k)).n_base for k in "123") == expected


def _leg(robot: Robot, k: str) -> Model:
    bodies = tuple(body for body in robot.bodies if body.name.endswith(k))
    alone = Robot(
        f"leg{k}", bodies, tuple(loop for loop in robot.loops if isinstance(loop, Coupling) and loop.name.endswith(k)),
        tuple(motor for motor in robot.motors if motor.name.endswith(k)),
        efforts=tuple(effort for effort in robot.efforts if effort.name.endswith(k)), gravity=robot.gravity,
        home={f"q2{k}": -1.2, f"q3{k}": 0.3},
    )  # fmt: skip
    return build_model(alone, independent=(f"q1{k}", f"q2{k}", f"q3{k}"), backend="numpy")


# regrouping relations


@pytest.mark.parametrize("r_p", [0.14, 0.12])
def test_dualv_relations(r_p: float) -> None:
    """[Briot15, section 5.3] as corrected in theory.md, section 6: mx2 is not independent."""
    base = base_parameters(build_model(load_robot("dualv", r_p=r_p), backend="numpy"))
    d2 = d3 = 0.28
    assert not {f"MX_rod{k}" for k in "1234"} & {base.names[i] for i in base.independent}
    m4, my4, zz4 = (coefficients(base, f"{symbol}_platform") for symbol in ("M", "MY", "ZZ"))
    for k, side in zip("1234", (1.0, 1.0, -1.0, -1.0), strict=True):
        mx = f"MX_rod{k}"
        zz1, zz2 = coefficients(base, f"ZZ_crank{k}"), coefficients(base, f"ZZ_rod{k}")
        assert zz1[f"Ia_m{k}"] == pytest.approx(1.0, abs=ROUNDING)
        assert zz1[f"M_rod{k}"] == pytest.approx(d2**2, abs=ROUNDING)
        assert zz1[mx] == pytest.approx(-(d2**2) / d3, abs=ROUNDING)
        assert zz2[mx] == pytest.approx(-d3, abs=ROUNDING)
        assert m4[mx] == pytest.approx(1.0 / d3, abs=ROUNDING)
        assert my4[mx] == pytest.approx(side * r_p / d3, abs=ROUNDING)
        assert zz4[mx] == pytest.approx(r_p**2 / d3, abs=ROUNDING)


def test_orthoglide_relations() -> None:
    """[Guegan03, (18) and (19)] with M_1R3 the sum of the leg's masses (theory.md, section 6); bodies 3 bar, 4 coupler,
    5 hinge, 7 twin."""
    base = base_of("orthoglide", offsets=False)
    d4 = 0.31
    mass = coefficients(base, "M_platform")
    for k in "123":
        bar, twin, coupler = f"bar{k}", f"twin{k}", f"coupler{k}"
        expected = {
            "M_platform": {f"MX_{bar}": 1 / d4, f"MX_{twin}": 1 / d4, f"M_{coupler}": 1.0, f"M_hinge{k}": 1.0},
            f"M_slide{k}": {
                f"M_fork{k}": 1.0, f"M_{bar}": 1.0, f"M_{twin}": 1.0, f"M_{coupler}": 0.0, f"M_hinge{k}": 0.0,
                f"MX_{bar}": -1 / d4, f"MX_{twin}": -1 / d4,
            },
            f"ZZ_fork{k}": {
                f"YY_{bar}": 1.0, f"YY_{coupler}": 1.0, f"YY_{twin}": 1.0, f"MX_{bar}": -d4, f"MX_{twin}": -d4,
                f"M_{coupler}": 0.0,
            },
            f"MY_fork{k}": {f"MZ_{bar}": 1.0, f"MZ_{coupler}": 1.0, f"MZ_{twin}": 1.0},
            f"XX_{bar}": {
                f"YY_{bar}": -1.0, f"XX_{twin}": 1.0, f"YY_{twin}": -1.0, f"MX_{bar}": d4, f"M_{coupler}": 0.0,
            },
            f"XY_{bar}": {f"XY_{twin}": 1.0},
            f"XZ_{bar}": {f"MZ_{coupler}": -d4, f"XZ_{twin}": 1.0},
            f"YZ_{bar}": {f"YZ_{twin}": 1.0},
            f"ZZ_{bar}": {f"ZZ_{twin}": 1.0, f"MX_{bar}": -d4, f"M_{coupler}": 0.0},
            f"MY_{bar}": {f"MY_{twin}": 1.0},
        }  # fmt: skip
        for parameter, shares in expected.items():
            found = mass if parameter == "M_platform" else coefficients(base, parameter)
            for name, share in shares.items():
                assert found[name] == pytest.approx(share, abs=ROUNDING), (parameter, name)
        # the mass that falls is told from the rotor, which does not, only on leg 3: M_1R3
        rotor = coefficients(base, f"M_slide{k}").get(f"Ia_m{k}", 0.0)
        assert rotor == pytest.approx(0.0 if k == "3" else 1.0, abs=ROUNDING)
    assert f"MX_coupler{k}" in {base.names[i] for i in base.independent}


# nominal values


@pytest.mark.parametrize("name", PARALLEL)
def test_nominal_values_are_complete_and_physical(name: str) -> None:
    robot = load_robot(name)
    assert set(robot.nominal) == set(robot.parameters())
    for body in robot.bodies:
        if not body.massless:
            assert is_physical([robot.nominal[parameter] for parameter in inertial_names(body.name)]), body.name
    for effort in robot.efforts:
        if effort.kind in (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB):
            assert robot.nominal[effort.parameters[0]] > 0.0, effort


@pytest.mark.parametrize("name", [name for name in PARALLEL if name != "dualv"])
def test_bodies_of_a_symmetric_group_have_equal_values(name: str) -> None:
    robot = load_robot(name)
    assert robot.symmetric
    for group in robot.symmetric:
        first, *others = ([robot.nominal[p] for p in inertial_names(body)] for body in group)
        assert all(other == first for other in others), group


# As printed: [Briot15, table 2, case 1], [Guegan03, table 3], [Gnad24, section VIII B]
PRINTED = {
    "dualv": {
        "Ia_m1": "4.45e-2", "Ia_m2": "4.81e-2", "Ia_m3": "4.81e-2", "Ia_m4": "5.07e-2",
        "ZZ_platform": "2.06e-2", "M_platform": "1.92e+0", "MX_platform": "0", "MY_platform": "0",
    },
    "orthoglide": {
        "M_platform": "1.5993",
        "Ia_m1": "8.7002", "Fv_m1": "84.6695", "Fc_m1": "54.4006", "off_m1": "-2.5644",
        "Ia_m2": "8.4992", "Fv_m2": "66.888", "Fc_m2": "80.7283", "off_m2": "-0.4616",
        "Ia_m3": "8.6790", "Fv_m3": "83.7047", "Fc_m3": "54.9723", "off_m3": "-10.1975",
    },
    "delta": {
        "Fv_m1": "1.576", "Fv_m2": "1.667", "Fv_m3": "1.411", "Fv_m4": "0.019",
        "Fc_m1": "4.659", "Fc_m2": "4.644", "Fc_m3": "6.353", "Fc_m4": "0.807",
        "Fv_telescope": "4.08", "Fc_telescope": "5.36",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", list(PRINTED))
def test_nominal_values_regroup_to_the_printed_ones(name: str) -> None:
    model = model_of(name)
    base = base_parameters(model, order=efforts_first(model))
    beta = dict(zip((base.names[i] for i in base.independent), base.project(model.nominal()), strict=True))
    for parameter, printed in PRINTED[name].items():
        # the printed digits are exact inputs of the description; what is left is the rounding of the regrouping
        assert beta[parameter] == pytest.approx(float(printed), rel=1e-8, abs=1e-8), parameter


def test_delta_values_are_table_1_of_the_paper() -> None:
    """[Gnad24, table I, ID geom]: two struts per limb; the upper arm's Theta_yy holds its motor's rotor."""
    value = load_robot("delta").nominal
    strut = {"M": 0.278, "MX": 0.104, "XX": 24.611e-3, "YY": 0.114, "ZZ": 0.116}
    for k in "123":
        assert value[f"YY_arm{k}"] + value[f"Ia_m{k}"] == pytest.approx(0.189, abs=1e-15)
        assert (value[f"MX_arm{k}"], value[f"MZ_arm{k}"]) == (0.091, 0.009)
        for symbol, printed in strut.items():
            assert value[f"{symbol}_struts{k}"] == pytest.approx(2 * printed, abs=1e-15)
    assert value["M_platform"] == 1.23
    assert [value[f"{s}_telescope_upper"] for s in ("M", "MZ", "XX", "ZZ")] == [0.732, -0.305, 0.148, 2.826e-6]
    assert [value[f"{s}_telescope_lower"] for s in ("M", "MZ", "XX", "ZZ")] == [0.483, 0.239, 0.126, 1.151e-6]


def test_3prrr_masses_are_the_initial_values_of_table_1() -> None:
    value = load_robot("3prrr").nominal
    assert value["M_slider1"] + value["Ia_slide1"] == pytest.approx(780.0)
    assert (value["M_crank1"], value["M_rod1"], value["M_platform"]) == (0.30, 0.354, 0.78)


# motion


@pytest.mark.parametrize("name", PARALLEL)
def test_mobility_and_default_velocities(name: str) -> None:
    model = model_of(name)
    assert (model.n, model.r) == MOBILITIES[name]
    assert model.independent == PLATFORM[name]
    assert model.robot.platform is not None
    assert not any("idle" in note for note in model.notes)  # universal joints leave no strut free to spin


@pytest.mark.parametrize("name", PARALLEL)
def test_home_is_closed_far_from_singularities_and_within_the_limits(name: str) -> None:
    model, robot = model_of(name), load_robot(name)
    loops = model.loops_kernel()(model.home)
    assert np.abs(loops["c"]).max() < 1e-12
    assert np.linalg.cond(np.atleast_2d(np.squeeze(loops["C"]))) < 50
    at = dict(zip(model.coordinates, model.home, strict=True))
    for coordinate, guess in robot.home.items():  # the file's home is where it says, to what it was written with
        assert at[coordinate] == pytest.approx(guess, abs=0.02), coordinate
    jacobian = np.squeeze(model.velocity_kernel()(model.home, np.zeros(model.n_y))["J"])
    if name == "par4":  # its turn is geared by a lever of e = 0.06 m: compare metres with metres
        jacobian = jacobian @ np.diag([1.0, 1.0, 1.0, 1.0 / 0.06])
    assert np.linalg.cond(jacobian) < 10
    motors = dict(zip(robot.motor_names, robot.motor_map() @ model.home, strict=True))
    for owner, limit in robot.limits.items():
        assert limit.lower < {**at, **motors}[owner] < limit.upper, owner
    assert {*robot.motor_names} <= {*robot.limits}
    assert all(np.isfinite([motor.torque_limit for motor in robot.motors]))


@pytest.mark.parametrize("name", PARALLEL)
def test_loops_along_random_motions(name: str, rng: np.random.Generator) -> None:
    model = model_of(name)
    s = random_states(model, 60, rng)
    loops = model.loops_kernel()
    at = loops(s.y)
    assert np.abs(at["c"]).max() < 1e-12
    jacobian, maps = at["C"], model.velocity_kernel()(s.y, s.yd)["N"]
    assert np.abs(jacobian @ maps).max() < 1e-12 * np.abs(jacobian).max() * np.abs(maps).max()
    ranks = np.linalg.matrix_rank(jacobian, tol=1e-9)
    assert (ranks == model.n_y - model.r).all()  # every kept closure row stays independent
    assert (np.linalg.matrix_rank(maps, tol=1e-9) == model.r).all()
    # accelerations: the loops stay closed to third order along y + yd h + ydd h^2 / 2
    h = 1e-4 / np.abs(s.yd).max(axis=1, keepdims=True)
    left = np.array([np.abs(loops(s.y + s.yd * t + s.ydd * t**2 / 2)["c"]).max(axis=1) for t in (h, 2 * h)])
    assert (left[1] < 8.5 * left[0] + 1e-13).all()
    drift = np.abs(loops(s.y + s.yd * h)["c"]).max(axis=1)
    assert np.median(drift / np.maximum(left[0], 1e-16)) > 100  # without ydd they would not


@pytest.mark.parametrize("name", PARALLEL)
def test_mass_matrix_is_positive_definite_and_torque_finite(name: str, rng: np.random.Generator) -> None:
    model = model_of(name)
    s = random_states(model, 60, rng)
    mass = model.mass_matrix(s.y)
    assert np.abs(mass - mass.swapaxes(1, 2)).max() < 1e-10 * np.abs(mass).max()
    assert (np.linalg.eigvalsh(mass)[:, 0] > 0.0).all()
    assert np.isfinite(model.inverse_dynamics(s.y, s.yd, s.ydd)).all()
    # near home a slow motion asks for no more than the motors have
    still = np.tile(model.home, (2, 1)), np.zeros((2, model.n_y)), np.zeros((2, model.n_y))
    limits = np.array([motor.torque_limit for motor in model.robot.motors])
    assert (np.abs(model.inverse_dynamics(*still)) < limits).all()


@pytest.mark.parametrize(("name", "tilt"), [("linear-delta", "20 deg"), ("linear-delta", "-15 deg")])
def test_linear_delta_with_inclined_drives(name: str, tilt: str) -> None:
    model = build_model(select_efforts(load_robot(name, tilt=tilt), **BARE), backend="numpy")
    assert (model.n, model.r) == (3, 3)
    assert base_parameters(model, symmetric=True).n_base == 10


# what the files claim about their mechanisms


def _pose(model: Model, y: Array, body: str) -> tuple[Array, Array]:
    poses = model.poses_kernel()(y)["poses"][:, model.robot.body_names.index(body)]
    return poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]


def test_delta_telescope_turns_the_tool_like_a_double_cardan_shaft(rng: np.random.Generator) -> None:
    """With the lower cardan joint and its fork instead of ``turn = psi``, nothing changes."""
    robot = load_robot("delta")
    cardan = Joint("lower", JointType.UNIVERSAL, (0, 1, 0), (1, 0, 0))
    fork = Body("lower_fork", "telescope_lower", cardan, massless=True)
    others = tuple(loop for loop in robot.loops if loop.name not in ("telescope", "turn"))
    held = Loop("shaft", LoopKind.WELD, Anchor("lower_fork"), Anchor("ee"))
    explicit = build_model(replace(robot, bodies=(*robot.bodies, fork), loops=(*others, held)), backend="numpy")
    s = random_states(explicit, 30, rng)
    model = model_of("delta")
    at = [explicit.coordinates.index(c) for c in model.coordinates]
    assert (explicit.n, explicit.r) == (4, 4)
    assert np.abs(model.loops_kernel()(s.y[:, at])["c"]).max() < 1e-11
    expected = explicit.inverse_dynamics(s.y, s.yd, s.ydd)
    found = model.inverse_dynamics(s.y[:, at], s.yd[:, at], s.ydd[:, at])
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_delta_struts_may_be_one_body_or_two(rng: np.random.Generator) -> None:
    """Two struts at each end of the cross bars, half the inertia each: the same torques, the same 49 base parameters."""
    robot = load_robot("delta")
    bodies, loops, nominal = list(robot.bodies), list(robot.loops), dict(robot.nominal)
    for k, gamma in zip("123", np.deg2rad([0, 120, 240]), strict=True):
        side = np.array([-np.sin(gamma), np.cos(gamma), 0.0]) * 0.05
        one = robot.body(f"struts{k}")
        loop = next(loop for loop in robot.loops if loop.name == f"P{k}")
        assert isinstance(loop, Loop)
        for sign, suffix in ((1.0, ""), (-1.0, "b")):
            name = one.name + suffix
            at_elbow = Placement.of(np.add(one.placement.p, [0.0, sign * 0.05, 0.0]))
            body = Body(name, one.parent, replace(one.joint, name=f"strut{k}{suffix}"), at_elbow)
            end = Anchor("platform", Placement.of(loop.b.placement.p + sign * side))
            cut = Loop(f"P{k}{suffix}", loop.kind, Anchor(name, loop.a.placement), end)
            if suffix:
                bodies.append(body)
                loops.append(cut)
            else:
                bodies[bodies.index(one)] = body
                loops[loops.index(loop)] = cut
            whole = [robot.nominal[p] for p in inertial_names(one.name)]
            nominal |= {p: value / 2 for p, value in zip(inertial_names(name), whole, strict=True)}
    home = {**robot.home, **{f"strut{k}b.first": robot.home[f"strut{k}.first"] for k in "123"}}
    both = replace(robot, bodies=tuple(bodies), loops=tuple(loops), nominal=nominal, home=home)
    double = build_model(both, backend="numpy")
    model = model_of("delta")
    assert (double.n, double.r) == (4, 4)
    at = [double.coordinates.index(c) for c in model.coordinates]
    s = random_states(double, 30, rng)
    expected = model.inverse_dynamics(s.y[:, at], s.yd[:, at], s.ydd[:, at])
    assert np.abs(double.inverse_dynamics(s.y, s.yd, s.ydd) - expected).max() < 1e-9 * np.abs(expected).max()
    inertial = build_model(select_efforts(both, **BARE), backend="numpy")
    assert base_parameters(inertial).n_base == 49


def test_par4_plates_translate_and_its_platform_stays_a_parallelogram(rng: np.random.Generator) -> None:
    model = model_of("par4")
    y = random_states(model, 30, rng).y
    for plate in ("plate_a", "plate_b"):
        assert np.abs(_pose(model, y, plate)[0] - np.eye(3)).max() < 1e-12
    e = 0.06
    turned, right = _pose(model, y, "link_right")
    _, left_b = _pose(model, y, "plate_b")
    hinge = right + turned @ np.array([0.0, -2 * e, 0.0])
    assert np.abs(hinge - left_b - [2 * e, 0.0, 0.0]).max() < 1e-12
    angle = y[:, model.coordinates.index("turn")]
    assert np.ptp(angle) > 0.3
    assert np.arctan2(turned[:, 1, 0], turned[:, 0, 0]) == pytest.approx(angle, abs=1e-12)


def test_orthoglide_parallelograms_close_and_legs_are_orthogonal_at_home(rng: np.random.Generator) -> None:
    model = model_of("orthoglide")
    y = random_states(model, 30, rng).y
    d4, w = 0.31, 0.08
    for k in "123":
        turned, at = _pose(model, y, f"twin{k}")
        coupler, start = _pose(model, y, f"coupler{k}")
        cut = at + turned @ np.array([d4, 0.0, 0.0]) - (start + coupler @ np.array([0.0, -w, 0.0]))
        assert np.abs(cut).max() < 1e-12  # the joint q8 that the couplings (40) stand for
        assert np.abs(_pose(model, y, f"hinge{k}")[0] - _pose(model, y[:1], f"hinge{k}")[0]).max() < 1e-12
    home = model.home[None]
    bars = np.stack([_pose(model, home, f"bar{k}")[0][0, :, 0] for k in "123"])
    assert bars == pytest.approx(np.eye(3)[[2, 0, 1]], abs=1e-12)
    assert np.squeeze(model.velocity_kernel()(home, 0 * home)["J"]) == pytest.approx(np.eye(3)[[2, 0, 1]], abs=1e-12)


@pytest.mark.parametrize("name", PARALLEL)
def test_own_efforts_are_those_of_the_papers(name: str) -> None:
    robot = load_robot(name)
    kinds = {motor.name: {e.kind for e in robot.efforts if e.name == motor.name} for motor in robot.motors}
    drive = {EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB}
    if name == "orthoglide":
        drive |= {EffortKind.OFFSET}
    assert all(kind == drive for kind in kinds.values())
    others: list[Effort] = [e for e in robot.efforts if e.name not in kinds]
    expected = {("telescope", EffortKind.VISCOUS), ("telescope", EffortKind.COULOMB)} if name == "delta" else set()
    assert {(e.name, e.kind) for e in others} == expected
