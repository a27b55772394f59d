"""A tape as a C function of one sample: straight-line doubles, no vectors, no memory between operations."""

from __future__ import annotations

import math

from dalembert.kernels import Program
from dalembert.kernels.opcodes import Op
from dalembert.kernels.tape import NO_OPERAND

__all__ = ["function_text"]

_EXPRESSIONS: dict[Op, str] = {
    Op.ADD: "{a} + {b}", Op.SUB: "{a} - {b}", Op.MUL: "{a} * {b}", Op.DIV: "{a} / {b}", Op.NEG: "-{a}",
    Op.INV: "1.0 / {a}", Op.SQ: "{a} * {a}", Op.TWICE: "{a} + {a}",
    Op.LT: "(double)({a} < {b})", Op.LE: "(double)({a} <= {b})", Op.EQ: "(double)({a} == {b})",
    Op.NE: "(double)({a} != {b})", Op.AND: "(double)({a} != 0.0 && {b} != 0.0)",
    Op.OR: "(double)({a} != 0.0 || {b} != 0.0)", Op.NOT: "(double)({a} == 0.0)",
    Op.IF_ELSE_ZERO: "({a} != 0.0 ? {b} : 0.0)",
    Op.SIGN: "({a} > 0.0 ? 1.0 : {a} < 0.0 ? -1.0 : {a})",
}  # fmt: skip
_PARTS = 3000  # operations per function: a compiler's time grows faster than the length


def function_text(program: Program, name: str) -> str:
    """``static void name(const double *in0, ..., double *out0, ...)`` in C99; outputs are dense, row by row."""
    chunks = max(1, math.ceil(program.n_operations / _PARTS))
    bounds = [program.n_operations * k // chunks for k in range(chunks + 1)]
    if chunks == 1:
        return _whole(program, name)
    return _split(program, name, bounds)


def _signature(program: Program) -> str:
    inputs = [f"const double *restrict in_{port.name}" for port in program.inputs]
    return ", ".join(inputs + [f"double *restrict out_{port.name}" for port in program.outputs])


def _arguments(program: Program) -> str:
    return ", ".join([f"in_{p.name}" for p in program.inputs] + [f"out_{p.name}" for p in program.outputs])


class _Names:
    """C text of every value; values in ``stored`` live in the array ``s``."""

    def __init__(self, program: Program, stored: dict[int, int]) -> None:
        self.program, self.stored = program, stored
        self.ports = [f"in_{port.name}[{k}]" for port in program.inputs for k in range(port.size)]

    def __call__(self, value: int, local: set[int]) -> str:
        program = self.program
        if value < program.n_inputs:
            return self.ports[value]
        if value < program.first_operation:
            return _literal(float(program.constants[value - program.n_inputs]))
        return f"t{value}" if value in local or value not in self.stored else f"s[{self.stored[value]}]"


def _operation(names: _Names, i: int, local: set[int]) -> str:
    program = names.program
    op = Op(int(program.ops[i]))
    a, b = program.args[i].tolist()
    left = names(a, local)
    right = names(b, local) if b != NO_OPERAND else ""
    template = _EXPRESSIONS.get(op)
    text = template.format(a=left, b=right) if template else f"{op.name.lower()}({left}{', ' + right if right else ''})"
    return f"const double t{program.first_operation + i} = {text};"


def _stores(program: Program, names: _Names, local: set[int], chosen: set[int] | None) -> list[str]:
    lines = []
    for port in program.outputs:
        size = port.shape[0] * port.shape[1]
        filled = dict(zip((port.rows * port.shape[1] + port.cols).tolist(), port.values.tolist(), strict=True))
        for k in range(size):
            value = filled.get(k)
            if value is None:
                if chosen is None or -1 in chosen:
                    lines.append(f"out_{port.name}[{k}] = 0.0;")
            elif chosen is None or value in chosen:
                lines.append(f"out_{port.name}[{k}] = {names(value, local)};")
    return lines


def _whole(program: Program, name: str) -> str:
    names = _Names(program, {})
    lines = [_operation(names, i, set()) for i in range(program.n_operations)]
    lines += _stores(program, names, set(), None)
    body = "\n    ".join(lines)
    return f"static void {name}({_signature(program)})\n{{\n    {body}\n}}\n"


def _split(program: Program, name: str, bounds: list[int]) -> str:
    first = program.first_operation
    home = [k for k in range(len(bounds) - 1) for _ in range(bounds[k], bounds[k + 1])]
    crossing = sorted(
        {v for i, pair in enumerate(program.args.tolist()) for v in pair if v >= first and home[v - first] < home[i]}
    )
    names = _Names(program, {value: k for k, value in enumerate(crossing)})
    parts = []
    for number in range(len(bounds) - 1):
        local = set(range(first + bounds[number], first + bounds[number + 1]))
        lines = []
        for i in range(bounds[number], bounds[number + 1]):
            lines.append(_operation(names, i, local))
            if first + i in names.stored:
                lines.append(f"s[{names.stored[first + i]}] = t{first + i};")
        own = local | set(range(first)) | {-1} if number == 0 else local
        lines += _stores(program, names, local, own)
        body = "\n    ".join(lines)
        parts.append(f"static void {name}_{number}({_signature(program)}, double *restrict s)\n{{\n    {body}\n}}\n")
    calls = "\n    ".join(f"{name}_{k}({_arguments(program)}, s);" for k in range(len(bounds) - 1))
    parts.append(
        f"static void {name}({_signature(program)})\n{{\n    double s[{max(1, len(crossing))}];\n    {calls}\n}}\n"
    )
    return "\n".join(parts)


def _literal(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"({value.hex()})"
