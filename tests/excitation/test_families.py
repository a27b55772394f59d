"""Every family through one contract: derivatives, the constant motion, ends, repetition, what it describes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert.errors import UsageError
from dalembert.excitation import BSpline, Fourier, FourierPolynomial, PointToPoint
from dalembert.excitation.family import Family

FAMILIES: dict[str, Family] = {
    "fourier": Fourier(4, 5.0),
    "fourier-polynomial": FourierPolynomial(4, 5.0),
    "b-spline": BSpline(7, 5.0),
    "point-to-point": PointToPoint(4, 5.0),
    "point-to-point, dwelling": PointToPoint(4, 5.0, dwell=0.3),
}
every = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
RESTED = [name for name in FAMILIES if name != "fourier"]


def motion_of(family: Family, rng: np.random.Generator) -> np.ndarray:
    """Coefficients (3, m) of a random motion about different centres."""
    still = np.outer(rng.standard_normal(3), family.still())
    return still + np.array([family.draw(rng) for _ in range(3)])


@every
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_those_of_the_order_below(family, order):
    # no knot or stop within h of an instant: the third derivative may jump there
    t, h = np.linspace(0.0, family.duration, 204)[1:-1] + 1e-3, 1e-5
    differences = (family.basis(t + h, order - 1) - family.basis(t - h, order - 1)) / (2.0 * h)
    exact = family.basis(t, order)
    # error of the difference: h^2/6 of the next but one derivative, and rounding / h
    assert np.abs(exact - differences).max() < 1e-6 * max(1.0, np.abs(exact).max())


@every
def test_position_to_acceleration_have_no_jump(family, rng):
    c = motion_of(family, rng)
    t = np.linspace(0.0, family.duration, 50001)
    for order in range(3):
        x, slope = (family.basis(t, k) @ c.T for k in (order, order + 1))
        allowed = 1.01 * np.abs(slope).max(axis=0) * (t[1] - t[0])
        assert (np.abs(np.diff(x, axis=0)) <= allowed).all()


@every
def test_the_still_motion_stands(family):
    t = np.linspace(0.0, family.duration, 50)
    assert np.abs(family.basis(t) @ family.still() - 1.0).max() < 1e-12
    assert all(np.abs(family.basis(t, order) @ family.still()).max() == 0.0 for order in (1, 2, 3))


@every
def test_a_path_is_the_basis_times_its_coefficients(family, rng):
    c = motion_of(family, rng)
    t = np.sort(rng.uniform(0.0, family.duration, 60))
    for order, part in enumerate(family.path(c)(t)):
        assert np.abs(part - family.basis(t, order) @ c.T).max() < 1e-9 * max(1.0, np.abs(part).max())


@every
def test_a_periodic_motion_ends_as_it_begins(family, rng):
    assert family.periodic
    c = motion_of(family, rng)
    ends = np.array([0.0, family.duration * (1.0 - 1e-12)])
    for order in range(3):
        first, last = family.basis(ends, order) @ c.T
        assert np.abs(first - last).max() < 1e-6


@pytest.mark.parametrize("name", RESTED)
def test_rested_families_start_and_end_at_rest_at_their_centre(name, rng):
    family = FAMILIES[name]
    c = motion_of(family, rng)
    x, xd, xdd = family.path(c)(np.array([0.0, family.duration * (1.0 - 1e-13)]))
    centre = c @ family.still() / (family.still() @ family.still())
    assert np.abs(x - centre).max() < 1e-6
    assert np.abs(xd).max() < 1e-6
    assert np.abs(xdd).max() < 1e-6
    # and they do move in between
    assert np.abs(family.path(c)(np.linspace(0, family.duration, 99))[1]).max(axis=0).min() > 0.1


def test_point_to_point_stands_at_its_stops():
    family = PointToPoint(3, 8.0, dwell=0.25)
    c = np.array([[0.5, 1.0, -1.0, 2.0]])
    leg = 2.0
    for k, stop in enumerate((1.5, -0.5, 2.5, 0.5)):
        t = leg * k + leg * np.array([0.76, 0.9, 0.999])
        x, xd, xdd = family.path(c)(t)
        assert np.abs(x - stop).max() < 1e-12
        assert np.abs(np.stack([xd, xdd])).max() == 0.0


def test_a_fourier_series_begun_later_is_the_same_motion(rng):
    family = Fourier(4, 5.0)
    c = motion_of(family, rng)
    t = np.linspace(0.0, 5.0, 40)
    for order in range(3):
        later = family.basis(t, order) @ family.advanced(c, 1.37).T
        assert np.abs(later - family.basis(t + 1.37, order) @ c.T).max() < 1e-9


@every
def test_what_a_family_describes_is_json_and_names_it(family):
    data = family.describe()
    assert json.loads(json.dumps(data)) == data
    assert data["duration"] == family.duration
    assert data["family"] in {"fourier", "fourier-polynomial", "b-spline", "point-to-point"}


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: Fourier(0, 5.0), "0 harmonics"), (lambda: FourierPolynomial(3, 0.0), "0.0 s"),
        (lambda: BSpline(1, 5.0), "1 pieces"), (lambda: PointToPoint(0, 5.0), "0 points"),
        (lambda: PointToPoint(3, 5.0, dwell=1.0), "dwell 1.0"), (lambda: BSpline(5, float("nan")), "nan s"),
    ],
)  # fmt: skip
def test_settings_that_make_no_motion_are_refused(make, found):
    with pytest.raises(UsageError, match=found):
        make()
