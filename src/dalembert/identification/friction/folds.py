"""Contiguous blocks of the logs left out one after the other, with a guard gap around each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError

__all__ = ["Fold", "contiguous_folds"]


@dataclass(frozen=True, slots=True)
class Fold:
    """One block left out: instants ``start <= sample < stop`` of each run in ``held_out`` (run -> (start, stop)).

    ``guard`` instants on each side are in neither part: rows that close are correlated with those left out.
    """

    number: int
    held_out: Mapping[str, tuple[int, int]]
    guard: int

    def held(self, sample: NDArray[np.int64], run: str = "") -> NDArray[np.bool_]:
        """Which instants of a run are left out (m,)."""
        start, stop = self.held_out.get(run, (0, 0))
        return np.asarray((sample >= start) & (sample < stop))

    def train(self, sample: NDArray[np.int64], run: str = "") -> NDArray[np.bool_]:
        """Which instants of a run are fitted (m,)."""
        start, stop = self.held_out.get(run, (0, 0))
        if start == stop:
            return np.ones(len(sample), dtype=bool)
        return np.asarray((sample < start - self.guard) | (sample >= stop + self.guard))


def contiguous_folds(runs: Mapping[str, int] | int, count: int = 5, guard: int = 5) -> tuple[Fold, ...]:
    """Cut the instants of all runs, laid end to end, into ``count`` blocks of equal length, one left out per fold.

    ``runs``: instants per run (a number: one run named ""). ``guard``: instants, at least the decimated length of the
    filters and of the residual's correlation.
    """
    lengths = {"": runs} if isinstance(runs, int) else dict(runs)
    total = sum(lengths.values())
    if count < 2 or guard < 0:
        raise EstimationError(f"blocks left out: {count} blocks, guard {guard}, expected >= 2 blocks and guard >= 0")
    if total // count <= 2 * guard or total < 2 * count:
        raise EstimationError(
            f"blocks left out: {total} instants in {count} blocks with a guard of {guard} leave too little; "
            f"use a longer log, fewer blocks or a smaller guard"
        )
    edges = [round(k * total / count) for k in range(count + 1)]
    folds = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        held, at = {}, 0
        for run, length in lengths.items():
            low, high = max(start - at, 0), min(stop - at, length)
            if low < high:
                held[run] = (low, high)
            at += length
        folds.append(Fold(number, held, guard))
    return tuple(folds)
