"""Small linear algebra on CasADi SX in straight-line code: no branch, no pivoting on values.

A constant 0 or 1 never becomes an operation (CasADi folds it), so zeros written as numbers stay structural.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError

__all__ = ["SX", "axis_rotation", "cross", "hat", "pseudo_inverse", "solve", "solve_blocks", "solve_spd"]

SX = Any  # casadi ships no types; every symbolic quantity here is a casadi.SX


def axis_rotation(axis: tuple[float, float, float], angle: SX) -> SX:
    """Rotation matrix about a constant unit axis; coordinate axes give exact zeros and ones."""
    s, c = ca.sin(angle), ca.cos(angle)
    k = np.array(axis)
    outer = np.outer(k, k)
    skew = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    rows = [[outer[i, j] + (float(i == j) - outer[i, j]) * c + skew[i, j] * s for j in range(3)] for i in range(3)]
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def hat(a: SX) -> SX:
    """Matrix of the cross product, ``hat(a) @ b = a x b``."""
    return ca.vertcat(
        ca.horzcat(0, -a[2], a[1]),
        ca.horzcat(a[2], 0, -a[0]),
        ca.horzcat(-a[1], a[0], 0),
    )


def cross(a: SX, b: SX) -> SX:
    """Cross product of each column of ``b`` with the vector ``a``: ``a x b``."""
    return ca.mtimes(hat(a), b)


def _adjugate_inverse(a: SX) -> SX:
    if a.shape[0] == 1:
        return 1 / a
    if a.shape[0] == 2:
        adjugate = ca.vertcat(ca.horzcat(a[1, 1], -a[0, 1]), ca.horzcat(-a[1, 0], a[0, 0]))
        return adjugate / (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
    r0, r1, r2 = (a[i, :].T for i in range(3))
    columns = [ca.cross(r1, r2), ca.cross(r2, r0), ca.cross(r0, r1)]
    return ca.horzcat(*columns) / ca.dot(r0, columns[0])


def _orthogonalise(a: SX, b: SX) -> tuple[SX, SX]:
    """Upper triangular R and ``Q' b`` of ``a = Q R``: modified Gram-Schmidt.

    ``b`` is reduced along with the columns of ``a``: a product with the finished Q, whose columns are orthogonal only
    to the condition of ``a``, would square that condition in the solution's error.
    """
    n = a.shape[1]
    columns = [a[:, j] for j in range(n)]
    r = [[ca.SX(0)] * n for _ in range(n)]
    reduced: list[SX] = []
    for j in range(n):
        r[j][j] = ca.sqrt(ca.dot(columns[j], columns[j]))
        q = columns[j] / r[j][j]
        for k in range(j + 1, n):
            r[j][k] = ca.dot(q, columns[k])
            columns[k] = columns[k] - q * r[j][k]
        reduced.append(ca.mtimes(q.T, b))
        b = b - ca.mtimes(q, reduced[j])
    return ca.vertcat(*[ca.horzcat(*row) for row in r]), ca.vertcat(*reduced)


def _back_substitute(r: SX, b: SX) -> SX:
    n = r.shape[0]
    x: list[SX] = [None] * n
    for i in reversed(range(n)):
        value = b[i, :]
        for j in range(i + 1, n):
            value = value - r[i, j] * x[j]
        x[i] = value / r[i, i]
    return ca.vertcat(*x)


def solve(a: SX, b: SX) -> SX:
    """``a^{-1} b`` for a square block: adjugate up to 3x3, orthogonal elimination beyond, which needs no pivots."""
    if a.shape[0] <= 3:
        return ca.mtimes(_adjugate_inverse(a), b)
    return _back_substitute(*_orthogonalise(a, b))


def pseudo_inverse(a: SX) -> SX:
    """``(a'a)^{-1} a'`` of a tall matrix with independent columns, without forming ``a'a``; the inverse if square."""
    m, n = a.shape
    if m == n:
        return solve(a, ca.SX.eye(n))
    return _back_substitute(*_orthogonalise(a, ca.SX.eye(m)))


def solve_spd(a: SX, b: SX) -> SX:
    """``a^{-1} b`` for a symmetric positive definite matrix by L D L'."""
    n = a.shape[0]
    lower = [[ca.SX(0)] * n for _ in range(n)]
    d: list[SX] = []
    for j in range(n):
        d.append(a[j, j] - sum(lower[j][k] ** 2 * d[k] for k in range(j)))
        for i in range(j + 1, n):
            lower[i][j] = (a[i, j] - sum(lower[i][k] * lower[j][k] * d[k] for k in range(j))) / d[j]
    x = [b[i, :] for i in range(n)]
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - lower[i][k] * x[k]
    x = [x[i] / d[i] for i in range(n)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - lower[k][i] * x[k]
    return ca.vertcat(*x)


def solve_blocks(a: SX, b: SX) -> SX:
    """``a^{-1} b`` along the block-triangular form of ``a``'s pattern: a parallel robot falls apart leg by leg."""
    a = ca.sparsify(a)
    n_blocks, rows, columns, row_starts, column_starts, _, _ = a.sparsity().btf()
    x: list[SX] = [None] * a.shape[1]
    for block in range(n_blocks):  # CasADi's form is lower block triangular
        i = rows[row_starts[block] : row_starts[block + 1]]
        j = columns[column_starts[block] : column_starts[block + 1]]
        if len(i) != len(j):
            raise ModelError("loop closures: the dependent coordinates cannot be solved for (structurally singular)")
        known = [k for k in columns[: column_starts[block]] if any(a.sparsity().has_nz(row, k) for row in i)]
        right = b[i, :]
        if known:
            right = right - ca.mtimes(a[i, known], ca.vertcat(*[x[k] for k in known]))
        block_x = solve(ca.densify(a[i, j]), right)
        for local, k in enumerate(j):
            x[k] = block_x[local, :]
    return ca.vertcat(*x)


def block_sizes(pattern: NDArray[np.bool_]) -> tuple[int, ...]:
    """Sizes of the diagonal blocks of a pattern's block-triangular form; empty when structurally singular."""
    sparsity = ca.sparsify(ca.DM(pattern.astype(float))).sparsity()
    n_blocks, _, _, row_starts, column_starts, _, _ = sparsity.btf()
    sizes = tuple(column_starts[k + 1] - column_starts[k] for k in range(n_blocks))
    heights = tuple(row_starts[k + 1] - row_starts[k] for k in range(n_blocks))
    return sizes if sizes == heights and sum(sizes) == pattern.shape[0] else ()
