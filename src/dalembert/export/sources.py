"""Functions to call from elsewhere: C sources, a NumPy module, a CasADi function file."""

from __future__ import annotations

from pathlib import Path

import casadi as ca

from dalembert.errors import ExportError
from dalembert.export.c_text import MADE_BY, c_files, prefix_of
from dalembert.export.contract import Options, Written, write_files
from dalembert.export.programs import Functions
from dalembert.export.python_text import python_text
from dalembert.export.source import Identified
from dalembert.robot.interchange import whole_files
from dalembert.symbolic import SX

__all__ = ["write_c", "write_casadi", "write_python"]


def write_c(source: Identified, path: Path, options: Options) -> Written:
    """C99 sources with header, test and builds, in a folder, or beside ``NAME.c`` and named after it."""
    own = path.suffix == ".c"
    folder, prefix = (path.parent, prefix_of(path.stem)) if own else (path, prefix_of(source.robot.name))
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder}: is a file, expected a folder for the C sources")
    files = {folder / name: text for name, text in c_files(Functions(source), prefix).items()}
    for name in ("Makefile", "CMakeLists.txt"):
        there = folder / name
        if there.exists() and MADE_BY not in there.read_text(encoding="utf-8", errors="replace"):
            raise ExportError(f"{there}: is another project's, expected a folder of its own for the C sources")
    return Written(write_files(files), source.notes)


def write_python(source: Identified, path: Path, options: Options) -> Written:
    """A module that needs NumPy alone."""
    return Written(write_files({path: python_text(Functions(source))}), source.notes)


def write_casadi(source: Identified, path: Path, options: Options) -> Written:
    """One ``casadi.Function`` with everything as an output; ``Function.factory`` takes from it what is needed.

    Inputs are named as in the C header, outputs after the functions: ``f.factory("fd", ["y", "yd", "tau"],
    ["forward_dynamics"])``. Only ``rates`` has two, ``rates_yd`` and ``rates_ydd``.
    """
    inputs: dict[str, SX] = {}
    outputs: dict[str, SX] = {}
    for name, (given, found) in Functions(source).expressions().items():
        if name == "newton":
            continue
        inputs |= given
        outputs |= {name if len(found) == 1 else f"{name}_{key}": value for key, value in found.items()}
    function = ca.Function(
        prefix_of(source.robot.name), list(inputs.values()), ca.cse(list(outputs.values())), list(inputs), list(outputs)
    )
    with whole_files(path) as (draft,):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            function.save(str(draft))
        except RuntimeError as error:
            raise OSError(str(error).splitlines()[-1]) from None
    return Written((path,), source.notes)
