"""What commands share: results on standard output, notes and progress on standard error, one-line errors."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dalembert.errors import UsageError
from dalembert.model import Model, build_model
from dalembert.robot import Robot, load_robot

__all__ = [
    "AsJson",
    "RobotName",
    "Settings",
    "bold",
    "command",
    "emit",
    "load",
    "model_of",
    "note",
    "plain",
    "steps",
    "table",
]

# No markup: what is printed has units and paths in brackets, "velocity of m1 [rad/s]", which are no styles.
_err = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
_out = Console(soft_wrap=True, highlight=False, markup=False)
_ENDLESS = 10_000  # characters: no table is as wide

RobotName = Annotated[str, typer.Argument(help="catalog name (see 'dalembert robots') or a .yaml, .urdf, .xml file")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object on standard output")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="override a constant of the robot file, e.g. r_p='0.12 m'"),
]


def bold(text: str) -> Text:
    """What catches the eye first."""
    return Text(text, style="bold")


def note(text: str) -> None:
    """A remark for the person, on standard error."""
    _err.print(Text(text, style="dim"))


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """Steps of longer work on standard error: one line that changes on a terminal, a line each after a second
    elsewhere.
    """
    if _err.is_terminal:
        with _err.status(what) as status:
            yield lambda text: status.update(f"{what}: {text}")
        return
    start = time.monotonic()
    yield lambda text: note(f"{what}: {text}") if time.monotonic() - start > 1.0 else None


def command(*words: object) -> str:
    """A ``dalembert`` command as it is typed, to print as the next step."""
    return shlex.join(["dalembert", *map(str, words)])


def load(name: str, settings: Sequence[str] | None = None) -> Robot:
    """The robot of a catalog name or file, with overridden constants."""
    constants = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f"--set {setting!r}: expected NAME=VALUE, for example --set r_p='0.12 m'")
        constants[key.strip()] = value.strip()
    return load_robot(name, **constants)


def model_of(robot: Robot, *, quiet: bool = False) -> Model:
    """The model of a robot; what was decided about its loops is noted."""
    model = build_model(robot)
    if not quiet:
        for text in model.notes:
            note(f"{robot.name}: {text}")
    return model


def plain(value: Any) -> Any:
    """A value as JSON can hold it: arrays as lists, numbers that are not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def emit(as_json: bool, data: Mapping[str, Any], *shown: RenderableType) -> None:
    """The result: one JSON object, or tables and text for a person."""
    if as_json:
        sys.stdout.write(json.dumps(plain(data), ensure_ascii=False) + "\n")
        return
    # a file or another program has no width that a table would have to fit
    if not _out.is_terminal and "COLUMNS" not in os.environ:
        _out.width = _ENDLESS
    for item in shown:
        _out.print(item)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table with one header line; columns of numbers to the right, nothing where a cell is None."""
    out = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    for k, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[k], int | float | None) for row in rows)
        out.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        out.add_row(*["" if cell is None else f"{cell:.5g}" if isinstance(cell, float) else str(cell) for cell in row])
    return out
