"""Logs as text: comma, semicolon or tab separated, one header line, decimal point or comma."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from dalembert.errors import LogError
from dalembert.logs.log import Array

__all__ = ["CsvTable"]

_DELIMITERS = (",", ";", "\t", "|")
_BLOCK_BYTES = 4 << 20
_SKIPPED_AT_MOST = 1000  # comment lines before the header; more than this is no header


class CsvTable:
    """A text file. Lines that start with ``#`` before the header are skipped; ``# key: value`` is kept as
    metadata.
    """

    rows: int | None = None
    ordered: Mapping[str, tuple[str, ...]] = {}
    lenient = False
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped, header, first = self._head()
        self.delimiter = max(_DELIMITERS, key=header.count)
        self.decimal = "," if self.delimiter != "," and re.search(r"\d,\d", first) else "."
        self.columns = tuple(name.strip() for name in next(csv.reader([header], delimiter=self.delimiter)))
        self._check_header()

    def _head(self) -> tuple[int, str, str]:
        """Number of lines before the header, the header, the first line of data."""
        self.metadata: dict[str, str] = {}
        lines: list[str] = []
        skipped = 0
        try:
            with pa.input_stream(str(self.path)) as stream:
                text = stream.read(_BLOCK_BYTES).decode("utf-8-sig", errors="ignore")
        except (OSError, pa.ArrowException) as error:
            raise LogError(f"{self.path}: cannot be read: {_line(error)}") from None
        if "\x00" in text[:1000]:
            raise LogError(f"{self.path}: not text (it holds null bytes), expected a text file in UTF-8")
        for line in text.splitlines():
            if not lines and (line.startswith("#") or not line.strip()) and skipped < _SKIPPED_AT_MOST:
                skipped += 1
                key, colon, value = line.lstrip("# ").partition(":")
                if colon:
                    self.metadata[key.strip()] = value.strip()
                continue
            lines.append(line)
            if len(lines) == 2:
                break
        if not lines:
            raise LogError(f"{self.path}: no header, expected a line of column names")
        return skipped, lines[0], lines[1] if len(lines) > 1 else ""

    def _check_header(self) -> None:
        numeric = [name for name in self.columns if _is_number(name.replace(",", "."))]
        if numeric:
            raise LogError(f"{self.path}: first line holds numbers ({numeric[0]}), expected column names")
        repeated = sorted({name for name in self.columns if self.columns.count(name) > 1})
        if repeated:
            raise LogError(f"{self.path}: column {repeated[0]!r} appears twice in the header; names must differ")

    def batches(self, names: Sequence[str], size: int) -> Iterator[Array]:
        read = arrow_csv.ReadOptions(
            column_names=list(self.columns),
            skip_rows=self.skipped + 1,
            block_size=_BLOCK_BYTES,
            use_threads=False,
        )
        convert = arrow_csv.ConvertOptions(
            include_columns=list(dict.fromkeys(names)),
            column_types={name: pa.float64() for name in names},
            decimal_point=self.decimal,
        )
        try:
            with pa.input_stream(str(self.path)) as stream:
                parse = arrow_csv.ParseOptions(delimiter=self.delimiter)
                for batch in arrow_csv.open_csv(stream, read, parse, convert):
                    for first in range(0, batch.num_rows, size):
                        part = batch.slice(first, size)
                        yield np.column_stack([part[name].to_numpy(zero_copy_only=False) for name in names])
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            raise LogError(f"{self.path}: {self._explain(str(error))}") from None
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise LogError(f"{self.path}: {_line(error)}") from None

    def _explain(self, text: str) -> str:
        """Arrow's message in terms of lines of the file and names of columns."""
        row = re.search(r"Row #(\d+)", text)
        where = f"line {row.group(1)}" if row else "some row"
        width = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if width:
            return f"{where}: {width.group(2)} values, expected {width.group(1)} as in the header"
        value = re.search(r"conversion error to double: invalid value '(.*)'", text, re.DOTALL)
        column = re.search(r"In CSV column #(\d+)", text)
        if value and column:
            name = self.columns[int(column.group(1))]
            return f"{where}, column {name!r}: found {value.group(1)[:40]!r}, expected a number"
        return " ".join(text.split())[:200]


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
