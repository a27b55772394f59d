"""What every file format is read as: named columns of numbers, delivered in blocks of rows."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dalembert.errors import LogError, choices
from dalembert.logs.log import Array

__all__ = ["FORMATS", "Table", "file_hash", "open_table"]


class Table(Protocol):
    """Columns of a file. Missing values are NaN; anything that is no number is a LogError with row and
    column.

    ``rows`` is None when only reading tells. ``ordered`` maps a name of the default columns (``q``, ``tau``)
    to columns that hold all motors in order, for files of matrices. ``lenient`` is true where further joints
    are no surprise (a robot's joint states list its gripper too).
    """

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def ordered(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def lenient(self) -> bool: ...
    @property
    def metadata(self) -> Mapping[str, str]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    def batches(self, names: Sequence[str], size: int) -> Iterator[Array]:
        """All rows in order, arrays (m, len(names)) with m <= size."""
        ...


# Suffix: module and class, imported when a file of that format is opened (some need an optional package).
FORMATS: Mapping[str, tuple[str, str]] = {
    ".csv": ("csv_reader", "CsvTable"),
    ".tsv": ("csv_reader", "CsvTable"),
    ".txt": ("csv_reader", "CsvTable"),
    ".csv.gz": ("csv_reader", "CsvTable"),
    ".parquet": ("parquet_reader", "ParquetTable"),
    ".mat": ("mat_reader", "MatTable"),
    ".mcap": ("mcap_reader", "McapTable"),
    ".bag": ("mcap_reader", "BagTable"),
}


def open_table(path: Path, topic: str | None = None) -> Table:
    """The table in a file, by its suffix; a folder is a ROS 2 bag. ``topic`` picks one of a bag."""
    if path.is_dir():
        suffix = ".bag"
    else:
        if not path.is_file():
            raise LogError(f"{path}: no such file")
        if path.stat().st_size == 0:
            raise LogError(f"{path}: empty file, expected a header and rows of numbers")
        suffix = next((s for s in FORMATS if path.name.lower().endswith(s)), "")
        if not suffix:
            raise LogError(f"{path}: unknown log format {path.suffix!r}; {choices(path.suffix, FORMATS)}")
    module, name = FORMATS[suffix]
    reader: Callable[..., Table] = getattr(importlib.import_module(f"dalembert.logs.{module}"), name)
    return reader(path, topic) if suffix in (".mcap", ".bag") else reader(path)


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the files in a folder in the order of their names."""
    digest = hashlib.sha256()
    for part in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        with part.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
