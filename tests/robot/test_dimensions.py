"""Units have dimensions: a value that is written in those of something else is refused."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from tests.robot.test_bad_descriptions import GOOD

from dalembert.errors import RobotError
from dalembert.robot import Robot, load_robot, quantity, read_yaml
from dalembert.robot.dimension import PLAIN, UNITS, Dimension
from dalembert.robot.expression import dimension_of, evaluate, parse
from dalembert.robot.quantity import Quantity

# Sizes of a smaller unit of mass, length and time: values measured in them grow by the powers of their dimension.
SMALLER = {"kg": 1000.0, "m": 1.25, "s": 64.0}
AMOUNTS = {"w": ("kg", 3.0), "l": ("m", 0.4), "r": ("m", 0.7), "T": ("s", 0.3)}


@pytest.mark.parametrize(
    "text",
    [
        "2*w*l^2", "w*r/T^2", "l + r", "-l", "l - 3 mm*(r/l)", "sqrt(w*l^2/w)", "(l*r)^0.5/T", "w*l^(1 + 1)", "r*atan2(l, r)",
        "abs(l - r)", "w*9.81*cos(l/r)*l", "exp(-T/T)*w", "2*pi/(l)", "(w + w)*(l/T)^2",
    ],
)  # fmt: skip
def test_dimensions_say_how_values_scale(text: str) -> None:
    """What a dimension is: the same expression in other units of mass, length and time."""
    tree = parse(text)
    dimensions = {name: UNITS[unit].dimension for name, (unit, _) in AMOUNTS.items()}
    values = {name: value for name, (_, value) in AMOUNTS.items()}
    found = dimension_of(tree, dimensions, values)
    kg, m, s, *_ = found.powers
    scale = SMALLER["kg"] ** kg * SMALLER["m"] ** m * SMALLER["s"] ** s
    if "mm" in text:  # a unit is scaled by the grammar, not by us
        text = text.replace("3 mm", f"{3e-3 * SMALLER['m']!r} m")
    smaller = {name: value * SMALLER[AMOUNTS[name][0]] for name, value in values.items()}
    assert evaluate(parse(text), smaller) == pytest.approx(scale * evaluate(tree, values), rel=1e-12)


@pytest.mark.parametrize(
    "text", ["3 kg + 2 mm", "1 deg - 1 m", "atan2(1 kg, 1 m)", "cos(1 m)", "sin(2 kg m/s^2)", "2 Hz + 3 rpm"]
)
def test_sums_and_functions_of_the_wrong_dimension_are_refused(text: str) -> None:
    with pytest.raises(RobotError, match="expected"):
        dimension_of(parse(text), {}, {})


NAMED = {name: value for name, value in vars(quantity).items() if isinstance(value, Quantity)}


@pytest.mark.parametrize("name", NAMED)
def test_a_quantity_takes_its_own_units_and_no_others(name: str) -> None:
    own = NAMED[name]
    assert own.admits(PLAIN)
    for unit in own.units:
        assert own.admits(dimension_of(parse(f"3 {unit}"), {}, {})), unit
    assert own.admits(UNITS["kg"].dimension.times(UNITS["Nm"].dimension, 5.0)) == (not own.units)


def test_hertz_are_no_radians_per_second() -> None:
    speed, rate = quantity.TURN["velocity"], quantity.RATE
    assert not speed.admits(UNITS["Hz"].dimension) and not rate.admits(UNITS["rpm"].dimension)
    per_second = dimension_of(parse("1/(2 ms)"), {}, {})
    assert speed.admits(per_second) and rate.admits(per_second)
    assert str(Dimension((1.0, 2.0, -1.0, 0.0, 0.0))) == "kg m^2/s"


# a text of the good file, the text in its place, the line, what is said
WRONG = {
    "mass": ("{name: c,", "{name: c, inertia: {mass: 3 mm},", 6, "bodies[2].inertia.mass: found '3 mm' in m, expected a mass in kg, g"),
    "com": ("{name: c,", "{name: c, inertia: {mass: 1, com: [0, 1 deg, 0]},", 6, "com[1]: found '1 deg' in rad, expected a length"),
    "tensor": ("{name: c,", "{name: c, inertia: {mass: 1, tensor: [1 kg m, 1, 1]},", 6, "found '1 kg m' in kg m, expected an inertia"),
    "ten numbers": ("{name: c,", "{name: c, inertia: [1, 0, 0, 1, 0, 1, 0, 0, 0, 1 Nm],", 6, "found '1 Nm' in Nm, expected a mass"),
    "by symbol": ("{name: c,", "{name: c, inertia: {M: 1, MX: 1 kg},", 6, "MX: found '1 kg' in kg, expected a moment of mass"),
    "position": ("[0.2, 0, 0]", "[20 deg, 0, 0]", 6, "found '20 deg' in rad, expected a length in m, cm, mm, um, inch"),
    "rpy": ("at: [0.2, 0, 0]", "rpy: [1 mm, 0, 0]", 6, "found '1 mm' in m, expected an angle in rad, deg, turn"),
    "constant": ("{l: 0.3}", "{l: 0.3 kg}", 5, "found 'l' in kg, expected a length"),
    "sum": ("{l: 0.3}", "{l: 0.3 kg + 2 m}", 2, "joins kg and m, expected the same dimension"),
    "pitch": ("revolute}}", "helical, pitch: 3 kg}}", 6, "expected an advance in m/rad, mm/turn"),
    "torque limit": ("{q1: 50}", "{q1: 50}, torque_limit: 3 kg", 10, "expected a torque or a force in Nm, mNm, N, kN"),
    "ratio": ("{q1: 50}", "{q1: 50 kg}", 10, "expected a ratio in rad/m, m/rad"),
    "rotor": ("[rotor]", "{rotor: 1 Nm}", 10, "found '1 Nm' in Nm, expected an inertia or a mass"),
    "stiffness": ("{on: q3, friction: [viscous, coulomb]}", "{spring: q3, rest: 0, stiffness: 3 N}", 12, "expected a stiffness in Nm/rad"),
    "rest": ("{on: q3, friction: [viscous, coulomb]}", "{spring: q3, rest: 3 kg}", 12, "expected an angle or a length"),
    "home": ("10 deg", "10 mm", 13, "home.q1: found '10 mm' in m, expected an angle in rad, deg, turn"),
    "limit of a turn": ("home:", "limits: {q1: {lower: -3 mm}}\nhome:", 13, "limits.q1.lower: found '-3 mm' in m, expected an angle"),
    "speed in Hz": ("home:", "limits: {q1: {velocity: 3 Hz}}\nhome:", 13, "in Hz, expected a speed in rad/s, deg/s, rpm"),
    "limit of a motor": ("home:", "limits: {m1: {jerk: 3 kg}}\nhome:", 13, "expected a jerk in rad/s^3, deg/s^3, m/s^3"),
    "nominal": ("home:", "nominal: {Fv_q3: 1 Nm}\nhome:", 13, "nominal.Fv_q3: found '1 Nm' in Nm, expected a damping"),
    "gravity": ("home:", "gravity: [0, 0, -9.81 m/s]\nhome:", 13, "in m/s, expected an acceleration in m/s^2"),
    "coupling": ("name: tip, type: point", "type: coupling, set: q3, equals: q1 + 3 kg}\n  - {name: tip, type: point", 8, "in kg, expected an angle"),
    "coupling's constant": ("name: tip, type: point", "type: coupling, set: q3, equals: {q1: 1}, constant: 3 mm}\n  - {name: tip, type: point", 8, "found '3 mm' in m, expected an angle in"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_value_in_units_of_something_else_is_told_in_one_line(case: str, tmp_path: Path) -> None:
    good, bad, line, said = WRONG[case]
    path = tmp_path / "arm.yaml"
    assert good in GOOD
    path.write_text(GOOD.replace(good, bad))
    with pytest.raises(RobotError) as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: ") and "\n" not in message
    assert said in message


def test_units_that_fit_are_read(tmp_path: Path) -> None:
    text = GOOD.replace("{l: 0.3}", "{l: 3 cm*(2 kg)/(200 g), pitch: 5 mm}").replace(
        "{q1: 50}", "{q1: 2*pi/pitch*1 cm}"
    )
    path = tmp_path / "arm.yaml"
    path.write_text(text + "limits: {m1: {velocity: 3000 rpm, acceleration: 2 m/s^2}, q2: {upper: 0.5 turn}}\n")
    robot = read_yaml(path)
    assert robot.bodies[1].placement.position[0] == pytest.approx(0.3, rel=1e-15)
    assert robot.motors[0].turns[0][1] == pytest.approx(4.0 * math.pi, rel=1e-15)
    assert robot.limits["m1"].velocity == pytest.approx(100.0 * math.pi, rel=1e-15)
    assert robot.limits["q2"].upper == pytest.approx(math.pi, rel=1e-15)


def test_a_constant_that_replaces_another_has_its_unit() -> None:
    def placed(r_p: float | str) -> Robot:
        return load_robot("dualv", r_p=r_p)

    assert placed(0.12).bodies == placed("12 cm").bodies
    with pytest.raises(
        RobotError, match=r"r_p \(given\): found '3 kg' in kg, expected m as of the constant it replaces"
    ):
        placed("3 kg")


def test_rounded_right_angles_of_tables_are_right_angles(tmp_path: Path) -> None:
    text = "name: t\nmdh:\n  - {joint: a, antecedent: base}\n  - {joint: b, antecedent: a, alpha: %s, r: 1.57}\n"
    found = []
    for alpha in ("-1.5708", "-pi/2"):
        (tmp_path / "t.yaml").write_text(text % alpha)
        said = (
            pytest.warns(UserWarning, match=r"t.yaml:4: .*alpha: -1.5708 is taken as -pi/2")
            if "." in alpha
            else nullcontext()
        )
        with said:
            found.append(read_yaml(tmp_path / "t.yaml"))
    assert found[0].bodies == found[1].bodies
    assert np.linalg.norm(found[0].bodies[1].placement.position) == pytest.approx(1.57, rel=1e-15)
