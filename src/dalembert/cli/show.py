"""``dalembert show``: a robot in words, and as a stick figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dalembert.cli.console import AsJson, RobotName, Settings, bold, emit, load, model_of, table
from dalembert.model import Model
from dalembert.motion import singularity_margins
from dalembert.report.figure import draw
from dalembert.robot.quantity import turning
from dalembert.robot.robot_text import body_cells, loop_cells, motor_cells, sensor_cells

__all__ = ["show"]


def show(
    robot: RobotName,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="picture of the robot at home: .png, .svg, .pdf or .html"),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Describe a robot: bodies, joints, loops, motors, efforts, mobility; draw it with -o."""
    described = load(robot, settings)
    model = model_of(described, quiet=as_json)
    if output is not None:
        draw(model, output)
    data = _data(model)
    if output is not None:
        data["picture"] = str(output)
    emit(as_json, data, *_tables(model, data), *([f"written: {output}"] if output is not None else []))


def _data(model: Model) -> dict[str, Any]:
    robot, margins = model.robot, singularity_margins(model, model.home)
    return {
        "robot": robot.name,
        "source": robot.source,
        "mobility": model.r,
        "motors": [{"name": m.name, "turns": dict(m.turns)} for m in robot.motors],
        "positions": {name: dict(terms) for name, terms in robot.readings.items()},
        "torques": [name for name in robot.motor_names if name not in robot.unmeasured],
        "over_actuation": model.n - model.r,
        "independent": list(model.independent),
        "projection": model.default_projection,
        "bodies": [
            {
                "name": b.name,
                "parent": b.parent,
                "joint": b.joint.name,
                "type": str(b.joint.type),
                "massless": b.massless,
            }
            for b in robot.bodies
        ],
        "loops": [dict(zip(("name", "kind", "holds"), cells, strict=True)) for cells in loop_cells(robot)[1:]],
        "efforts": [{"name": e.name, "kind": str(e.kind), "parameters": list(e.parameters)} for e in robot.efforts],
        "parameters": len(model.parameters),
        "nominal": len(robot.nominal),
        "home": dict(zip(model.coordinates, model.home.tolist(), strict=True)),
        "margin_closure": float(margins.closure[0]),
        "margin_motors": float(margins.motors[0]),
        "condition_motors": float(margins.condition[0]),
        "notes": list(model.notes),
    }


def _tables(model: Model, data: dict[str, Any]) -> list[Any]:
    robot = model.robot
    degrees = turning(robot.bodies)
    kind = "over-actuated" if model.n > model.r else "under-actuated" if model.n < model.r else "fully actuated"
    parts = (
        ("bodies", body_cells(robot)), ("loops", loop_cells(robot)), ("motors", motor_cells(robot)),
        ("sensors", sensor_cells(robot)),
    )  # fmt: skip
    out: list[Any] = [
        bold(
            f"{robot.name}: {len(robot.bodies)} bodies, {model.n_y} coordinates, mobility {model.r}, "
            f"{model.n} motors ({kind})"
        ),
        robot.source,
        f"independent velocities: {', '.join(model.independent)}; projection: {model.default_projection}",
        *(table(title, cells[0], cells[1:]) for title, cells in parts if len(cells) > 1),
    ]
    if robot.efforts:
        rows = [[e.name, str(e.kind), ", ".join(e.parameters)] for e in robot.efforts]
        out.append(table("efforts", ["on", "kind", "parameters"], rows))
    home = [
        f"{name} = {np.degrees(value):z.2f} deg" if degrees[name] else f"{name} = {value:z.4f} m"
        for name, value in data["home"].items()
    ]
    out.append("home: " + ", ".join(home))
    condition = data["condition_motors"]
    if model.n >= model.r:
        held = f"{condition:.3g}" if condition < 1e12 else "infinite: there is a motion they do not hold"
        out.append(f"condition of the motors' map at home: {held}")
    return [item for item in out if item]
