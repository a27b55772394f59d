"""A CasADi SX expression as a flat list of elementary operations: the tape.

A tape says what to compute for ONE sample; the executors run it over many. Every value on it has one
number:

    0 .. n_inputs - 1                     the entries of the inputs, one input after the other
    n_inputs .. n_inputs + n_constants    the constants
    the rest                              the result of operation 0, 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import casadi as ca
import numpy as np
import numpy.typing as npt

from dalembert.errors import KernelError
from dalembert.kernels.opcodes import from_casadi

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_A = TypeVar("_A", bound=npt.NDArray[Any])

NO_SLOT = -1
NO_OPERAND = -1
RESERVED_NAMES = frozenset({"block", "compact", "out"})  # keyword arguments of Kernel


@dataclass(frozen=True, slots=True)
class Input:
    """One input: a column of `size` numbers per sample."""

    name: str
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """One output: a matrix of `shape` per sample; only its entries (rows[k], cols[k]) can be non-zero.

    `values[k]` is the number of the tape value that entry k shows (a constant, an input entry or an
    operation).
    """

    name: str
    shape: tuple[int, int]
    rows: IntArray
    cols: IntArray
    values: IntArray

    @property
    def nnz(self) -> int:
        """Number of entries that are not identically zero."""
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A frozen tape. Build it with :func:`trace`, run it with :func:`dalembert.kernels.build`.

    `ops[i]` is the code of operation i, `args[i]` its one or two operands (value numbers, -1 for none) and
    `slots[i]` the work row that holds its result; -1 when the result is an output entry and lives there.
    """

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    constants: FloatArray
    ops: IntArray
    args: IntArray
    slots: IntArray
    n_slots: int
    function: Any = field(repr=False)  # the casadi.Function the tape was read from: for derivatives and checks
    n_inputs: int = field(init=False)  # number of input entries, over all inputs; asked for at every operand

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_inputs", sum(port.size for port in self.inputs))

    @property
    def n_operations(self) -> int:
        """Number of arithmetic operations per sample; constants, copies and structural zeros cost none."""
        return len(self.ops)

    @property
    def first_operation(self) -> int:
        """Value number of the result of operation 0."""
        return self.n_inputs + len(self.constants)

    def output(self, name: str) -> Output:
        """The output called `name`."""
        for port in self.outputs:
            if port.name == name:
                return port
        raise KernelError(_unknown(self.name, "output", name, (port.name for port in self.outputs)))

    def adjoint(self, output: str, wrt: Sequence[str]) -> Program:
        """The program of the gradient of `sum_k seed[k] * output[rows[k], cols[k]]`, sample by sample.

        Inputs: those of this program, then `seed` with one number per structural non-zero of `output` (the
        order of its `rows`, `cols`; the transpose of the array of `Kernel.compact`). Outputs: `grad_<name>`
        for each name in `wrt`, a column of that input's size. Costs two to three times the operations of
        the output itself.
        """
        symbols, entries = self._entries(output)
        chosen = {name: self._symbol(symbols, name) for name in wrt}
        seed = ca.SX.sym("seed", self.output(output).nnz)
        gradient = ca.jtimes(entries, ca.vertcat(*chosen.values()), seed, True)
        parts = ca.vertsplit(gradient, np.cumsum([0, *(s.numel() for s in chosen.values())]).tolist())
        inputs = dict(zip((port.name for port in self.inputs), symbols, strict=True)) | {"seed": seed}
        return trace(
            f"{self.name}_adjoint",
            inputs,
            {f"grad_{name}": part for name, part in zip(chosen, parts, strict=True)},
        )

    def jacobian(self, output: str, wrt: str) -> Program:
        """The program of the derivative of the structural non-zeros of `output` by the input `wrt`.

        One output, `d<output>_d<wrt>`, of shape (nnz of the output, size of the input), with its own zero
        pattern.
        """
        symbols, entries = self._entries(output)
        derivative = ca.jacobian(entries, self._symbol(symbols, wrt))
        inputs = dict(zip((port.name for port in self.inputs), symbols, strict=True))
        return trace(f"{self.name}_jacobian", inputs, {f"d{output}_d{wrt}": derivative})

    def _entries(self, output: str) -> tuple[list[Any], Any]:
        """Fresh symbols for the inputs, and the non-zeros of `output` as an SX column over them."""
        port = self.output(output)
        symbols = [ca.SX.sym(entry.name, entry.size) for entry in self.inputs]
        index = [candidate.name for candidate in self.outputs].index(output)
        matrix = self.function.call(symbols)[index]
        pairs = zip(port.rows.tolist(), port.cols.tolist(), strict=True)
        return symbols, ca.vertcat(ca.SX(0, 1), *(matrix[row, col] for row, col in pairs))

    def _symbol(self, symbols: Sequence[Any], name: str) -> Any:
        for port, symbol in zip(self.inputs, symbols, strict=True):
            if port.name == name:
                return symbol
        raise KernelError(_unknown(self.name, "input", name, (port.name for port in self.inputs)))


def trace(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Program:
    """Turn SX expressions into a :class:`Program`.

    `inputs` maps names to SX symbols (columns), `outputs` maps names to SX matrices over those symbols;
    both keep their order. Common subexpressions are shared across all outputs.
    """
    _check_inputs(name, inputs)
    if not outputs:
        raise KernelError(f"program {name!r}: no outputs; expected at least one SX expression")
    for key, expression in outputs.items():
        if not isinstance(expression, ca.SX | ca.DM | float | int):
            raise KernelError(f"program {name!r}, output {key!r}: found a {type(expression).__name__}; expected SX")
    expressions = ca.cse([ca.SX(expression) for expression in outputs.values()])
    try:
        function = ca.Function("program", list(inputs.values()), expressions, {"cse": False})
    except RuntimeError as error:
        free = ca.symvar(ca.veccat(*expressions, *inputs.values()))
        known = {symbol.element_hash() for symbol in ca.symvar(ca.veccat(*inputs.values()))}
        missing = sorted({str(symbol) for symbol in free if symbol.element_hash() not in known})
        reason = f"outputs use symbols that are not inputs: {', '.join(missing)}" if missing else str(error)
        raise KernelError(f"program {name!r}: {reason}; inputs are {', '.join(inputs)}") from error
    ports = tuple(Input(key, int(symbol.numel())) for key, symbol in inputs.items())
    return _read_tape(name, ports, tuple(outputs), function)


def _check_inputs(name: str, inputs: Mapping[str, Any]) -> None:
    seen: dict[int, str] = {}
    for key, symbol in inputs.items():
        if key in RESERVED_NAMES:
            raise KernelError(f"program {name!r}: an input may not be called {key!r}; that name is an option")
        if not isinstance(symbol, ca.SX) or not symbol.is_valid_input() or not symbol.is_dense():
            raise KernelError(f"program {name!r}, input {key!r}: found {symbol}; expected a column of SX symbols")
        if symbol.shape[1] != 1:
            raise KernelError(f"program {name!r}, input {key!r}: found shape {symbol.shape}; expected a column (k, 1)")
        for symbol_entry in ca.vertsplit(symbol):
            first = seen.setdefault(symbol_entry.element_hash(), key)
            if first != key:
                raise KernelError(f"program {name!r}: symbol {symbol_entry} is in both inputs {first!r} and {key!r}")


def _read_tape(name: str, inputs: tuple[Input, ...], names: tuple[str, ...], function: Any) -> Program:
    """Walk CasADi's instruction list, which reuses work registers, and number each value once."""
    first_entry = np.cumsum([0, *(port.size for port in inputs)])
    n_inputs = int(first_entry[-1])
    constants: dict[str, int] = {}
    register: dict[int, tuple[str, int]] = {}  # CasADi register -> what it holds now: ("input" | "constant" | "op", n)
    ops: list[int] = []
    operands: list[tuple[tuple[str, int], ...]] = []
    shown: list[dict[int, tuple[str, int]]] = [{} for _ in names]
    for k in range(function.n_instructions()):
        code, source, target = (
            function.instruction_id(k),
            function.instruction_input(k),
            function.instruction_output(k),
        )
        if code == ca.OP_INPUT:
            register[target[0]] = ("input", int(first_entry[source[0]]) + source[1])
        elif code == ca.OP_CONST:
            # float.hex keeps -0.0 apart from 0.0 and puts all NaN in one place.
            text = float(function.instruction_constant(k)).hex()
            register[target[0]] = ("constant", constants.setdefault(text, len(constants)))
        elif code == ca.OP_OUTPUT:
            shown[target[0]][target[1]] = register[source[0]]
        elif code in (ca.OP_ASSIGN, ca.OP_LIFT):
            register[target[0]] = register[source[0]]
        else:
            op = from_casadi(code, name)
            operands.append(tuple(register[index] for index in source[: op.arity]))
            register[target[0]] = ("op", len(ops))
            ops.append(int(op))
    base = {"input": 0, "constant": n_inputs, "op": n_inputs + len(constants)}
    values = np.array([float.fromhex(text) for text in constants], dtype=np.float64)
    args = np.full((len(ops), 2), NO_OPERAND, dtype=np.int64)
    for i, refs in enumerate(operands):
        args[i, : len(refs)] = [base[kind] + number for kind, number in refs]
    outputs = tuple(
        _read_output(
            key,
            function.sparsity_out(i),
            {k: base[kind] + n for k, (kind, n) in shown[i].items()},
            n_inputs,
            values,
        )
        for i, key in enumerate(names)
    )
    return _finish(name, inputs, outputs, values, np.array(ops, dtype=np.int64), args, function)


def _read_output(name: str, sparsity: Any, shown: Mapping[int, int], n_inputs: int, constants: FloatArray) -> Output:
    """Drop the entries that are the constant zero, and order the others row by row."""
    rows, cols = sparsity.get_triplet()
    kept = []
    for k, value in shown.items():
        constant = value - n_inputs
        if not (0 <= constant < len(constants) and constants[constant] == 0.0):
            kept.append((rows[k], cols[k], value))
    table = np.array(sorted(kept), dtype=np.int64).reshape(-1, 3).T.copy()
    return Output(name, (sparsity.size1(), sparsity.size2()), *(_frozen(line) for line in table))


def _finish(
    name: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Output, ...],
    constants: FloatArray,
    ops: IntArray,
    args: IntArray,
    function: Any,
) -> Program:
    """Remove operations no output needs and give every remaining result a work row."""
    first = sum(port.size for port in inputs) + len(constants)
    shown = np.concatenate([port.values for port in outputs])
    needed = np.zeros(first + len(ops) + 1, dtype=bool)  # the last place takes the writes of NO_OPERAND
    needed[shown] = True
    for i in range(len(ops) - 1, -1, -1):
        if needed[first + i]:
            needed[args[i]] = True
    alive = needed[first:-1]
    number = np.concatenate([np.arange(first), first + np.cumsum(alive) - 1, [NO_OPERAND]])
    ops, args = ops[alive], number[args[alive]]
    outputs = tuple(
        Output(port.name, port.shape, port.rows, port.cols, _frozen(number[port.values])) for port in outputs
    )
    in_output = np.zeros(len(ops), dtype=bool)
    in_output[[value - first for port in outputs for value in port.values.tolist() if value >= first]] = True
    slots, n_slots = _assign_slots(args, first, in_output)
    return Program(
        name,
        inputs,
        outputs,
        _frozen(constants),
        _frozen(ops),
        _frozen(args),
        _frozen(slots),
        n_slots,
        function,
    )


def _assign_slots(args: IntArray, first: int, in_output: npt.NDArray[np.bool_]) -> tuple[IntArray, int]:
    """Work rows by liveness: a row is free at the operation that reads it last, which may write into it."""
    last_use = np.full(len(args), -1, dtype=np.int64)
    for i, pair in enumerate(args.tolist()):
        for value in pair:
            if value >= first:
                last_use[value - first] = i
    slots = np.full(len(args), NO_SLOT, dtype=np.int64)
    free: list[int] = []  # last in, first out: the row freed last is the one still in cache
    n_slots = 0
    for i, pair in enumerate(args.tolist()):
        for value in dict.fromkeys(pair):
            if value >= first and last_use[value - first] == i and slots[value - first] != NO_SLOT:
                free.append(int(slots[value - first]))
        if in_output[i]:
            continue
        if not free:
            free.append(n_slots)
            n_slots += 1
        slots[i] = free.pop()
    return slots, n_slots


def _frozen(array: _A) -> _A:
    array.setflags(write=False)
    return array


def _unknown(program: str, kind: str, found: str, valid: Iterable[str]) -> str:
    return f"program {program!r}: no {kind} {found!r}; its {kind}s are {', '.join(valid)}"
