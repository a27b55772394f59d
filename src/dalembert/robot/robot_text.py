"""A robot as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.display import aligned

if TYPE_CHECKING:
    from dalembert.robot.description import Coupling, Loop, Robot, Terms

__all__ = ["body_cells", "headline", "holds", "loop_cells", "motor_cells", "robot_lines", "sensor_cells", "terms_text"]

Cells = list[tuple[str, ...]]


def headline(robot: Robot) -> str:
    """Name and counts."""
    counts = [(len(robot.bodies), "bodies", "body"), (len(robot.loops), "loops", "loop")]
    counts.append((len(robot.motors), "motors", "motor"))
    return f"{robot.name}: " + ", ".join(f"{n or 'no'} {one if n == 1 else many}" for n, many, one in counts)


def terms_text(terms: Terms, constant: float = 0.0) -> str:
    """Linear combination as text, ``2 q1 - q2 + 1.5708``."""
    text = ""
    for name, ratio in terms:
        size = "" if abs(ratio) == 1.0 else f"{abs(ratio):.6g} "
        text += f" {'-' if ratio < 0 else '+'} {size}{name}"
    if constant or not text:
        text += f" {'-' if constant < 0 else '+'} {abs(constant):.6g}"
    return text.removeprefix(" + ").strip()


def holds(loop: Loop | Coupling) -> tuple[str, str]:
    """Kind of a loop, and what it holds together."""
    from dalembert.robot.description import Coupling

    if isinstance(loop, Coupling):
        return "coupling", f"{loop.coordinate} = {terms_text(loop.terms, loop.constant)}"
    return str(loop.kind), f"{loop.a.body} to {loop.b.body}"


def body_cells(robot: Robot) -> Cells:
    """Header and rows: body, what it stands on, its joint's type and coordinates."""
    rows: Cells = [("body", "on", "joint", "coordinates")]
    for b in robot.bodies:
        name = f"{b.name} (massless)" if b.massless else b.name
        rows.append((name, b.parent, str(b.joint.type), ", ".join(b.joint.coordinates)))
    return rows


def loop_cells(robot: Robot) -> Cells:
    """Header and rows: loop, kind, what it holds together."""
    return [("loop", "kind", "holds"), *((loop.name, *holds(loop)) for loop in robot.loops)]


def motor_cells(robot: Robot) -> Cells:
    """Header and rows: motor, what it turns with; where something is not measured, what."""
    hidden = {"position": robot.without_encoder, "torque": robot.unmeasured}
    rows: Cells = [("motor", "turns with", "not measured")]
    for m in robot.motors:
        rows.append((m.name, terms_text(m.turns), ", ".join(what for what in hidden if m.name in hidden[what])))
    return rows if any(hidden.values()) else [row[:2] for row in rows]


def sensor_cells(robot: Robot) -> Cells:
    """Header and rows: sensor beside the motors' own, what it reads."""
    return [("sensor", "reads"), *((s.name, terms_text(s.reads)) for s in robot.sensors)]


def robot_lines(robot: Robot) -> list[str]:
    """The lines of ``print(robot)``."""
    lines = [headline(robot), *([robot.source] if robot.source else [])]
    for cells in (body_cells(robot), loop_cells(robot), motor_cells(robot), sensor_cells(robot)):
        if len(cells) > 1:
            lines += ["", *aligned(cells)]
    return lines
