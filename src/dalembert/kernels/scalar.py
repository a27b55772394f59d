"""A tape as straight-line text of one sample: a C function of doubles, or a Python function of numbers or arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dalembert.kernels.opcodes import Op
from dalembert.kernels.tape import NO_OPERAND, NO_SLOT, Program

__all__ = ["c_function", "python_function"]

_ARITHMETIC: Mapping[Op, str] = {
    Op.ADD: "{a} + {b}", Op.SUB: "{a} - {b}", Op.MUL: "{a} * {b}", Op.DIV: "{a} / {b}", Op.NEG: "-{a}",
    Op.INV: "1.0 / {a}", Op.SQ: "{a} * {a}", Op.TWICE: "{a} + {a}",
}  # fmt: skip
_C: Mapping[Op, str] = {
    **_ARITHMETIC,
    Op.LT: "(double)({a} < {b})", Op.LE: "(double)({a} <= {b})", Op.EQ: "(double)({a} == {b})",
    Op.NE: "(double)({a} != {b})", Op.AND: "(double)({a} != 0.0 && {b} != 0.0)",
    Op.OR: "(double)({a} != 0.0 || {b} != 0.0)", Op.NOT: "(double)({a} == 0.0)",
    Op.IF_ELSE_ZERO: "({a} != 0.0 ? {b} : 0.0)",
    Op.SIGN: "({a} > 0.0 ? 1.0 : {a} < 0.0 ? -1.0 : {a})",
}  # fmt: skip
_PYTHON: Mapping[Op, str] = {
    **_ARITHMETIC,
    Op.LT: "1.0 * ({a} < {b})", Op.LE: "1.0 * ({a} <= {b})", Op.EQ: "1.0 * ({a} == {b})",
    Op.NE: "1.0 * ({a} != {b})", Op.AND: "1.0 * np.logical_and({a}, {b})", Op.OR: "1.0 * np.logical_or({a}, {b})",
    Op.NOT: "1.0 * ({a} == 0.0)", Op.IF_ELSE_ZERO: "np.where({a}, {b}, 0.0)",
    Op.POW: "np.power({a}, {b})", Op.ATAN2: "np.arctan2({a}, {b})", Op.ASIN: "np.arcsin({a})",
    Op.ACOS: "np.arccos({a})", Op.ATAN: "np.arctan({a})", Op.ASINH: "np.arcsinh({a})",
    Op.ACOSH: "np.arccosh({a})", Op.ATANH: "np.arctanh({a})",
}  # fmt: skip
_PARTS = 3000  # operations per C function: a compiler's time grows faster than the length


def _dense(program: Program) -> Iterator[tuple[str, int, int | None]]:
    """Every entry of every output, row by row: its output, its place, its value (None: zero)."""
    for port in program.outputs:
        filled = dict(zip((port.rows * port.shape[1] + port.cols).tolist(), port.values.tolist(), strict=True))
        yield from ((port.name, k, filled.get(k)) for k in range(port.shape[0] * port.shape[1]))


# --- C ---------------------------------------------------------------------------------------------------------------


def c_function(program: Program, name: str) -> str:
    """``static void name(const double *in_y, ..., double *out_W, ...)`` in C99; outputs are dense, row by row."""
    chunks = max(1, math.ceil(program.n_operations / _PARTS))
    bounds = [program.n_operations * k // chunks for k in range(chunks + 1)]
    if chunks == 1:
        return _whole(program, f"static void {name}({_signature(program)})")
    return _split(program, name, bounds)


def _signature(program: Program) -> str:
    inputs = [f"const double *restrict in_{port.name}" for port in program.inputs]
    return ", ".join(inputs + [f"double *restrict out_{port.name}" for port in program.outputs])


def _arguments(program: Program) -> str:
    return ", ".join([f"in_{p.name}" for p in program.inputs] + [f"out_{p.name}" for p in program.outputs])


class _Names:
    """C text of every value; values in ``stored`` live in the array ``s``."""

    def __init__(self, program: Program, stored: Mapping[int, int]) -> None:
        self.program, self.stored = program, stored
        self.ports = [f"in_{port.name}[{k}]" for port in program.inputs for k in range(port.size)]

    def __call__(self, value: int, local: set[int]) -> str:
        program = self.program
        if value < program.n_inputs:
            return self.ports[value]
        if value < program.first_operation:
            return _c_literal(float(program.constants[value - program.n_inputs]))
        return f"t{value}" if value in local or value not in self.stored else f"s[{self.stored[value]}]"


def _operation(names: _Names, i: int, local: set[int]) -> str:
    program = names.program
    op = Op(int(program.ops[i]))
    a, b = program.args[i].tolist()
    left = names(a, local)
    right = names(b, local) if b != NO_OPERAND else ""
    template = _C.get(op)
    text = template.format(a=left, b=right) if template else f"{op.name.lower()}({left}{', ' + right if right else ''})"
    return f"const double t{program.first_operation + i} = {text};"


def _stores(program: Program, names: _Names, local: set[int], chosen: set[int] | None) -> list[str]:
    lines = []
    for port, k, value in _dense(program):
        if value is None:
            if chosen is None or -1 in chosen:
                lines.append(f"out_{port}[{k}] = 0.0;")
        elif chosen is None or value in chosen:
            lines.append(f"out_{port}[{k}] = {names(value, local)};")
    return lines


def _body(program: Program, lines: list[str], *, work: bool = False) -> str:
    """The block of a function; arguments it does not use are named as such, or strict compilers complain."""
    text = "\n    ".join(lines)
    ports = [f"in_{p.name}" for p in program.inputs] + [f"out_{p.name}" for p in program.outputs]
    unused = [name for name in ports if f"{name}[" not in text] + (["s"] if work and " s[" not in f" {text}" else [])
    silent = "".join(f"(void){name};\n    " for name in unused)
    return f"{{\n    {silent}{text}\n}}\n"


def _whole(program: Program, head: str) -> str:
    names = _Names(program, {})
    lines = [_operation(names, i, set()) for i in range(program.n_operations)]
    lines += _stores(program, names, set(), None)
    return f"{head}\n{_body(program, lines)}"


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
        head = f"static void {name}_{number}({_signature(program)}, double *restrict s)"
        parts.append(f"{head}\n{_body(program, lines, work=True)}")
    calls = "\n    ".join(f"{name}_{k}({_arguments(program)}, s);" for k in range(len(bounds) - 1))
    parts.append(
        f"static void {name}({_signature(program)})\n{{\n    double s[{max(1, len(crossing))}];\n    {calls}\n}}\n"
    )
    return "\n".join(parts)


def _c_literal(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"({value.hex()})"


# --- Python ----------------------------------------------------------------------------------------------------------


def python_function(program: Program, name: str, doc: str) -> str:
    """``def name(y, ...)`` in NumPy; the entries of an argument are along its last axis, samples along those before.

    The outputs come back in order, a lone one by itself, matrices with their own two axes.
    """
    heads = ", ".join(port.name for port in program.inputs)
    lines = [f'"""{doc}"""']
    lines += [f"{port.name} = np.asarray({port.name}, dtype=float)" for port in program.inputs]
    used = set(program.args.ravel().tolist()) | {v for port in program.outputs for v in port.values.tolist()}
    ports = [(port.name, k) for port in program.inputs for k in range(port.size)]
    lines += [f"{p}_{k} = {p}[..., {k}]" for value, (p, k) in enumerate(ports) if value in used]
    texts = [f"{p}_{k}" for p, k in ports] + [_python_literal(float(c)) for c in program.constants]
    for i, (op, slot) in enumerate(zip(program.ops.tolist(), program.slots.tolist(), strict=True)):
        a, b = program.args[i].tolist()
        left, right = texts[a], texts[b] if b != NO_OPERAND else ""
        template = _PYTHON.get(Op(op))
        call = f"np.{Op(op).name.lower()}({left}{', ' + right if right else ''})"
        # work names are reused as the tape's rows are, so that arrays are freed on the way
        texts.append(f"o{i}" if slot == NO_SLOT else f"s{slot}")
        lines.append(f"{texts[-1]} = {template.format(a=left, b=right) if template else call}")
    batch = ", ".join(f"{port.name}.shape[:-1]" for port in program.inputs)
    lines.append(f"batch = np.broadcast_shapes({batch})")
    lines += [f"out_{port.name} = np.zeros((*batch, {port.shape[0] * port.shape[1]}))" for port in program.outputs]
    lines += [f"out_{port}[..., {k}] = {texts[value]}" for port, k, value in _dense(program) if value is not None]
    shown = [
        f"out_{p.name}" if p.shape[1] == 1 else f"out_{p.name}.reshape((*batch, {p.shape[0]}, {p.shape[1]}))"
        for p in program.outputs
    ]
    lines.append(f"return {', '.join(shown)}")
    body = "\n    ".join(lines)
    return f"def {name}({heads}):\n    {body}\n"


def _python_literal(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "(-np.inf)"
    return f"({value!r})" if value < 0.0 else repr(value)
