"""Fits as URDF, MJCF and YAML: Pinocchio and MuJoCo find the fit's torque in them, reading back finds the fit."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from tests.export.fits import fit_of, model_of
from tests.helpers.catalog import catalog_robot
from tests.robot.mujoco_reference import Engine

from dalembert.errors import ExportError
from dalembert.export import export
from dalembert.export.source import identified
from dalembert.export.standard import complete
from dalembert.identification.base import base_parameters
from dalembert.identification.fit import Fit
from dalembert.identification.friction import FrictionLaws, parse_friction
from dalembert.model import Model, build_model
from dalembert.motion import random_states
from dalembert.parameters import inertial_names, is_physical
from dalembert.robot import Coordinate, Effort, EffortKind, Robot, load_robot, select_efforts, with_payload
from dalembert.robot.mjcf_reader import read_mjcf
from dalembert.robot.urdf_reader import read_urdf

URDF = ("tx40", "tx40-paper", "panda", "stanford", "dualv", "linear-delta", "3prrr")
MJCF = ("tx40", "panda", "dualv", "linear-delta", "orthoglide", "delta")
EXACT = 1e-10  # relative, of the largest torque or base value


def tree_state(model: Model, count: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    states = random_states(model, count, np.random.default_rng(7))
    return states.y, states.yd, states.ydd


def resisting(robot: Robot, yd: np.ndarray, ydd: np.ndarray, kinds: tuple[EffortKind, ...]) -> np.ndarray:
    """Effort on the tree (n_y,) of the efforts of these kinds, from their definition."""
    out = np.zeros(len(robot.coordinates))
    for effort in robot.efforts:
        if effort.kind not in kinds:
            continue
        assert isinstance(effort.on, Coordinate)
        row = robot.linear_map([effort.on.terms])[0]
        value = robot.nominal.get(effort.parameters[0], 0.0)
        x = {EffortKind.ROTOR: row @ ydd, EffortKind.VISCOUS: row @ yd, EffortKind.COULOMB: np.sign(row @ yd)}
        out += row * value * x.get(effort.kind, 1.0)
    return out


LINEAR = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB, EffortKind.OFFSET)


def projected(model: Model, y: np.ndarray, tree: np.ndarray) -> np.ndarray:
    return model.velocity_maps(y)[0][0].T @ tree


def same(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT * max(1.0, float(np.abs(expected).max())))


def same_base(fit: Fit, model: Model, again: Robot, renamed: dict[str, str]) -> None:
    """Base values of the robot read back, in the fit's own regrouping; ``renamed``: friction of a motor that MJCF has
    on its joint.
    """
    nominal = {renamed.get(name, name): value for name, value in again.nominal.items()}
    assert set(nominal) <= set(model.parameters)
    base = base_parameters(model)
    found = base.project(np.array([nominal.get(name, 0.0) for name in model.parameters]))
    for name, value in zip(base.base_names, found, strict=True):
        assert value == pytest.approx(fit.beta[name], rel=EXACT, abs=EXACT), name


def motor_names(robot: Robot) -> dict[str, str]:
    """Parameters named after a joint, by their names after the motor that turns with it alone."""
    single = {m.turns[0][0]: m.name for m in robot.motors if len(m.turns) == 1 and abs(m.turns[0][1]) == 1.0}
    symbols = ("Ia", "IaR", "Fv", "FvR", "Fc", "FcR", "off", "offR")
    return {f"{s}_{joint}": f"{s}_{motor}" for joint, motor in single.items() for s in symbols}


@pytest.mark.parametrize("name", URDF)
def test_pinocchio_finds_the_torque_of_a_base_fit_in_its_urdf(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    fit = fit_of(model)
    path = tmp_path / "robot.urdf"
    export(fit, path)
    again = read_urdf(path)
    same_base(fit, model, again, {})
    peer = Peer(path, again, model)
    for y, yd, ydd in zip(*tree_state(model), strict=True):
        own = resisting(again, *(peer.spread @ z for z in (yd, ydd)), LINEAR) @ peer.spread
        tree = peer.rnea(y, yd, ydd) + own + _forces(model, y, yd, ydd)
        expected = model.velocity_maps(y)[1][0].T @ model.inverse_dynamics(y[None], yd[None], ydd[None])[0]
        same(projected(model, y, tree), expected)


class Peer:
    """Pinocchio's model of a URDF file in the coordinates of the robot it was written from.

    ``spread`` (n_again, n_y) makes the coordinates of the robot read back, among them the slides of screws.
    """

    def __init__(self, path: Path, again: Robot, model: Model) -> None:
        self.again, self.engine = again, pin.buildModelFromUrdf(str(path))
        self.engine.gravity.linear[:] = again.gravity
        self.data = self.engine.createData()
        self.spread = np.zeros((len(again.coordinates), model.n_y))
        screws = {c.coordinate: c.terms[0] for c in again.loops if c.name.endswith("_advance_mimic")}
        for k, name in enumerate(again.coordinates):
            source, ratio = screws.get(name, (name, 1.0))
            self.spread[k, model.coordinates.index(source)] = ratio

    def rnea(self, y: np.ndarray, yd: np.ndarray, ydd: np.ndarray) -> np.ndarray:
        engine = self.engine
        position, rate, second = (dict(zip(self.again.coordinates, self.spread @ z, strict=True)) for z in (y, yd, ydd))
        q, v, a, into = np.zeros(engine.nq), np.zeros(engine.nv), np.zeros(engine.nv), np.zeros((engine.nv, len(y)))
        for body in self.again.bodies:
            names = list(body.joint.coordinates)
            if not names:
                continue
            joint = engine.joints[engine.getJointId(body.joint.name)]
            iq, iv = joint.idx_q, joint.idx_v
            rows = self.spread[[self.again.coordinates.index(n) for n in names]]
            if len(names) == 1:
                x = position[names[0]]
                q[iq : iq + joint.nq] = (np.cos(x), np.sin(x)) if joint.nq == 2 else x
                v[iv], a[iv], into[iv] = rate[names[0]], second[names[0]], rows[0]
                continue
            assert joint.shortname() == "JointModelPlanar"  # its rates are in the body's axes
            c, s = np.cos(position[names[2]]), np.sin(position[names[2]])
            turn = np.array([[c, s], [-s, c]])
            q[iq : iq + 4] = position[names[0]], position[names[1]], c, s
            slide, omega = np.array([rate[n] for n in names[:2]]), rate[names[2]]
            v[iv : iv + 2], v[iv + 2] = turn @ slide, omega
            turned = omega * np.array([[-s, c], [-c, -s]]) @ slide
            a[iv : iv + 2], a[iv + 2] = turn @ np.array([second[n] for n in names[:2]]) + turned, second[names[2]]
            into[iv : iv + 2], into[iv + 2] = turn @ rows[:2], rows[2]
        return into.T @ pin.rnea(engine, self.data, q, v, a)


def _forces(model: Model, y: np.ndarray, yd: np.ndarray, ydd: np.ndarray) -> np.ndarray:
    """Efforts that are no plain friction (the coupled friction of the TX40 as its paper writes it)."""
    special = [e for e in model.robot.efforts if e.kind not in LINEAR]
    if not special:
        return np.zeros(model.n_y)
    bare = dict.fromkeys(model.parameters, 0.0)
    only = {n: model.robot.nominal[n] for e in special for n in e.parameters}
    pi = np.array(list((bare | only).values()))
    return model.velocity_maps(y)[1][0].T @ model.inverse_dynamics(y[None], yd[None], ydd[None], pi)[0]


@pytest.mark.parametrize("name", MJCF)
def test_mujoco_finds_the_torque_of_a_base_fit_in_its_mjcf(name: str, tmp_path: Path) -> None:
    """Loops are there as equality constraints and are closed where the robot is."""
    model = model_of(name)
    fit = fit_of(model)
    path = tmp_path / "robot.xml"
    export(fit, path)
    again = read_mjcf(path)
    assert set(again.coordinates) == set(model.coordinates)
    same_base(fit, model, again, motor_names(model.robot))
    engine = Engine(path, again)
    order = [model.coordinates.index(c) for c in again.coordinates]
    back = np.argsort(order)
    for y, yd, ydd in zip(*tree_state(model), strict=True):
        theirs = engine.tree_effort(y[order], yd[order], ydd[order])
        own = resisting(again, yd[order], ydd[order], (EffortKind.COULOMB, EffortKind.OFFSET))
        expected = model.velocity_maps(y)[1][0].T @ model.inverse_dynamics(y[None], yd[None], ydd[None])[0]
        same(projected(model, y, (theirs + own)[back]), expected)
    assert engine.model.neq >= len(model.robot.loops)
    assert open_loops(path, engine, tree_state(model)[0][0][order]) < 1e-9


def open_loops(path: Path, engine: Engine, y: np.ndarray) -> float:
    """How far MuJoCo finds the loops open [m, rad] in a state where the robot's are closed."""
    whole = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(whole)
    data.qpos[:] = engine.configuration(y)
    mujoco.mj_forward(whole, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    return float(np.abs(data.efc_pos[rows]).max(initial=0.0))


# --- updated in place ------------------------------------------------------------------------------------------------

ARM_URDF = """<?xml version='1.0'?>
<!-- an arm of the workshop -->
<robot name = "arm">
  <link name="base_link"><visual><geometry><mesh filename="package://arm/base.stl"/></geometry></visual></link>
  <link name="upper">
    <!-- from CAD -->
    <inertial>
      <origin rpy="0.3 -0.2 0.1" xyz="0.1 0.02 0"/> <mass value='2.5'/>
      <inertia ixx="0.02" iyy="0.05" izz="0.06"
               ixy="0.001" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><mesh filename="package://arm/upper.stl" scale="1 1 1"/></geometry></visual>
  </link>
  <link name="fore">
    <inertial><mass value="1.2"/><inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial>
    <vendor:data key="a > b"/>
  </link>
  <joint type="revolute" name="shoulder"><parent link="base_link"/><child link="upper"/>
    <origin xyz="0 0 0.3"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/>
    <dynamics damping="0.5" friction="0.2"/></joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0" rpy="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit effort="20" velocity="3"/>
  </joint>
  <gazebo reference="fore"><mu1>0.2</mu1></gazebo>
</robot>
"""


def found_in(robot: Robot, seed: int = 3, **more: object) -> tuple[Model, Fit]:
    """A base fit of a robot with other parameters than its nominal ones."""
    model = build_model(robot, backend="numpy")
    rng = np.random.default_rng(seed)
    values = {name: model.robot.nominal.get(name, 0.1) * rng.uniform(0.7, 1.3) for name in model.parameters}
    for body in robot.bodies:
        if not body.massless:
            factor = rng.uniform(0.7, 1.3)
            values |= {name: factor * model.robot.nominal[name] for name in inertial_names(body.name)}
    return model, fit_of(model, pi=list(values.values()), **more)  # type: ignore[arg-type]


def arm(tmp_path: Path) -> Robot:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM_URDF)
    robot = load_robot(path)
    efforts = [Effort(n, k, Coordinate(((n, 1.0),))) for n in ("shoulder", "elbow") for k in LINEAR[1:3]]
    return robot.with_efforts(efforts)


def test_a_urdf_file_is_updated_in_place(tmp_path: Path) -> None:
    robot = arm(tmp_path)
    model, fit = found_in(robot)
    written = export(fit, tmp_path / "new.urdf")
    assert written.files == (tmp_path / "new.urdf",) and "updated in place" in " ".join(written.notes)
    text = (tmp_path / "new.urdf").read_text()
    for kept in ("<!-- from CAD -->", 'key="a > b"', "<gazebo reference", 'scale="1 1 1"', '<robot name = "arm">',
                 'rpy="0.3 -0.2 0.1"'):  # fmt: skip
        assert kept in text
    lost = [line for line in difflib.ndiff(ARM_URDF.splitlines(), text.splitlines()) if line.startswith("- ")]
    assert lost and all(any(w in line for w in ("<mass", "<inertia", "ixy=", "<dynamics")) for line in lost)
    again = load_robot(tmp_path / "new.urdf")
    assert again.motors == robot.motors and again.limits == robot.limits
    same_base(fit, model, again, {})
    assert len(text.splitlines()) == len(ARM_URDF.splitlines()) + 2  # one <origin>, one <dynamics> more


def test_a_file_updated_with_its_own_values_keeps_every_byte_but_digits(tmp_path: Path) -> None:
    """Three entries of an inertia more: without them other readers drop the link's mass."""
    robot = arm(tmp_path)
    model = build_model(robot.with_efforts(e for e in robot.efforts if e.name == "shoulder"), backend="numpy")
    fit = fit_of(model, standard=True)
    export(fit, tmp_path / "same.urdf", robot=tmp_path / "arm.urdf")

    def digits(text: str) -> str:
        return " ".join(
            w
            for w in text.replace('"', " ").replace("'", " ").split()
            if not w.strip("-").startswith(tuple("0123456789"))
        )

    whole = ARM_URDF.replace('izz="0.02"/>', 'izz="0.02" ixy="0" ixz="0" iyz="0"/>')
    assert digits((tmp_path / "same.urdf").read_text()) == digits(whole) != digits(ARM_URDF)
    again = load_robot(tmp_path / "same.urdf")
    assert dict(again.nominal) == pytest.approx(dict(model.robot.nominal), rel=1e-9, abs=1e-12)


def test_what_urdf_cannot_say_goes_beside_it(tmp_path: Path) -> None:
    robot = arm(tmp_path)
    geared = select_efforts(robot, rotor=True, offsets=True)
    model, fit = found_in(geared)
    written = export(fit, tmp_path / "new.urdf")
    assert [p.name for p in written.files] == ["new.urdf", "new.dalembert.yaml"]
    same_base(fit, model, load_robot(tmp_path / "new.urdf"), {})


def test_another_robots_file_is_refused_when_named_and_left_when_found(tmp_path: Path) -> None:
    robot = arm(tmp_path)
    _, fit = found_in(robot)
    other = tmp_path / "other.urdf"
    other.write_text(ARM_URDF.replace('xyz="0.4 0 0"', 'xyz="0.5 0 0"'))
    with pytest.raises(ExportError, match="not the robot 'arm' of the fit: joint 'elbow' is placed otherwise"):
        export(fit, tmp_path / "new.urdf", robot=other)
    assert not (tmp_path / "new.urdf").exists()
    (tmp_path / "arm.urdf").write_text(
        ARM_URDF.replace('name="fore"', 'name="lower"').replace('link="fore"', 'link="lower"')
    )
    notes = " ".join(export(fit, tmp_path / "new.urdf").notes)
    assert "written anew" in notes and "no body 'fore'" in notes
    with pytest.raises(ExportError, match=r"found ending '\.xml', expected \.urdf to update in place"):
        export(fit, tmp_path / "new.urdf", robot=tmp_path / "arm.xml")


ARM_MJCF = """<mujoco model="bench">
  <!-- two links and a closing rod -->
  <compiler angle="degree" inertiafromgeom="true"/>
  <default><joint damping="0.3" armature="0.01"/><geom density="700"/></default>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="crank" pos="0 0 0">
      <joint name="a" axis="0 1 0" pos="0 0 0.01" range="-90 90"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
      <body name="rod" pos="0.3 0 0" euler="0 20 0">
        <inertial pos="0.1 0 0" mass="0.4" fullinertia="0.002 0.003 0.003 0 0 0"/>
        <joint name="b" axis="0 1 0" frictionloss="0.1"/>
        <geom type="box" size="0.1 0.01 0.01" pos="0.1 0 0"/>
        <site name="tip" pos="0.2 0 0"/>
      </body>
    </body>
    <body name="rocker" pos="0.4 0 0"><joint name="c" axis="0 1 0"/><geom size="0.05"/>
      <frame pos="0.05 0 0.02"><site name="pin"/></frame></body>
  </worldbody>
  <equality><connect name="close" site1="tip" site2="pin"/></equality>
  <actuator><motor name="drive" joint="a" gear="2"/></actuator>
  <custom><numeric name="kept" data="1 2 3"/></custom>
</mujoco>
"""


@pytest.mark.filterwarnings("ignore:.*contacts are ignored")
def test_an_mjcf_file_is_updated_in_place(tmp_path: Path) -> None:
    """Inertias from geoms and defaults give way, the loop and all else stays."""
    path = tmp_path / "bench.xml"
    path.write_text(ARM_MJCF.replace('<connect name="close" site1="tip" site2="pin"/>', ""))
    opened = read_mjcf(path)
    robot = select_efforts(opened, rotor=True, offsets=True)
    robot = robot.with_efforts(
        [*robot.efforts, *(e for e in opened.efforts if e.name in "bc" and e not in robot.efforts)]
    )
    model, fit = found_in(robot)
    written = export(fit, tmp_path / "new.xml")
    assert "updated in place" in " ".join(written.notes)
    text = (tmp_path / "new.xml").read_text()
    for kept in (
        "<!-- two links",
        "<light pos",
        'data="1 2 3"',
        'fromto="0 0 0 0.3 0 0"',
        'euler="0 20 0"',
        "<frame pos",
    ):
        assert kept in text
    again = read_mjcf(tmp_path / "new.xml")
    engine = Engine(tmp_path / "new.xml", again)
    for y, yd, ydd in zip(*tree_state(model), strict=True):
        theirs = engine.tree_effort(y, yd, ydd) + resisting(again, yd, ydd, (EffortKind.COULOMB, EffortKind.OFFSET))
        expected = identified(fit).model.regressor(y[None], yd[None], ydd[None])[0] @ identified(fit).pi
        same(projected(model, y, theirs), expected)


@pytest.mark.filterwarnings("ignore:.*contacts are ignored")
def test_a_closed_loop_stays_closed_in_place(tmp_path: Path) -> None:
    path = tmp_path / "bench.xml"
    path.write_text(ARM_MJCF)
    model, fit = found_in(read_mjcf(path))
    export(fit, path)  # onto itself
    again = read_mjcf(path)
    assert again.loops == model.robot.loops and "<!-- two links" in path.read_text()
    same_base(fit, model, again, {})


# --- completing base fits --------------------------------------------------------------------------------------------


def test_base_values_no_robot_has_are_named_with_what_to_do(tmp_path: Path) -> None:
    model = model_of("scara")
    pi = model.nominal().copy()
    at = model.parameters.index(next(n for n in model.parameters if n.startswith("ZZ_outer")))
    pi[at] -= 5.0
    fit = fit_of(model, pi=pi)
    with pytest.raises(ExportError, match=r"in the way: .*ZZR_outer_arm = -.*--method sdp.*--closest") as error:
        export(fit, tmp_path / "robot.urdf")
    assert "\n" not in str(error.value) and list(tmp_path.iterdir()) == []
    written = export(fit, tmp_path / "robot.urdf", closest=True)
    assert "nearest one is written, torque on random motions changes by" in " ".join(written.notes)
    again = load_robot(tmp_path / "robot.urdf")
    for body in again.bodies:
        assert is_physical([again.nominal[name] for name in inertial_names(body.name)])


@pytest.mark.parametrize("prior", ["nominal", "primitives", "uniform"])
def test_completion_keeps_base_values_and_goes_no_further_than_it_must(prior: str) -> None:
    """Where the belief itself has the base values it is the answer; where not, no consistent body is nearer."""
    source = identified(fit_of(model_of("scara")))
    found = complete(source, prior)
    base = base_parameters(source.model)
    np.testing.assert_allclose(base.project(found.pi), base.project(source.pi), rtol=0, atol=1e-13)
    values = dict(zip(source.model.parameters, found.pi, strict=True))
    for body in source.robot.bodies:
        assert is_physical([values[name] for name in inertial_names(body.name)])
    if prior == "nominal":
        np.testing.assert_allclose(found.pi, model_of("scara").nominal(), rtol=0, atol=1e-7)


def test_symmetric_legs_stay_equal() -> None:
    model = model_of("dualv")
    fit = fit_of(model)
    described = dict(fit.provenance["model"]) | {"symmetric": True}
    base = base_parameters(model, symmetric=True)
    T = base.ties.matrix
    tied = T.T @ model.nominal() / T.sum(axis=0)
    columns = dict(zip(base.base_names, (base.names[i] for i in base.independent), strict=True))
    parameters = tuple(replace(fit.parameters[0], name=n, value=float(v))
                       for n, v in zip(base.base_names, base.project(tied), strict=True))  # fmt: skip
    provenance = dict(fit.provenance) | {"model": described, "columns": columns}
    source = identified(replace(fit, parameters=parameters, provenance=provenance))
    found = complete(source, "uniform").pi
    np.testing.assert_allclose(found, T @ (T.T @ found / T.sum(axis=0)), rtol=0, atol=1e-14)
    np.testing.assert_allclose(base.project(T.T @ found / T.sum(axis=0)), base.project(tied), rtol=0, atol=1e-12)


def test_friction_laws_come_along_as_far_as_the_format_holds_them(tmp_path: Path) -> None:
    described = catalog_robot("scara")
    rigid = build_model(select_efforts(described, friction="none"), backend="numpy")
    law = parse_friction("viscous+coulomb+cubic")
    laws = FrictionLaws(tuple((f"j{k}", law) for k in range(1, 5)))  # type: ignore[arg-type]
    values = [0.3, 0.7, 0.01] * 4
    fit = fit_of(rigid, described=described, laws=laws, law_values=values)
    notes = " ".join(export(fit, tmp_path / "robot.yaml").notes)
    assert "friction on j1 left out: CubicViscous" in notes
    again = load_robot(tmp_path / "robot.yaml")
    assert [again.nominal[f"{s}_j{k}"] for k in (1, 4) for s in ("Fv", "Fc")] == [0.3, 0.7, 0.3, 0.7]
    fit = fit_of(rigid, described=described, laws=laws, law_values=[-0.3, *values[1:]])
    with pytest.raises(ExportError, match=r"Fv_j1 = -0\.3: friction that drives"):
        export(fit, tmp_path / "other.yaml")


def test_a_payload_is_a_body_of_its_own_or_part_of_the_one_that_carries_it(tmp_path: Path) -> None:
    bare = replace(arm(tmp_path), platform="fore")
    loaded = build_model(with_payload(bare, "tool"), backend="numpy")
    pi = dict(zip(loaded.parameters, [loaded.robot.nominal.get(n, 0.0) for n in loaded.parameters], strict=True))
    pi |= dict(zip(inertial_names("tool"), [0.01, 0, 0, 0.012, 0, 0.008, 0, 0, 0.05, 0.6], strict=True))
    pi |= {"Fv_elbow": 0.2, "Fc_elbow": 0.1}
    fit = fit_of(loaded, pi=list(pi.values()), payloads=("tool",), logs=("", "tool"))
    export(fit, tmp_path / "with.urdf", payload="tool")
    merged = load_robot(tmp_path / "with.urdf")
    assert "tool" not in merged.body_names
    y, yd, ydd = (z[:3] for z in tree_state(loaded))
    peer = Peer(tmp_path / "with.urdf", merged, loaded)
    for k in range(3):
        tree = peer.rnea(y[k], yd[k], ydd[k]) + resisting(merged, yd[k], ydd[k], LINEAR)
        same(tree, loaded.inverse_dynamics(y, yd, ydd, np.array(list(pi.values())))[k])
    export(fit, tmp_path / "alone.yaml", payload="tool")
    assert "tool" in load_robot(tmp_path / "alone.yaml").body_names
