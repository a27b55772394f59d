"""Logs as MATLAB files: version 5 (scipy) and 7.3 (HDF5, needs h5py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from dalembert.errors import LogError
from dalembert.logs.log import Array

__all__ = ["MatTable"]

_DEPTH = 4  # structures inside structures


class MatTable:
    """Vectors and matrices of a MATLAB file as columns.

    A vector ``t`` is column ``t``; a matrix ``q`` with samples along its longer side is columns ``q(1)``,
    ``q(2)`` ...; the fields of a structure ``log`` are ``log.t``, ``log.q(1)``. Only variables as long as
    most are are columns.
    """

    lenient = True
    metadata: Mapping[str, str] = {}

    def __init__(self, path: Path) -> None:
        self.path = path
        variables = _hdf5(path) if _is_hdf5(path) else _version5(path)
        arrays = {name: _rows_first(array) for name, array in variables.items() if array.size}
        if not arrays:
            raise LogError(f"{path}: no numeric variables, expected vectors or matrices of samples")
        self.data: dict[str, NDArray[Any]] = {}
        ordered: dict[str, tuple[str, ...]] = {}
        lengths = [len(array) for array in arrays.values() if len(array) > 1] or [1]
        self.rows: int | None = max(lengths, key=lambda n: (lengths.count(n), n))
        left = {}
        for name, array in arrays.items():
            if len(array) != self.rows:
                left[name] = len(array)
                continue
            names = (name,) if array.shape[1] == 1 else tuple(f"{name}({j + 1})" for j in range(array.shape[1]))
            self.data.update(zip(names, array.T, strict=True))
            ordered[name] = names
        self.ordered: Mapping[str, tuple[str, ...]] = ordered
        self.lengths = left
        self.columns = tuple(self.data)
        self.notes: tuple[str, ...] = tuple(
            f"variable {n!r} has {k} rows, the others {self.rows}: left out" for n, k in left.items()
        )

    def batches(self, names: Sequence[str], size: int) -> Iterator[Array]:
        for first in range(0, self.rows or 0, size):
            yield np.column_stack([self.data[name][first : first + size] for name in names]).astype(np.float64)


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(1024)
    return b"\x89HDF\r\n\x1a\n" in head or head.startswith(b"MATLAB 7.3")


def _rows_first(array: NDArray[Any]) -> NDArray[Any]:
    """Samples along the first axis: the longer one, as no log has fewer samples than signals."""
    matrix = array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(-1, 1)
    return matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T


def _numeric(value: object) -> NDArray[Any] | None:
    array = np.asarray(value)
    return array if array.dtype.kind in "fiub" and 1 <= array.ndim <= 2 else None


def _version5(path: Path) -> dict[str, NDArray[Any]]:
    try:
        loaded = scipy.io.loadmat(path, struct_as_record=False, squeeze_me=False)
    except Exception as error:  # noqa: BLE001 - scipy raises whatever a damaged file leads it to
        raise LogError(f"{path}: not a MATLAB file: {' '.join(str(error).split())[:160]}") from None
    out: dict[str, NDArray[Any]] = {}

    def walk(name: str, value: Any, depth: int) -> None:
        if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
            value = value.reshape(-1)[0]
        if hasattr(value, "_fieldnames"):
            for field in value._fieldnames if depth < _DEPTH else ():
                walk(f"{name}.{field}", getattr(value, field), depth + 1)
        elif (array := _numeric(value)) is not None:
            out[name] = array

    for name, value in loaded.items():
        if not name.startswith("__"):
            walk(name, value, 0)
    return out


def _hdf5(path: Path) -> dict[str, NDArray[Any]]:
    try:
        import h5py
    except ImportError:
        raise LogError(f"{path}: MATLAB 7.3 files need h5py: pip install h5py (or save with -v7)") from None
    out: dict[str, NDArray[Any]] = {}

    def walk(prefix: str, group: Any, depth: int) -> None:
        for name, item in group.items():
            if name.startswith("#"):
                continue
            if isinstance(item, h5py.Group):
                if depth < _DEPTH:
                    walk(f"{prefix}{name}.", item, depth + 1)
            elif item.attrs.get("MATLAB_class", b"") not in (b"char", b"cell") and "MATLAB_empty" not in item.attrs:
                array = _numeric(item[()])
                if array is not None:
                    out[prefix + name] = array.T  # MATLAB writes the last index first

    try:
        with h5py.File(path, "r") as file:
            walk("", file, 0)
    except (OSError, KeyError, RuntimeError) as error:
        raise LogError(f"{path}: not a MATLAB 7.3 file: {' '.join(str(error).split())[:160]}") from None
    return out
