"""Robot files to begin with: what is written reads back as the robot of the source, friction and platform added."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot

from dalembert.errors import RobotError
from dalembert.robot import EffortKind, Robot, load_robot
from dalembert.robot.starter import RESISTS, starter
from dalembert.robot.urdf_writer import write_urdf

MODELS = Path(__file__).parent / "models"

# modified Denavit-Hartenberg rows of the TX40 [Gautier11, table 1] in the units and spelling of a spreadsheet
TX40 = """\
j;a(j);σ;alpha [deg];d [mm];θ;r [mm]
1;0;0;0;0;θ1;0
2;1;0;-90;0;q2;0
3;2;0;0;225;q3;35
4;3;0;90;0;q4;225
5;4;0;-90;0;q5;0
6;5;0;90;0;q6;0
"""


def read_back(text: str, folder: Path) -> Robot:
    (folder / "back.yaml").write_text(text, encoding="utf-8")
    return load_robot(folder / "back.yaml")


@pytest.mark.parametrize("name", ["tx40", "panda", "stanford", "dualv", "linear-delta"])
def test_a_urdf_keeps_its_tree_inertias_and_limits(name: str, tmp_path: Path) -> None:
    robot = catalog_robot(name)
    write_urdf(robot, tmp_path / "robot.urdf")
    (tmp_path / "robot.dalembert.yaml").unlink()
    source = load_robot(tmp_path / "robot.urdf")
    found = starter(tmp_path / "robot.urdf")
    again = read_back(found.text, tmp_path)
    assert replace(again, nominal={}) == replace(found.robot, nominal={})
    assert (again.bodies, again.limits, again.motors, again.loops) == (
        source.bodies, source.limits, source.motors, source.loops,
    )  # fmt: skip
    scale = max(abs(v) for v in source.nominal.values())
    assert dict(again.nominal) == pytest.approx(
        {**dict.fromkeys(again.nominal, 0.0), **source.nominal}, abs=1e-10 * scale
    )
    for motor in again.motors:
        assert {e.kind for e in again.efforts if e.name == motor.name} >= set(RESISTS)


def test_every_line_of_the_file_that_is_assumed_is_said(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm"><link name="foot"/><link name="leg"/><link name="tool"/>'
        '<joint name="hip" type="revolute"><parent link="foot"/><child link="leg"/><axis xyz="0 1 0"/></joint>'
        '<joint name="flange" type="fixed"><parent link="leg"/><child link="tool"/><origin xyz="0 0 1"/></joint></robot>'
    )
    found = starter(tmp_path / "arm.urdf")
    said = "\n".join(found.assumed)
    for word in ("leg: the file gives no inertia", "a motor on hip", "gravity", "rotor inertia", "payload", "'tool'"):
        assert word in said
    assert all(line in found.text for line in found.assumed)
    assert not found.robot.body("leg").massless and found.robot.body("tool").massless
    assert any("limits of hip" in line for line in found.missing)
    assert read_back(found.text, tmp_path) == found.robot


@pytest.mark.parametrize("name", ["tree", "fivebar", "parallelogram", "delta"])
def test_an_mjcf_keeps_gravity_gears_and_loops(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = load_robot(MODELS / f"{name}.xml")
    found = starter(MODELS / f"{name}.xml", "mjcf")
    again = read_back(found.text, tmp_path)
    assert (again.gravity, again.motors) == (source.gravity, source.motors)
    assert [loop.name for loop in again.loops] == [loop.name for loop in source.loops]
    for own, known in zip(again.bodies, source.bodies, strict=True):
        assert replace(own, placement=known.placement) == known
        np.testing.assert_allclose(own.placement.p, known.placement.p, atol=1e-15)
        np.testing.assert_allclose(own.placement.R, known.placement.R, atol=2e-15)
    assert set(source.efforts) <= set(again.efforts)


def test_a_table_in_degrees_and_millimetres_is_the_catalog_robot(tmp_path: Path) -> None:
    (tmp_path / "arm.csv").write_text(TX40, encoding="utf-8")
    found = starter(tmp_path / "arm.csv")
    again = read_back(found.text, tmp_path)
    for own, known in zip(again.bodies, catalog_robot("tx40").bodies, strict=True):
        np.testing.assert_allclose(own.placement.p, known.placement.p, atol=1e-15)
        np.testing.assert_allclose(own.placement.R, known.placement.R, atol=1e-15)
    assert again.motor_names == ("j1", "j2", "j3", "j4", "j5", "j6")
    assert again == found.robot and "alpha, d, theta, r" in found.text


def test_a_joint_variable_in_its_cell_leaves_its_constant(tmp_path: Path) -> None:
    (tmp_path / "arm.csv").write_text(
        "alpha,theta,r,sigma,mu\n0,pi/2 + theta1,0.3,0,1\n-pi/2,q2 - pi,0,0,0\nπ/2,0,0.1+d3,1,1\n", encoding="utf-8"
    )
    found = starter(tmp_path / "arm.csv")
    robot = found.robot
    assert read_back(found.text, tmp_path) == robot
    table = "mdh:\n  - {joint: j1, antecedent: base, theta: pi/2, r: 0.3}\n"
    table += "  - {joint: j2, antecedent: j1, alpha: -pi/2, theta: -pi}\n"
    table += "  - {joint: j3, antecedent: j2, alpha: pi/2, r: 0.1, sigma: 1}\n"
    assert robot.bodies == read_back(f"name: arm\n{table}", tmp_path).bodies
    assert robot.motor_names == ("j1", "j3")  # mu 0: no motor
    assert {e.name for e in robot.efforts if e.kind is EffortKind.ROTOR} == {"j1", "j3"}


WRONG = [
    ("alpha,d,theta,r\n90,0,0,0\n", "more than a turn; for degrees write 'alpha [deg]'"),
    ("alpha,a,d,theta\n0,0,0,0\n", "belongs to another convention"),
    ("alpha,d,theta,r\n0,0,0\n", ":2: 3 cells, expected 4"),
    ("alpha,length\n0,0\n", "column 'length'; choose from"),
    ("alpha [mm],d\n0,0\n", "column 'alpha' in mm, expected an angle"),
    ("alpha [deg],d\n90 deg,0\n", "expected a number in deg"),
    ("alpha,d\n0,two*x\n", "column 'd'"),
    ("joint,antecedent,d\nj1,j7,0\n", ":2: rows[0].antecedent: no body 'j7'"),
    ("joint,d\n", "found 1 lines"),
    ("joint,body\n1,2\n", "no column of the geometry"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_table_says_where(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "arm.csv").write_text(text)
    with pytest.raises(RobotError) as caught:
        starter(tmp_path / "arm.csv")
    assert message in str(caught.value) and str(tmp_path / "arm.csv") in str(caught.value)


def test_what_a_file_is_must_be_known(tmp_path: Path) -> None:
    (tmp_path / "arm.step").write_text("solid")
    with pytest.raises(RobotError, match="say --from urdf, mjcf, mdh-csv"):
        starter(tmp_path / "arm.step")
    with pytest.raises(RobotError, match="choose from urdf, mjcf, mdh-csv"):
        starter(tmp_path / "arm.step", "step")
    with pytest.raises(RobotError, match="no such file"):
        starter(tmp_path / "arm.urdf")
