"""MJCF files that are wrong, say more than a description can hold, or hold what would be ignored."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from dalembert.errors import RobotError
from dalembert.robot.mjcf_reader import read_mjcf

ARM = """<mujoco>
<worldbody>
 <body name="a"><joint name="a" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <site name="one"/>
  <body name="b" pos="1 0 0"><joint name="b" {joint}/><inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/>
   {inside}<site name="two" pos="1 0 0"/>
  </body>
 </body>{world}
</worldbody>
{more}
</mujoco>
"""


def _arm(folder: Path, **changes: str) -> Path:
    path = folder / "arm.xml"
    values = {"joint": 'axis="0 0 1"', "mass": "1", "inside": "", "world": "", "more": ""} | changes
    path.write_text(ARM.format(**values))
    return path


def _equality(text: str) -> dict[str, str]:
    return {"more": f"<equality>{text}</equality>"}


def _actuator(text: str) -> dict[str, str]:
    return {"more": f"<actuator>{text}</actuator>"}


SPATIAL = '<tendon><spatial name="t" {}><site site="one"/><site site="two"/></spatial></tendon>'
BALL = {"joint": 'type="ball"'}
BROKEN: dict[str, dict[str, str]] = {
    "equality 'e': polycoef 0 1 0.5 0 0 is not linear, expected zeros after the second": _equality(
        '<joint name="e" joint1="a" joint2="b" polycoef="0 1 0.5 0 0"/>'
    ),
    "MuJoCo: .*unknown element 'c'": _equality('<joint joint1="c"/>'),
    "MuJoCo: .*mass": {"mass": "-1"},
    "MuJoCo: .*line 5": {"joint": 'type="hook"'},
    "actuator 'm' acts through a site, expected a joint or a fixed tendon": _actuator(
        '<motor name="m" site="one" gear="1 0 0 0 0 0"/>'
    ),
    "actuator 'm' is on the spherical joint 'b', expected a hinge or a slide": BALL
    | _actuator('<motor name="m" joint="b" gear="1 0 0"/>'),
    "actuator 'm': gear 0": _actuator('<motor name="m" joint="b" gear="0"/>'),
    "actuator 'm': tendon 't' is spatial, expected a fixed one": {
        "more": SPATIAL.format("") + '<actuator><motor name="m" tendon="t"/></actuator>'
    },
    "actuator 'm' acts through a slidercrank": _actuator(
        '<motor name="m" cranksite="one" slidersite="two" cranklength="1"/>'
    ),
    "loop 'loop0': both ends are on 'base'": _equality('<connect body1="w" anchor="0 0 0"/>')
    | {"world": '<body name="w"/>'},
}


@pytest.mark.parametrize("message", BROKEN)
def test_mistakes_are_one_line_that_names_the_file(message: str, tmp_path: Path) -> None:
    path = _arm(tmp_path, **BROKEN[message])
    with pytest.raises(RobotError, match=r"^\S*arm\.xml: .*" + message) as error:
        read_mjcf(path)
    assert "\n" not in str(error.value)
    assert str(error.value).count("arm.xml") == 1


@pytest.mark.parametrize("text", ["", "hello", "<mujoco>", "<robot/>", "<mujoco/>", "<mujoco><worldbody/></mujoco>"])
def test_files_that_are_no_robot(text: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.raises(RobotError, match=r"robot\.xml") as error:
        read_mjcf(path)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.xml", tmp_path):
        with pytest.raises(RobotError, match="cannot be read"):
            read_mjcf(path)


GEOM = '<geom size="0.1"/>'
IGNORED: dict[str, dict[str, str]] = {
    r"contacts are ignored \(3 pairs of geoms could touch\)": {
        "inside": GEOM,
        "world": '<geom type="plane" size="1 1 1"/><body name="c"><freejoint/>'
        '<geom size="0.1" contype="2" conaffinity="0"/><geom size="0.1"/></body>',
    },
    r"the fluid \(density 1.2, viscosity 0\) is ignored": {"more": '<option density="1.2"/>'},
    "gravity compensation of c is ignored": {
        "inside": '<body name="c" gravcomp="1"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
    },
    "the spring of the spherical joint 'b' is ignored": {"joint": 'type="ball" stiffness="3"'},
    "frictionloss of the spherical joint 'b' is ignored": {"joint": 'type="ball" frictionloss="3"'},
    "the spring of tendon 't' is ignored, it has a dead band": {
        "more": SPATIAL.format('stiffness="1" springlength="0.1 0.2"')
    },
    "stiffness and damping of tendon 't' are ignored": {
        "more": SPATIAL.format('stiffness="1" damping="2"').replace("</spatial>", '<site site="one"/></spatial>')
    },
    "mocap bodies are taken as fixed: c": {"world": '<body name="c" mocap="true"/>'},
}


@pytest.mark.parametrize("message", IGNORED)
def test_what_is_ignored_is_said(message: str, tmp_path: Path) -> None:
    path = _arm(tmp_path, **IGNORED[message])
    with pytest.warns(UserWarning, match=r"arm\.xml: .*" + message) as caught:
        read_mjcf(path)
    assert len(caught) == 1


def test_harmless_files_warn_of_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parent_and_child = {"inside": GEOM + f'<body name="c"><joint/>{GEOM}</body>'}
        read_mjcf(_arm(tmp_path, **parent_and_child))


def test_switched_off_forces_are_left_out(tmp_path: Path) -> None:
    joint = 'axis="0 0 1" damping="1" stiffness="2" frictionloss="3" armature="4"'
    loop = '<equality><connect site1="one" site2="two"/></equality>'
    flags = 'gravity="disable" equality="disable" frictionloss="disable"'
    robot = read_mjcf(_arm(tmp_path, joint=joint, more=f"{loop}<option><flag {flags}/></option>"))
    assert robot.gravity == (0.0, 0.0, 0.0)
    assert not robot.loops
    assert {e.kind.value for e in robot.efforts} == {"rotor", "viscous", "spring"}


def test_without_mujoco_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _arm(tmp_path)
    monkeypatch.setitem(sys.modules, "mujoco", None)  # importing it now fails as if it were not installed
    with pytest.raises(RobotError, match=r"pip install 'dalembert\[mjcf\]'"):
        read_mjcf(path)
