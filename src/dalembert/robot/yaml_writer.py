"""YAML from a robot: what :mod:`dalembert.robot.yaml_reader` reads back as the same robot."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

import numpy as np

from dalembert.errors import ExportError, RobotError
from dalembert.robot.description import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Coupling,
    Distance,
    Effort,
    EffortKind,
    Limit,
    Loop,
    LoopKind,
    Motor,
    Robot,
)
from dalembert.robot.expression import Expression, parse, to_text
from dalembert.robot.geometry import Placement, Vector, rpy_rotation
from dalembert.robot.interchange import rpy_of_matrix, write_atomically
from dalembert.robot.joints import Joint, JointType

__all__ = ["write_yaml", "yaml_text"]

Terms = tuple[tuple[str, float], ...]

_SIMPLE = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB, EffortKind.OFFSET, EffortKind.CONSTANT)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_WORDS = {"true", "false", "null", "nan", "inf", "infinity", "unknown"}
_AXES: Mapping[Vector, str] = {
    (1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z",
    (-1.0, 0.0, 0.0): "-x", (0.0, -1.0, 0.0): "-y", (0.0, 0.0, -1.0): "-z",
}  # fmt: skip
_QUARTERS = {-2: "-pi", -1: "-pi/2", 0: "0", 1: "pi/2", 2: "pi"}
SAME = 1e-15  # a placement is written as angles only where they give every entry back to this


def write_yaml(robot: Robot, path: str | Path) -> None:
    """Write a robot as YAML, the whole file or nothing."""
    write_atomically(Path(path), yaml_text(robot))


def yaml_text(robot: Robot) -> str:
    """The text of a robot file, one line per body, loop, motor and effort."""
    lines = [f"name: {_word(robot.name)}"]
    if robot.source:
        lines.append(f"source: {_quoted(robot.source)}")
    lines.append(f"gravity: {_numbers(robot.gravity)}")
    lines += _block("bodies", map(_body, robot.bodies))
    lines += _block("loops", map(_loop, robot.loops))
    lines += _block("motors", map(_motor, robot.motors)) or ["", "motors: []"]
    sensors = (_flow({"name": _word(s.name), "reads": _terms(s.reads)}) for s in robot.sensors)
    lines += _block("sensors", sensors)
    lines += _block("efforts", _efforts(robot.efforts))
    lines += _lists(robot)
    lines += _values(robot)
    return "\n".join(lines) + "\n"


def _lists(robot: Robot) -> list[str]:
    lines = []
    if robot.independent:
        lines.append(f"independent: {_words(robot.independent)}")
    if robot.platform is not None:
        lines.append(f"platform: {_word(robot.platform)}")
    if robot.symmetric:
        lines.append(f"symmetric: [{', '.join(map(_words, robot.symmetric))}]")
    if robot.unmeasured:
        lines.append(f"unmeasured: {_words(robot.unmeasured)}")
    if robot.without_encoder:
        lines.append(f"without_encoder: {_words(robot.without_encoder)}")
    return ["", *lines] if lines else []


def _values(robot: Robot) -> list[str]:
    lines = []
    if robot.home:
        lines += ["", f"home: {_flow({_word(k): _number(v) for k, v in robot.home.items()})}"]
    if robot.limits:
        lines += ["", "limits:", *(f"  {_word(k)}: {_limit(v)}" for k, v in robot.limits.items())]
    if robot.nominal:
        lines += ["", "nominal:", *(f"  {_word(k)}: {_number(v)}" for k, v in robot.nominal.items())]
    return lines


# bodies and loops


def _body(body: Body) -> str:
    keys = {"name": _word(body.name)}
    if body.parent != BASE:
        keys["parent"] = _word(body.parent)
    keys |= _placement(body.placement)
    if body.joint != Joint(body.name):
        keys["joint"] = _joint(body.joint)
    if body.massless:
        keys["massless"] = "true"
    return _flow(keys)


def _joint(joint: Joint) -> str:
    keys = {"name": _word(joint.name), "type": joint.type.value}
    plain = Joint(joint.name, joint.type, joint.axis, pitch=joint.pitch)
    if joint.axis != (0.0, 0.0, 1.0) or joint.type in (JointType.REVOLUTE, JointType.PRISMATIC):
        keys["axis"] = _axis(joint.axis)
    if joint.second_axis is not None and joint.second_axis != plain.second_axis:
        keys["second_axis"] = _axis(joint.second_axis)
    if joint.pitch:
        keys["pitch"] = _number(joint.pitch)
    return _flow(keys)


def _placement(placement: Placement) -> dict[str, str]:
    keys = {}
    if any(placement.position):
        keys["at"] = _numbers(placement.position)
    if not np.array_equal(placement.R, np.eye(3)):
        angles = rpy_of_matrix(placement.R)
        if np.abs(rpy_rotation(angles) - placement.R).max() <= SAME:
            keys["rpy"] = f"[{', '.join(map(_angle, angles))}]"
        else:
            keys["rotation"] = f"[{', '.join(map(_numbers, placement.rotation))}]"
    return keys


def _anchor(anchor: Anchor) -> str:
    return _flow({"body": _word(anchor.body), **_placement(anchor.placement)})


def _loop(loop: Loop | Coupling) -> str:
    keys = {"name": _word(loop.name)}
    if isinstance(loop, Coupling):
        keys |= {"type": "coupling", "set": _word(loop.coordinate), "equals": _terms(loop.terms)}
        if loop.constant:
            keys["constant"] = _number(loop.constant)
        return _flow(keys)
    keys |= {"type": loop.kind.value, "between": f"[{_anchor(loop.a)}, {_anchor(loop.b)}]"}
    if loop.kind is LoopKind.ROD:
        keys["length"] = _number(loop.length)
    elif loop.length:
        raise ExportError(f"loop {loop.name!r} of type {loop.kind} has a length, which only a rod has")
    return _flow(keys)


def _motor(motor: Motor) -> str:
    keys = {"name": _word(motor.name), "turns": _terms(motor.turns)}
    if math.isfinite(motor.torque_limit):
        keys["torque_limit"] = _number(motor.torque_limit)
    return _flow(keys)


# efforts


def _efforts(efforts: Iterable[Effort]) -> Iterator[str]:
    """Efforts of one name on one coordinate that follow each other share a line."""
    for (name, on, simple), group in groupby(efforts, key=lambda e: (e.name, e.on, e.kind in _SIMPLE)):
        if simple:
            kinds = [effort.kind.value for effort in group]
            assert on is not None
            yield _flow({"name": _word(name), "on": _on(on), "efforts": f"[{', '.join(kinds)}]"})
            continue
        for effort in group:
            yield _flow(_special(effort))


def _special(effort: Effort) -> dict[str, str]:
    keys = {"name": _word(effort.name)}
    if effort.kind is EffortKind.FORCE:
        return keys | {"force": _flow({_word(c): _law(law) for c, law in effort.force})}
    assert effort.on is not None
    if effort.kind is EffortKind.SPRING:
        rest = "unknown" if effort.rest is None else _number(effort.rest)
        return keys | {"spring": _on(effort.on), "rest": rest}
    return keys | {"on": _on(effort.on), "basis": f"[{', '.join(map(_law, effort.basis))}]"}


def _on(on: Coordinate | Distance) -> str:
    if isinstance(on, Distance):
        return _flow({"distance": f"[{_anchor(on.a)}, {_anchor(on.b)}]"})
    if len(on.terms) == 1 and on.terms[0][1] == 1.0 and not on.constant:
        return _word(on.terms[0][0])
    return _terms(on.terms, on.constant)


def _law(law: Expression) -> str:
    text = to_text(law)
    try:
        parse(text)
    except RobotError as error:
        raise ExportError(f"a robot file cannot hold the expression {text!r}: {error}") from None
    return f'"{text}"'


def _terms(terms: Terms, constant: float = 0.0) -> str:
    names = [name for name, _ in terms]
    if len(set(names)) < len(names) or {"constant", "distance"} & set(names):
        raise ExportError(f"a robot file cannot hold ratios of {', '.join(names)}; expected different names")
    keys = {_word(name): _number(ratio) for name, ratio in terms}
    return _flow(keys | ({"constant": _number(constant)} if constant else {}))


# values


def _limit(limit: Limit) -> str:
    names = ("lower", "upper", "velocity", "acceleration", "jerk")
    bounds = {name: getattr(limit, name) for name in names}
    return _flow({name: _number(value) for name, value in bounds.items() if math.isfinite(value)})


def _number(value: float) -> str:
    """Shortest text that reads back as the same double."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))


def _numbers(values: Iterable[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _angle(value: float) -> str:
    quarter = round(value / (math.pi / 2))
    return _QUARTERS[quarter] if value == quarter * (math.pi / 2) else repr(value)


def _axis(axis: Vector) -> str:
    return _AXES.get(axis) or _numbers(axis)


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else _quoted(text)


def _words(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_word, texts))}]"


def _quoted(text: str) -> str:
    """A YAML double-quoted scalar on one line."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return {"\n": "\\n", "\t": "\\t"}.get(character) or f"\\U{ord(character):08x}"


def _flow(keys: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def _block(key: str, entries: Iterable[str]) -> list[str]:
    lines = [f"  - {entry}" for entry in entries]
    return ["", f"{key}:", *lines] if lines else []
