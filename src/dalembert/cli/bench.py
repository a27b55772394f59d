"""``dalembert bench``: speed against a peer measured in the same run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import dalembert
from dalembert.cli.console import AsJson, emit, note, table
from dalembert.errors import UsageError, choices

__all__ = ["bench"]


def _folder() -> Path:
    folder = Path(dalembert.__file__).resolve().parents[2] / "benchmarks"
    if not folder.is_dir():
        raise UsageError("bench: the benchmarks come with the source checkout; run it from a clone of the repository")
    return folder


def _load(path: Path) -> Any:
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _measured(name: str, path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Title and rows of a benchmark; an error that says how to get what it lacks."""
    try:
        module = _load(path)
        return module.TITLE, module.run()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "dalembert":
            raise
        raise UsageError(
            f"bench {name}: {package!r} is not installed, expected the peers of the extra 'bench': "
            f"uv run --extra bench dalembert bench {name}"
        ) from None


def bench(
    only: Annotated[list[str] | None, typer.Argument(help="benchmarks to run (default: all)")] = None,
    as_json: AsJson = False,
) -> None:
    """Print speeds relative to a peer measured in the same run on this machine."""
    known = {path.stem.removeprefix("bench_"): path for path in sorted(_folder().glob("bench_*.py"))}
    for name in only or ():
        if name not in known:
            raise UsageError(f"bench: no benchmark {name!r}; {choices(name, known)}")
    data, tables, lacking = {}, [], []
    for name in only or known:
        note(f"bench {name} ...")
        try:
            title, rows = _measured(name, known[name])
        except UsageError as error:
            lacking.append(str(error))
            continue
        data[name] = rows
        columns = list(rows[0]) if rows else []
        tables.append(table(f"{name}: {title}", columns, [list(row.values()) for row in rows]))
    if tables:
        emit(as_json, data, *tables)
    if lacking and only:
        raise UsageError("; ".join(lacking))
    for text in lacking:
        note(f"left out: {text}")
