"""``dalembert export``: a fit as files of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.console import AsJson, emit, note, steps
from dalembert.errors import UsageError, choices

__all__ = ["export"]

ENDINGS = {
    "urdf": ".urdf", "mjcf": ".xml", "yaml": ".yaml", "csv": ".csv", "c": "_c", "casadi": ".casadi", "python": ".py",
}  # fmt: skip


def export(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="fit.json, or the folder 'dalembert identify' wrote")],
    to: Annotated[str, typer.Option("--to", help="urdf, mjcf, yaml, csv, c, casadi or python")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="file, or for c a folder (default: the robot's name, here)"
        ),
    ] = None,
    robot: Annotated[
        Path | None,
        typer.Option("--robot", metavar="FILE", help="URDF or MJCF file to update in place of writing a new one"),
    ] = None,
    payload: Annotated[
        str | None, typer.Option("--payload", metavar="NAME", help="export with this payload of the fit's logs")
    ] = None,
    prior: Annotated[
        str,
        typer.Option(
            help="what standard parameters a base fit is completed towards: nominal (the robot file's), primitives "
            "(bars between the joints), uniform (equal balls), or auto: the first each body has"
        ),
    ] = "auto",
    closest: Annotated[
        bool,
        typer.Option(
            "--closest",
            help="where no physical robot has the fit's base values, export the nearest one and say how far",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a fit in another tool's format; the model is the fit's, nothing is estimated again."""
    from dalembert.export import export as write
    from dalembert.export.c_text import prefix_of
    from dalembert.identification.fit_files import read_fit

    if to not in ENDINGS:
        raise UsageError(f"--to {to!r}; {choices(to, ENDINGS)}")
    found = read_fit(fit)
    path = output or Path(f"{prefix_of(found.robot)}{ENDINGS[to]}")
    with steps("export") as progress:
        progress(f"writing {path}")
        written = write(found, path, to=to, robot=robot, payload=payload, prior=prior, closest=closest)
    for text in written.notes:
        note(text)
    files = [str(file) for file in written.files]
    emit(
        as_json,
        {"robot": found.robot, "to": to, "files": files, "notes": written.notes},
        f"written: {', '.join(files)}",
    )
