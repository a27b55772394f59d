"""NumPy, C and CasADi give the same numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.kernels import build, trace


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 4097])
def test_matches_casadi(backend: str, n: int) -> None:
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    matrix = ca.SX(2, 3)
    matrix[0, 0], matrix[0, 2], matrix[1, 1] = ca.sin(x[0]) * p[0], x[1], 3.0
    program = trace("small", {"x": x, "p": p}, {"M": matrix, "v": ca.cos(x) * p[1]})
    data, parameters = np.random.default_rng(0).normal(size=(n, 3)), np.array([2.0, -3.0])
    found = build(program, backend)(data, parameters)
    assert found.M.shape == (n, 2, 3) and found.v.shape == (n, 3)
    for k in range(n):
        expected = [np.array(value) for value in program.function(data[k], parameters)]
        np.testing.assert_allclose(found.M[k], expected[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.v[k], expected[1][:, 0], rtol=1e-12, atol=1e-14)
