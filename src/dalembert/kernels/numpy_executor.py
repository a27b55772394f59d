"""Run a tape with NumPy: one ufunc call per operation, over a chunk of samples that stays in cache."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.kernels.layout import Rows
from dalembert.kernels.opcodes import Op
from dalembert.kernels.tape import NO_OPERAND, NO_SLOT, FloatArray, Program

Ufunc = Callable[..., Any]
Step = tuple[Ufunc, int, int, int]  # ufunc(bank[a], bank[b], bank[out]); without b when b is NO_OPERAND

# Measured on the TX40 regressor: 1024 is 1.6x slower (the cost of a ufunc call), 8192 gains 3 %.
CHUNK = 4096


def _inv(a: FloatArray, out: FloatArray) -> None:
    np.divide(1.0, a, out)


def _sq(a: FloatArray, out: FloatArray) -> None:
    np.multiply(a, a, out)


def _twice(a: FloatArray, out: FloatArray) -> None:
    np.add(a, a, out)


def _if_else_zero(condition: FloatArray, a: FloatArray, out: FloatArray) -> None:
    """`out` may be the memory of an operand. A product with the condition would let NaN and inf through."""
    is_false = np.equal(condition, 0.0)
    np.copyto(out, a)
    np.copyto(out, 0.0, where=is_false)


def _remainder(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """IEEE remainder a - b * round_half_even(a / b), exact, by the steps of FreeBSD's e_remainder.c."""
    size = np.abs(b)
    rest = np.abs(np.fmod(a, 2.0 * size))
    half = 0.5 * size
    once = rest > half
    rest = np.where(once, rest - size, rest)
    rest = np.where(once & (rest >= half), rest - size, rest)
    np.multiply(rest, np.where(np.signbit(a), -1.0, 1.0), out)


def _erf(a: FloatArray, out: FloatArray) -> None:
    from scipy.special import (
        erf,
    )  # here, because scipy.special takes 0.1 s to import and few programs need it

    erf(a, out)


def _erfinv(a: FloatArray, out: FloatArray) -> None:
    from scipy.special import erfinv

    erfinv(a, out)


_UFUNCS: dict[Op, Ufunc] = {
    Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.divide, Op.POW: np.power,
    Op.FMIN: np.fmin, Op.FMAX: np.fmax, Op.FMOD: np.fmod, Op.REMAINDER: _remainder, Op.ATAN2: np.arctan2,
    Op.HYPOT: np.hypot, Op.COPYSIGN: np.copysign, Op.LT: np.less, Op.LE: np.less_equal, Op.EQ: np.equal,
    Op.NE: np.not_equal, Op.AND: np.logical_and, Op.OR: np.logical_or, Op.IF_ELSE_ZERO: _if_else_zero,
    Op.NEG: np.negative, Op.INV: _inv, Op.SQ: _sq, Op.TWICE: _twice, Op.SQRT: np.sqrt, Op.FABS: np.absolute,
    Op.SIGN: np.sign, Op.FLOOR: np.floor, Op.CEIL: np.ceil, Op.NOT: np.logical_not, Op.EXP: np.exp,
    Op.LOG: np.log, Op.EXPM1: np.expm1, Op.LOG1P: np.log1p, Op.SIN: np.sin, Op.COS: np.cos, Op.TAN: np.tan,
    Op.ASIN: np.arcsin, Op.ACOS: np.arccos, Op.ATAN: np.arctan, Op.SINH: np.sinh, Op.COSH: np.cosh,
    Op.TANH: np.tanh, Op.ASINH: np.arcsinh, Op.ACOSH: np.arccosh, Op.ATANH: np.arctanh, Op.ERF: _erf,
    Op.ERFINV: _erfinv,
}  # fmt: skip


class NumpyExecutor:
    """Runs one program. Holds no state between calls but a pool of work memory, so threads may share it."""

    backend = "numpy"
    block = CHUNK
    releases_gil = False

    def __init__(self, program: Program, chunk: int = CHUNK) -> None:
        self._program = program
        self._chunk = chunk
        self._pool: deque[FloatArray] = deque()
        self._constants = [np.array(value) for value in program.constants.tolist()]
        self._steps, self._copies = _plan(program)

    def run(self, inputs: Sequence[FloatArray], rows: Sequence[Rows], n: int) -> None:
        """Fill the output rows for n samples.

        `inputs[i]` has shape (n, size) and any strides; `rows[k]` are the rows of output k.
        """
        program = self._program
        width = min(n, self._chunk)
        work = self._borrow((program.n_inputs + program.n_slots, width))
        with np.errstate(all="ignore"):  # NaN and inf are values here, as in C
            for start in range(0, n, max(width, 1)):
                stop = min(start + width, n)
                self._run_chunk(inputs, rows, slice(start, stop), work[:, : stop - start])
        self._pool.append(work)

    def _run_chunk(self, inputs: Sequence[FloatArray], rows: Sequence[Rows], part: slice, work: FloatArray) -> None:
        first = 0
        for array in inputs:
            work[first : first + array.shape[1]] = array[part].T
            first += array.shape[1]
        lines = list(work)
        targets = [row.memory[k, part] for row in rows for k in row.index.tolist()]
        bank = [*lines[:first], *self._constants, *lines[first:], *targets]
        for ufunc, a, b, out in self._steps:
            if b < 0:
                ufunc(bank[a], bank[out])
            else:
                ufunc(bank[a], bank[b], bank[out])
        for source, target in self._copies:
            bank[target][...] = bank[source]

    def _borrow(self, shape: tuple[int, int]) -> FloatArray:
        """Work memory of this shape, from an earlier call if one is free (deque operations are atomic)."""
        try:
            work = self._pool.pop()
        except IndexError:
            return np.empty(shape)
        return work if work.shape == shape else np.empty(shape)


def _plan(program: Program) -> tuple[list[Step], list[tuple[int, int]]]:
    """Place every value in the bank (inputs, constants, work rows, output rows): the calls and the copies."""
    first = program.first_operation
    first_row = first + program.n_slots
    place = list(range(first)) + [first + slot if slot != NO_SLOT else NO_SLOT for slot in program.slots.tolist()]
    copies: list[tuple[int, int]] = []
    row = first_row
    for port in program.outputs:
        for value in port.values.tolist():
            if program.n_inputs <= value < first:
                continue  # a constant: written once, when the output is allocated
            if place[value] == NO_SLOT:
                place[value] = row
            else:
                copies.append((place[value], row))
            row += 1
    steps = [
        (_UFUNCS[Op(op)], place[a], place[b] if b != NO_OPERAND else NO_OPERAND, place[first + i])
        for i, (op, (a, b)) in enumerate(zip(program.ops.tolist(), program.args.tolist(), strict=True))
    ]
    return steps, copies
