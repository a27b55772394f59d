"""Choosing the effort terms that count, and the payload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.robot.yaml_files import ARM, DUALV, EVERYTHING, read_text

from dalembert.errors import RobotError
from dalembert.parameters import INERTIAL
from dalembert.robot import JointType, Robot, select_efforts, with_payload
from dalembert.robot.selection import Friction

WRIST = """\
name: wrist
bodies:
  - {name: a, joint: {name: j4, type: revolute, efforts: {viscous: 1, coulomb: 2}}}
  - {name: b, parent: a, joint: {name: j5, type: revolute, axis: x}}
  - {name: c, parent: b, joint: {name: j6, type: revolute}}
motors:
  - {name: m4, turns: {j4: 10}, efforts: [rotor]}
  - {name: m5, turns: {j5: 45}, efforts: {viscous: 3, offset: 4}}
  - {name: m6, turns: {j5: 32, j6: 32}, efforts: [coulomb]}
efforts:
  - {force: {j5: "sign(d(j6))", j6: "sign(d(j5))"}, name: wrist}
  - {force: {j5: "cos(j6)"}, name: cable}
  - {spring: j5, rest: 0, name: s}
"""


@pytest.fixture
def wrist(tmp_path: Path) -> Robot:
    return read_text(tmp_path, WRIST)


def _terms(robot: Robot) -> list[str]:
    return [name for effort in robot.efforts for name in effort.parameters]


def test_own_terms_by_default(wrist: Robot) -> None:
    assert select_efforts(wrist) == wrist


KEPT = ["c_cable", "k_s"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"friction": "none"}, ["Ia_m4", "off_m5", *KEPT]),
        ({"friction": "none", "offsets": False, "rotor": False}, KEPT),
        (
            {"friction": "actuated", "rotor": False, "offsets": False},
            [*KEPT, "Fv_m4", "Fc_m4", "Fv_m5", "Fc_m5", "Fv_m6", "Fc_m6"],
        ),
        # m4 and m5 drive one joint exactly; m6 does not, so j6 has its own friction
        ({"friction": "all"}, ["Ia_m4", "off_m5", *KEPT, "Fv_m4", "Fc_m4", "Fv_m5", "Fc_m5", "Fv_j6", "Fc_j6"]),
        (
            {"offsets": True},
            ["Fv_j4", "Fc_j4", "Ia_m4", "Fv_m5", "Fc_m6", "c_wrist", *KEPT, "off_m4", "off_m5", "off_m6"],
        ),
        ({"friction": "none", "rotor": True}, ["off_m5", *KEPT, "Ia_m4", "Ia_m5", "Ia_m6"]),
    ],
)  # fmt: skip
def test_flags(wrist: Robot, options: dict[str, Any], expected: list[str]) -> None:
    assert _terms(select_efforts(wrist, **options)) == expected


def test_motor_friction_acts_on_the_motor(wrist: Robot) -> None:
    chosen = select_efforts(wrist, "actuated")
    efforts = {(effort.name, effort.kind.value): effort for effort in chosen.efforts}
    assert efforts["m6", "viscous"].on == efforts["m6", "coulomb"].on
    assert efforts["m6", "viscous"].on is not None
    assert efforts["m6", "viscous"].on.terms == (("j5", 32.0), ("j6", 32.0))  # type: ignore[union-attr]


def test_nominal_values_of_terms_that_are_gone_go_too(wrist: Robot) -> None:
    assert set(wrist.nominal) == {"Fv_j4", "Fc_j4", "Fv_m5", "off_m5"}
    assert set(select_efforts(wrist, "actuated").nominal) == {"Fv_m5", "off_m5"}


def test_motors_called_like_other_joints(tmp_path: Path) -> None:
    robot = read_text(tmp_path, ARM + "motors: [{name: q2, turns: {q1: 1}}]\n")
    assert _terms(select_efforts(robot, "all")) == ["Fv_q2", "Fc_q2", "Fv_q2.joint", "Fc_q2.joint"]


def test_counts_of_the_dualv(tmp_path: Path) -> None:
    robot = read_text(tmp_path, DUALV)
    assert len(select_efforts(robot, "actuated", offsets=True).efforts) == 4 * 4
    assert len(select_efforts(robot, "all", rotor=False).efforts) == 2 * 11


@pytest.mark.parametrize("friction", ["own", "actuated", "all", "none"])
@pytest.mark.parametrize("offsets", [None, True, False])
@pytest.mark.parametrize("rotor", [None, True, False])
def test_every_choice_is_a_robot_and_stable(
    friction: Friction, offsets: bool | None, rotor: bool | None, tmp_path: Path
) -> None:
    robot = read_text(tmp_path, EVERYTHING)
    once = select_efforts(robot, friction, offsets, rotor)
    assert set(_terms(select_efforts(once, friction, offsets, rotor))) == set(_terms(once))
    assert once.bodies == robot.bodies


def test_unknown_friction(wrist: Robot) -> None:
    with pytest.raises(RobotError, match=r"friction 'al'; choose from own, actuated, all, none; did you mean 'all'"):
        select_efforts(wrist, "al")  # type: ignore[arg-type]


def test_payload_is_fixed_to_the_platform(tmp_path: Path) -> None:
    robot = read_text(tmp_path, EVERYTHING)
    loaded = with_payload(robot, "tool")
    assert loaded.body("tool").parent == "cover"
    assert loaded.body("tool").joint.type is JointType.FIXED
    assert loaded.coordinates == robot.coordinates
    assert set(loaded.parameters()) - set(robot.parameters()) == {f"{s}_tool" for s in INERTIAL}


def test_payload_needs_a_platform_and_a_free_name(wrist: Robot, tmp_path: Path) -> None:
    with pytest.raises(RobotError, match=r"declares no platform .* choose from a, b, c"):
        with_payload(wrist)
    with pytest.raises(RobotError, match="a body is named 'a' already"):
        with_payload(read_text(tmp_path, EVERYTHING), "a")
