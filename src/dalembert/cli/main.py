"""Entry point of the ``dalembert`` command. Only the module of the command called is imported."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dalembert.errors import DalembertError, UsageError, choices

__all__ = ["COMMANDS", "app", "run"]

# What `dalembert --help` lists, in the order of use: name of the module in cli/ and of the function in it.
COMMANDS = {
    "robots": "list the catalog",
    "show": "bodies, joints, loops, motors and efforts of a robot, and a picture",
    "new": "a robot file of your own, from URDF, MJCF or a table of MDH rows",
    "check": "what is wrong with a log: columns, units, signs, delays, and how to mend it",
    "base": "count the base parameters and print how the standard ones regroup",
    "excite": "a motion that makes the parameters visible",
    "simulate": "an experiment without a robot, written as a log",
    "identify": "parameters from logs",
    "validate": "how a fit predicts logs it has never seen",
    "control": "what an identified model is worth to a controller, in simulation",
    "export": "a fit for other tools: URDF, MJCF, YAML, csv, C, CasADi, Python",
    "reproduce": "published studies, in simulation",
    "demo": "the story of one robot, in under a minute",
    "bench": "speeds beside a peer's, measured in the same run",
}
_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}
# typer keeps click's errors to itself: this is the class of every wrong use of an option or argument
_WrongUse: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


class _Commands(TyperGroup):
    """The commands by name."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            raise UsageError(f"no command {cmd_name!r}; {choices(cmd_name, COMMANDS)}")
        one = typer.Typer(**_SETTINGS)
        one.command(cmd_name)(getattr(import_module(f"dalembert.cli.{cmd_name}"), cmd_name))
        return typer.main.get_command(one)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    name="dalembert",
    cls=_Commands,
    help="Dynamic parameters of any robot from logs of its motor positions and torques.",
    no_args_is_help=True,
    **_SETTINGS,
)


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
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except DalembertError as error:
        _fail(str(error))
    except _WrongUse as error:
        _fail(_usage(error))
    except OSError as error:  # unreadable file, unwritable folder, full disk
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    if code == 130:
        sys.stderr.write("interrupted\n")
    sys.exit(code if isinstance(code, int) else 0)


def _warn(message: Warning | str, *_: Any) -> None:
    """What the library warns of is a note here, without the line of code that warned."""
    from dalembert.cli.console import note

    note(str(message))


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    where = f"{context.command_path}: " if context else ""
    see = f"; see '{context.command_path} --help'" if context else ""
    text = error.format_message().replace("Value error, ", "").rstrip(".")
    if hasattr(error.__cause__, "errors"):  # typer validates with pydantic, which alone knows what was found
        given = error.__cause__.errors()[0]["input"]
        text = text.replace("Input should be", f"found {given!r}, expected").partition(", unable to parse")[0]
    return f"{where}{text}{see}"


def _fail(message: str) -> None:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(2)
