"""From rest at home into the motion and back: continuous up to the acceleration, within the limits, no wilder."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.excitation.designs import FAMILIES, design_of, designed, used
from tests.excitation.robots import model_of

from dalembert.excitation import Fourier, entry
from dalembert.excitation.quintic import Quintic, quintic

RUNS = [("arm", "fourier"), ("arm", "fourier-polynomial"), ("arm", "point-to-point"), ("crane", "fourier")]


def test_a_quintic_meets_both_states(rng):
    start, end = ([rng.standard_normal(3) for _ in range(3)] for _ in range(2))
    piece = Quintic(1.7, quintic(1.7, start, end))
    for order in range(3):
        assert piece.derivative([0.0], order)[0] == pytest.approx(start[order], abs=1e-10)
        assert piece.derivative([1.7], order)[0] == pytest.approx(end[order], abs=1e-10)
    t, h = np.linspace(0.1, 1.6, 20), 1e-5
    for order in range(3):
        slope = (piece.derivative(t + h, order) - piece.derivative(t - h, order)) / (2 * h)
        assert np.abs(slope - piece.derivative(t, order + 1)).max() < 1e-6 * np.abs(slope).max()


@pytest.mark.parametrize(("name", "family"), RUNS)
def test_a_run_begins_and_ends_at_rest_at_home(name, family):
    design = design_of(name, family)
    model = model_of(name)
    home = model.position_map("independent") @ model.home
    x, xd, xdd = design([0.0, design.duration])
    assert np.abs(x - home).max() < 1e-9
    assert np.abs(xd).max() < 1e-8
    assert np.abs(xdd).max() < 1e-6


@pytest.mark.parametrize(("name", "family"), RUNS)
def test_nothing_jumps_where_the_pieces_meet(name, family):
    design = design_of(name, family)
    t = np.linspace(0.0, design.duration, 40001)
    step = t[1] - t[0]
    x = design.ride.derivatives(t)
    for part, slope in pairwise(x):
        # a step is no larger than the largest rate allows, and a jump would be thousands of them
        assert np.abs(np.diff(part, axis=0)).max() < 1.5 * step * np.abs(slope).max()


@pytest.mark.parametrize(("name", "family"), RUNS)
def test_the_record_holds_whole_periods_of_the_motion(name, family):
    design = design_of(name, family)
    begin, end = design.ride.record
    assert end - begin == pytest.approx(FAMILIES[family].duration)
    t = np.linspace(0.0, FAMILIES[family].duration, 77)
    for whole, own in zip(design(begin + t), design.path(t), strict=True):
        assert np.abs(whole - own).max() < 1e-9 * max(1.0, np.abs(own).max())


@pytest.mark.parametrize("rising", [True, False])
def test_a_motion_followed_from_rest_up_to_its_pace(rising, rng):
    family = Fourier(3, 2.0)
    c = rng.standard_normal((2, family.unknowns))
    piece = entry._Pace(lambda t: tuple(family.basis(t, k) @ c.T for k in range(4)), 0.7, 1.3, rising)
    t, h = np.linspace(0.05, 1.25, 30), 1e-5
    for order in range(3):
        slope = (piece.derivative(t + h, order) - piece.derivative(t - h, order)) / (2 * h)
        assert np.abs(slope - piece.derivative(t, order + 1)).max() < 1e-6 * np.abs(slope).max()
    ends = np.array([0.0, 1.3]) if rising else np.array([1.3, 0.0])
    rest, own = ([piece.derivative(ends[k : k + 1], order)[0] for order in range(3)] for k in (0, 1))
    assert np.abs(rest[1:]).max() < 1e-12
    for order in range(3):
        assert own[order] == pytest.approx(family.basis([0.7], order)[0] @ c.T, abs=1e-9)
    # it stays on the path: every point of it is one of the motion's
    passed = family.basis(np.linspace(0.0, 2.0, 20001)) @ c.T
    apart = np.linalg.norm(piece.derivative(t, 0)[:, None] - passed, axis=2).min(axis=1)
    assert apart.max() < 1e-2


def test_where_no_quintic_leads_in_the_motion_is_followed_from_rest(monkeypatch):
    """Quintics into the moving state refused: the run still begins and ends at rest, within its limits."""
    own = entry._bridge

    def only_to_rest(rest, state, calm, limits, rising):
        return own(rest, state, calm, limits, rising) if np.abs(state[1]).max() == 0.0 else None

    monkeypatch.setattr(entry, "_bridge", only_to_rest)
    design = designed("arm")
    assert not [note for note in design.notes if "rest at home" in note]
    assert np.abs(design([0.0, design.duration])[1]).max() < 1e-9
    assert max(used(design).values()) <= 1.0 + 1e-9
    t = np.linspace(0.0, design.duration, 60001)
    parts = design.ride.derivatives(t)
    for part, slope in pairwise(parts):
        assert np.abs(np.diff(part, axis=0)).max() < 1.5 * (t[1] - t[0]) * np.abs(slope).max()


def test_entries_are_as_calm_as_the_motion():
    design = design_of("arm")
    begin, end = design.ride.record
    assert begin > 0.0
    t = np.linspace(0.0, design.duration, 5000)
    inside = (t >= begin) & (t <= end)
    for part in design(t)[1:]:
        assert (np.abs(part[~inside]).max(axis=0) <= 1.3 * np.abs(part[inside]).max(axis=0)).all()
