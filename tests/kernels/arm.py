"""A small arm regressor written out by hand: a realistic expression for tests and for measuring speed."""

from __future__ import annotations

from typing import Any

import casadi as ca

# Khalil-Kleinfinger rows of a TX40-like arm: sin(alpha), cos(alpha), d, sin and cos of the offset of theta,
# r.
ROWS = (
    (0, 1, 0.0, 0, 1, 0.32),
    (-1, 0, 0.0, 0, 1, 0.035),
    (0, 1, 0.225, 1, 0, 0.0),
    (1, 0, 0.0, 0, 1, 0.225),
    (-1, 0, 0.0, 0, 1, 0.0),
    (1, 0, 0.0, 0, 1, 0.065),
)
PER_JOINT = 13  # ten inertial parameters, rotor inertia, viscous and Coulomb friction


def regressor(rows: tuple[tuple[float, ...], ...] = ROWS) -> tuple[Any, Any, Any, Any]:
    """Symbols y, yd, ydd (n) and the regressor W (n, 13 n), forward only, with structural zeros."""
    n = len(rows)
    y, yd, ydd = (ca.SX.sym(name, n) for name in ("y", "yd", "ydd"))
    matrix = ca.SX(n, PER_JOINT * n)
    w, dw, a = ca.SX(3, 1), ca.SX(3, 1), ca.SX(3, 1)
    a[2] = 9.81
    axes: list[tuple[Any, Any]] = []
    for j, (sa, c_a, d, so, co, r) in enumerate(rows):
        s, c = ca.sin(y[j]) * co + ca.cos(y[j]) * so, ca.cos(y[j]) * co - ca.sin(y[j]) * so
        rotation = ca.sparsify(
            ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s * c_a, c * c_a, -sa), ca.horzcat(s * sa, c * sa, c_a))
        )
        p = ca.sparsify(ca.SX(ca.DM([d, -sa * r, c_a * r])))
        a = rotation.T @ (a + (ca.skew(dw) + ca.skew(w) @ ca.skew(w)) @ p)
        z, zd = ca.SX(3, 1), ca.SX(3, 1)
        z[2], zd[2] = yd[j], ydd[j]
        w = rotation.T @ w
        dw = rotation.T @ dw + ca.cross(w, z) + zd
        w = w + z
        axes = [(rotation.T @ axis, rotation.T @ (arm + ca.cross(axis, p))) for axis, arm in axes]
        own = ca.SX(3, 1)
        own[2] = 1
        axes.append((own, ca.SX(3, 1)))
        spin = ca.skew(dw) + ca.skew(w) @ ca.skew(w)
        moment = ca.horzcat(_inertia(dw) + ca.skew(w) @ _inertia(w), -ca.skew(a), ca.SX(3, 1))
        force = ca.horzcat(ca.SX(3, 6), spin, a)
        first = PER_JOINT * j
        for i, (axis, arm) in enumerate(axes):
            matrix[i, first : first + 10] = axis.T @ moment + arm.T @ force
        matrix[j, first + 10 : first + 13] = ca.horzcat(ydd[j], yd[j], ca.sign(yd[j]))
    return y, yd, ydd, ca.sparsify(matrix)


def _inertia(v: Any) -> Any:
    """I v = _inertia(v) @ (XX, XY, XZ, YY, YZ, ZZ)."""
    matrix = ca.SX(3, 6)
    for row, entries in enumerate((((0, 0), (1, 1), (2, 2)), ((1, 0), (3, 1), (4, 2)), ((2, 0), (4, 1), (5, 2)))):
        for col, k in entries:
            matrix[row, col] = v[k]
    return matrix
