"""Dry friction taken out of an expression: each ``sign`` of a velocity becomes a number the integrator sets.

An effort with ``sign(w)`` in it, w linear in the velocities, has a jump at w = 0 that no Runge-Kutta step survives.
Written with a symbol in place of each sign it is smooth, and linear in those symbols: +-1 while sliding, anything in
between while held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from dalembert.symbolic import SX

__all__ = ["Switched", "separate"]


@dataclass(frozen=True, slots=True)
class Switched:
    """Expressions with ``signs`` (m,) in place of the sign of each ``slip`` (m,), a velocity linear in yd."""

    expressions: tuple[SX, ...]
    signs: SX
    slip: SX


def separate(expressions: Sequence[SX], state: Sequence[SX], yd: SX) -> Switched:
    """Replace the sign of every velocity in ``expressions`` (columns over the symbols ``state``, one of them ``yd``).

    A sign whose argument is not linear and homogeneous in ``yd`` stays where it is.
    """
    shared = ca.cse([ca.densify(ca.SX(e)) for e in expressions])
    function = ca.Function("switched", list(state), shared, {"cse": False})
    values: dict[int, SX] = {}
    out = [[ca.SX(0)] * e.numel() for e in shared]
    signs: list[SX] = []
    slips: list[SX] = []
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        source, target = function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_INPUT:
            values[target[0]] = state[source[0]].nz[source[1]]
        elif code == ca.OP_OUTPUT:
            out[target[0]][target[1]] = values[source[0]]
        elif code == ca.OP_CONST:
            values[target[0]] = ca.SX(function.instruction_constant(k))
        elif code == ca.OP_SIGN and _is_velocity(values[source[0]], yd):
            signs.append(ca.SX.sym(f"sign{len(signs)}"))
            slips.append(values[source[0]])
            values[target[0]] = signs[-1]
        elif len(source) == 1:
            values[target[0]] = ca.SX.unary(code, values[source[0]])
        else:
            values[target[0]] = ca.SX.binary(code, values[source[0]], values[source[1]])
    column = [ca.reshape(ca.vertcat(*o), e.shape) for o, e in zip(out, shared, strict=True)]
    return Switched(tuple(column), _stack(signs), _stack(slips))


def _stack(items: list[SX]) -> SX:
    return ca.vertcat(*items) if items else ca.SX(0, 1)


def _is_velocity(argument: SX, yd: SX) -> bool:
    if not ca.depends_on(argument, yd):
        return False
    gradient = ca.jacobian(argument, yd)
    rest = ca.simplify(argument - ca.mtimes(gradient, yd))
    if ca.depends_on(gradient, yd):
        return False
    # what is left of a homogeneous argument at yd = 0 folds to zero
    return bool(ca.simplify(ca.substitute(rest, yd, ca.SX.zeros(*yd.shape))).is_zero())
