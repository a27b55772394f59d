"""Time stamps: rounding is not jitter, faults are found where they are, repairs do what they say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.logs.arms import chain

from dalembert.errors import LogError
from dalembert.logs import Repair, read_log, read_pieces
from dalembert.logs.clock import read_clock

ARM = chain(1)


@pytest.mark.parametrize("rate", [100.0, 300.0, 1000.0, 1024.0, 3000.0, 4999.0, 7000.0])
@pytest.mark.parametrize("digits", [3, 4, 5, 6])
@pytest.mark.parametrize("rounding", [np.round, lambda t, d: np.floor(t * 10.0**d) / 10.0**d])
@pytest.mark.parametrize("start", [0.0, 12.3456789])
def test_rounded_stamps_are_a_uniform_grid(rate, digits, rounding, start):
    t = rounding(start + np.arange(5000) / rate, digits)
    clock = read_clock(t)
    if rate / 10.0**digits > 5.0:
        pytest.skip("several samples per step of the stamps: nobody can tell")
    assert clock.uniform, clock
    # the grid of 5000 stamps rounded to q is known to about q / 5000 over its length
    assert clock.period * rate == pytest.approx(1.0, abs=2.0 * 10.0**-digits / (5000 / rate))
    assert abs(clock.start - start) <= 10.0**-digits


@pytest.mark.parametrize("rate", [100.0, 1000.0, 5000.0])
def test_single_precision_and_unix_time_stamps_are_a_uniform_grid(rate):
    t = np.arange(20000) / rate
    assert read_clock(t.astype(np.float32).astype(np.float64)).uniform
    assert read_clock(1.7e9 + t).uniform
    clock = read_clock(np.round(t * 1e3) * 1e-3, 1e-3)
    assert clock.uniform or rate > 1000.0


@pytest.mark.parametrize("digits", [3, 4, 6, None])
@pytest.mark.parametrize("rows", [[700], [10, 11, 1990], [7, 60, 61, 500, 520, 1207, 1600]])
def test_lost_and_repeated_rows_are_found_whatever_the_rounding(digits, rows):
    t = np.arange(2000) * 1e-3
    t = t if digits is None else np.round(t, digits)
    lost = np.delete(t, rows)
    clock = read_clock(lost)
    assert not clock.uniform
    assert np.sum(clock.missed) == len(rows)
    assert clock.period == pytest.approx(1e-3, rel=1e-6)
    repeated = read_clock(np.insert(t, rows, t[rows]))
    assert not repeated.uniform
    assert len(repeated.repeated) == len(rows)


def write(folder, t, q):
    tau = np.cos(7.0 * np.arange(len(t)))
    rows = "\n".join(f"{a!r},{b!r},{c!r}" for a, b, c in zip(t.tolist(), q.tolist(), tau.tolist(), strict=True))
    path = folder / "log.csv"
    path.write_text("t,q_j1,tau_j1\n" + rows)
    return path


def test_small_jitter_is_taken_as_uniform_and_said(tmp_path, rng):
    t = np.arange(500) * 1e-3 + rng.uniform(-4e-5, 4e-5, 500)
    log = read_log(write(tmp_path, t, np.sin(t)), ARM)
    assert "jitter by up to" in log.notes[0]
    assert "uniform grid of" in log.notes[0]
    assert log.info.period == pytest.approx(1e-3, rel=1e-3)
    np.testing.assert_allclose(np.diff(log.t), log.info.period, rtol=1e-9)


def test_large_jitter_is_resampled_when_asked(tmp_path, rng):
    t = np.arange(2000) * 1e-3 + rng.uniform(-3e-4, 3e-4, 2000)
    path = write(tmp_path, t, np.sin(20.0 * t))
    with pytest.raises(LogError, match="jitter=resample or uniform"):
        read_log(path, ARM)
    log = read_log(path, ARM, repair=Repair(jitter="resample"))
    # cubic splines: error of order (20 * 1.6 ms)^4 / 384
    np.testing.assert_allclose(log.q[:, 0], np.sin(20.0 * log.t), atol=3e-8)
    assert "resampled to" in log.notes[0]
    kept = read_log(path, ARM, repair=Repair(jitter="uniform"))
    np.testing.assert_array_equal(kept.q[:, 0], np.sin(20.0 * t))
    assert "rows taken as uniform" in kept.notes[0]


def test_gaps_are_filled_cut_or_split_when_asked(tmp_path):
    whole = np.arange(1000) * 1e-3
    t = np.delete(whole, [*range(300, 310), 700])
    path = write(tmp_path, t, 2.0 * t)
    filled = read_log(path, ARM, repair=Repair(gaps="fill"))
    np.testing.assert_allclose(filled.t, whole, atol=1e-12)
    np.testing.assert_allclose(filled.q[:, 0], 2.0 * whole, atol=1e-12)
    assert filled.notes == ("2 gaps of 11 samples in all, before rows 301, 691: filled by straight lines",)
    longest = read_log(path, ARM, repair=Repair(gaps="longest"))
    np.testing.assert_allclose(longest.t, whole[310:700], atol=1e-12)
    pieces = read_pieces(path, ARM, repair=Repair(gaps="split"))
    assert [p.info.samples for p in pieces] == [300, 390, 299]
    assert [p.name for p in pieces] == ["log[0]", "log[1]", "log[2]"]
    np.testing.assert_allclose(np.concatenate([p.t for p in pieces]), t, atol=1e-12)
    with pytest.raises(LogError, match="read_pieces returns"):
        read_log(path, ARM, repair=Repair(gaps="split"))


def test_every_fault_at_once_is_repaired_in_turn(tmp_path):
    whole = np.arange(1000) * 1e-3
    q = 2.0 * whole
    t, values = np.insert(whole, 400, whole[400]), np.insert(q, 400, q[400])
    t[[600, 601]], values[[600, 601]] = t[[601, 600]], values[[601, 600]]
    values[800:803] = np.nan
    path = write(tmp_path, t, values)
    log = read_log(path, ARM, repair=Repair(missing="drop", order="sort", duplicates="drop", gaps="fill"))
    np.testing.assert_allclose(log.t, whole, atol=1e-12)
    np.testing.assert_allclose(log.q[:, 0], q, atol=1e-12)
    assert [note.split(" ")[0] for note in log.notes] == ["3", "rows", "1", "1"]
    with pytest.raises(LogError, match="missing=drop"):
        read_log(path, ARM)
    with pytest.raises(LogError, match="order=sort"):
        read_log(path, ARM, repair=Repair(missing="drop"))
    with pytest.raises(LogError, match="duplicates=drop"):
        read_log(path, ARM, repair=Repair(missing="drop", order="sort"))
    with pytest.raises(LogError, match="gaps=longest"):
        read_log(path, ARM, repair=Repair(missing="drop", order="sort", duplicates="drop"))


def test_a_clean_log_has_no_notes(tmp_path):
    t = np.arange(500) * 1e-3
    assert (
        read_log(write(tmp_path, t, np.sin(t)), ARM, repair=Repair("drop", "sort", "drop", "resample", "fill")).notes
        == ()
    )
