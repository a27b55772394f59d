"""Robot files of other tools: URDF and MJCF, updated in place where the robot came from one, and YAML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dalembert.errors import DalembertError, ExportError
from dalembert.export.contract import Options, Written, write_files
from dalembert.export.friction import Law
from dalembert.export.source import Identified
from dalembert.export.standard import complete
from dalembert.identification.friction import Coulomb, Offset, Viscous
from dalembert.parameters import inertial_names
from dalembert.robot import Effort, EffortKind, JointType, Robot
from dalembert.robot.urdf_side import side_path
from dalembert.robot.urdf_writer import urdf_texts
from dalembert.robot.yaml_writer import yaml_text

__all__ = ["standard_robot", "write_mjcf", "write_urdf", "write_yaml"]

T = TypeVar("T")

_TERMS: Mapping[type, EffortKind] = {
    Viscous: EffortKind.VISCOUS,
    Coulomb: EffortKind.COULOMB,
    Offset: EffortKind.OFFSET,
}


def standard_robot(source: Identified, prior: str = "auto", closest: bool = False) -> tuple[Robot, tuple[str, ...]]:
    """The identified robot with physically consistent nominal values, and what was assumed or left out."""
    done = complete(source, prior, closest)
    values = dict(zip(source.model.parameters, done.pi.tolist(), strict=True))
    efforts, notes = list(source.robot.efforts), [*source.notes, *done.notes]
    for law in source.laws:
        own, lost = _efforts(law, closest)
        efforts += [effort for effort, _ in own]
        values |= {effort.parameters[0]: value for effort, value in own}
        notes += lost
    return replace(source.robot, efforts=tuple(efforts), nominal=values), tuple(notes)


def _efforts(law: Law, closest: bool) -> tuple[list[tuple[Effort, float]], list[str]]:
    """The terms of a friction law a robot file can hold with their coefficients, and a line about the others."""
    own, lost, at = [], [], 0
    for term in law.model.terms:
        count = len(term.symbols)
        values = law.coefficients[at : at + count]
        at += count
        kind = _TERMS.get(type(term))
        if kind is None:
            lost.append(type(term).__name__)
            continue
        value = values[0]
        if kind is not EffortKind.OFFSET and value < 0.0:
            name = law.parameters[at - count]
            if not closest:
                raise ExportError(
                    f"{name} = {value:.4g}: friction that drives is no robot's; identify again with --method bounded "
                    "or sdp, or export the nearest consistent robot with --closest"
                )
            lost.append(f"{name} = {value:.4g} as zero")
            value = 0.0
        own.append((Effort(law.name, kind, law.on), value))
    said = f"friction on {law.name} left out: {', '.join(lost)}; C, CasADi and Python exports have all of it"
    return own, [said] if lost else []


# --- formats ---------------------------------------------------------------------------------------------------------


def write_yaml(source: Identified, path: Path, options: Options) -> Written:
    """A robot file of this package."""
    robot, notes = standard_robot(source, options.prior, options.closest)
    return Written(write_files({path: yaml_text(robot)}), notes)


def write_urdf(source: Identified, path: Path, options: Options) -> Written:
    """URDF, and ``NAME.dalembert.yaml`` beside it for what URDF cannot say."""
    from dalembert.robot.urdf_update import updated_urdf

    robot, notes = standard_robot(source, options.prior, options.closest)
    updated, said = _in_place(source, robot, options, (".urdf",), updated_urdf)
    text, side = updated or urdf_texts(robot)
    beside = side_path(path)
    files: dict[Path, str | bytes] = {path: text}
    if side is not None:
        files[beside] = side
        said += (f"{beside.name}: what URDF has no place for; 'dalembert' reads it with {path.name}",)
    elif beside.exists():
        raise ExportError(f"{beside}: belongs to another robot file of that name; expected another file name")
    return Written(write_files(files), (*notes, *said))


def write_mjcf(source: Identified, path: Path, options: Options) -> Written:
    """MJCF, ready to simulate, loops kept."""
    from dalembert.robot.mjcf_update import updated_mjcf
    from dalembert.robot.mjcf_writer import mjcf_text, sayable

    robot, notes = standard_robot(source, options.prior, options.closest)
    robot, left = _without(robot, sayable)
    updated, said = _in_place(source, robot, options, (".xml", ".mjcf"), updated_mjcf)
    text = mjcf_text(robot) if updated is None else updated
    return Written(write_files({path: text}), (*notes, *left, *said))


def _without(robot: Robot, sayable: Callable[[Robot, Effort], bool]) -> tuple[Robot, tuple[str, ...]]:
    """The robot less efforts MJCF cannot hold, and a line that names them."""
    acting = [e for e in robot.efforts if any(robot.nominal.get(n, 0.0) for n in e.parameters)]
    lost = [effort for effort in acting if not sayable(robot, effort)]
    if not lost:
        return robot, ()
    values = ", ".join(f"{n} = {robot.nominal.get(n, 0.0):.4g}" for e in lost for n in e.parameters)
    kept = [effort for effort in robot.efforts if effort not in lost]
    return robot.with_efforts(kept), (f"left out, MJCF has no place for them: {values}",)


def _in_place(
    source: Identified, robot: Robot, options: Options, endings: tuple[str, ...], update: Callable[[Robot, Path], T]
) -> tuple[T | None, tuple[str, ...]]:
    """The updated file the robot came from, or None where there is none at hand, and a line about it."""
    template = options.template
    if template is not None:
        if template.suffix.lower() not in endings:
            raise ExportError(
                f"{template}: found ending {template.suffix!r}, expected {' or '.join(endings)} to update in place"
            )
        return update(_merged(robot, source.payload), template), (f"{template}: updated in place",)
    origin = Path(source.described.source)
    if origin.suffix.lower() not in endings:
        return None, ()
    if not origin.is_file():
        return None, (f"{origin} is not here, written anew: --robot FILE updates it in place",)
    try:
        return update(_merged(robot, source.payload), origin), (f"{origin}: updated in place",)
    except DalembertError as error:
        return None, (f"written anew, {error}",)


def _merged(robot: Robot, payload: str) -> Robot:
    """The robot with its payload's inertia on the body that carries it: the file has no body for it."""
    body = next((b for b in robot.bodies if b.name == payload), None)
    if not payload or body is None or body.joint.type is not JointType.FIXED:
        return robot
    nominal = {name: value for name, value in robot.nominal.items() if name not in inertial_names(payload)}
    for own, extra in zip(inertial_names(body.parent), inertial_names(payload), strict=True):
        nominal[own] = nominal.get(own, 0.0) + robot.nominal[extra]
    return replace(robot, bodies=tuple(b for b in robot.bodies if b is not body), nominal=nominal)
