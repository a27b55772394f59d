"""Effort terms, each against a formula written by hand, a derivative of energy, or power."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.pinocchio_bridge import distance_effort, to_pinocchio
from tests.helpers.robots import at, five_bar, planar_2r, random_parameters, random_tree

from dalembert.errors import DalembertError
from dalembert.model import Model, build_model
from dalembert.motion import random_states
from dalembert.robot import Anchor, Coordinate, Distance, Effort, EffortKind, JointType, Robot
from dalembert.robot.expression import parse

# hand formulas of a few operations on numbers of order one
EXACT = 1e-12
ON = Coordinate((("q1", 2.0), ("q2", -0.5)), 0.3)
LINE = Distance(Anchor("link1", at(0.1, 0.2, 0.05)), Anchor("link2", at(0.3, -0.1, 0.2)))


def with_effort(*efforts: Effort) -> Model:
    return build_model(planar_2r().with_efforts(efforts), backend="numpy")


def columns(model: Model, y: np.ndarray, yd: np.ndarray, ydd: np.ndarray) -> np.ndarray:
    """(n, 2, k) columns of the effort parameters."""
    n = sum(len(e.parameters) for e in model.robot.efforts)
    return model.regressor(y, yd, ydd, "platform")[:, :, -n:]


LAWS = {
    EffortKind.ROTOR: lambda x, xd, xdd: [xdd],
    EffortKind.VISCOUS: lambda x, xd, xdd: [xd],
    EffortKind.COULOMB: lambda x, xd, xdd: [np.sign(xd)],
    EffortKind.OFFSET: lambda x, xd, xdd: [np.ones_like(x)],
    EffortKind.CONSTANT: lambda x, xd, xdd: [np.ones_like(x)],
}


@pytest.mark.parametrize("kind", list(LAWS))
def test_laws_along_a_combination_of_coordinates(kind: EffortKind, rng: np.random.Generator) -> None:
    """x = 2 q1 - q2/2 + 0.3: the effort pushes (2, -1/2) times its law."""
    model = with_effort(Effort("e", kind, ON))
    y, yd, ydd = rng.standard_normal((3, 20, 2))
    row = np.array([2.0, -0.5])
    law = np.stack(LAWS[kind](y @ row + 0.3, yd @ row, ydd @ row), axis=-1)
    np.testing.assert_allclose(columns(model, y, yd, ydd), row[:, None] * law[:, None, :], rtol=0, atol=EXACT)


def test_a_spring_with_known_and_unknown_rest(rng: np.random.Generator) -> None:
    y, yd, ydd = rng.standard_normal((3, 20, 2))
    row = np.array([2.0, -0.5])
    x = y @ row + 0.3
    known = with_effort(Effort("s", EffortKind.SPRING, ON, rest=0.7))
    assert known.parameters[-1:] == ("k_s",)
    np.testing.assert_allclose(columns(known, y, yd, ydd)[:, :, 0], row * (x - 0.7)[:, None], rtol=0, atol=EXACT)
    unknown = with_effort(Effort("s", EffortKind.SPRING, ON))
    assert unknown.parameters[-2:] == ("k_s", "kr_s")
    # k (x - rest) with kr = k rest
    force = columns(unknown, y, yd, ydd) @ [5.0, 5.0 * 0.7]
    np.testing.assert_allclose(force, 5.0 * row * (x - 0.7)[:, None], rtol=0, atol=10 * EXACT)


def _distance(y: np.ndarray) -> float:
    """Length of LINE by the planar geometry of the 2R arm."""

    def turn(a: float) -> np.ndarray:
        return np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])

    a = turn(y[0]) @ [0.1, 0.2]
    b = turn(y[0]) @ [0.5, 0.0] + turn(y[0] + y[1]) @ [0.3, -0.1]
    return math.hypot(*(b - a), 0.15)


def test_a_spring_between_two_bodies_is_the_slope_of_its_energy(rng: np.random.Generator) -> None:
    model = with_effort(Effort("s", EffortKind.SPRING, LINE, rest=0.2))
    pi = np.zeros(len(model.parameters))
    pi[-1] = 40.0
    y = rng.uniform(-2, 2, (10, 2))
    zero = np.zeros((10, 2))
    force = model.inverse_kernel("platform")(y, zero, zero, pi)["gamma"]
    h = 1e-5
    for k in range(10):
        energy = [20.0 * (_distance(y[k] + d) - 0.2) ** 2 for d in (h * np.eye(2)).tolist() + (-h * np.eye(2)).tolist()]
        slope = (np.array(energy[:2]) - energy[2:]) / (2 * h)
        # central differences of step 1e-5: truncation h^2 and rounding 1e-16/h leave 1e-9
        np.testing.assert_allclose(force[k], slope, rtol=0, atol=1e-8)
    found = model.energy_kernel()(y, zero, pi)["V"].ravel()
    np.testing.assert_allclose(found, [20.0 * (_distance(k) - 0.2) ** 2 for k in y], rtol=1e-12)


@pytest.mark.parametrize("kind", [EffortKind.VISCOUS, EffortKind.COULOMB, EffortKind.CONSTANT, EffortKind.SPRING])
def test_efforts_on_a_distance_in_space(kind: EffortKind, rng: np.random.Generator) -> None:
    """A cable between two far links of a spatial tree: force along the line, by Pinocchio's Jacobians."""
    tree = random_tree(rng, [JointType.REVOLUTE, JointType.HELICAL, JointType.PRISMATIC, JointType.REVOLUTE])
    on = Distance(Anchor("b0", at(0.2, 0.1, 0)), Anchor("b3", at(0, 0.3, 0.1)))
    robot = tree.with_efforts([Effort("cable", kind, on)])
    model, engine = build_model(robot, backend="numpy"), to_pinocchio(robot)
    y, yd, ydd = rng.standard_normal((3, 10, 4))
    ours = columns(model, y, yd, ydd)
    names = robot.efforts[0].parameters
    for k in range(10):
        for i, name in enumerate(names):
            values = {other: float(other == name) for other in names}
            expected = distance_effort(engine, robot.efforts[0], values, y[k], yd[k])
            np.testing.assert_allclose(ours[k, :, i], expected, rtol=0, atol=1e-11)


def test_a_rotor_on_a_distance_is_a_mass_along_it(rng: np.random.Generator) -> None:
    """Power of Ia xdd along x is the rate of Ia xd^2 / 2, whatever the coordinates."""
    model = with_effort(Effort("r", EffortKind.ROTOR, LINE))
    y, yd, ydd = rng.standard_normal((3, 2))
    column = columns(model, y[None], yd[None], ydd[None])[0, :, 0]
    h = 1e-4

    def half_speed_squared(t: float) -> float:
        at_ = [_distance(y + yd * s + ydd * s**2 / 2) for s in (t + h, t - h)]
        return ((at_[0] - at_[1]) / (2 * h)) ** 2 / 2

    power = (half_speed_squared(h) - half_speed_squared(-h)) / (2 * h)
    # nested differences of step 1e-4: h^2 = 1e-8 of third derivatives of order ten
    assert column @ yd == pytest.approx(power, abs=2e-6)


def test_a_basis_is_what_its_expressions_say(rng: np.random.Generator) -> None:
    basis = tuple(parse(text) for text in ("1", "q2^2", "sin(2*q1)*d(q2)", "dd(q1) - q2/3", "atan2(q1, 2 + q2^2)"))
    model = with_effort(Effort("cable", EffortKind.BASIS, Coordinate((("q2", 2.0),)), basis=basis))
    assert model.parameters[-5:] == tuple(f"c{i}_cable" for i in range(5))
    y, yd, ydd = rng.standard_normal((3, 20, 2))
    (q1, q2), (_, v2), (a1, _) = y.T, yd.T, ydd.T
    laws = [np.ones(20), q2**2, np.sin(2 * q1) * v2, a1 - q2 / 3, np.arctan2(q1, 2 + q2**2)]
    expected = np.zeros((20, 2, 5))
    expected[:, 1, :] = 2.0 * np.stack(laws, axis=1)
    np.testing.assert_allclose(columns(model, y, yd, ydd), expected, rtol=0, atol=EXACT)


def test_a_given_force_need_not_act_where_it_looks(rng: np.random.Generator) -> None:
    """The TX40's printed wrist friction: sign of one joint's rate on the other joint."""
    force = (("q1", parse("sign(d(q2))")), ("q2", parse("sign(d(q1)) + q1")))
    model = with_effort(Effort("cross", EffortKind.FORCE, None, force=force))
    y, yd, ydd = rng.standard_normal((3, 20, 2))
    expected = np.column_stack([np.sign(yd[:, 1]), np.sign(yd[:, 0]) + y[:, 0]])
    np.testing.assert_allclose(columns(model, y, yd, ydd)[:, :, 0], expected, rtol=0, atol=EXACT)


def test_efforts_on_loops_are_projected_like_any_force(rng: np.random.Generator) -> None:
    """Friction on a passive joint and a spring across the loop: power balance with the motors."""
    robot = five_bar(efforts=False)
    across = Distance(Anchor("crank1", at(0.1)), Anchor("rod2", at(0.2)))
    efforts = (
        Effort("p1", EffortKind.VISCOUS, Coordinate((("p1", 1.0),))),
        Effort("tip", EffortKind.COULOMB, Coordinate((("q1", 1.0), ("p1", 1.0), ("q2", -1.0), ("p2", -1.0)))),
        Effort("s", EffortKind.SPRING, across, rest=0.1),
    )
    robot = robot.with_efforts(efforts)
    model = build_model(robot, backend="numpy")
    pi = random_parameters(robot, rng)
    pi[: 10 * len(robot.bodies)] = 0.0
    s = random_states(model, 10, rng)
    tau = model.inverse_dynamics(s.y, s.yd, s.ydd, pi)
    power = (tau * (s.yd @ robot.motor_map().T)).sum(axis=1)
    relative = s.yd @ [1.0, 1.0, -1.0, -1.0]  # coordinates q1 p1 q2 p2
    lost = pi[-3] * s.yd[:, 1] ** 2 + pi[-2] * np.abs(relative)
    h = 1e-6
    zero = np.zeros_like(s.y)
    stored = [model.energy_kernel()(s.y + d * s.yd, zero, pi)["V"].ravel() for d in (h, -h)]
    # differences of step 1e-6 leave 1e-9 of the stored energy's rate
    np.testing.assert_allclose(power, lost + (stored[0] - stored[1]) / (2 * h), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "effort",
    [
        Effort("bad", EffortKind.BASIS, Coordinate((("q1", 1.0),)), basis=(parse("sin(q9)"),)),
        Effort("bad", EffortKind.BASIS, Coordinate((("q1", 1.0),)), basis=(parse("d(q1*q2)"),)),
        Effort("bad", EffortKind.FORCE, None, force=(("q1", parse("d(x)")),)),
    ],
    ids=["unknown name", "rate of an expression", "rate of a stranger"],
)
def test_a_bad_law_is_refused_in_one_line(effort: Effort) -> None:
    def build() -> None:
        model = with_effort(effort)
        model.regressor(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))

    with pytest.raises(DalembertError) as caught:
        build()
    assert "\n" not in str(caught.value)
    assert "bad" in str(caught.value)


def test_effort_of_a_robot_that_is_not_there() -> None:
    robot: Robot = planar_2r()
    with pytest.raises(DalembertError, match="q7"):
        replace(robot, efforts=(Effort("e", EffortKind.VISCOUS, Coordinate((("q7", 1.0),))),))
