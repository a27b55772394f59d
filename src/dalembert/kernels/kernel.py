"""A program ready to run over many samples: checks the inputs, lays out the outputs, calls an executor."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dalembert.errors import KernelError
from dalembert.kernels.c_executor import CExecutor, CompilerMissing
from dalembert.kernels.layout import LINE, Block, Rows, allocate
from dalembert.kernels.numpy_executor import NumpyExecutor
from dalembert.kernels.tape import FloatArray, IntArray, Program

Backend = Literal["auto", "numpy", "c"]
# Below this work (operations times samples) starting a thread costs more than it saves: 0.1 ms against 0.7
# ms.
MIN_WORK_PER_THREAD = 2e7


class Executor(Protocol):
    """Runs a program over samples: fills one row per non-constant output entry. May be shared by threads."""

    backend: str
    block: int  # samples per step at which streaming is fastest
    releases_gil: bool  # whether splitting the samples over threads makes it faster

    def run(self, inputs: Sequence[FloatArray], rows: Sequence[Rows], n: int) -> None:
        """See the members: NumpyExecutor, CExecutor."""


class Outputs(tuple[FloatArray, ...]):
    """The output arrays of a kernel, in order and by name: `out[0]`, `out["W"]`, `out.W`, `W, g = out`."""

    names: tuple[str, ...]
    _blocks: tuple[Block, ...]

    def __new__(cls, arrays: Sequence[FloatArray], names: Sequence[str] = (), blocks: Sequence[Block] = ()) -> Outputs:
        """Pair arrays with their names and with the memory they lie in."""
        self = super().__new__(cls, arrays)
        self.names = tuple(names)
        self._blocks = tuple(blocks)
        return self

    def __reduce__(self) -> tuple[type[Outputs], tuple[tuple[FloatArray, ...], tuple[str, ...]]]:
        """Pickle the arrays and their names."""
        return Outputs, (tuple(self), self.names)

    def __getitem__(self, key: Any) -> Any:
        """By position, slice or name."""
        if isinstance(key, str):
            if key not in self.names:
                raise KernelError(f"no output {key!r}; the outputs are {', '.join(self.names)}")
            return super().__getitem__(self.names.index(key))
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> FloatArray:
        """By name, where the name is an identifier."""
        if not name.startswith("_") and name != "names" and name in self.names:
            return super().__getitem__(self.names.index(name))
        raise AttributeError(name)


class Kernel:
    """Evaluates a :class:`Program` over samples. Immutable, safe to share between threads, picklable.

    An input of size k is an array (n, k), or (k,) for one column that all samples share; when all are
    shared, n is 1. An output of SX shape (r, p) is an array (n, r, p), and one of shape (k, 1) is (n, k): a
    view of memory in which the samples of one entry lie next to each other, so `W[:, i, :]` is a Fortran
    matrix that LAPACK takes without a copy.
    """

    def __init__(self, program: Program, executor: Executor, threads: int = 1) -> None:
        self._program = program
        self._executor = executor
        self._threads = threads

    def __repr__(self) -> str:
        """One line: name, operations, backend."""
        program = self._program
        size = f"{program.n_operations} operations"
        return f"Kernel({program.name!r}, {size}, {self.backend}, threads={self._threads})"

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[Program, str, int]]:
        """Pickle the program; the other side compiles or loads it from the cache."""
        return build, (self._program, "auto" if self.backend == "c" else self.backend, self._threads)

    @property
    def program(self) -> Program:
        """What is evaluated."""
        return self._program

    @property
    def backend(self) -> str:
        """Name of the executor at work: "numpy" or "c"."""
        return self._executor.backend

    @property
    def nonzeros(self) -> dict[str, tuple[IntArray, IntArray]]:
        """For each output the row and column of every entry that is not identically zero, row by row."""
        return {port.name: (port.rows, port.cols) for port in self._program.outputs}

    def __call__(self, *inputs: npt.ArrayLike, out: Outputs | None = None, **named: npt.ArrayLike) -> Outputs:
        """Dense outputs, (n, r, p) or (n, k), for inputs by position or by name.

        `out` is an earlier result of this kernel for as many samples, whose arrays are then overwritten:
        for large n most of the time goes into asking for fresh memory.
        """
        return self._run(inputs, named, out, dense=True)

    def compact(self, *inputs: npt.ArrayLike, out: Outputs | None = None, **named: npt.ArrayLike) -> Outputs:
        """Only the structural non-zeros of each output, as an array (nnz, n) in the order of `nonzeros`."""
        return self._run(inputs, named, out, dense=False)

    def _run(
        self,
        inputs: Sequence[npt.ArrayLike],
        named: dict[str, npt.ArrayLike],
        out: Outputs | None,
        dense: bool,
    ) -> Outputs:
        arrays, n = self._check(inputs, named)
        ports = self._program.outputs
        if out is None:
            return self._evaluate(arrays, n, [allocate(port, self._program, n, dense) for port in ports])
        blocks = out._blocks
        same = [block.port is port and block.dense == dense for block, port in zip(blocks, ports, strict=False)]
        if len(blocks) != len(ports) or not all(same) or any(a.shape[0 if dense else 1] != n for a in out):
            raise KernelError(f"kernel {self._program.name!r}: out is not a result of this kernel for {n} samples")
        return self._evaluate(arrays, n, blocks)

    def stream(
        self, *inputs: npt.ArrayLike, block: int | None = None, compact: bool = False, **named: npt.ArrayLike
    ) -> Iterator[tuple[slice, Outputs]]:
        """The outputs for `block` samples at a time, each with the slice of samples they belong to.

        The arrays of one step are overwritten by the next: use them or copy them before going on. Memory
        does not grow with the number of samples.
        """
        block = self._executor.block if block is None else block
        if block < 1:
            raise KernelError(f"kernel {self._program.name!r}: block is {block}; expected at least 1")
        arrays, n = self._check(inputs, named)
        return self._blocks(arrays, n, block, compact)

    def _blocks(
        self, arrays: Sequence[FloatArray], n: int, block: int, compact: bool
    ) -> Iterator[tuple[slice, Outputs]]:
        width = min(block, n)
        blocks = [allocate(port, self._program, width, dense=not compact) for port in self._program.outputs]
        for start in range(0, n, block):
            part = slice(start, min(start + block, n))
            yield part, self._evaluate([array[part] for array in arrays], part.stop - start, blocks)

    def _evaluate(self, arrays: Sequence[FloatArray], n: int, blocks: Sequence[Block]) -> Outputs:
        rows = [block.rows for block in blocks]
        parts = self._parts(n)
        if parts == 1:
            self._executor.run(arrays, rows, n)
        else:
            _in_threads(self._executor, arrays, rows, n, parts)
        return Outputs([block.view(n) for block in blocks], [port.name for port in self._program.outputs], blocks)

    def _parts(self, n: int) -> int:
        """How many threads n samples are worth."""
        if not self._executor.releases_gil:
            return 1
        return max(1, min(self._threads, int(n * self._program.n_operations / MIN_WORK_PER_THREAD)))

    def _check(self, inputs: Sequence[npt.ArrayLike], named: dict[str, npt.ArrayLike]) -> tuple[list[FloatArray], int]:
        """Every input as a float64 view of shape (n, size), with stride 0 where all samples share it."""
        given = self._bind(inputs, named)
        arrays = [
            _as_float(value, self._where(port.name)) for port, value in zip(self._program.inputs, given, strict=True)
        ]
        n: int | None = None
        for port, array in zip(self._program.inputs, arrays, strict=True):
            shared = array.ndim == 1 or (array.ndim == 0 and port.size == 1)
            if array.ndim > 2 or (array.size if array.ndim < 2 else array.shape[1]) != port.size:
                raise KernelError(
                    f"{self._where(port.name)}: found shape {array.shape}; "
                    f"expected (n, {port.size}), or ({port.size},) for the same in all samples"
                )
            if not shared:
                if n is not None and len(array) != n:
                    raise KernelError(
                        f"{self._where(port.name)}: found shape {array.shape}; expected ({n}, {port.size}), "
                        f"as the inputs before it have {n} samples"
                    )
                n = len(array)
        count = 1 if n is None else n
        ports = self._program.inputs
        return [
            np.broadcast_to(array, (count, port.size)) if array.ndim < 2 else array
            for port, array in zip(ports, arrays, strict=True)
        ], count

    def _bind(self, inputs: Sequence[npt.ArrayLike], named: dict[str, npt.ArrayLike]) -> list[npt.ArrayLike]:
        names = [port.name for port in self._program.inputs]
        values = dict(zip(names, inputs, strict=False))
        twice = sorted(values.keys() & named.keys())
        values |= named
        if len(inputs) > len(names) or twice or set(values) != set(names):
            found = [f"{len(inputs)} by position", *(f"{name} by name" for name in named)]
            raise KernelError(
                f"kernel {self._program.name!r}: found inputs {', '.join(found)}; "
                f"expected each of {', '.join(names) or 'none'} once"
            )
        return [values[name] for name in names]

    def _where(self, name: str) -> str:
        return f"kernel {self._program.name!r}, input {name!r}"


def _as_float(value: npt.ArrayLike, where: str) -> FloatArray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise KernelError(f"{where}: not an array of numbers: {error}") from error
    if array.dtype.kind not in "fiub":
        raise KernelError(f"{where}: found dtype {array.dtype}; expected real numbers")
    return array.astype(np.float64, copy=False)


def _in_threads(executor: Executor, arrays: Sequence[FloatArray], rows: Sequence[Rows], n: int, parts: int) -> None:
    """Split the samples at whole cache lines. The GIL is free while C runs."""
    bounds = [n * k // parts // LINE * LINE for k in range(parts)] + [n]
    failures: list[Exception] = []

    def work(start: int, stop: int) -> None:
        try:
            executor.run([array[start:stop] for array in arrays], [row.skip(start) for row in rows], stop - start)
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread below
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in pairwise(bounds[1:])]
    for thread in threads:
        thread.start()
    work(bounds[0], bounds[1])
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def build(program: Program, backend: Backend = "auto", threads: int = 1) -> Kernel:
    """Make a program ready to run.

    `backend` "c" compiles it (cached on disk), "numpy" needs no compiler, "auto" is "c" where a compiler
    works and otherwise "numpy" with one warning per process. Both give the same numbers to 1e-12. `threads`
    share the samples of a call that is long enough to gain by it; NumPy, which takes the GIL between
    operations, does not and stays on one.
    """
    if threads < 1:
        raise KernelError(f"threads is {threads}; expected at least 1")
    if backend == "numpy":
        return Kernel(program, NumpyExecutor(program), threads)
    if backend not in ("auto", "c"):
        raise KernelError(f"unknown backend {backend!r}; expected auto, numpy or c")
    try:
        return Kernel(program, CExecutor(program), threads)
    except KernelError as error:
        if backend == "c":
            raise
        if isinstance(error, CompilerMissing):
            _warn_once(str(error))
        else:
            warnings.warn(f"{error}; using NumPy for this kernel", RuntimeWarning, stacklevel=2)
        return Kernel(program, NumpyExecutor(program), threads)


_NOTICES: list[str] = []  # given so far by this process


def _warn_once(reason: str) -> None:
    if not _NOTICES:
        _NOTICES.append(reason)
        warnings.warn(f"{reason}. Kernels run on NumPy, several times slower.", RuntimeWarning, stacklevel=3)
