"""Motions to follow: every family through one contract, then what each promises."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.helpers.catalog import catalog_robot

from dalembert.errors import DalembertError, UsageError
from dalembert.model import Model, build_model
from dalembert.motion import singularity_margins
from dalembert.robot import Limit
from dalembert.simulation import Trajectory, make_reference, read_trajectory
from dalembert.simulation.trajectories import (
    Law,
    corners,
    home_of,
    limit_of,
    move_times,
    moves,
    outlines,
    rotated_squares,
)

Array = NDArray[np.float64]

FOURIER = """\
family: fourier
coordinates: [pose.x, pose.y, pose.angle]
duration: 2 s
centre: [0.01, 0, 5 deg]
sine: [[20 mm, 0.01], [0, 0.02], [0.1, 0.05]]
cosine: [[0, 0.01], [0.02, 0], [0, 0.1]]
"""
RANDOM = "family: fourier\nduration: 2 s\nharmonics: 4\namplitude: [40 mm, 30 mm, 10 deg]\nseed: 3\n"
POINTS = """\
family: points
points: [[0, 0, 0], [0.03, -0.02, 0.1], [0.01, 0.02, -0.1], [0, 0, 0]]
move: [0.5, 0.4 s, 300 ms]
pause: 0.1 s
law: LAW
"""
DRAWN = "family: points\nrandom: {count: 6, seed: 5}\npause: 50 ms\nlaw: septic\n"
OUTLINE = """\
family: outline
plane: [pose.x, pose.y]
shapes: [{square: 60 mm}, {square: 60 mm, turn: 20 deg}, {triangle: 80 mm, centre: [0, 0.01]},
         {vertices: [[0, 0.04], [-0.03, -0.02], [0.03, -0.02]]}]
hold: {pose.angle: -10 deg}
move: 0.3 s
laps: 2
"""
FILES = {
    "fourier": FOURIER, "random fourier": RANDOM, "cubic": POINTS.replace("LAW", "cubic"),
    "quintic": POINTS.replace("LAW", "quintic"), "septic": POINTS.replace("LAW", "septic"), "random points": DRAWN,
    "outline": OUTLINE,
}  # fmt: skip
# continuous derivatives at the knots, from the position's on
SMOOTH = {"cubic": 1, "quintic": 2, "septic": 3, "random points": 3, "outline": 2}
KINDS = [*FILES, "table", "table of motors"]


@cache
def model_of(name: str) -> Model:
    return build_model(catalog_robot(name), backend="numpy")


def written(kind: str, folder: Path) -> Trajectory:
    """A trajectory of the DualV read from a file of that kind."""
    model = model_of("dualv")
    if kind not in FILES:
        t = np.arange(400) * 0.01
        x = 0.03 * np.stack([np.sin(2 * t) * t, np.cos(3 * t) - 1, np.sin(t + 1)], axis=1)
        names = list(model.independent)
        if kind == "table of motors":
            follower = make_reference(model, lambda at: (x, 0 * x, 0 * x), 3.99, 100.0)
            names, x = [f"q_{name}" for name in model.robot.motor_names], follower.q
        rows = [["t", *names], *np.column_stack([t, x]).tolist()]
        path = folder / "table.csv"
        path.write_text("\n".join(",".join(str(cell) for cell in row) for row in rows))
        return read_trajectory(path, model)
    path = folder / "trajectory.yaml"
    path.write_text(FILES[kind])
    return read_trajectory(path, model)


def knots(path: Trajectory) -> Array:
    motion = path.motion
    return np.concatenate([motion.start, motion.end]) if hasattr(motion, "start") else np.zeros(0)


# --- the contract ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_velocity_and_acceleration_are_derivatives(kind: str, tmp_path: Path, rng: np.random.Generator) -> None:
    path, h = written(kind, tmp_path), 3e-5
    t = rng.uniform(2 * h, path.duration - 2 * h, 400)
    t = t[(np.abs(t[:, None] - knots(path)) > 2 * h).all(axis=1)]  # a cubic's acceleration jumps there
    x, xd, xdd = path(t)
    before, after = path(t - h), path(t + h)
    np.testing.assert_allclose(xd, (after[0] - before[0]) / (2 * h), atol=1e-5 * np.abs(xd).max())
    np.testing.assert_allclose(xdd, (after[1] - before[1]) / (2 * h), atol=1e-5 * np.abs(xdd).max())
    assert x.shape == xd.shape == xdd.shape == (len(t), x.shape[1])


@pytest.mark.parametrize("kind", list(SMOOTH))
def test_moves_join_as_smoothly_as_their_law(kind: str, tmp_path: Path) -> None:
    path, h = written(kind, tmp_path), 1e-6
    at = knots(path)
    at = at[(at > h) & (at < path.duration - h)]
    before, after = path(at - h), path(at + h)
    third = [(path(at + s * 1e-4)[2] - path(at + s * 2e-4)[2]) / (s * -1e-4) for s in (-1, 1)]
    fine = path(np.linspace(0.0, path.duration, 4001))
    jumps = [np.abs(b - a).max() / np.abs(f).max() for a, b, f in zip(before, after, fine, strict=True)]
    jumps.append(np.abs(third[1] - third[0]).max() / np.abs(np.gradient(fine[2], path.duration / 4000, axis=0)).max())
    order = SMOOTH[kind]
    assert max(jumps[: min(order, 2) + 1]) < 0.01, jumps
    if order == 3:
        assert jumps[3] < 0.15, jumps  # by differences over 0.3 ms
    elif kind != "outline":
        assert jumps[order + 1] > 0.5, jumps  # and no smoother than it says


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cubic"])  # its accelerations jump
def test_a_reference_is_the_motion_of_the_whole_robot(kind: str, tmp_path: Path) -> None:
    """Rates of motors and passive joints are derivatives too, loops stay closed, the path is met."""
    model, path = model_of("dualv"), written(kind, tmp_path)
    reference = make_reference(model, path, rate=2000.0)
    assert reference.duration == pytest.approx(path.duration, abs=1 / 2000)
    assert np.abs(model.loops_kernel()(reference.y)["c"]).max() < 1e-12
    asked = path(reference.t)[0]
    index = [model.coordinates.index(n) for n in model.independent]
    met = reference.q if path.coordinates == "motors" else reference.y[:, index]
    np.testing.assert_allclose(met, asked, rtol=0, atol=1e-9)
    for value, rate in ((reference.q, reference.qd), (reference.y, reference.yd)):
        # mean of the rate over two ticks, by Simpson's rule
        mean = (rate[:-2] + 4 * rate[1:-1] + rate[2:]) / 6
        np.testing.assert_allclose(
            (value[2:] - value[:-2]) * 1000.0, mean, rtol=0, atol=2e-5 * max(1.0, np.abs(rate).max())
        )


def test_what_rests_may_last_and_what_is_periodic_goes_on(tmp_path: Path) -> None:
    model = model_of("dualv")
    resting = written("quintic", tmp_path)
    longer = make_reference(model, resting, resting.duration + 1.0)
    np.testing.assert_allclose(longer.q[-1000:], longer.q[-1] * np.ones((1000, 1)), atol=1e-12)
    periodic = written("fourier", tmp_path)
    twice = make_reference(model, periodic, 4.0)
    np.testing.assert_allclose(twice.q[:2000], twice.q[2000:4000], atol=1e-9)
    with pytest.raises(UsageError, match=r"5 s asked for, the motion lasts 3\.99 s"):
        make_reference(model, written("table", tmp_path), 5.0)


@pytest.mark.parametrize(("duration", "rate"), [(0.0, 1000.0), (-1.0, 1000.0), (np.nan, 1e3), (1.0, 0.0), (1e9, 1e3)])
def test_a_reference_needs_a_stretch_of_time(duration: float, rate: float, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected"):
        make_reference(model_of("dualv"), written("fourier", tmp_path), duration, rate)


# --- what each promises ------------------------------------------------------------------------------------------------


def test_a_fourier_file_gives_its_coefficients(tmp_path: Path) -> None:
    t = np.linspace(0.0, 2.0, 50)
    x = written("fourier", tmp_path)(t)[0]
    w = np.pi
    first = 0.01 + 0.02 * np.sin(w * t) + 0.01 * np.sin(2 * w * t) + 0.01 * np.cos(2 * w * t)
    third = np.deg2rad(5) + 0.1 * np.sin(w * t) + 0.05 * np.sin(2 * w * t) + 0.1 * np.cos(2 * w * t)
    np.testing.assert_allclose(x[:, [0, 2]], np.stack([first, third], axis=1), atol=1e-12)


def test_a_random_fourier_motion_reaches_as_far_as_it_says(tmp_path: Path) -> None:
    path = written("random fourier", tmp_path)
    x = path(np.linspace(0.0, 2.0, 20_000))[0]
    np.testing.assert_allclose(np.abs(x).max(axis=0), [0.04, 0.03, np.deg2rad(10)], rtol=1e-3)
    (tmp_path / "again").mkdir()
    np.testing.assert_array_equal(x, written("random fourier", tmp_path / "again")(np.linspace(0.0, 2.0, 20_000))[0])


def test_moves_are_at_rest_in_their_points_at_their_times(tmp_path: Path) -> None:
    path = written("quintic", tmp_path)
    at = np.array([0.0, 0.5, 0.6, 1.0, 1.1, 1.4, 1.5])
    x, xd, xdd = path(at)
    p = np.array([[0, 0, 0], [0.03, -0.02, 0.1], [0.01, 0.02, -0.1], [0, 0, 0]])
    np.testing.assert_allclose(x, p[[0, 1, 1, 2, 2, 3, 3]], atol=1e-15)
    assert np.abs(xd).max() < 1e-12 and np.abs(xdd).max() < 1e-9
    assert path.duration == pytest.approx(1.5)
    half = path([0.25])[0][0]
    np.testing.assert_allclose(half, p[1] / 2, atol=1e-15)  # straight, half way at half time


@pytest.mark.parametrize("law", list(Law))
def test_fastest_moves_touch_a_limit_and_cross_none(law: Law, rng: np.random.Generator) -> None:
    points = rng.standard_normal((6, 3))
    velocity, acceleration = np.array([1.0, 2.0, 0.3]), np.array([5.0, 2.0, 9.0])
    path = moves(points, move_times(points, velocity, acceleration, law), law=law)
    for start, end in zip(path.start, path.end, strict=True):
        _, xd, xdd = path(np.linspace(start, end - 1e-12, 4001))
        used = max((np.abs(xd) / velocity).max(), (np.abs(xdd) / acceleration).max())
        assert used == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("name", ["scara", "dualv", "delta", "3prrr"])
def test_random_points_can_be_gone_to(name: str, tmp_path: Path) -> None:
    """Within limits, loops closed, a third of home's distance from singularities left; from home and back."""
    model = model_of(name)
    (tmp_path / "p.yaml").write_text("family: points\nrandom: {count: 5, seed: 1}\nmove: 0.1 s\n")
    path = read_trajectory(tmp_path / "p.yaml", model)
    reference = make_reference(model, path, rate=500.0)
    home = home_of(model, model.independent)
    np.testing.assert_allclose(path([0.0, path.duration])[0], [home, home], atol=1e-12)
    places = dict(zip(model.coordinates, reference.y.T, strict=True))
    places |= dict(zip(model.robot.motor_names, reference.q.T, strict=True))
    for limited, bound in model.robot.limits.items():
        at_home = places[limited][0]
        assert places[limited].min() >= min(bound.lower, at_home) - 1e-6, limited
        assert places[limited].max() <= max(bound.upper, at_home) + 1e-6, limited
    ends = path(np.arange(1, 6) * 0.1)[0]
    assert len(np.unique(ends.round(6), axis=0)) == 5 and (np.ptp(ends, axis=0) > 0.01).all()
    if model.dynamics.assembly.rows:
        margins, least = singularity_margins(model, reference.y), singularity_margins(model, model.home)
        assert margins.closure.min() > 0.3 * least.closure[0] and margins.motors.min() > 0.3 * least.motors[0]


def test_limits_of_a_coordinate_are_those_of_its_motor_too() -> None:
    robot = catalog_robot("3prrr")  # zeta1 moves on a screw, whose motor has the limits
    motor = next(m for m in robot.motors if m.turns[0][0] == "zeta1")
    ratio, own = motor.turns[0][1], robot.limits[motor.name]
    found = limit_of(robot, "zeta1")
    assert sorted([own.lower / ratio, own.upper / ratio]) == [found.lower, found.upper]
    assert found.velocity == own.velocity / abs(ratio)
    both = replace(robot, limits={**robot.limits, "zeta1": Limit(-1e-3, 1e-3)})
    assert limit_of(both, "zeta1") == Limit(-1e-3, 1e-3, found.velocity, found.acceleration, found.jerk)
    assert limit_of(robot, "pose.x") == robot.limits.get("pose.x", Limit())


def test_points_of_motors_and_of_other_coordinates(tmp_path: Path) -> None:
    """The Delta by its four motors, and by its arms' angles and the fork's."""
    model = model_of("delta")
    (tmp_path / "m.yaml").write_text("family: points\ncoordinates: motors\nrandom: {count: 2, amplitude: 0.3}\n")
    path = read_trajectory(tmp_path / "m.yaml", model)
    reference = make_reference(model, path)
    np.testing.assert_allclose(reference.q, path(reference.t)[0], atol=1e-9)
    names = ("phi1", "phi2", "phi3", "psi")
    text = f"family: fourier\ncoordinates: [{', '.join(names)}]\nduration: 1\namplitude: 10 deg\n"
    (tmp_path / "f.yaml").write_text(text)
    path = read_trajectory(tmp_path / "f.yaml", model)
    reference = make_reference(model, path)
    index = [model.coordinates.index(name) for name in names]
    np.testing.assert_allclose(reference.y[:, index], path(reference.t)[0], atol=1e-9)


def test_motors_of_an_over_actuated_robot_must_belong_together(tmp_path: Path) -> None:
    model = model_of("dualv")
    table = written("table of motors", tmp_path)
    q = table(np.arange(0.0, 3.9, 0.01))[0]
    noisy = q + 1e-4 * np.random.default_rng(0).standard_normal(q.shape)
    np.testing.assert_allclose(  # as an encoder reads them: reconciled
        make_reference(model, Trajectory(lambda t: (noisy, 0 * noisy, 0 * noisy), "motors", 3.89), rate=100.0).q, q,
        rtol=0, atol=1e-3,
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"do not belong together.*0\.0[2-5]\d* rad"):
        make_reference(model, Trajectory(lambda t: (q + np.eye(4)[0] * 0.1, 0 * q, 0 * q), "motors", 3.89), rate=100.0)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_outlines_are_regular(count: int, rng: np.random.Generator) -> None:
    side, centre, turn = 0.3, rng.standard_normal(2), rng.uniform(0.0, 6.0)
    p = corners(count, side, centre, turn)
    edges = np.roll(p, -1, axis=0) - p
    np.testing.assert_allclose(np.linalg.norm(edges, axis=1), side, rtol=1e-12)
    np.testing.assert_allclose(p.mean(axis=0), centre, atol=1e-12)
    crossed = edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)
    np.testing.assert_allclose(crossed, side**2 * np.sin(2 * np.pi / count), rtol=1e-12)  # counter-clockwise
    level = corners(4, side)
    np.testing.assert_allclose(np.abs(level), side / 2, rtol=1e-12)  # along the axes
    np.testing.assert_allclose(corners(3, side)[0, 0], 0.0, atol=1e-15)  # a triangle points along the second axis


def test_rotated_squares_turn_about_their_centre() -> None:
    """[Fontes17]: five squares, each ten degrees on."""
    squares = rotated_squares(0.08)
    assert len(squares) == 5
    c, s = np.cos(np.pi / 18), np.sin(np.pi / 18)
    for before, after in pairwise(squares):
        np.testing.assert_allclose(after, before @ np.array([[c, s], [-s, c]]), atol=1e-15)


def test_an_outline_is_gone_along_side_by_side_and_home_again(tmp_path: Path) -> None:
    model, path = model_of("dualv"), written("outline", tmp_path)
    home = home_of(model, model.independent)
    np.testing.assert_allclose(path([0.0, path.duration])[0], [home, home], atol=1e-12)
    stops = path(0.3 * np.arange(1, 10))[0]  # the first square, twice round
    np.testing.assert_allclose(stops[:4, :2], corners(4, 0.06), atol=1e-12)
    np.testing.assert_allclose(stops[4:8], stops[:4], atol=1e-12)
    np.testing.assert_allclose(stops[8], stops[0], atol=1e-12)
    np.testing.assert_allclose(stops[:, 2], np.deg2rad(-10), atol=1e-12)
    middle = path([0.45])[0][0]
    np.testing.assert_allclose(middle, stops[:2].mean(axis=0), atol=1e-12)
    assert path.duration == pytest.approx(0.3 * (2 * 9 + 2 * 7 + 1))
    with pytest.raises(UsageError, match=r"no coordinate 'pose\.z'.*choose from pose\.x"):
        outlines(model, [corners(4, 0.1)], ("pose.x", "pose.z"))


def test_a_table_is_gone_through_and_starts_at_zero(tmp_path: Path) -> None:
    t = 5.0 + np.arange(200) * 0.01
    x = 0.02 * np.sin(3 * t)
    rows = "\n".join(f"{a},{b},0,{b}" for a, b in zip(t, x, strict=True))
    (tmp_path / "x.csv").write_text(f"t,pose.x,pose.y,pose.angle\n{rows}\n")
    path = read_trajectory(tmp_path / "x.csv", model_of("dualv"))
    assert path.duration == pytest.approx(1.99)
    at = np.arange(200) * 0.01
    np.testing.assert_allclose(path(at)[0][:, 0], x, atol=1e-12)
    # between samples and in its second derivative: a quintic spline of step 0.01
    inner = at[20:-20] + 0.004
    np.testing.assert_allclose(path(inner)[2][:, 0], -0.18 * np.sin(3 * (inner + 5.0)), atol=1e-7)


# --- wrong files -------------------------------------------------------------------------------------------------------

WRONG = {
    "family: furier\n": (1, ["'furier'", "choose from fourier, points, outline", "did you mean 'fourier'"]),
    "duration: 3\n": (1, ["'family' is missing", "choose from"]),
    "": (1, ["expected one mapping"]),
    "family: fourier\namplitude: 1\n": (1, ["'duration' is missing"]),
    "family: fourier\nduration: -1\namplitude: 1\n": (2, ["found -1", "greater than zero"]),
    "family: fourier\nduration: 1 m\namplitude: 1\n": (2, ["found '1 m' in m", "expected a time in s, ms"]),
    "family: fourier\nduration: 1\namplitude: 3 mm\n": (3, ["found '3 mm' in m", "an angle in rad, deg, turn"]),
    "family: points\npoints: [[0, 0, 0], [0.01, 1 deg, 0]]\n": (2, ["points[1][1]: found '1 deg'", "a length in m"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: 1 s}]\n": (3, ["found '1 s'", "a length in m"]),
    "family: fourier\nduration: 1\n": (1, ["neither 'amplitude' nor 'sine'"]),
    "family: fourier\nduration: 1\namplitude: 1\nsine: [[1], [1], [1]]\n": (3, ["expected either"]),
    "family: fourier\nduration: 1\nsine: [[1], [1, 2], [1]]\n": (3, ["found a list of 2", "1 harmonics"]),
    "family: fourier\nduration: 1\nsine: [[1], [1]]\n": (3, ["found a list of 2", "pose.x, pose.y, pose.angle"]),
    "family: fourier\nduration: 1\namplitude: 1\nharmonics: 2.5\n": (4, ["found 2.5", "a whole number"]),
    "family: fourier\nduration: 1\namplitude: 1\nseed: -1\n": (4, ["found -1", "a whole number"]),
    "family: fourier\ncoordinates: [pose.x]\nduration: 1\namplitude: 1\n": (2, ["1 coordinates, expected 3"]),
    "family: fourier\ncoordinates: [pose.x, pose.x, pose.y]\nduration: 1\namplitude: 1\n": (2, ["3 different ones"]),
    "family: fourier\ncoordinates: [pose.x, pose.y, q9]\nduration: 1\namplitude: 1\n": (2, ["'q9'", "choose from"]),
    "family: fourier\ncoordinates: motors\nduration: 1\namplitude: 1\n": (2, ["4 positions", "3 mobilities"]),
    "family: points\n": (1, ["expected either 'points' or 'random'"]),
    "family: points\npoints: [[0, 0, 0]]\n": (None, ["1 points, expected at least two"]),
    "family: points\npoints: [[0, 0, 0], [1, 1]]\n": (2, ["found a list of 2"]),
    "family: points\npoints: [[0, 0, 0], [0.01, 0, 0]]\nmove: 0\n": (3, ["greater than zero"]),
    "family: points\npoints: [[0, 0, 0], [0.01, 0, 0]]\nmove: [1, 2]\n": (3, ["found a list of 2"]),
    "family: points\npoints: [[0, 0, 0], [0, 0, 0]]\n": (None, ["no time follows", "points that differ"]),
    "family: points\npoints: [[0, 0, 0], [0.01, 0, 0]]\npause: -1\n": (3, ["found -1", "not negative"]),
    "family: points\npoints: [[0, 0, 0], [0.01, 0, 0]]\nlaw: linear\n": (3, ["'linear'", "cubic, quintic, septic"]),
    "family: points\nrandom: {count: 0}\n": (2, ["found 0", "at least 1"]),
    "family: points\nrandom: {seed: 0}\n": (2, ["'count' is missing"]),
    "family: outline\nplane: [pose.x, pose.y]\n": (1, ["'shapes' is missing"]),
    "family: outline\nplane: [pose.x]\nshapes: [{square: 1}]\n": (2, ["found a list of 1"]),
    "family: outline\nplane: [pose.x, q11]\nshapes: [{square: 0.01}]\n": (
        2,
        ["q11 is not among", "'coordinates' with 2 others"],
    ),
    "family: outline\nplane: [pose.x, pose.x]\nshapes: [{square: 0.01}]\n": (2, ["twice", "two different"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: []\n": (3, ["at least one shape"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: 1, triangle: 2}]\n": (3, ["expected one of square"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: -1}]\n": (3, ["found -1", "greater than zero"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{vertices: [[0, 0]]}]\n": (None, ["expected rows of two"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: 1}]\nhold: {pose.z: 1}\n": (4, ["'pose.z'"]),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: 1}]\nhold: {pose.x: 1}\n": (
        4,
        ["unknown key 'pose.x'", "choose from pose.angle"],
    ),
    "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: 1}]\nlaps: 0\n": (4, ["found 0", "at least 1"]),
}


@pytest.mark.parametrize("text", list(WRONG))
def test_a_wrong_file_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with pytest.raises(DalembertError) as caught:
        read_trajectory(path, model_of("dualv"))
    line, words = WRONG[text]
    message = str(caught.value)
    assert message.startswith(f"{path}:" if line is None else f"{path}:{line}:") and "\n" not in message
    for word in words:
        assert word in message, message


TABLES = {
    "x,y\n0,1\n": "no column 't'",
    "t,pose.x\n0,1\n": "expected t and pose.x, pose.y, pose.angle",
    "t,pose.x,pose.y,pose.angle\n0,0,0,0\n1,0,0,0\n": "2 samples, expected more than 5",
    "t,pose.x,pose.y,pose.angle\n" + "0,0,0,0\n" * 9: "rising times",
    "t,pose.x,pose.y,pose.angle\n" + "".join(f"{k},nan,0,0\n" for k in range(9)): "finite numbers",
}


@pytest.mark.parametrize("text", list(TABLES))
def test_a_wrong_table_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DalembertError) as caught:
        read_trajectory(path, model_of("dualv"))
    assert str(path) in str(caught.value) and TABLES[text] in str(caught.value)
    assert "\n" not in str(caught.value)
