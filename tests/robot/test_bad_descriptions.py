"""Broken robot files: one line that names the file, the line, what was found and what was expected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dalembert.errors import RobotError
from dalembert.robot import read_yaml

GOOD = """\
name: arm
constants: {l: 0.3}
bodies:
  - {name: a, joint: {name: q1, type: revolute, axis: z}}
  - {name: b, parent: a, at: [l, 0, 0], joint: {name: q2, type: revolute, axis: z}}
  - {name: c, at: [0.2, 0, 0], joint: {name: q3, type: revolute}}
loops:
  - {name: tip, type: point, between: [{body: b, at: [l, 0, 0]}, {body: c, at: [l, 0, 0]}]}
motors:
  - {name: m1, turns: {q1: 50}, efforts: [rotor]}
efforts:
  - {on: q3, friction: [viscous, coulomb]}
home: {q1: 10 deg}
"""

# what is broken: (text of the good file, text in its place, line, parts of the message)
BROKEN = {
    "cycle in the tree": ("name: a,", "name: a, parent: b,", 4, ["cycle", "a <- b <- a", "ends at base"]),
    "missing parent": ("parent: a", "parent: x", 5, ["no body 'x'", "choose from base, a, b, c"]),
    "misspelt body in a loop": ("{body: c, at", "{body: cc, at", 8, ["no body 'cc'", "did you mean 'c'"]),
    "dangling loop": (", {body: c, at: [l, 0, 0]}]", "]", 8, ["found a list of 1", "expected two anchors"]),
    "loop on one body": ("{body: c, at", "{body: b, at", 8, ["both ends are on 'b'", "expected two bodies"]),
    "unknown loop type": ("type: point", "type: pont", 8, ["'pont'", "choose from point", "did you mean 'point'"]),
    "rod without length": ("type: point", "type: rod", 8, ["'length' is missing", "expected the length"]),
    "length without rod": ("type: point", "type: point, length: 1", 8, ["type point has no length", "expected"]),
    "actuator on nothing": ("turns: {q1: 50}", "turns: {}", 10, ["acts on nothing", "choose from q1, q2, q3"]),
    "actuator that cancels": ("turns: {q1: 50}", "turns: q1 - q1", 10, ["acts on nothing", "expected at least one"]),
    "actuator without turns": ("turns: {q1: 50}, ", "", 10, ["'turns' is missing", "expected name, turns"]),
    "actuator on an unknown joint": ("{q1: 50}", "{q9: 50}", 10, ["no joint coordinate 'q9'", "choose from q1"]),
    "gear ratio of zero": ("{q1: 50}", "{q1: 0}", 10, ["ratio 0 on 'q1'", "expected a finite non-zero number"]),
    "torque limit of zero": ("{q1: 50}", "{q1: 50}, torque_limit: 0 Nm", 10, ["found 0", "greater than zero"]),
    "nan": ("[0.2, 0, 0]", "[.nan, 0, 0]", 6, ["found '.nan'", "expected a finite number"]),
    "infinite": ("{l: 0.3}", "{l: -.inf}", 2, ["found '-.inf'", "expected a finite number"]),
    "overflow": ("{l: 0.3}", "{l: 1e400}", 2, ["found inf", "expected a finite number"]),
    "unknown unit": ("10 deg", "10 degs", 13, ["unknown unit 'degs'", "did you mean 'deg'"]),
    "unknown constant": ("{q1: 10 deg}", "{q1: ll}", 13, ["unknown name 'll'", "choose from l, pi"]),
    "division by zero": ("{q1: 10 deg}", "{q1: 1/(l - l)}", 13, ["division by zero"]),
    "ambiguous unit": ("{q1: 10 deg}", "{q1: 1/10 deg}", 13, ["'deg'", "expected brackets"]),
    "number for a text": ("name: arm", "name: 5", 1, ["found '5'", "expected the name of the robot"]),
    "text for a number": ("[0.2, 0, 0]", "[left, 0, 0]", 6, ["unknown name 'left'", "choose from"]),
    "two numbers for three": ("[0.2, 0, 0]", "[0.2, 0]", 6, ["found a list of 2", "expected three numbers"]),
    "list for a mapping": ("{q1: 10 deg}", "[10 deg]", 13, ["found a list of 1", "expected a mapping"]),
    "negative mass": ("name: c,", "name: c, inertia: {mass: -2 kg},", 6, ["mass -2 kg", "expected a mass >= 0"]),
    "negative nominal mass": ("home:", "nominal: {M_a: -1}\nhome:", 13, ["mass -1 kg", "expected a mass >= 0"]),
    "inertia beyond numbers": (
        "name: c,", "name: c, inertia: {mass: 2, com: [1e200, 0, 0]},", 6, ["beyond all numbers", "expected"],
    ),
    "inertia without mass": ("name: c,", "name: c, inertia: {com: [0, 0, 0]},", 6, ["'mass' is missing", "expected"]),
    "inertia of a massless body": (
        "name: c,", "name: c, massless: true, inertia: {mass: 2},", 6, ["massless", "expected no inertia"],
    ),
    "yes for true": ("name: c,", "name: c, massless: yes,", 6, ["found 'yes'", "expected true or false"]),
    "two bodies of one name": ("name: c,", "name: a,", 6, ["'a' is used twice, first in line 4", "expected different"]),
    "two joints of one name": ("name: q3", "name: q1", 6, ["'q1' is used twice", "expected different"]),
    "two loops of one name": (
        "loops:", "loops:\n  - {name: tip, type: point, between: [a, c]}", 9, ["'tip' is used twice, first in line 8"],
    ),
    "two motors of one name": (
        "motors:", "motors:\n  - {name: m1, turns: q2}", 11, ["'m1' is used twice, first in line 10", "expected"],
    ),
    "body called base": ("name: c,", "name: base,", 6, ["'base'", "expected another name"]),
    "unknown key": ("axis: z}}\n  - {name: b", "axes: z}}\n  - {name: b", 4, ["key 'axes'", "did you mean 'axis'"]),
    "unknown top-level key": ("loops:", "loop:", 7, ["unknown key 'loop'", "did you mean 'loops'", "motors"]),
    "missing name": ("name: arm\n", "", 1, ["'name' is missing", "expected the name of the robot"]),
    "unknown joint type": ("revolute}", "hinge}", 6, ["found 'hinge'", "choose from revolute, prismatic"]),
    "unknown axis": ("axis: z}}\n  - {name: b", "axis: w}}\n  - {name: b", 4, ["found 'w'", "choose from x, y, z"]),
    "axis of length zero": ("axis: z}}\n  - {name: b", "axis: [0, 0, 0]}}\n  - {name: b", 4, ["length zero"]),
    "helical without pitch": ("type: revolute}}", "type: helical}}", 6, ["pitch 0.0", "expected a non-zero advance"]),
    "parallel axes": (
        "type: revolute}}", "type: universal, second_axis: z}}", 6, ["second axis", "is parallel to the first"],
    ),
    "no rotation": ("at: [0.2, 0, 0]", "rotation: [[1, 0, 0], [0, 2, 0], [0, 0, 1]]", 6, ["is not a rotation matrix"]),
    "reflection": ("at: [0.2, 0, 0]", "rotation: [[1, 0, 0], [0, -1, 0], [0, 0, 1]]", 6, ["is not a rotation matrix"]),
    "long quaternion": ("at: [0.2, 0, 0]", "quaternion: [1, 1, 0, 0]", 6, ["norm 1.41421", "expected norm 1"]),
    "two orientations": ("at: [0.2, 0, 0]", "rpy: [0, 0, 0], quaternion: [1, 0, 0, 0]", 6, ["expected only one"]),
    "nothing moves": ("revolute", "fixed", 4, ["no joint can move", "expected at least one joint"]),
    "key twice": ("home:", "home: {q2: 1}\nhome:", 14, ["'home' is written twice, first in line 13"]),
    "key twice in braces": ("{q1: 50}", "{q1: 50, q1: 3}", 10, ["'q1' is written twice"]),
    "tab": ("  - {name: c", "\t- {name: c", 6, ["not YAML", "tab", "expected spaces"]),
    "unbalanced": ("[l, 0, 0]}]}", "[l, 0, 0]}}", 8, ["not YAML", "expected"]),
    "tag": ("name: arm", "name: !!python/name:os.system", 1, ["found the tag", "expected a plain value"]),
    "alias of nothing": ("[0.2, 0, 0]", "*where", 6, ["*where refers to no anchor"]),
    "alias of itself": ("home:", "symmetric: &s [*s]\nhome:", 13, ["*s refers to no anchor"]),
    "two documents": ("home:", "---\nhome:", 1, ["found 2 YAML documents", "expected one"]),
    "complex key": ("{q1: 50}", "{[q1]: 50}", 10, ["found a list of 1 as a key", "expected a name"]),
    "control character": ("name: arm", "name: a\x01b", 1, ["not YAML", "expected printable text"]),
    "line break in a name": ("name: arm", 'name: "a\\nb"', 1, ["found 'a\\nb'", "expected"]),
    "effort on nothing": ("{on: q3, ", "{", 12, ["expected one of the keys on, spring, force"]),
    "effort on an unknown joint": ("on: q3", "on: q2 - q4", 12, ["unknown name 'q4'", "choose from q1"]),
    "effort that is not linear": ("on: q3", "on: q2*q1, name: x", 12, ["found 'q2*q1'", "expected a linear"]),
    "unknown friction": ("[viscous, coulomb]", "[viscose]", 12, ["'viscose'", "choose from viscous, coulomb"]),
    "effort twice": ("efforts:\n", "efforts:\n  - {on: q3, friction: [viscous]}\n", 13, ["'Fv_q3' is used twice"]),
    "spring without rest": ("on: q3, friction: [viscous, coulomb]", "spring: q3", 12, ["'rest' is missing"]),
    "basis on nothing": (
        "on: q3, friction: [viscous, coulomb]", "name: x, basis: [1]", 12, ["the key 'on' is missing", "expected"],
    ),
    "empty basis": ("friction: [viscous, coulomb]", "basis: []", 12, ["expected at least one expression"]),
    "distance on one body": (
        "on: q3", "on: {distance: [a, a]}", 12, ["both ends are on 'a'", "expected two bodies"],
    ),
    "force without name": (
        "on: q3, friction: [viscous, coulomb]", "force: {q1: 1}", 12, ["'name' is missing", "expected a name"],
    ),
    "home of an unknown joint": ("{q1: 10 deg}", "{q7: 1}", 13, ["no joint coordinate 'q7'", "choose from q1"]),
    "home of several coordinates": ("{q1: 10 deg}", "{q1: [1, 2]}", 13, ["found a list of 2", "expected numbers"]),
    "unknown parameter": ("home:", "nominal: {M_z: 1}\nhome:", 13, ["no parameter 'M_z'", "M_a, M_b, M_c"]),
    "missing file of values": ("home:", "nominal: gone.yaml\nhome:", 13, ["no file", "gone.yaml", "expected"]),
    "crossed limits": ("home:", "limits: {q1: {lower: 1, upper: 0}}\nhome:", 13, ["lower 1 and upper 0", "expected"]),
    "limit of velocity": ("home:", "limits: {q1: {velocity: -1}}\nhome:", 13, ["found -1", "greater than zero"]),
    "unknown platform": ("home:", "platform: d\nhome:", 13, ["no body 'd'", "choose from a, b, c"]),
    "unknown independent": ("home:", "independent: [q1, q1]\nhome:", 13, ["'q1' is listed twice", "expected"]),
    "unknown motor without encoder": (
        "home:", "without_encoder: [m2]\nhome:", 13, ["no motor 'm2'", "choose from m1"],
    ),
    "unknown motor": ("home:", "unmeasured: [m2]\nhome:", 13, ["no motor 'm2'", "choose from m1"]),
    "coupling on itself": (
        "type: point, between: [{body: b, at: [l, 0, 0]}, {body: c, at: [l, 0, 0]}]",
        "type: coupling, set: q2, equals: {q2: 1}", 8, ["depends on itself", "expected other joints"],
    ),
    "unknown label": (
        "home:", "legs: {each: [{k: 1}], bodies: [{name: 'd{j}'}]}\nhome:", 13, ["unknown {j}", "choose from k"],
    ),
    "text as a number of a leg": (
        "home:", "legs: {each: [{k: 1, at: left}], bodies: [{name: d, at: [at, 0, 0]}]}\nhome:", 13,
        ["unknown name 'at'", "at is 'left' in this leg"],
    ),
    "legs without legs": ("home:", "legs: {each: []}\nhome:", 13, ["expected at least one leg"]),
    "constant called pi": ("{l: 0.3}", "{l: 0.3, pi: 3}", 2, ["'pi'", "expected"]),
    "constant and joint": ("{l: 0.3}", "{l: 0.3, q3: 1}", 12, []),
    "extends itself": ("name: arm", "extends: robot.yaml\nname: arm", 1, ["extend each other", "expected a chain"]),
    "extends nothing": ("name: arm", "extends: gone.yaml", 1, ["no file", "gone.yaml", "expected a robot file"]),
    "extends an unknown robot": ("name: arm", "extends: duelv", 1, ["no robot 'duelv' in the catalog", "choose from"]),
    "sigma": (
        "home:", "mdh: [{joint: j, antecedent: base, sigma: 3}]\nhome:", 13, ["found 3", "choose from 0 (revolute)"],
    ),
    "missing antecedent": (
        "home:", "mdh: [{joint: j, antecedent: i}]\nhome:", 13, ["no body 'i'", "choose from base, a, b, c, j"],
    ),
    "short row": (
        "home:", "mdh: {columns: [joint, antecedent, d], rows: [[j, a]]}\nhome:", 13, ["a list of 2", "expected 3"],
    ),
    "row without joint": (
        "home:",
        "mdh: {columns: [joint, antecedent, d], rows: [[~, a, 1]]}\nhome:",
        13,
        ["found nothing, expected the name of a joint"],
    ),
    "column twice": (
        "home:",
        "mdh: {columns: [joint, antecedent, d, d], rows: []}\nhome:",
        13,
        ["a column is there twice", "expected different columns"],
    ),
}  # fmt: skip


def _message(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "robot.yaml"
    path.write_bytes(data)
    with pytest.raises(RobotError) as error:
        read_yaml(path)
    return str(error.value)


def test_the_good_file_is_good(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text(GOOD)
    assert read_yaml(tmp_path / "robot.yaml").motor_names == ("m1",)


@pytest.mark.parametrize("case", BROKEN)
def test_broken(case: str, tmp_path: Path) -> None:
    good, bad, line, parts = BROKEN[case]
    assert good in GOOD
    if case == "constant and joint":  # harmless unless an expression uses the name
        good, bad, parts = "constants: {l: 0.3}", "constants: {l: 0.3, q3: 1}", ["both a constant and a joint"]
        text = GOOD.replace(good, bad).replace("on: q3", "on: q3 - q2")
    else:
        text = GOOD.replace(good, bad, 1 if case != "nothing moves" else -1)
    message = _message(tmp_path, text.encode())
    assert re.match(rf"{re.escape(str(tmp_path / 'robot.yaml'))}:{line}: ", message), message
    assert "\n" not in message
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize(
    ("data", "start"),
    [
        (b"", ":1: found no YAML documents, expected one mapping"),
        (b"# nothing\n", ":1: found no YAML documents, expected one mapping"),
        (b"- 1\n- 2\n", ":1: found a list of 2, expected a robot with name, source"),
        (b"robot\n", ":1: found 'robot', expected a robot with name, source"),
        (b"name: a\nsource: \xff\xfe\n", ":2: found byte 0xff, expected text in UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00", ":1: found byte 0x89, expected text in UTF-8"),
        (b"name: a\n\x00", ":2: not YAML"),
        (b"[" * 100_000, ":1: nested deeper than 40 levels"),
        (b"- " * 100_000, ":1: nested deeper than 40 levels"),
        (b"name: " + b"a" * 2_000_000, ":1: found 2000006 bytes, expected at most"),
        (b"name: bare\n", ":1: no bodies, expected at least one"),
    ],
)  # fmt: skip
def test_not_a_robot_file(data: bytes, start: str, tmp_path: Path) -> None:
    message = _message(tmp_path, data)
    assert message.startswith(f"{tmp_path / 'robot.yaml'}{start}"), message
    assert "\n" not in message


def test_aliases_do_not_explode(tmp_path: Path) -> None:
    layers = "\n".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]" for i in range(1, 12))
    message = _message(tmp_path, f"x0: &x0 [a]\n{layers}\n".encode())
    assert "more than 50000 values, aliases expanded" in message


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.yaml", tmp_path):
        with pytest.raises(RobotError, match=r":1: .*expected a readable YAML file"):
            read_yaml(path)


def test_files_that_extend_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nextends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n")
    with pytest.raises(
        RobotError, match=r"b\.yaml:1: extends: robot files extend each other, a\.yaml <- b\.yaml <- a\.yaml"
    ):
        read_yaml(tmp_path / "a.yaml")


def test_an_error_in_an_extended_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(GOOD.replace("turns: {q1: 50}", "turns: {q8: 50}"))
    (tmp_path / "a.yaml").write_text("extends: base.yaml\nhome: {q1: 0}\n")
    with pytest.raises(RobotError, match=r"base\.yaml:10: motors\[0\]\.turns\.q8: no joint coordinate 'q8'"):
        read_yaml(tmp_path / "a.yaml")
