"""The arithmetic of robot files."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.errors import RobotError
from dalembert.robot.dimension import UNITS
from dalembert.robot.expression import Call, Name, Number, evaluate, names_in, parse, to_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3*4", 14.0),
        ("2*3^2", 18.0),
        ("-2^2", -4.0),
        ("(-2)^2", 4.0),
        ("2^3^2", 512.0),
        ("2**-1", 0.5),
        ("1 - 2 - 3", -4.0),
        ("8/4/2", 1.0),
        ("--3", 3.0),
        ("15.52 deg", math.radians(15.52)),
        ("100 deg/s", math.radians(100)),
        ("3*4 mm", 0.012),
        ("2*pi/(5 mm)", 2 * math.pi / 0.005),
        ("pi/2 rad", math.pi / 2),
        ("20 g cm^2", 20e-3 * 1e-4),
        ("5 mm/s^2", 0.005),
        ("30 N/m", 30.0),
        ("3 mNm/rad", 0.003),
        ("60 rpm", 2 * math.pi),
        ("(1 + 2) cm", 0.03),
        ("1.5e-3", 0.0015),
        (".5", 0.5),
        ("atan2(1, -1)", 3 * math.pi / 4),
        ("sqrt(l^2 + 9)", 5.0),
        ("cos(gamma + pi/2) + sin(gamma)", 0.0),
        ("sign(-3) + abs(-2)", 1.0),
        ("m", 7.0),  # a constant may be called like a unit
        ("2*m", 14.0),
    ],
)
def test_value(text: str, value: float) -> None:
    constants = {"l": 4.0, "gamma": 0.3, "m": 7.0}
    assert evaluate(parse(text), constants) == pytest.approx(value, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unexpected 'end'"),
        ("1 +", "expected a number"),
        ("(1", "expected ')'"),
        ("1)", "unexpected ')'"),
        ("3 degs", "did you mean 'deg'"),
        ("2*pi/5 mm", "brackets"),  # 2 pi/5 mm or 2 pi/(5 mm)?
        ("2 kg m^x", "power 'x'"),
        ("foo(1)", "unknown function 'foo'; choose from"),
        ("sin(1, 2)", "takes 1 argument(s), found 2"),
        ("__import__('os')", "unexpected"),
        ("a; b", "unexpected ';'"),
        ("gama", "did you mean 'gamma'"),
        ("1/0", "division by zero"),
        ("sqrt(-1)", "math domain error"),
        ("(-8)^(1/3)", "fractional power of a negative number"),
        ("1e999", "expected a finite number"),
        ("10^10^10", "expression"),
        ("d(gamma)", "rate of a coordinate"),
        ("(" * 500 + "1" + ")" * 500, "nested deeper"),
        ("2^" * 500 + "2", "nested deeper"),
        ("1+" * 900 + "1", "operations in a row"),
        ("1" * 3000, "at most 2000"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(RobotError, match=r"^[^\n]*$") as error:
        evaluate(parse(text), {"gamma": 1.0})
    assert reason in str(error.value)


def test_names_are_those_of_the_robot() -> None:
    assert names_in(parse("pi*cos(q1) + d(q2.turn)*sign(dd(q3)) + 2 mm")) == {"q1", "q2.turn", "q3"}


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_follows_a_number_and_divides(unit: str) -> None:
    assert evaluate(parse(f"3 {unit}"), {}) == 3 * UNITS[unit].factor
    assert evaluate(parse(f"3 kg/{unit}"), {}) == pytest.approx(3 / UNITS[unit].factor, rel=1e-15)


_LEAVES = st.one_of(
    st.floats(0.0, 1e6, allow_subnormal=False).map(Number),
    st.sampled_from(["x", "y", "pose.angle"]).map(Name),
)


def _grown(inner: st.SearchStrategy[Number | Name | Call]) -> st.SearchStrategy[Call]:
    binary = st.tuples(st.sampled_from("+-*/^"), inner, inner).map(lambda t: Call(t[0], (t[1], t[2])))
    unary = st.tuples(st.sampled_from(["sin", "neg", "tanh"]), inner).map(lambda t: Call(t[0], (t[1],)))
    return st.one_of(binary, unary)


@given(st.recursive(_LEAVES, _grown, max_leaves=20))
def test_text_reads_back_as_the_same_tree(tree: Number | Name | Call) -> None:
    assert parse(to_text(tree)) == tree


@given(st.text(max_size=60))
def test_any_text_is_a_tree_or_one_line(text: str) -> None:
    try:
        evaluate(parse(text), {"x": 1.0})
    except RobotError as error:
        assert "\n" not in str(error)  # noqa: PT017 - the message is what is tested
