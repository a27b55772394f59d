"""Loops, motors and sensors of a robot file."""

from __future__ import annotations

from collections.abc import Mapping

from dalembert.robot.description import Coupling, Loop, LoopKind, Motor, Sensor
from dalembert.robot.quantity import EFFORT, LENGTH, RATIO, Quantity
from dalembert.robot.yaml_efforts import read_anchor
from dalembert.robot.yaml_names import Names, Terms
from dalembert.robot.yaml_source import Located

__all__ = ["MotorEntry", "read_loop", "read_motors", "read_sensor"]

COUPLING = "coupling"
LOOP_TYPES = (*(kind.value for kind in LoopKind), COUPLING)
LOOP_KEYS = ("name", "type", "between", "length")
COUPLING_KEYS = ("name", "type", "set", "equals", "constant")
MOTOR_KEYS = ("name", "turns", "efforts", "torque_limit", "limits")

MotorEntry = tuple[Motor, Mapping[str, Located]]


def read_loop(item: Located, names: Names) -> Loop | Coupling:
    """``{name, type, between: [anchor, anchor]}`` or ``{type: coupling, set, equals, constant}``."""
    entries = item.entries("a loop")
    if "type" not in entries:
        item.fail(f"the key 'type' is missing; choose from {', '.join(LOOP_TYPES)}")
    kind = entries["type"].choice_of(LOOP_TYPES)
    if kind == COUPLING:
        return _coupling(item.mapping(COUPLING_KEYS, ["set", "equals"], "a coupling"), names)
    keys = item.mapping(LOOP_KEYS, ["name", "between"], "a loop")
    a_item, b_item = keys["between"].exactly(2, "two anchors {body, at}")
    a, b = read_anchor(a_item, names, axis=True), read_anchor(b_item, names, axis=True)
    if a.body == b.body:
        keys["between"].fail(f"both ends are on {a.body!r}, expected two bodies")
    rod = kind == LoopKind.ROD
    if rod and "length" not in keys:
        item.fail("the key 'length' is missing, expected the length of the rod in m")
    if not rod and "length" in keys:
        keys["length"].fail(f"a loop of type {kind} has no length, expected it only for type rod")
    length = keys["length"].positive(LENGTH, "a length in m") if rod else 0.0
    return Loop(keys["name"].text("the name of a loop"), LoopKind(kind), a, b, length)


def _coupling(keys: Mapping[str, Located], names: Names) -> Coupling:
    coordinate = names.coordinate(keys["set"])
    constant = keys["constant"].number(names.position(coordinate)) if "constant" in keys else 0.0
    equals = keys["equals"]
    if _is_constant(equals, names):
        terms: Terms = ()
        constant += _constant(equals, names.position(coordinate))
    else:
        linear = names.linear(equals)
        terms, constant = linear.terms, constant + linear.constant
    if coordinate in dict(terms):
        equals.fail(f"the coordinate {coordinate!r} depends on itself, expected other joints")
    name = keys["name"].text("the name of a loop") if "name" in keys else coordinate
    return Coupling(name, coordinate, terms, constant)


def _is_constant(equals: Located, names: Names) -> bool:
    """True for a joint held at a constant: ``equals: {}``, ``{constant: 90 deg}`` or ``90 deg``."""
    if equals.is_mapping:
        return set(equals.entries()) <= {"constant"} and "constant" not in names.coordinates
    text = equals.raw("ratios of joints, {q1: 1, q2: -1}")
    if text in names.joints or text in names.motors:
        return False
    return not names.linear_form(equals, equals.expression())[0]


def _constant(equals: Located, of: Quantity) -> float:
    if not equals.is_mapping:
        return equals.number(of)
    return sum(value.number(of) for value in equals.entries().values())


def read_motors(item: Located, names: Names) -> list[MotorEntry]:
    """A list of motors, or the short form ``{joints, matrix, names, efforts}``."""
    if item.is_mapping:
        return _matrix(item, names)
    return [_motor(entry, names) for entry in item.items("a list of motors")]


def _motor(item: Located, names: Names) -> MotorEntry:
    if item.is_text:
        name = names.coordinate(item)
        return Motor(name, ((name, 1.0),)), {"name": item}
    keys = item.mapping(MOTOR_KEYS, ["turns"], "a motor")
    turns = names.terms(keys["turns"])
    limit = keys["torque_limit"].positive(EFFORT, "a torque limit") if "torque_limit" in keys else None
    name = _motor_name(keys.get("name"), keys["turns"], turns)
    motor = Motor(name, turns) if limit is None else Motor(name, turns, limit)
    return motor, {"name": keys.get("name", item), **{k: keys[k] for k in ("efforts", "limits") if k in keys}}


def _motor_name(name: Located | None, where: Located, turns: Terms) -> str:
    if name is not None:
        return name.text("the name of a motor")
    if len(turns) > 1:
        where.fail(f"the key 'name' is missing, expected a name for the motor that turns {len(turns)} joints")
    return turns[0][0]


def _matrix(item: Located, names: Names) -> list[MotorEntry]:
    keys = item.mapping(("joints", "matrix", "names", "efforts"), ["joints"], "motors")
    joints = [c for joint in keys["joints"].items("a list of joints") for c in names.expanded(joint)]
    n = len(joints)
    if "matrix" in keys:
        rows = keys["matrix"].items("a list of rows, one per motor")
        ratios = [row.numbers(RATIO, n, f"{n} numbers, one per joint") for row in rows]
    else:
        rows = keys["joints"].items()
        ratios = [tuple(float(i == j) for j in range(n)) for i in range(n)]
        rows = rows if len(rows) == n else (keys["joints"],) * n
    given = keys["names"].exactly(len(rows), f"{len(rows)} names, one per motor") if "names" in keys else None
    out: list[MotorEntry] = []
    for i, (row, ratio) in enumerate(zip(rows, ratios, strict=True)):
        turns = tuple((joint, value) for joint, value in zip(joints, ratio, strict=True) if value != 0.0)
        if not turns:
            row.fail("the motor turns nothing, expected a non-zero number in its row")
        name = _motor_name(given[i] if given else None, row, turns)
        extras = {"efforts": keys["efforts"]} if "efforts" in keys else {}
        out.append((Motor(name, turns), {"name": given[i] if given else row, **extras}))
    return out


def read_sensor(item: Located, names: Names) -> Sensor:
    """``{name, reads: {q1: 1}}``."""
    keys = item.mapping(("name", "reads"), ["reads"], "a sensor")
    reads = names.terms(keys["reads"])
    return Sensor(_motor_name(keys.get("name"), keys["reads"], reads), reads)
