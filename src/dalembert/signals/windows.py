"""A stream of blocks cut anew into chunks of fixed size and place, each with its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.errors import UsageError
from dalembert.logs.log import Array

__all__ = ["CHUNK", "Window", "windows"]

CHUNK = 32768  # samples; fixed, so that results do not depend on the blocks of the caller


@dataclass(frozen=True, slots=True)
class Window:
    """Samples ``low`` to ``high - 1`` of a log of ``total``: chunk ``first`` to ``last - 1`` and its
    neighbours.
    """

    first: int
    last: int
    low: int
    high: int
    total: int
    values: Array


def windows(blocks: Iterable[Array], total: int, chunk: int, margin: int) -> Iterator[Window]:
    """Chunks of ``chunk`` samples with ``margin`` neighbours each side (fewer at the ends), in order.

    Blocks are arrays (m, ...) of consecutive samples, ``total`` in all; at most a chunk, its neighbours and
    one block are held at a time. A rest shorter than half a chunk is joined to the last chunk.
    """
    held: list[Array] = []
    start, end = 0, 0  # samples held: start to end - 1
    first = 0
    supply = iter(blocks)
    while first < total:
        last = total if total - first < chunk + chunk // 2 else first + chunk
        low, high = max(0, first - margin), min(total, last + margin)
        while end < high:
            block = next(supply, None)
            if block is None:
                raise UsageError(f"the log ends after {end} samples, expected {total}")
            held.append(block)
            end += len(block)
        joined = np.concatenate(held) if len(held) > 1 else held[0]
        yield Window(first, last, low, high, total, joined[low - start : high - start])
        first = last
        keep = max(0, first - margin)
        held, start = [joined[keep - start :]], keep
