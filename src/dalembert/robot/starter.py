"""A robot file to begin with, from another tool's file: what was taken, what was assumed, what is left to fill in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dalembert.errors import RobotError, choices
from dalembert.parameters import inertial_names
from dalembert.robot.description import BASE, Body, Coordinate, Coupling, Effort, EffortKind, Robot
from dalembert.robot.interchange import body_inertia
from dalembert.robot.joints import JointType
from dalembert.robot.mdh_csv import read_mdh_csv
from dalembert.robot.yaml_writer import yaml_text

__all__ = ["KINDS", "Starter", "starter"]

Terms = tuple[tuple[str, float], ...]

KINDS: Mapping[str, tuple[str, ...]] = {
    "urdf": (".urdf",), "mjcf": (".xml", ".mjcf"), "mdh-csv": (".csv", ".tsv", ".txt"),
}  # fmt: skip
RESISTS: Mapping[EffortKind, str] = {
    EffortKind.ROTOR: "rotor inertia", EffortKind.VISCOUS: "viscous friction", EffortKind.COULOMB: "Coulomb friction",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Starter:
    """A robot, the text of its file, and what a person has to know of it: one line each."""

    robot: Robot
    text: str
    assumed: tuple[str, ...]
    missing: tuple[str, ...]


def starter(source: str | Path, kind: str | None = None) -> Starter:
    """A robot file from a URDF, an MJCF file or a table of MDH rows; ``kind`` is told by the ending unless given.

    Every motor gets rotor inertia, viscous and Coulomb friction; links on a moving joint get a mass, which a URDF
    made for pictures has not.
    """
    path = Path(source)
    chosen = _kind(path, kind)
    lines: tuple[str, ...] = ()
    if chosen == "mdh-csv":
        table = read_mdh_csv(path)
        robot, lines, notes = table.robot, table.lines, list(table.notes)
    else:
        robot, notes = _read(path, chosen)
    if chosen == "urdf":
        robot, notes = _with_masses(robot, notes)
    notes.append(_motors(robot))
    if chosen != "mjcf":
        notes.append("gravity points along -z of the base")
    robot, more = _completed(robot)
    return Starter(robot, _text(robot, lines, path, (*notes, *more)), (*notes, *more), _missing(robot))


def _kind(path: Path, kind: str | None) -> str:
    if kind is not None and kind not in KINDS:
        raise RobotError(f"cannot start a robot file from {kind!r}; {choices(kind, KINDS)}")
    found = kind or next((k for k, endings in KINDS.items() if path.suffix.lower() in endings), None)
    if found is None:
        raise RobotError(f"{path}: cannot tell what it is by its ending; say --from {', '.join(KINDS)}")
    if not path.is_file():
        raise RobotError(f"{path}: no such file")
    return found


def _read(path: Path, kind: str) -> tuple[Robot, list[str]]:
    """The robot, and what its reader left out."""
    from dalembert.robot.mjcf_reader import read_mjcf
    from dalembert.robot.urdf_reader import read_urdf

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = read_urdf(path) if kind == "urdf" else read_mjcf(path)
    return robot, [str(warning.message) for warning in caught]


# --- what a file of another tool does not say ------------------------------------------------------------------------


def _with_masses(robot: Robot, notes: Sequence[str]) -> tuple[Robot, list[str]]:
    """Links without inertia that move on a joint of their own get a mass."""
    bare = [b.name for b in robot.bodies if b.massless and b.joint.type is not JointType.FIXED and not _step(robot, b)]
    if not bare:
        return robot, list(notes)
    bodies = tuple(replace(b, massless=b.massless and b.name not in bare) for b in robot.bodies)
    kind = "a body" if len(bare) == 1 else "bodies"
    said = f"{', '.join(bare)}: the file gives no inertia, taken as {kind} of unknown mass"
    return replace(robot, bodies=bodies), [*notes, said]


def _step(robot: Robot, body: Body) -> bool:
    """True for a step of a joint of several coordinates: what it carries hangs on the next step of that joint."""
    joint = body.joint.name.rpartition(".")[0]
    return bool(joint) and any(b.parent == body.name and b.joint.name.rpartition(".")[0] == joint for b in robot.bodies)


def _motors(robot: Robot) -> str:
    driven = [name for motor in robot.motors for name, _ in motor.turns]
    if driven == list(robot.motor_names) and all(motor.turns[0][1] == 1.0 for motor in robot.motors):
        return f"a motor on {_all(driven)}, its angle and torque read at the joint, after any gear"
    return f"motors {', '.join(robot.motor_names)}, geared to the joints as the file says"


def _all(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"each of {', '.join(names)}"


def _completed(robot: Robot) -> tuple[Robot, list[str]]:
    """The robot with friction and rotors on its motors and a platform, and a line for each thing added."""
    notes = []
    there = {(e.kind, _direction(e.on.terms)) for e in robot.efforts if isinstance(e.on, Coordinate)}
    taken = set(robot.parameters())
    added = [
        effort
        for motor in robot.motors
        for effort in (Effort(motor.name, kind, Coordinate(motor.turns)) for kind in RESISTS)
        if (effort.kind, _direction(motor.turns)) not in there and not taken & set(effort.parameters)
    ]
    if added:
        kinds = [word for kind, word in RESISTS.items() if any(e.kind is kind for e in added)]
        names = list(dict.fromkeys(effort.name for effort in added))
        notes.append(f"{', '.join(kinds)} on {'the motor' if len(names) == 1 else 'the motors'} {', '.join(names)}")
        robot = robot.with_efforts(sorted((*robot.efforts, *added), key=lambda effort: _place(robot, effort)))
    if robot.platform is None:
        depth = {BASE: 0}
        for body in robot.bodies:
            depth[body.name] = depth[body.parent] + 1
        tip = max(robot.body_names, key=lambda name: depth[name])
        robot = replace(robot, platform=tip)
        notes.append(f"a payload would be fixed to {tip!r}, the end of the longest chain")
    return robot, notes


def _direction(terms: Terms) -> Terms:
    """Ratios to the first coordinate: a motor and its joint turn in the same direction, whatever the gear."""
    return tuple((name, ratio / terms[0][1]) for name, ratio in terms)


def _place(robot: Robot, effort: Effort) -> tuple[int, int]:
    """Motor by motor, in the order of RESISTS; what belongs to no motor last."""
    names, kinds = robot.motor_names, list(RESISTS)
    own = effort.name in names and effort.kind in RESISTS
    return (names.index(effort.name), kinds.index(effort.kind)) if own else (len(names), 0)


def _missing(robot: Robot) -> tuple[str, ...]:
    open_ = []
    free = [
        m.name for m in robot.motors if m.name not in robot.limits and any(c not in robot.limits for c, _ in m.turns)
    ]
    if free:
        open_.append(
            f"limits of {', '.join(free)}: 'dalembert excite' plans within them, 'check' compares logs with them"
        )
    if not robot.nominal:
        open_.append("masses and inertias: not needed; from a data sheet they help --method physical and 'check'")
    return tuple(open_)


# --- the text --------------------------------------------------------------------------------------------------------

_LOOPS = """\
# Loops of a parallel robot or a parallelogram close the tree above:
#   loops:
#     - {name: tip, type: point, between: [{body: A, at: [0, 0, 0.3]}, {body: B, at: [0, 0, 0.3]}]}
# see docs/parallel-robots.md"""
_COUPLED = "# Joints that follow others, and loops: a wrong sign here spoils every parameter, check them."
_MOTORS = """\
# ASSUMED: {motors}.
# Logs name them: columns q_{first}, tau_{first}, ...
#   angles and torques of the motor itself, before a gear of 100:   turns: {{{joint}: 100}}
#   a motor that turns with two joints (a coupled wrist):           turns: {{j5: 32, j6: 32}}
#   a joint without a motor: leave its line out. A motor whose torque is not logged: unmeasured: [{first}]"""
_EFFORTS = """\
# What resists each motor: rotor inertia, viscous and Coulomb friction. Add 'offset' for a constant torque; springs,
# counterweights and cables are explained in docs/robot-file.md."""
_PLATFORM = "# ASSUMED: the body a payload is fixed to."
_LIMITS = """\
# Limits of joints or motors. 'dalembert excite' plans within them; it also reads acceleration and jerk:
#   {joint}: {{lower: -170 deg, upper: 170 deg, velocity: 100 deg/s, acceleration: 500 deg/s^2}}"""
_INERTIA = """\
# Inertias (tensor about the centre of mass) are the file's. Least squares does not use them; --method physical and sdp
# start from them, simulations are made with them, 'dalembert check' compares the log with them. Strike out what you do
# not believe."""
_NOMINAL = "# Values of the file, like the inertias above."


def _text(robot: Robot, table: Sequence[str], path: Path, assumed: Sequence[str]) -> str:
    """The file: blocks of the writer, each under a comment that says what to do with it."""
    inertial = {name for body in robot.bodies for name in inertial_names(body.name)}
    plain = replace(robot, nominal={name: v for name, v in robot.nominal.items() if name not in inertial})
    blocks = yaml_text(plain).rstrip("\n").split("\n\n")
    keyed = {block.partition(":")[0]: block for block in blocks}
    keyed["bodies"] = "\n".join(table) if table else _with_inertia(robot, keyed["bodies"])
    first = robot.motor_names[0] if robot.motor_names else robot.coordinates[0]
    joint = robot.motors[0].turns[0][0] if robot.motors else first
    words = {"first": first, "joint": joint, "motors": _motors(robot)}
    comments = {
        "motors": _MOTORS.format(**words), "efforts": _EFFORTS, "platform": _PLATFORM,
        "limits": _LIMITS.format(**words), "nominal": _NOMINAL, **({"bodies": _INERTIA} if robot.nominal else {}),
    }  # fmt: skip
    if any(isinstance(loop, Coupling) for loop in robot.loops):
        comments["loops"] = _COUPLED
    head = [
        f"# Robot file written by 'dalembert new' from {path.name}. Every key: docs/robot-file.md.",
        "# Assumed, check it before you believe a parameter:",
        *(f"#   {' '.join(line.split())}" for line in assumed),
    ]
    out = ["\n".join([*head, "", keyed.pop("name")])]
    keyed.setdefault("loops", "")
    keyed.setdefault("limits", "")
    for key in ("bodies", "loops", "motors", "efforts", "platform", *keyed):
        if key not in keyed:
            continue
        block = keyed.pop(key)
        above = comments.get(key, _LOOPS if key == "loops" else "")
        if key == "limits" and not block:
            above = above.replace("# Limits", "# FILL IN: limits", 1).replace(":\n#   ", ":\n# limits:\n#   ", 1)
        out.append("\n".join(part for part in (above, block) if part))
    return "\n\n".join(out) + "\n"


def _with_inertia(robot: Robot, block: str) -> str:
    """The bodies' lines with their inertia, which reads better than ten parameters each."""
    head, *lines = block.splitlines()
    for k, body in enumerate(robot.bodies):
        inertia = body_inertia(robot, body)
        if inertia is None:
            continue
        entries = inertia.tensor
        short = entries if any(entries[i] for i in (1, 2, 4)) else (entries[0], entries[3], entries[5])
        said = f"mass: {inertia.mass:.12g}, com: {_list(inertia.com)}, tensor: {_list(short)}"
        lines[k] = f"{lines[k][:-1]}, inertia: {{{said}}}}}"
    return "\n".join([head, *lines])


def _list(values: Sequence[float]) -> str:
    """Numbers to twelve digits: what is lost is less than any file knows."""
    return f"[{', '.join(f'{value + 0.0:.12g}' for value in values)}]"
