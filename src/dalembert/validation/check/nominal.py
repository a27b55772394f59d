"""Measured torque beside what the robot file says: the scale of its masses, the direction of its gravity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError
from dalembert.identification.linear import solve_linear
from dalembert.model import build_model
from dalembert.parameters import inertial_names
from dalembert.robot.geometry import Vector
from dalembert.validation.check.evidence import Evidence, likeness
from dalembert.validation.check.finding import Change, Finding, Level
from dalembert.validation.check.reading import ALIKE, SURE, Reading

__all__ = ["against_nominal", "gravity_direction"]

Array = NDArray[np.float64]

GROSS = 3.0  # a file's masses, gears and payload may be off by this much, a unit or a gear ratio is more
SEEN = 0.1  # share of the torque that must be the rigid body's alone for its scale to be believed
UNEXPLAINED = 0.2  # relative error of some group above which the direction of gravity is doubted


def against_nominal(evidence: Evidence, change: Change) -> list[Finding]:
    """How large the torque is beside the nominal rigid body's, when the robot file gives all its inertias."""
    robot = evidence.model.robot
    names = [n for body in robot.bodies if not body.massless for n in inertial_names(body.name)]
    if not names or any(name not in robot.nominal for name in names):
        return []
    try:
        rows = evidence.rows(change, efforts=True)
        rigid = evidence.torque_of(change, robot.nominal)
    except ClosureError:
        return []
    tau = evidence.samples.torque()[evidence.usable] @ change.C.T
    scales = []
    for (W, L), body in zip(rows, rigid, strict=True):
        y = np.einsum("nj,nj->n", L, tau)
        # what is left of the rigid body's torque beside all that rotors, friction and offsets may explain
        others = solve_linear(np.column_stack([W, np.ones(len(y))]), body)
        alone = body - others.left @ (others.left.T @ body)
        size = float(alone @ alone)
        scale = float(alone @ y) / size if size > 0.0 else 0.0
        if abs(scale) * np.sqrt(size) > SEEN * float(np.linalg.norm(y)):
            scales.append(scale)
    if not scales:
        return []
    size = float(np.median(scales))
    if 1.0 / GROSS < size < GROSS:
        return []
    if size < 0.0:
        text = "the torque has the sign opposite to what the robot file's masses need"
        return [Finding(Level.SUSPECT, "nominal", text, "gravity in the robot file, signs of torques and positions")]
    text = f"the torque is {size:.3g} times what the robot file's masses need"
    return [Finding(Level.SUSPECT, "nominal", text, _guess(size))]


def _guess(size: float) -> str:
    if 300.0 < size < 3000.0:
        return "in mNm? unit: mNm in the channels file"
    if size < 1.0:
        return (
            "torque or current of the motor before its gear? give ratio: (and constant:) in the channels file, to both"
        )
    return "look at unit, torque constants and gear ratios, or at the masses of the robot file"


def gravity_direction(evidence: Evidence, reading: Reading) -> list[Finding]:
    """Another direction of gravity that explains the torque, where the robot file's does not or only with another zero
    of a joint: the base may stand on a wall or hang.
    """
    moved = [finding for finding in reading.findings if finding.check == "zero"]
    if reading.after is None or not (moved or float(reading.after.max()) > UNEXPLAINED):
        return []
    none = replace(reading.change, b=np.zeros_like(reading.change.b))
    aim = likeness(reading.after) + (ALIKE if moved else -SURE)
    found, direction = min((likeness(other.errors(none)), g) for g, other in _hung(evidence))
    if found > aim:
        return []
    words = f"gravity [{', '.join(f'{v:g}' for v in direction)}]"
    mend = "gravity: in the robot file; is the base on a wall or a ceiling?"
    if moved:
        text = f"{words} would explain the log as well as that {moved[0].text.partition(':')[0]}"
        return [Finding(Level.SUSPECT, "gravity", text, mend)]
    text = f"{words} explains the torque far better than the robot file's"
    return [Finding(Level.FAULT, "gravity", text, mend)]


def _hung(evidence: Evidence) -> Iterator[tuple[Vector, Evidence]]:
    """The same evidence with gravity along every other axis of the base."""
    robot = evidence.model.robot
    size = float(np.linalg.norm(robot.gravity))
    for axis in range(3) if size else ():
        for sign in (1.0, -1.0):
            x, y, z = (sign * size if k == axis else 0.0 for k in range(3))
            if np.allclose((x, y, z), robot.gravity):
                continue
            model = build_model(replace(robot, gravity=(x, y, z)), backend="numpy")
            yield (x, y, z), Evidence(model, evidence.samples, evidence.measured)
