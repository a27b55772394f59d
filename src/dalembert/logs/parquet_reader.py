"""Logs as Parquet files, read row group by row group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from dalembert.errors import LogError
from dalembert.logs.log import Array

__all__ = ["METADATA_KEY", "ParquetTable"]

METADATA_KEY = b"dalembert"  # where write_log puts the payload label and the robot's name


class ParquetTable:
    """A Parquet file of number columns; time stamps become seconds since the first row."""

    ordered: Mapping[str, tuple[str, ...]] = {}
    lenient = False

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with parquet.ParquetFile(path) as file:
                self.schema = file.schema_arrow
                self.rows: int | None = file.metadata.num_rows
        except (OSError, pa.ArrowException) as error:
            raise LogError(f"{path}: not a Parquet file: {' '.join(str(error).split())[:160]}") from None
        self.columns = tuple(self.schema.names)
        repeated = sorted({name for name in self.columns if self.columns.count(name) > 1})
        if repeated:
            raise LogError(f"{path}: column {repeated[0]!r} appears twice; names must differ")
        self.metadata: Mapping[str, str] = self._metadata()
        stamps = [field.name for field in self.schema if pa.types.is_timestamp(field.type)]
        self.notes: tuple[str, ...] = tuple(
            f"column {name!r}: time stamps taken relative to the first" for name in stamps
        )
        self.origin: dict[str, int] = {}

    def _metadata(self) -> dict[str, str]:
        raw = (self.schema.metadata or {}).get(METADATA_KEY, b"{}")
        try:
            found = json.loads(raw)
        except ValueError:
            return {}
        return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}

    def batches(self, names: Sequence[str], size: int) -> Iterator[Array]:
        for name in names:
            kind = self.schema.field(name).type
            numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            if not (numeric or pa.types.is_decimal(kind) or pa.types.is_timestamp(kind)):
                raise LogError(f"{self.path}: column {name!r} holds {kind}, expected numbers")
        try:
            # pre_buffer would keep every row group read so far
            with parquet.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=size, columns=list(dict.fromkeys(names)), use_threads=False):
                    yield self._block(batch, names)
        except (OSError, pa.ArrowException) as error:
            raise LogError(f"{self.path}: damaged: {' '.join(str(error).split())[:160]}") from None

    def _block(self, batch: pa.RecordBatch, names: Sequence[str]) -> Array:
        out = np.empty((batch.num_rows, len(names)))
        for i, name in enumerate(names):
            column = batch[name]
            if pa.types.is_timestamp(column.type):
                out[:, i] = self._seconds(name, column)
            else:
                out[:, i] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return out

    def _seconds(self, name: str, column: pa.Array) -> Array:
        """Seconds since the first row: subtracted as integers, a double has no nanoseconds since 1970."""
        scale = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[column.type.unit]
        ticks = column.cast(pa.int64())
        missing = np.asarray(column.is_null())
        counts = np.asarray(ticks.fill_null(0), dtype=np.int64)
        if name not in self.origin:
            self.origin[name] = int(counts[np.argmin(missing)]) if len(counts) else 0
        seconds = (counts - self.origin[name]) * scale
        seconds[missing] = np.nan
        return np.asarray(seconds, dtype=np.float64)
