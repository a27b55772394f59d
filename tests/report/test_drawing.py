"""What pictures are made of: numbers with the digits that are known, thinned signals, the stick figure's points."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identification.recovery import model_of

from dalembert.motion import random_configurations
from dalembert.report.envelope import thinned
from dalembert.report.figure import draw, sketch
from dalembert.report.labels import Label, gathered, placed
from dalembert.report.numbers import significant, unit_text, with_interval
from dalembert.report.skeleton import skeleton


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234.5, 3, "1234"), (0.0012345, 3, "0.00123"), (-2.5, 2, "−2.5"), (0.0, 4, "0"), (None, 3, "–"),
        (float("nan"), 3, "–"), (1.5e-7, 2, "1.5·10⁻⁷"), (9.996, 3, "10.0"), (2.5e9, 2, "2.5·10⁹"), (99.96, 3, "100"),
    ],
)  # fmt: skip
def test_significant_digits(value, digits, text):
    assert significant(value, digits) in (text, text.replace("1234", "1235"))


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [
        (1.30421, 0.01234, ("1.304", "0.012")), (-0.0004, 0.0123, ("0.000", "0.012")), (5.0, 120.0, ("5", "120")),
        (1234.567, 2.0, ("1234.6", "2.0")), (3.0e-7, 1.2e-8, ("3.00·10⁻⁷", "0.12·10⁻⁷")), (2.0, None, ("2.0000", "–")),
        (1.0, 1e-12, ("1.0000000", "0.0000000")),
    ],
)  # fmt: skip
def test_a_value_has_the_digits_its_interval_knows(value, half, shown):
    assert with_interval(value, half) == shown


def test_units_have_raised_powers():
    assert unit_text("kg m^2") == "kg m²"
    assert unit_text("N m s^-2/rad") == "N m s⁻²/rad"


def test_a_thinned_signal_keeps_every_peak(rng):
    values = rng.standard_normal(100_003)
    values[54_321] = 50.0
    thin = thinned(values, 2.0, 1e-3, 3000)
    assert len(thin.y) <= 3000
    assert np.nanmax(thin.y) == 50.0 and np.nanmin(thin.y) == values.min()
    at = thin.x[np.nanargmax(thin.y)]
    assert abs(at - (2.0 + 54.321)) < 2.0 * thin.step
    assert thin.x[-1] <= 2.0 + 100.003 + thin.step
    kept = thinned(values[:2000], 0.0, 1e-3, 3000)
    np.testing.assert_array_equal(kept.y, values[:2000])


@pytest.mark.parametrize("name", ["dualv", "delta", "tx40", "orthoglide"])
def test_loops_meet_in_the_figure_at_any_configuration(name):
    model = model_of(name)
    lines = skeleton(model)
    y = random_configurations(model, 20, np.random.default_rng(1))
    points = lines.points(y)
    for loop in model.robot.loops:
        found = [(a, b) for label, a, b in lines.loops if label == loop.name]
        if found and loop.kind in ("point", "axis", "weld"):
            a, b = found[0]
            np.testing.assert_allclose(points[:, a], points[:, b], atol=1e-9)
    for label, at, own, _ in lines.joints:
        body = next(b for b in model.robot.bodies if b.joint.name == label)
        if body.joint.type == "revolute":  # a hinge: the body's origin stays where the joint sits
            np.testing.assert_allclose(points[:, at], points[:, own], atol=1e-12)
    one = sketch(model, y[3])
    for (_, line), (_, through) in zip(one.links, lines.links, strict=True):
        np.testing.assert_allclose(line, points[3][list(through)], atol=1e-12)


def test_what_floats_has_no_foot_and_what_stands_has():
    """DualV's platform hangs in its loops: the ground runs through the four cranks. An arm stands on one line."""
    flat = sketch(model_of("dualv"))
    assert "pose" not in [name for name, *_ in flat.joints]
    feet = [position for name, position, _ in flat.joints if name in flat.actuated]
    assert len(flat.ground) == 5  # closed
    for foot in feet:
        assert np.abs(flat.ground - foot).max(axis=1).min() < 1e-12
    panda = sketch(model_of("panda"))
    np.testing.assert_allclose(panda.ground, [[0, 0, 0], [0, 0, 0.333]], atol=1e-12)


def test_names_stand_beside_their_points_and_not_on_each_other(rng):
    points = rng.uniform(0, 300, (16, 2))
    points[8:] = points[:8] + rng.uniform(-12, 12, (8, 2))  # in pairs that crowd
    sizes = np.column_stack([rng.uniform(15, 90, 16), np.full(16, 14.0)])
    line = np.array([[0.0, 0.0], [300.0, 300.0]])
    centres = placed(points, sizes, points, [line], 6.0)
    for k in range(16):
        away = np.abs(points - centres[k]) - sizes[k] / 2
        assert (away > 0).any(axis=1).all()  # on no point, its own neither
        assert (np.abs(points[k] - centres[k]) < sizes[k] / 2 + 6.0 + 4.1 * sizes[k, 1]).all()
        for j in range(k):
            assert (np.abs(centres[k] - centres[j]) >= (sizes[k] + sizes[j]) / 2 - 1e-9).any()


def test_names_of_one_spot_are_written_once():
    at = [np.array([x, 0.0]) for x in (0.0, 3.0, 3.0, 50.0)]
    labels = [Label(n, p, c) for n, p, c in zip("abcd", at, ("red", "red", "blue", "red"), strict=True)]
    assert [label.text for label in gathered(labels, 5.0)] == ["a, b", "c", "d"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_a_picture_is_written_whole(ending, tmp_path):
    draw(model_of("orthoglide"), tmp_path / f"robot.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [f"robot.{ending}"]
    content = (tmp_path / f"robot.{ending}").read_bytes()
    assert len(content) > 10_000
    if ending in ("svg", "html"):
        assert b"q41" in content or b"orthoglide" in content
