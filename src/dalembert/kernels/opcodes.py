"""The elementary operations a tape may hold."""

from __future__ import annotations

from enum import IntEnum

import casadi as ca

from dalembert.errors import KernelError


class Op(IntEnum):
    """Operation codes of the tape: ours, because CasADi renumbers its own between versions.

    Comparisons and logic give 1.0 or 0.0, and any non-zero number (NaN too) counts as true, as in CasADi.
    """

    ADD = 1
    SUB = 2
    MUL = 3
    DIV = 4
    POW = 5
    FMIN = 6
    FMAX = 7
    FMOD = 8
    REMAINDER = 9
    ATAN2 = 10
    HYPOT = 11
    COPYSIGN = 12
    LT = 13
    LE = 14
    EQ = 15
    NE = 16
    AND = 17
    OR = 18
    IF_ELSE_ZERO = 19
    # From here on: one operand.
    NEG = 30
    INV = 31
    SQ = 32
    TWICE = 33
    SQRT = 34
    FABS = 35
    SIGN = 36
    FLOOR = 37
    CEIL = 38
    NOT = 39
    EXP = 40
    LOG = 41
    EXPM1 = 42
    LOG1P = 43
    SIN = 44
    COS = 45
    TAN = 46
    ASIN = 47
    ACOS = 48
    ATAN = 49
    SINH = 50
    COSH = 51
    TANH = 52
    ASINH = 53
    ACOSH = 54
    ATANH = 55
    ERF = 56
    ERFINV = 57

    @property
    def arity(self) -> int:
        """Number of operands, 1 or 2."""
        return 1 if self >= Op.NEG else 2


_FROM_CASADI = {getattr(ca, f"OP_{op.name}"): op for op in Op} | {ca.OP_CONSTPOW: Op.POW}
_CASADI_NAMES = {getattr(ca, key): key for key in dir(ca) if key.startswith("OP_")}


def from_casadi(code: int, program: str) -> Op:
    """Our code for CasADi's `code`; `program` is named in the error."""
    try:
        return _FROM_CASADI[code]
    except KeyError:
        name = _CASADI_NAMES.get(code, f"number {code}")
        valid = ", ".join(op.name for op in Op)
        raise KernelError(f"program {program!r}: operation {name} is not supported; supported are {valid}") from None
