"""Write a tape as C: one loop over vectors of eight samples, straight-line code inside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from dalembert.kernels.opcodes import Op
from dalembert.kernels.tape import NO_OPERAND, Program

ENTRY_POINT = "dal_run"
LANES = 8

# A compiler's time grows faster than the length of a function; measured best between 1000 and 4000
# operations.
OPERATIONS_PER_FUNCTION = 2000
# Vectors run through one function before the next one is entered, so that its code is fetched once for all
# of them.
VECTORS_PER_VISIT = 8
# Inputs with more entries than any robot has coordinates hold parameters, the same for all samples: see dal_parameter.
MOST_STATES = 64

_EXPRESSIONS: dict[Op, str] = {
    Op.ADD: "{a} + {b}",
    Op.SUB: "{a} - {b}",
    Op.MUL: "{a} * {b}",
    Op.DIV: "{a} / {b}",
    Op.NEG: "-{a}",
    Op.INV: "1.0 / {a}",
    Op.SQ: "{a} * {a}",
    Op.TWICE: "{a} + {a}",
    Op.LT: "dal_truth({a} < {b})",
    Op.LE: "dal_truth({a} <= {b})",
    Op.EQ: "dal_truth({a} == {b})",
    Op.NE: "dal_truth({a} != {b})",
    Op.AND: "dal_truth(({a} != 0.0) & ({b} != 0.0))",
    Op.OR: "dal_truth(({a} != 0.0) | ({b} != 0.0))",
    Op.NOT: "dal_truth({a} == 0.0)",
}
# The vector extension widens a plain number next to a vector only in arithmetic, so elsewhere constants are
# vectors.
_ARITHMETIC = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.DIV})


@dataclass(frozen=True, slots=True)
class CSource:
    """C text of a program, and how many doubles of 64-byte aligned work memory a call needs."""

    text: str
    work_size: int


def emit(program: Program, operations_per_function: int = OPERATIONS_PER_FUNCTION) -> CSource:
    """C99 text, with GCC's vector extension, that exports `dal_run`.

    `dal_run(in, sample_stride, entry_stride, out, work, n)`: one pointer and two strides (in doubles) per
    input, one 64-byte aligned row per non-constant output entry with room for whole vectors, n samples.
    """
    count = max(1, math.ceil(program.n_operations / operations_per_function))
    bounds = [program.n_operations * k // count for k in range(count + 1)]
    spills = _Spills(program, bounds)
    parts = [_emit_function(program, spills, k, bounds[k], bounds[k + 1]) for k in range(count)]
    prelude = files("dalembert.kernels").joinpath("c_prelude.h").read_text(encoding="utf-8")
    visit = VECTORS_PER_VISIT if count > 1 else 0
    text = "\n".join([prelude, *parts, _emit_driver(count, visit)])
    return CSource(text, spills.n_slots * LANES * VECTORS_PER_VISIT)


class _Spills:
    """Which results cross from one function to a later one, and the work row each crosses in."""

    def __init__(self, program: Program, bounds: list[int]) -> None:
        first = program.first_operation
        home = [k for k in range(len(bounds) - 1) for _ in range(bounds[k], bounds[k + 1])]
        last_use: dict[int, int] = {}
        for i, pair in enumerate(program.args.tolist()):
            for value in pair:
                if value >= first and home[value - first] < home[i]:
                    last_use[value] = i
        self.rows: dict[int, int] = {}
        self.n_slots = 0
        self._assign(last_use, first)

    def _assign(self, last_use: dict[int, int], first: int) -> None:
        released: dict[int, list[int]] = {}
        free: list[int] = []
        done = -1
        for value in sorted(last_use):
            born = value - first
            for when in [when for when in released if done < when <= born]:
                free += released.pop(when)
            done = born
            if not free:
                free.append(self.n_slots)
                self.n_slots += 1
            self.rows[value] = free.pop()
            released.setdefault(last_use[value], []).append(self.rows[value])


class _Body:
    """The statements of one function: names every value on first use."""

    def __init__(self, program: Program, spills: _Spills, start: int) -> None:
        self.program = program
        self.spills = spills
        self.here = program.first_operation + start
        self.lines: list[str] = []
        self.named: set[int] = set()
        self.ports = [(i, k) for i, port in enumerate(program.inputs) for k in range(port.size)]

    def operand(self, value: int, as_vector: bool) -> str:
        """C text of a value, loading it first if this function has not seen it."""
        program = self.program
        if program.n_inputs <= value < program.first_operation:
            text = _literal(float(program.constants[value - program.n_inputs]))
            return f"dal_set({text})" if as_vector else text
        name = f"t{value}"
        if value not in self.named and value < self.here:
            self.named.add(value)
            if value < program.n_inputs:
                port, entry = self.ports[value]
                read = "dal_load" if program.inputs[port].size <= MOST_STATES else "dal_parameter"
                load = f"{read}(in[{port}] + {entry} * es[{port}] + i * ss[{port}], ss[{port}], n - i)"
            else:
                load = f"s[{self.spills.rows[value]} * {VECTORS_PER_VISIT}]"
            self.lines.append(f"const dal_v {name} = {load};")
        return name


def _emit_function(program: Program, spills: _Spills, number: int, start: int, stop: int) -> str:
    body = _Body(program, spills, start)
    rows = dict(_output_rows(program))
    pairs = _sincos_pairs(program, start, stop)
    first = program.first_operation
    if number == 0:
        for value in [value for value in rows if value < program.n_inputs]:
            text = body.operand(value, as_vector=True)
            body.lines += [f"dal_store(o[{row}] + i, {text});" for row in rows[value]]
    for i in range(start, stop):
        op, value = Op(int(program.ops[i])), first + i
        if op in (Op.SIN, Op.COS):
            _emit_sincos(body, op, value, int(program.args[i, 0]), pairs)
        else:
            body.lines.append(f"const dal_v t{value} = {_expression(body, op, *program.args[i].tolist())};")
        if value in spills.rows:
            body.lines.append(f"s[{spills.rows[value]} * {VECTORS_PER_VISIT}] = t{value};")
        body.lines += [f"dal_store(o[{row}] + i, t{value});" for row in rows.get(value, ())]
    statements = "\n        ".join(body.lines)
    return (
        f"static void dal_part{number}(const double *const *in, const long long *ss, const long long *es,\n"
        "    double *const *o, dal_v *s, long long i, long long stop, long long n)\n{\n"
        f"    for (; i < stop; i += DAL_L, s++) {{\n        {statements}\n    }}\n}}\n"
    )


def _expression(body: _Body, op: Op, a: int, b: int) -> str:
    program = body.program
    both_constant = b != NO_OPERAND and all(program.n_inputs <= v < program.first_operation for v in (a, b))
    as_vector = op not in _ARITHMETIC
    left = body.operand(a, as_vector or both_constant)
    right = body.operand(b, as_vector) if b != NO_OPERAND else ""
    template = _EXPRESSIONS.get(op)
    if template is not None:
        return template.format(a=left, b=right)
    return f"dal_{op.name.lower()}({left}{', ' + right if right else ''})"


def _sincos_pairs(program: Program, start: int, stop: int) -> dict[int, dict[Op, int]]:
    """For each argument of a sine or cosine in start..stop: the values that hold its sine and its cosine."""
    pairs: dict[int, dict[Op, int]] = {}
    for i in range(start, stop):
        op = Op(int(program.ops[i]))
        if op in (Op.SIN, Op.COS):
            pairs.setdefault(int(program.args[i, 0]), {})[op] = program.first_operation + i
    return pairs


def _emit_sincos(body: _Body, op: Op, value: int, argument: int, pairs: dict[int, dict[Op, int]]) -> None:
    """Both at once, where the first of the two stands: they share the argument's reduction."""
    if value in body.named:
        return
    pair = pairs[argument]
    text = body.operand(argument, as_vector=True)
    names = [f"t{pair[kind]}" if kind in pair else f"u{value}" for kind in (Op.SIN, Op.COS)]
    body.named.update(pair.values())
    body.lines.append(f"dal_v {names[0]}, {names[1]}; dal_sincos({text}, &{names[0]}, &{names[1]});")


def _output_rows(program: Program) -> Iterator[tuple[int, list[int]]]:
    """Each shown value with its rows among the non-constant output entries."""
    rows: dict[int, list[int]] = {}
    row = 0
    for port in program.outputs:
        for value in port.values.tolist():
            if not program.n_inputs <= value < program.first_operation:
                rows.setdefault(value, []).append(row)
                row += 1
    yield from rows.items()


def _emit_driver(count: int, visit: int) -> str:
    """The exported function. One part runs straight through; several parts take turns on a few vectors."""
    if count == 1:
        loop = "    dal_part0(in, ss, es, o, s, 0, n, n);"
    else:
        calls = "\n        ".join(f"dal_part{k}(in, ss, es, o, s, i, stop, n);" for k in range(count))
        loop = (
            f"    for (long long i = 0, stop; i < n; i = stop) {{\n"
            f"        stop = i + {visit} * DAL_L < n ? i + {visit} * DAL_L : n;\n        {calls}\n    }}"
        )
    return (
        f"void {ENTRY_POINT}(const double *const *in, const long long *ss, const long long *es,\n"
        "    double *const *o, double *work, long long n)\n{\n    dal_v *s = (dal_v *)work;\n"
        f"{loop}\n    DAL_FENCE();\n}}\n"
    )


def _literal(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return value.hex() if value >= 0 and not math.copysign(1.0, value) < 0 else f"({value.hex()})"
