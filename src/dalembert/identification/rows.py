"""Rows of the identification model ``y = W pi``: what every estimator works on, whatever robot they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError

__all__ = ["Array", "ArrayRows", "RowBlock", "Rows", "check_block", "checked_blocks"]

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of one group over one stretch of one run.

    ``W`` (m, p): columns of all standard parameters. ``y`` (m,): measured torque or force [N m or N] in the chosen
    projection. ``group``: index into ``Rows.groups``. ``sample`` (m,): instant of each row within its run, consecutive
    integers on the kept (decimated) grid, a gap where samples were masked; rows of different groups at one instant
    share
    the number. ``run``: name of the log. ``weight`` (m,): how often each row counts (a weight of 2 is the row twice).
    """

    W: Array
    y: Array
    group: int
    sample: IntArray
    run: str = ""
    weight: Array | None = None


@runtime_checkable
class Rows(Protocol):
    """A source of rows that can be read any number of times, always in the same order."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the columns, length p."""
        ...

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the row groups (joints, motors, directions of the platform)."""
        ...

    @property
    def dof_share(self) -> float:
        """Degrees of freedom of one row: 1, or r/n where n rows of rank r stand for each sample (whitened)."""
        ...

    def blocks(self) -> Iterator[RowBlock]:
        """The rows, block by block; small enough to fit in memory several times."""
        ...


def check_block(block: RowBlock, number: int, p: int, groups: tuple[str, ...]) -> None:
    """Refuse a block of the wrong shape or with values that are not finite; the message names block and row."""
    where = f"block {number} (run {block.run!r})"
    if not 0 <= block.group < len(groups):
        raise EstimationError(f"{where}: group {block.group}, expected 0..{len(groups) - 1}")
    m = len(block.y)
    if block.W.shape != (m, p) or block.y.shape != (m,) or block.sample.shape != (m,):
        raise EstimationError(
            f"{where}: W {block.W.shape}, y {block.y.shape}, sample {block.sample.shape}, "
            f"expected ({m}, {p}), ({m},), ({m},)"
        )
    if m and block.sample.min() < 0:
        raise EstimationError(f"{where}: sample {block.sample.min()}, expected instants numbered from 0")
    for name, values in (("W", block.W), ("y", block.y)):
        # the sum of finite values is finite unless it overflows: one cheap pass before the exact one
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0, 0])
            raise EstimationError(
                f"{where}, group {groups[block.group]!r}, row {row} (sample {block.sample[row]}): "
                f"{name} is not finite, expected numbers"
            )
    if block.weight is not None:
        if block.weight.shape != (m,):
            raise EstimationError(f"{where}: weight {block.weight.shape}, expected ({m},)")
        if m and not (np.isfinite(block.weight).all() and block.weight.min() >= 0.0):
            raise EstimationError(f"{where}: weights must be finite and >= 0")


def checked_blocks(rows: Rows) -> Iterator[RowBlock]:
    """The non-empty blocks of a source, each checked."""
    p, groups = len(rows.parameters), rows.groups
    for number, block in enumerate(rows.blocks()):
        check_block(block, number, p, groups)
        if len(block.y):
            yield block


@dataclass(frozen=True)
class ArrayRows:
    """Rows held in memory: a tuple of blocks, cut to ``block_rows`` rows when asked for."""

    parameters: tuple[str, ...]
    groups: tuple[str, ...]
    data: tuple[RowBlock, ...]
    dof_share: float = 1.0
    block_rows: int = 0

    @classmethod
    def of(
        cls,
        W: Array,
        y: Array,
        parameters: Iterable[str],
        *,
        group: IntArray | None = None,
        groups: Iterable[str] = ("all",),
        sample: IntArray | None = None,
        run: str = "",
        weight: Array | None = None,
        dof_share: float = 1.0,
        block_rows: int = 0,
    ) -> ArrayRows:
        """From stacked rows; ``group`` (m,) and ``sample`` (m,) tell them apart (default: one group, rows in time)."""
        groups = tuple(groups)
        W, y = np.asarray(W, dtype=float), np.asarray(y, dtype=float)
        label = np.zeros(len(y), dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
        if label.shape != y.shape or (label.size and not 0 <= label.min() <= label.max() < len(groups)):
            raise EstimationError(
                f"rows: group has shape {label.shape}, expected {y.shape} with values 0..{len(groups) - 1}"
            )
        blocks = []
        for index in range(len(groups)):
            mine = np.flatnonzero(label == index)
            instant = np.arange(len(mine)) if sample is None else np.asarray(sample)[mine]
            mass = None if weight is None else np.asarray(weight, dtype=float)[mine]
            blocks.append(RowBlock(W[mine], y[mine], index, instant.astype(np.int64), run, mass))
        return cls(tuple(parameters), groups, tuple(blocks), dof_share, block_rows)

    def blocks(self) -> Iterator[RowBlock]:
        for block in self.data:
            if not self.block_rows:
                yield block
                continue
            for k in range(0, len(block.y), self.block_rows):
                cut = slice(k, k + self.block_rows)
                mass = None if block.weight is None else block.weight[cut]
                yield RowBlock(block.W[cut], block.y[cut], block.group, block.sample[cut], block.run, mass)
