"""What a tape keeps of an expression, and its derivatives."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from tests.kernels.arm import regressor

from dalembert.errors import KernelError
from dalembert.kernels import Backend, build, trace
from dalembert.kernels.tape import FloatArray


def test_zeros_and_constants_are_not_operations() -> None:
    x = ca.SX.sym("x", 2)
    matrix = ca.SX.zeros(2, 3)  # stored zeros, not structural ones
    matrix[0, 0], matrix[1, 1], matrix[1, 2] = x[0] * x[1], 4.0, x[1]
    program = trace("m", {"x": x}, {"M": matrix})
    output = program.output("M")
    assert program.n_operations == 1
    assert list(zip(output.rows.tolist(), output.cols.tolist(), strict=True)) == [(0, 0), (1, 1), (1, 2)]
    np.testing.assert_array_equal(build(program, "c")([[2.0, 3.0]]).M, [[[6, 0, 0], [0, 4, 3]]])


def test_common_subexpressions_are_computed_once() -> None:
    x = ca.SX.sym("x")
    program = trace("c", {"x": x}, {"a": ca.sin(x) * 3, "b": ca.sin(x) * 3 + 1, "c": ca.sin(x)})
    assert program.n_operations == 3


def test_few_work_rows() -> None:
    """A chain of operations needs one or two rows, however long."""
    x = ca.SX.sym("x")
    value = x
    for _ in range(200):
        value = ca.sin(value) + x
    program = trace("chain", {"x": x}, {"y": value})
    assert program.n_operations == 400
    assert program.n_slots == 1


def test_tape_is_frozen() -> None:
    x = ca.SX.sym("x")
    program = trace("f", {"x": x}, {"y": x + 1})
    with pytest.raises(ValueError, match="read-only"):
        program.args[0, 0] = 1
    with pytest.raises(AttributeError):
        program.n_slots = 3  # type: ignore[misc]


def test_bad_expressions_are_named() -> None:
    x, z = ca.SX.sym("x", 2), ca.SX.sym("z")
    with pytest.raises(KernelError, match="symbols that are not inputs: z"):
        trace("t", {"x": x}, {"y": x * z})
    with pytest.raises(KernelError, match="symbol z is in both inputs 'z' and 'w'"):
        trace("t", {"z": z, "w": ca.vertcat(x, z)}, {"y": x})
    with pytest.raises(KernelError, match="output 'y': found a MX; expected SX"):
        trace("t", {"x": x}, {"y": ca.MX.sym("x")})
    with pytest.raises(KernelError, match="input 'x': found"):
        trace("t", {"x": x + 1}, {"y": x})
    with pytest.raises(KernelError, match="expected a column"):
        trace("t", {"x": ca.SX.sym("x", 2, 2)}, {"y": z})
    with pytest.raises(KernelError, match="OP_PRINTME is not supported"):
        trace("t", {"x": x, "z": z}, {"y": z.printme(1)})
    with pytest.raises(KernelError, match="no output 'q'; its outputs are y"):
        trace("t", {"x": x}, {"y": x}).adjoint("q", ["x"])
    with pytest.raises(KernelError, match="no input 'q'; its inputs are x"):
        trace("t", {"x": x}, {"y": x}).adjoint("y", ["q"])


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_adjoint_against_finite_differences(backend: Backend) -> None:
    y, yd, ydd, matrix = regressor()
    program = trace("arm", {"y": y, "yd": yd, "ydd": ydd}, {"W": matrix})
    adjoint = program.adjoint("W", ("y", "yd", "ydd"))
    assert adjoint.n_operations < 3 * program.n_operations
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(5, 6)) for _ in range(3)]
    seed = rng.normal(size=(5, program.output("W").nnz))
    gradient = build(adjoint, backend)(*data, seed)
    kernel = build(program, backend)

    def value(shifted: list[FloatArray]) -> FloatArray:
        total: FloatArray = np.einsum("kn,nk->n", kernel.compact(*shifted).W, seed)
        return total

    step = 1e-6
    for which, name in enumerate(("y", "yd", "ydd")):
        for joint in range(6):
            ahead, behind = [[array.copy() for array in data] for _ in range(2)]
            ahead[which][:, joint] += step
            behind[which][:, joint] -= step
            slope = (value(ahead) - value(behind)) / (2 * step)
            # Central differences at this step: truncation 1e-11, rounding 1e-10 of values of about 1e3.
            np.testing.assert_allclose(gradient[f"grad_{name}"][:, joint], slope, rtol=1e-6, atol=1e-6)


def test_adjoint_is_the_transposed_jacobian() -> None:
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    matrix = ca.SX(2, 2)
    matrix[0, 1], matrix[1, 0], matrix[1, 1] = ca.sin(x[0]) * p[0], x[1] ** 3, 5.0
    program = trace("m", {"x": x, "p": p}, {"M": matrix})
    rng = np.random.default_rng(1)
    data, gains, seed = rng.normal(size=(9, 3)), np.array([2.0, 7.0]), rng.normal(size=(9, 3))
    jacobian = build(program.jacobian("M", "x"), "numpy")(data, gains).dM_dx
    assert jacobian.shape == (9, 3, 3)
    expected = np.zeros((9, 3, 3))
    expected[:, 0, 0], expected[:, 1, 1] = np.cos(data[:, 0]) * 2, 3 * data[:, 1] ** 2
    np.testing.assert_allclose(jacobian, expected, rtol=1e-13)
    found = build(program.adjoint("M", ["x"]), "numpy")(data, gains, seed).grad_x
    np.testing.assert_allclose(found, np.einsum("nki,nk->ni", expected, seed), rtol=1e-13)
