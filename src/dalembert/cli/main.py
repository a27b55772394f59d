"""Entry point of the ``dalembert`` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dalembert.cli import base, bench, demo, identify, reproduce, robots, show, validate
from dalembert.errors import DalembertError

__all__ = ["app", "run"]

app = typer.Typer(
    name="dalembert",
    help="Dynamic parameters of any robot from logs of its motor positions and torques.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("robots")(robots.robots)
app.command("show")(show.show)
app.command("base")(base.base)
app.command("identify")(identify.identify)
app.command("validate")(validate.validate)
app.command("demo")(demo.demo)
app.command("reproduce")(reproduce.reproduce)
app.command("bench")(bench.bench)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("dalembert"))
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Dynamic parameters of any robot from logs of its motor positions and torques."""


def run() -> None:
    """Run the command; a user's mistake ends in one line and exit code 2."""
    try:
        app()
    except DalembertError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except OSError as error:  # unreadable file, unwritable folder, full disk
        place = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"error: {place}{error.strerror or error}\n")
        sys.exit(2)
