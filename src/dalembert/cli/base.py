"""``dalembert base``: base parameters and how the standard parameters regroup."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dalembert.cli.console import AsJson, RobotName, Settings, bold, emit, load, model_of, note, table
from dalembert.identification.base import BaseSet, base_parameters
from dalembert.model import Model
from dalembert.motion import unobserved
from dalembert.robot import select_efforts, with_payload

__all__ = ["base"]


class Friction(StrEnum):
    """Which joints have friction."""

    OWN = "own"
    ACTUATED = "actuated"
    ALL = "all"
    NONE = "none"


def base(
    robot: RobotName,
    friction: Annotated[
        Friction,
        typer.Option(
            help="the robot's own friction terms, or viscous and Coulomb on the motors, on all joints, on none"
        ),
    ] = Friction.OWN,
    offsets: Annotated[
        bool | None,
        typer.Option("--offsets/--no-offsets", help="an offset per motor, or none (default: the robot's own)"),
    ] = None,
    rotor: Annotated[
        bool | None,
        typer.Option("--rotor/--no-rotor", help="a rotor inertia per motor, or none (default: the robot's own)"),
    ] = None,
    symmetric: Annotated[bool, typer.Option("--symmetric", help="tie the bodies of each symmetric group")] = False,
    projection: Annotated[
        str | None,
        typer.Option(help="platform, actuators, actuators:NAME,NAME,... or whitened (default: the robot's)"),
    ] = None,
    payload: Annotated[
        bool, typer.Option("--payload", help="add a payload to the platform, in half of the logs")
    ] = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Count the base parameters of a robot and print how its standard parameters regroup into them."""
    described = select_efforts(load(robot, settings), friction=friction.value, offsets=offsets, rotor=rotor)
    if payload:
        described = with_payload(described, "payload")
    model = model_of(described, quiet=as_json)
    payloads, carried = (("payload",), ("", "payload")) if payload else ((), ("",))
    if (hidden := unobserved(model)) and not as_json:
        note(hidden)
    found = base_parameters(model, projection, symmetric=symmetric, payloads=payloads, carried=carried)
    if found.gap < 3 and not as_json:
        note(f"the rank is uncertain: only {found.gap:.1f} decades between kept and dropped columns")
    emit(as_json, _data(model, found, projection), *_tables(model, found))


def _data(model: Model, found: BaseSet, projection: str | None) -> dict[str, Any]:
    return {
        "robot": model.robot.name,
        "standard": len(model.parameters),
        "columns": len(found.names),
        "base": found.n_base,
        "projection": projection or model.default_projection,
        "mobility": model.r,
        "motors": model.n,
        "gap": found.gap,
        "condition": found.condition,
        "relations": found.relations(),
        "unidentifiable": [found.names[k] for k in found.unidentifiable],
        "notes": [*model.notes, *filter(None, [unobserved(model)])],
    }


def _tables(model: Model, found: BaseSet) -> tuple[Any, ...]:
    relations = [[name, text if text != name else "(alone)"] for name, text in found.relations().items()]
    tied = f", tied to {len(found.names)}" if len(found.names) != len(model.parameters) else ""
    count = f"{model.robot.name}: {found.n_base} base parameters of {len(model.parameters)} standard ones{tied}"
    quality = f"rank gap {found.gap:.1f} decades, condition {found.condition:.3g} on random admissible states"
    silent = ", ".join(found.names[k] for k in found.unidentifiable) or "none"
    return (
        bold(count),
        quality,
        table("", ["base parameter", "regrouping"], relations),
        f"without any effect on the torques: {silent}",
    )
