"""Writing a log: CSV or Parquet with the default columns, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from dalembert.errors import LogError, choices
from dalembert.logs.log import LogInfo, LogSource
from dalembert.logs.parquet_reader import METADATA_KEY
from dalembert.robot.interchange import whole_files

__all__ = ["check_log_path", "write_log"]

_ROWS = 65536
_SUFFIXES = (".csv", ".parquet")


def check_log_path(path: str | Path) -> Path:
    """The path, if a log can be written there; LogError otherwise."""
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise LogError(f"{path}: cannot write {path.suffix!r}; {choices(path.suffix, _SUFFIXES)}")
    if not path.parent.is_dir():
        raise LogError(f"{path}: no folder {path.parent}")
    return path


def write_log(log: LogSource, path: str | Path) -> Path:
    """Write ``t``, ``q_...``, ``tau_...`` and, where logged, ``qd_...``, ``qdd_...``; the file appears when
    complete.

    All digits are kept. The payload label goes into Parquet metadata or a ``# payload:`` line.
    """
    path = check_log_path(path)
    with whole_files(path) as (draft,):
        (_write_csv if path.suffix == ".csv" else _write_parquet)(log, draft)
    return path


def _names(info: LogInfo) -> list[str]:
    groups = (
        ("q", info.positions),
        ("tau", info.torques),
        ("qd", info.velocities),
        ("qdd", info.accelerations),
    )
    return ["t", *(f"{kind}_{name}" for kind, names in groups for name in names)]


def _metadata(info: LogInfo) -> dict[str, str]:
    return {"robot": info.robot, **({"payload": info.payload} if info.payload else {})}


def _batches(log: LogSource, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for block in log.blocks(_ROWS):
        arrays = [block.t]
        for group in (block.q, block.tau, block.qd, block.qdd):
            if group is not None:
                arrays.extend(group.T)
        yield pa.RecordBatch.from_arrays([pa.array(a) for a in arrays], schema=schema)


def _write_csv(log: LogSource, path: Path) -> None:
    schema = pa.schema([(name, pa.float64()) for name in _names(log.info)])
    with path.open("wb") as stream:
        for key, value in _metadata(log.info).items():
            stream.write(f"# {key}: {' '.join(value.split())}\n".encode())
        with arrow_csv.CSVWriter(stream, schema, write_options=arrow_csv.WriteOptions(quoting_style="none")) as writer:
            for batch in _batches(log, schema):
                writer.write_batch(batch)


def _write_parquet(log: LogSource, path: Path) -> None:
    meta = {METADATA_KEY: json.dumps(_metadata(log.info)).encode()}
    schema = pa.schema([(name, pa.float64()) for name in _names(log.info)], metadata=meta)
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in _batches(log, schema):
            writer.write_batch(batch)
