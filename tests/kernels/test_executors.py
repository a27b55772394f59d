"""NumPy, C and CasADi give the same numbers, for every operation, layout, length and chunk."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
import scipy.special
from tests.kernels.arm import regressor

from dalembert.errors import KernelError
from dalembert.kernels import Backend, Kernel, build, trace
from dalembert.kernels.c_emitter import emit
from dalembert.kernels.c_executor import CExecutor
from dalembert.kernels.numpy_executor import NumpyExecutor
from dalembert.kernels.opcodes import Op
from dalembert.kernels.tape import Program

BACKENDS: tuple[Backend, ...] = ("numpy", "c")
# Two correctly written programs of the same operations differ by rounding and by libm's last digits.
RTOL, ATOL = 1e-12, 1e-13

UNARY: dict[Op, Callable[[Any], Any]] = {
    Op.NEG: lambda x: -x,
    Op.INV: lambda x: 1 / x,
    Op.SQ: lambda x: x * x,
    Op.TWICE: lambda x: 2 * x,
    Op.SQRT: ca.sqrt,
    Op.FABS: ca.fabs,
    Op.SIGN: ca.sign,
    Op.FLOOR: ca.floor,
    Op.CEIL: ca.ceil,
    Op.NOT: ca.logic_not,
    Op.EXP: ca.exp,
    Op.LOG: ca.log,
    Op.EXPM1: ca.expm1,
    Op.LOG1P: ca.log1p,
    Op.SIN: ca.sin,
    Op.COS: ca.cos,
    Op.TAN: ca.tan,
    Op.ASIN: ca.asin,
    Op.ACOS: ca.acos,
    Op.ATAN: ca.atan,
    Op.SINH: ca.sinh,
    Op.COSH: ca.cosh,
    Op.TANH: ca.tanh,
    Op.ASINH: ca.asinh,
    Op.ACOSH: ca.acosh,
    Op.ATANH: ca.atanh,
    Op.ERF: ca.erf,
    Op.ERFINV: ca.erfinv,
}
BINARY: dict[Op, Callable[[Any, Any], Any]] = {
    Op.ADD: lambda x, y: x + y,
    Op.SUB: lambda x, y: x - y,
    Op.MUL: lambda x, y: x * y,
    Op.DIV: lambda x, y: x / y,
    Op.POW: ca.power,
    Op.FMIN: ca.fmin,
    Op.FMAX: ca.fmax,
    Op.FMOD: ca.fmod,
    Op.REMAINDER: ca.remainder,
    Op.ATAN2: ca.atan2,
    Op.HYPOT: ca.hypot,
    Op.COPYSIGN: ca.copysign,
    Op.LT: lambda x, y: x < y,
    Op.LE: lambda x, y: x <= y,
    Op.EQ: ca.eq,
    Op.NE: ca.ne,
    Op.AND: ca.logic_and,
    Op.OR: ca.logic_or,
    Op.IF_ELSE_ZERO: lambda x, y: ca.if_else(x, y, 0),
}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    1e-300,
    1e5,
    -1e5 - 1,
    1e22,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
]


def reference(program: Program, *inputs: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """CasADi's own evaluation, one sample a column."""
    n = max(len(array) for array in inputs)
    mapped = program.function.map(n)
    found = mapped.call([ca.DM(array.T) for array in inputs])
    values = []
    for port, value in zip(program.outputs, found, strict=True):
        full = np.array(value.full()).reshape(port.shape[0], n, port.shape[1])
        values.append(full.transpose(1, 0, 2)[:, :, 0] if port.shape[1] == 1 else full.transpose(1, 0, 2))
    return values


def samples(seed: int, n: int, size: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, size)) * 1.5


def test_every_operation_is_tested() -> None:
    assert set(UNARY) | set(BINARY) == set(Op)


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_operations_on_ordinary_and_special_numbers(backend: Backend) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    outputs = {op.name: f(x) for op, f in UNARY.items()} | {op.name: f(x, y) for op, f in BINARY.items()}
    outputs["CONSTPOW"] = x**2.5
    outputs["CHOICE"] = ca.if_else(x < y, ca.sqrt(x), ca.log(y))
    program = trace("all", {"x": x, "y": y}, outputs)
    assert {Op(int(op)) for op in program.ops} == set(Op)
    grid = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    values = np.concatenate([grid, samples(1, 500, 2), samples(2, 100, 2) * 0.3])
    kernel = build(program, backend)
    found = kernel(values[:, :1], values[:, 1:])
    expected = reference(program, values[:, :1], values[:, 1:])
    for port, got, want in zip(program.outputs, found, expected, strict=True):
        if port.name == "ERFINV":
            want = scipy.special.erfinv(values[:, :1])  # CasADi's own is good to 1e-6 only
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15, err_msg=port.name)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e3, 9.9e4, 1e6, 1e15])
def test_sine_and_cosine_to_the_last_digit(scale: float) -> None:
    x = ca.SX.sym("x")
    kernel = build(trace("sc", {"x": x}, {"s": ca.sin(x), "c": ca.cos(x)}), "c")
    rng = np.random.default_rng(3)
    # Next to multiples of pi/2 the reduction cancels most digits.
    near = np.round(rng.uniform(-scale, scale, 2000)) * (math.pi / 2)
    values = np.concatenate([rng.uniform(-scale, scale, 4000), near, np.nextafter(near, 0)])[:, None]
    found = kernel(values)
    np.testing.assert_allclose(found.s, [[math.sin(v)] for (v,) in values], rtol=4e-16, atol=0)
    np.testing.assert_allclose(found.c, [[math.cos(v)] for (v,) in values], rtol=4e-16, atol=0)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 30.0, 800.0])
def test_exponential_and_tanh_to_the_last_digits(scale: float) -> None:
    x = ca.SX.sym("x")
    kernel = build(trace("et", {"x": x}, {"e": ca.exp(x), "t": ca.tanh(x)}), "c")
    values = np.random.default_rng(4).uniform(-scale, scale, (4000, 1))
    found = kernel(values)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found.e, np.exp(values), rtol=5e-16, atol=0)
    np.testing.assert_allclose(found.t, np.tanh(values), rtol=7e-16, atol=0)


def random_program(seed: int, n_operations: int) -> Program:
    """Bounded values throughout, so that rounding cannot grow fast."""
    rng = np.random.default_rng(seed)
    x, y = ca.SX.sym("x", 5), ca.SX.sym("y", 3)
    pool = [*ca.vertsplit(x), *ca.vertsplit(y)]
    while len(pool) < n_operations:
        a, b = (pool[int(k)] for k in rng.integers(max(0, len(pool) - 200), len(pool), 2))
        kind = int(rng.integers(8))
        pool.append(
            [
                lambda a, b: ca.tanh(a + b), lambda a, b: ca.sin(a) * b, lambda a, b: 0.5 * (a - b),
                lambda a, b: ca.cos(a) * ca.sin(a), lambda a, b: ca.atan2(a, 2 + b * b), ca.fmin,
                lambda a, b: ca.sqrt(1 + a * a) - 1, lambda a, b: a / (1 + b * b),
            ][kind](a, b)
        )  # fmt: skip
    matrix = ca.SX(3, 4)
    matrix[0, 1], matrix[2, 0], matrix[2, 3], matrix[1, 1] = pool[-1], pool[-2], pool[-2], x[0]
    return trace("random", {"x": x, "y": y}, {"M": matrix, "v": ca.vertcat(*pool[8::7]), "one": ca.SX(1)})


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(backend: Backend, seed: int) -> None:
    program = random_program(seed, 300)
    x, y = samples(seed, 37, 5), samples(seed + 9, 37, 3)
    for found, expected in zip(build(program, backend)(x, y), reference(program, x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=RTOL, atol=ATOL)


def test_a_program_split_into_many_functions() -> None:
    """Values cross function borders in work memory; the last visit is a partial one."""
    program = random_program(11, 2000)
    whole, split = build(program, "c"), CExecutor(program, operations_per_function=90)
    assert emit(program, 90).work_size > 0
    x, y = samples(0, 333, 5), samples(1, 333, 3)
    for found, expected in zip(Kernel(program, split)(x, y), whole(x, y), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_large_program_compiles() -> None:
    program = random_program(12, 9000)
    assert program.n_operations > 15_000
    x, y = samples(0, 20, 5), samples(1, 20, 3)
    for found, expected in zip(build(program, "c")(x, y), build(program, "numpy")(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)  # depth 9000: rounding adds up


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 4097])
def test_every_length(backend: Backend, n: int) -> None:
    y, yd, ydd, matrix = regressor()
    program = trace("arm", {"y": y, "yd": yd, "ydd": ydd}, {"W": matrix})
    data = [samples(k, n, 6) for k in range(3)]
    (found,) = build(program, backend)(*data)
    assert found.shape == (n, 6, 78)
    if n:
        np.testing.assert_allclose(found, reference(program, *data)[0], rtol=RTOL, atol=ATOL)


def test_results_do_not_depend_on_the_chunk() -> None:
    program = random_program(5, 300)
    x, y = samples(0, 1001, 5), samples(1, 1001, 3)
    expected = Kernel(program, NumpyExecutor(program, 1001))(x, y)
    for chunk in (1, 7, 64, 1000):
        for found, want in zip(Kernel(program, NumpyExecutor(program, chunk))(x, y), expected, strict=True):
            # NumPy's vector loops and their scalar tails may differ in the last digit of a transcendental
            # function.
            np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_stream_and_compact_equal_one_call(backend: Backend) -> None:
    program = random_program(6, 200)
    kernel = build(program, backend)
    x, y = samples(0, 1003, 5), samples(1, 1003, 3)
    whole, compact = kernel(x, y), kernel.compact(x, y)
    memory = set()
    for part, outputs in kernel.stream(x, y, block=100):
        memory.add(outputs.M.ctypes.data)
        for found, expected in zip(outputs, whole, strict=True):
            np.testing.assert_allclose(found, expected[part], rtol=1e-13, atol=1e-14)
    assert len(memory) == 1  # the buffers are reused
    for part, outputs in kernel.stream(x, y=y, block=64, compact=True):
        np.testing.assert_allclose(outputs.v, compact.v[:, part], rtol=1e-13, atol=1e-14)
    rows, cols = kernel.nonzeros["M"]
    assert list(zip(rows.tolist(), cols.tolist(), strict=True)) == [(0, 1), (1, 1), (2, 0), (2, 3)]
    np.testing.assert_array_equal(compact.M, whole.M[:, rows, cols].T)
    dense = np.ones((3, 4), dtype=bool)
    dense[rows, cols] = False
    assert not whole.M[:, dense].any()


def test_rows_are_laid_out_for_lapack() -> None:
    y, yd, ydd, matrix = regressor()
    kernel = build(trace("arm", {"y": y, "yd": yd, "ydd": ydd}, {"W": matrix}), "numpy")
    (found,) = kernel(*(samples(k, 1024, 6) for k in range(3)))
    sample, _, entry = found.strides
    assert sample == 8
    assert entry % 64 == 0
    assert entry // 64 % 2 == 1
    assert found[:, 2, :].ctypes.data % 64 == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_memory_layout_and_type_of_input(backend: Backend) -> None:
    x = ca.SX.sym("x", 3)
    kernel = build(trace("id", {"x": x}, {"y": ca.vertcat(x[2] * 2, x[0] + x[1])}), backend)
    plain = np.round(samples(0, 21, 3) * 8)
    expected = np.stack([plain[:, 2] * 2, plain[:, 0] + plain[:, 1]], axis=1)
    records = np.zeros(21, dtype=[("flag", "i1"), ("x", "f8", 3)])
    records["x"] = plain
    frozen = plain.copy()
    frozen.setflags(write=False)
    wide = np.zeros((42, 9))
    wide[::2, 1::3] = plain
    variants = [
        np.asfortranarray(plain), plain.astype(np.float32), plain.astype(np.int16), wide[::2, 1::3], frozen,
        plain[::-1][::-1], records["x"], plain.astype(">f8"), plain.tolist(),
    ]  # fmt: skip
    for variant in variants:
        np.testing.assert_array_equal(kernel(variant).y, expected)
    np.testing.assert_array_equal(kernel(plain[::-1]).y, expected[::-1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_shared_inputs(backend: Backend) -> None:
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    kernel = build(trace("s", {"x": x, "p": p}, {"y": x * p, "q": p[0]}), backend)
    data, gains = samples(0, 11, 2), np.array([2.0, -3.0])
    found = kernel(data, gains)
    np.testing.assert_array_equal(found.y, data * gains)
    np.testing.assert_array_equal(found["q"], np.full((11, 1), 2.0))
    np.testing.assert_array_equal(kernel(p=gains, x=data)[0], data * gains)
    assert kernel(data[0], gains).y.shape == (1, 2)  # all shared: one sample


def test_wrong_inputs_are_named() -> None:
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    kernel = build(trace("s", {"x": x, "p": p}, {"y": x * p}), "numpy")
    good = np.zeros((5, 2))
    with pytest.raises(KernelError, match=r"input 'x': found shape \(5, 3\); expected \(n, 2\)"):
        kernel(np.zeros((5, 3)), 1.0)
    with pytest.raises(KernelError, match=r"input 'p': found shape \(4, 1\); expected \(5, 1\)"):
        kernel(good, np.zeros((4, 1)))
    with pytest.raises(KernelError, match=r"input 'p': found shape \(5,\); expected \(n, 1\)"):
        kernel(good, np.zeros(5))
    with pytest.raises(KernelError, match="dtype complex128"):
        kernel(good, 1j)
    with pytest.raises(KernelError, match="expected each of x, p once"):
        kernel(good)
    with pytest.raises(KernelError, match="expected each of x, p once"):
        kernel(good, 1.0, x=good)
    with pytest.raises(KernelError, match="the outputs are y"):
        kernel(good, 1.0)["z"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_out_reuses_memory(backend: Backend) -> None:
    program = random_program(7, 100)
    kernel = build(program, backend)
    first = kernel(samples(0, 50, 5), samples(1, 50, 3))
    x, y = samples(2, 50, 5), samples(3, 50, 3)
    second = kernel(x, y, out=first)
    assert second.M.ctypes.data == first.M.ctypes.data
    np.testing.assert_array_equal(second.M, kernel(x, y).M)
    for wrong in (kernel.compact(x, y), kernel(x[:9], y[:9]), build(random_program(8, 100), backend)(x, y)):
        with pytest.raises(KernelError, match="out is not a result of this kernel for 50 samples"):
            kernel(x, y, out=wrong)


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_without_operations_and_inputs_without_entries(backend: Backend) -> None:
    x = ca.SX.sym("x", 2)
    outputs = {"zero": ca.SX(3, 2), "row": x.T, "none": ca.SX(0, 4), "five": 5.0}
    found = build(trace("t", {"e": ca.SX(0, 1), "x": x}, outputs), backend)(np.zeros((3, 0)), np.ones((3, 2)))
    np.testing.assert_array_equal(found.zero, np.zeros((3, 3, 2)))
    np.testing.assert_array_equal(found.row, np.ones((3, 1, 2)))
    np.testing.assert_array_equal(found.five, np.full((3, 1), 5.0))
    assert found.none.shape == (3, 0, 4)
    np.testing.assert_array_equal(build(trace("t", {}, {"c": ca.DM([1, 2])}), backend)().c, [[1.0, 2.0]])


def test_threads_and_streaming_stores_give_the_same_numbers() -> None:
    y, yd, ydd, matrix = regressor()
    program = trace("arm", {"y": y, "yd": yd, "ydd": ydd}, {"W": matrix})
    n = 60_003  # above the size for both
    data = [samples(k, n, 6) for k in range(3)]
    two, one = build(program, "c", threads=2), build(program, "c")
    whole = two.compact(*data).W
    for part, outputs in one.stream(*data, compact=True):
        np.testing.assert_array_equal(outputs.W, whole[:, part])


def test_kernels_and_results_pickle() -> None:
    program = random_program(9, 60)
    x, y = samples(0, 12, 5), samples(1, 12, 3)
    for backend in BACKENDS:
        kernel = build(program, backend)
        found = pickle.loads(pickle.dumps(kernel))(x, y)
        again = pickle.loads(pickle.dumps(found))
        assert again.names == ("M", "v", "one")
        np.testing.assert_array_equal(again.v, kernel(x, y).v)
