"""Linear expressions of columns, ``45*m5 + 32*m6 - pi/2``, in the grammar of robot files."""

from __future__ import annotations

from dalembert.errors import RobotError
from dalembert.robot.expression import CONSTANTS, Call, Expression, Name, Number, evaluate, names_in, parse

__all__ = ["linear_form"]

Form = tuple[dict[str, float], float]


def linear_form(text: str) -> tuple[tuple[tuple[str, float], ...], float]:
    """Factors of the columns and the constant of a linear expression; RobotError when it is not linear."""
    terms, constant = _form(parse(text), text)
    return tuple((name, factor) for name, factor in terms.items() if factor != 0.0), constant


def _form(tree: Expression, text: str) -> Form:
    if isinstance(tree, Number):
        return {}, tree.value
    if isinstance(tree, Name):
        return ({}, CONSTANTS[tree.name]) if tree.name in CONSTANTS else ({tree.name: 1.0}, 0.0)
    if not names_in(tree):
        return {}, evaluate(tree, {})
    if tree.function == "neg":
        return _scaled(_form(tree.arguments[0], text), -1.0)
    if tree.function in ("+", "-"):
        a, a0 = _form(tree.arguments[0], text)
        b, b0 = _scaled(_form(tree.arguments[1], text), -1.0 if tree.function == "-" else 1.0)
        return {n: a.get(n, 0.0) + b.get(n, 0.0) for n in (*a, *(k for k in b if k not in a))}, a0 + b0
    return _product(tree, text)


def _product(tree: Call, text: str) -> Form:
    left, right = tree.arguments[0], tree.arguments[-1]
    if tree.function == "*" and not names_in(left):
        return _scaled(_form(right, text), evaluate(left, {}))
    if tree.function == "*" and not names_in(right):
        return _scaled(_form(left, text), evaluate(right, {}))
    if tree.function == "/" and not names_in(right):
        divisor = evaluate(right, {})
        if divisor == 0.0:
            raise RobotError(f"expression {text!r} divides by zero")
        return _scaled(_form(left, text), 1.0 / divisor)
    raise RobotError(f"expression {text!r} is not linear in its columns, expected sums of number * column")


def _scaled(form: Form, factor: float) -> Form:
    return {name: value * factor for name, value in form[0].items()}, form[1] * factor
