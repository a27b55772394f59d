"""How outputs lie in memory: one row per entry, the samples of a row next to each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.kernels.tape import FloatArray, IntArray, Output, Program

LINE = 8  # doubles in a cache line, and samples in a vector of the C executor


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Where an executor writes: entry k of an output, sample i, is `memory[index[k], i]`.

    Rows start on a cache line and have room for the number of samples rounded up to whole cache lines.
    """

    memory: FloatArray
    index: IntArray

    def skip(self, samples: int) -> Rows:
        """The same rows without their first samples (a multiple of 8, to stay on a cache line)."""
        return Rows(self.memory[:, samples:], self.index)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Memory of one output for up to some number of samples. `rows` are those of the non-constant entries."""

    port: Output
    dense: bool  # a row per entry; otherwise compact, a row per structural non-zero
    memory: FloatArray
    rows: Rows

    def view(self, n: int) -> FloatArray:
        """The first n samples as (n, r, p) or (n, k) when dense, as (nnz, n) when compact."""
        used = self.memory[:, :n]
        if not self.dense:
            return used
        if self.port.shape[1] == 1:
            return used.T
        return used.reshape(*self.port.shape, n).transpose(2, 0, 1)


def allocate(port: Output, program: Program, n: int, dense: bool) -> Block:
    """Memory of an output for n samples, zeros and constants filled in."""
    n_rows = port.shape[0] * port.shape[1] if dense else port.nnz
    # An odd number of cache lines: a power of two would put all rows in one set of the cache, up to 6x
    # slower.
    memory = aligned_zeros(n_rows, LINE * (-(-n // LINE) | 1))
    index = port.rows * port.shape[1] + port.cols if dense else np.arange(port.nnz)
    constant = port.values - program.n_inputs
    varying = (constant < 0) | (constant >= len(program.constants))
    memory[index[~varying]] = program.constants[constant[~varying]][:, None]
    return Block(port, dense, memory, Rows(memory, index[varying]))


def aligned_zeros(n_rows: int, stride: int) -> FloatArray:
    """Zeros whose rows start on a cache line. Fresh pages come zeroed, so rows never written cost nothing."""
    raw = np.zeros(n_rows * stride + LINE)
    skip = (-raw.ctypes.data % (8 * LINE)) // 8
    return raw[skip : skip + n_rows * stride].reshape(n_rows, stride)
