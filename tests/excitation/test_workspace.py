"""Regions against what the shapes are in space: points inside keep every condition, points outside break one."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.errors import UsageError
from dalembert.excitation import Box, Cone, Cylinder, HalfSpace, Hemisphere, Sphere
from dalembert.excitation.workspace import Region

AXIS = np.array([1.0, 2.0, -2.0]) / 3.0
CENTRE = np.array([0.1, -0.2, 0.3])


def along(p: np.ndarray) -> np.ndarray:
    return (p - CENTRE) @ AXIS


def apart(p: np.ndarray) -> np.ndarray:
    return np.linalg.norm(p - CENTRE, axis=1)


def across(p: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.cross(p - CENTRE, AXIS), axis=1)


SHAPES = {
    "box": (Box((-0.4, -0.6, -0.2), (0.5, 0.3, np.inf)),
            lambda p: (p >= [-0.4, -0.6, -0.2]).all(axis=1) & (p[:, :2] <= [0.5, 0.3]).all(axis=1)),
    "sphere": (Sphere(tuple(CENTRE), 0.7), lambda p: apart(p) <= 0.7),
    "hemisphere": (Hemisphere(tuple(CENTRE), 0.8, tuple(3.0 * AXIS)), lambda p: (apart(p) <= 0.8) & (along(p) >= 0.0)),
    "cylinder": (Cylinder(tuple(CENTRE), 0.5, tuple(2.0 * AXIS), -0.3, 0.6),
                 lambda p: (across(p) <= 0.5) & (along(p) >= -0.3) & (along(p) <= 0.6)),
    "cone": (Cone(tuple(CENTRE), tuple(AXIS), 0.7), lambda p: across(p) <= np.tan(0.7) * along(p)),
    "half-space": (HalfSpace(tuple(2.0 * AXIS), 0.4), lambda p: p @ (2.0 * AXIS) <= 0.4),
}  # fmt: skip


def inside(region: Region, points: np.ndarray) -> np.ndarray:
    """Whether the conditions of a region hold at points (n, 3)."""
    p = ca.SX.sym("p", 3)
    conditions = region.of(p)
    assert len(conditions) == region.conditions
    values = ca.Function("f", [p], [ca.vertcat(*[expression for _, expression, _, _ in conditions])])
    found = np.array(values.map(len(points))(points.T)).T
    low, high = (np.array([c[k] for c in conditions]) for k in (2, 3))
    return ((found >= low) & (found <= high)).all(axis=1)


@pytest.mark.parametrize(("region", "is_inside"), SHAPES.values(), ids=SHAPES.keys())
def test_conditions_are_those_of_the_shape(region, is_inside, rng):
    points = rng.uniform(-1.2, 1.2, (4000, 3))
    expected = is_inside(points)
    assert 0.02 < expected.mean() < 0.9  # both sides are tried
    assert (inside(region, points) == expected).all()


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: Box((0, 0, 0), (1, 0, 1)), "box: y from 0 to 0"), (lambda: Sphere((0, 0, 0), 0.0), "radius 0.0"),
        (lambda: Hemisphere((0, 0, 0), 1.0, (0, 0, 0)), "not all zero"),
        (lambda: Cylinder((0, 0, 0), 1.0, lower=1.0, upper=0.0), "heights 1.0 to 0.0"),
        (lambda: Cone((0, 0, 0), (0, 0, 1), 2.0), "angle 2.0 rad"), (lambda: HalfSpace((0, 0, 0), 1.0), "not all zero"),
    ],
)  # fmt: skip
def test_shapes_that_are_none_are_refused(make, found):
    with pytest.raises(UsageError, match=found):
        make()
