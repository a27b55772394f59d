"""What updating a file of another tool in place takes: that it is the same robot, and its joints' own efforts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.errors import ExportError, choices
from dalembert.robot.description import Coordinate, Effort, EffortKind, Robot
from dalembert.robot.geometry import Placement

__all__ = ["JOINT_KINDS", "check_same", "joint_efforts"]

JOINT_KINDS = (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB)
_SAME = 1e-9  # [m, rad] between placements


def check_same(file: Path, found: Robot, robot: Robot) -> None:
    """ExportError unless the robot in the file has the same bodies on the same joints at the same places."""
    theirs = {body.name: body for body in found.bodies}
    for body in robot.bodies:
        other = theirs.pop(body.name, None)
        if other is None:
            raise _another(file, robot, f"no body {body.name!r}; {choices(body.name, found.body_names)}")
        if (other.parent, other.joint.name, other.joint.type) != (body.parent, body.joint.name, body.joint.type):
            raise _another(
                file, robot, f"body {body.name!r} is on {other.parent!r} by the {other.joint.type} joint "
                f"{other.joint.name!r}, expected on {body.parent!r} by the {body.joint.type} joint {body.joint.name!r}",
            )  # fmt: skip
        if not (_near(other.placement, body.placement) and np.allclose(other.joint.axis, body.joint.axis, atol=_SAME)):
            raise _another(file, robot, f"joint {body.joint.name!r} is placed otherwise")
    if theirs:
        raise _another(file, robot, f"body {next(iter(theirs))!r} is not in the fit")


def _another(file: Path, robot: Robot, reason: str) -> ExportError:
    return ExportError(f"{file}: not the robot {robot.name!r} of the fit: {reason}")


def _near(a: Placement, b: Placement) -> bool:
    return np.allclose(a.position, b.position, rtol=0, atol=_SAME) and np.allclose(a.R, b.R, rtol=0, atol=_SAME)


def joint_efforts(robot: Robot) -> tuple[dict[str, dict[EffortKind, float]], list[Effort]]:
    """Rotor inertia, viscous and Coulomb friction on each single coordinate, those of motors geared to it included;
    and the other efforts.
    """
    own: dict[str, dict[EffortKind, float]] = {}
    others = []
    for effort in robot.efforts:
        on = effort.on
        if effort.kind not in JOINT_KINDS or not isinstance(on, Coordinate) or len(on.terms) != 1:
            others.append(effort)
            continue
        ((coordinate, ratio),) = on.terms
        # the same power: v (ratio xd)^2 = (ratio^2 v) xd^2, and f |ratio xd|
        factor = abs(ratio) if effort.kind is EffortKind.COULOMB else ratio**2
        values = own.setdefault(coordinate, dict.fromkeys(JOINT_KINDS, 0.0))
        values[effort.kind] += factor * robot.nominal.get(effort.parameters[0], 0.0)
    return own, others
