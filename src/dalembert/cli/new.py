"""``dalembert new``: a robot file to begin with, from a file of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.console import AsJson, bold, command, emit
from dalembert.errors import UsageError

__all__ = ["new"]


def new(
    robot: Annotated[Path, typer.Argument(metavar="ROBOT.yaml", help="the robot file to write")],
    source: Annotated[Path, typer.Argument(metavar="FILE", help="the file to start from")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="KIND",
            help="urdf, mjcf or mdh-csv (a table joint, alpha, d, theta, r); default: by its ending",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="write over a robot file that is there")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented robot file from a URDF, an MJCF file or a table of modified Denavit-Hartenberg rows."""
    from dalembert.robot.interchange import write_atomically
    from dalembert.robot.starter import starter

    if robot.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"{robot}: found ending {robot.suffix!r}, expected .yaml")
    if robot.exists() and not force:
        raise UsageError(f"{robot}: is there already; --force writes over it")
    found = starter(source, kind)
    write_atomically(robot, found.text)
    made, step = found.robot, command("check", robot, _log_beside(robot, source) or "LOG.csv")
    emit(
        as_json,
        {
            "robot": made.name, "file": str(robot), "bodies": len(made.bodies), "motors": list(made.motor_names),
            "assumed": list(found.assumed), "missing": list(found.missing), "next": step,
        },
        bold(f"{made.name}: {len(made.bodies)} bodies, motors {', '.join(made.motor_names)}"),
        *(f"assumed: {line}" for line in found.assumed),
        *(f"to fill in: {line}" for line in found.missing),
        f"written: {robot}\nnext: {step}",
    )  # fmt: skip


def _log_beside(robot: Path, source: Path) -> Path | None:
    """A log in the robot file's folder, to name in the hint."""
    from dalembert.logs.table import FORMATS

    logs = [p for p in sorted(robot.parent.iterdir()) if p.is_file() and p.name.lower().endswith(tuple(FORMATS))]
    return next((p for p in logs if p.stat().st_size and not (source.exists() and p.samefile(source))), None)
