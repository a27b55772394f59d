"""From a log to filtered motion: accuracy on known signals, the same bits in blocks, masks, noise, choices."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.logs.arms import SHARED, chain

from dalembert.errors import LogError, UsageError
from dalembert.logs import make_log, open_log, read_log, write_log
from dalembert.signals import (
    Butterworth,
    Differences,
    SignalSettings,
    SlowMask,
    low_pass,
    noise_sigma,
    plan,
    prepare,
    prepared,
    quantisation_step,
    unresolved_speed,
    usable,
    velocity_noise,
)

RATE = 2000.0
ARM = chain(2)
W = 2.0 * np.pi * np.array([[0.2, 0.5], [0.6, 0.3]])  # rad/s, harmonics by joint


def motion(t):
    """Known positions, velocities, accelerations (n, 2)."""
    phase = t[:, None, None] * W
    return np.sin(phase).sum(1), (W * np.cos(phase)).sum(1), -(W**2 * np.sin(phase)).sum(1)


def log_of(n=40000, sigma=0.0, torque_sigma=0.0, step=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n) / RATE
    q, qd, qdd = motion(t)
    q = q + sigma * rng.normal(size=q.shape)
    if step:
        q = np.round(q / step) * step
    tau = 2.0 * qdd + np.sign(qd) + torque_sigma * rng.normal(size=q.shape)
    return make_log(ARM, RATE, q, tau, name="known")


SETTINGS = SignalSettings(cutoff=40.0, decimate=40)


def test_motion_of_a_clean_log_is_the_true_motion():
    ready = prepare(log_of(), SETTINGS)
    q, qd, qdd = motion(ready.t)
    inner = slice(200, -200)  # beyond the stated border what is left of the ends decays on
    # the filter takes (0.6 Hz / 40 Hz)^8 = 3e-15, the differences (w h)^4 / 30; rounding of q is divided by h^2
    np.testing.assert_allclose(ready.q[inner], q[inner], atol=1e-9)
    np.testing.assert_allclose(ready.qd[inner], qd[inner], atol=1e-8)
    np.testing.assert_allclose(ready.qdd[inner], qdd[inner], atol=1e-5)
    np.testing.assert_allclose(ready.q, q, atol=1e-4)
    assert ready.first == plan(log_of(), SETTINGS).border
    assert ready.usable.all()


@pytest.mark.parametrize("settings", [
    replace(SETTINGS, mask=SlowMask(0.05, "absolute")), replace(SETTINGS, mask=SlowMask(0.02, "relative"), cutoff=0.0),
    replace(SETTINGS, border=500, differences=Differences(2, "direct")),
])  # fmt: skip
def test_blocks_and_files_give_the_same_bits(tmp_path, settings):
    log = log_of(100_001, sigma=1e-5)
    path = write_log(log, tmp_path / "log.parquet")
    source = open_log(path, ARM)
    whole = prepare(log, settings)
    settled = plan(log, settings)
    for size, reading in ((1000, log), (8192, source), (77_777, source), (10**6, log)):
        parts = list(prepared(reading, settled, size))
        assert [p.first for p in parts] == [settled.border + i * size for i in range(len(parts))]
        assert all(len(p.t) == size for p in parts[:-1])
        for name in ("t", "q", "qd", "qdd", "tau", "usable"):
            np.testing.assert_array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name))
    assert len(whole.t) == settled.samples == 100_001 - 2 * settled.border
    np.testing.assert_array_equal(whole.tau, log.tau[settled.border : -settled.border])


def test_nothing_prepared_can_be_written():
    ready = prepare(log_of(3000), SETTINGS)
    for item in (ready, *prepared(log_of(3000), plan(log_of(3000), SETTINGS), 700), plan(log_of(3000), SETTINGS)):
        for name in (f.name for f in fields(item)):
            array = getattr(item, name)
            if isinstance(array, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 1.0


def test_noise_is_what_was_added():
    log = log_of(sigma=2e-4, torque_sigma=0.3)
    settled = plan(log, SETTINGS)
    np.testing.assert_allclose(settled.position_noise, 2e-4, rtol=0.05)
    np.testing.assert_allclose(noise_sigma(log.tau, RATE), 0.3, rtol=0.05)
    # the velocity's noise after filter and differences, measured against the true velocity
    ready = prepare(log, SETTINGS)
    _, qd, _ = motion(ready.t)
    np.testing.assert_allclose(np.std(ready.qd - qd, axis=0), settled.velocity_noise, rtol=0.1)


@pytest.mark.parametrize("step", [2 * np.pi / 4096, 1e-5])
def test_quantisation_is_found_and_its_noise_is_step_over_root_twelve(step):
    log = log_of(step=step, n=60000)
    np.testing.assert_allclose(quantisation_step(log.q), step, rtol=1e-9)
    assert np.all(quantisation_step(log_of(sigma=1e-4).q) == 0.0)
    if step < 1e-4:  # several steps a sample: rounding is nearly white, but for lines the median leaves out
        np.testing.assert_allclose(noise_sigma(log.q, RATE), step / np.sqrt(12), rtol=0.3)


@pytest.mark.parametrize(("rate", "cutoff", "order"), [(2000.0, 20.0, 4), (5000.0, 20.0, 2), (1000.0, 100.0, 4)])
def test_a_steady_joint_has_wrong_signs_only_below_one_step_per_period_of_the_cutoff(rate, cutoff, order):
    """The rounding of a steady position is a wave of frequency v / step, of amplitude 2 v G in the velocity; G(cutoff)
    is 1/2.
    """
    lowpass = Butterworth(cutoff, rate, order)
    limit = float(unresolved_speed(np.array([1.0]), rate, lowpass)[0])
    assert limit == cutoff
    t = np.arange(round(60 * rate / cutoff)) / rate
    speeds = limit * np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.1, 1.3, 1.7, 2.3, 4.0])
    seen = Differences().velocity(low_pass(np.round(np.outer(t, speeds)), lowpass), 1.0 / rate)
    least = seen[len(t) // 3 : -len(t) // 3].min(axis=0)  # ends left out, ten periods seen
    assert least.min() > -limit
    assert (least[speeds < 0.8 * limit] < 0.0).all()
    assert (least[speeds > limit] > 0.0).all()


def small_motion(rng, steps, cutoff, rate):
    """Positions and velocities (n, 2), in encoder steps, of random motions slower than a tenth of the cutoff."""
    t = np.arange(round(200 * rate / cutoff)) / rate
    w = 2.0 * np.pi * 0.1 * cutoff * rng.uniform(0.1, 1.0, (6, 2))
    phase = t[:, None, None] * w + rng.uniform(0.0, 2.0 * np.pi, (6, 2))
    a = rng.normal(size=(6, 2)) / w
    a *= steps / np.linalg.norm(a, axis=0)
    return (a * np.sin(phase)).sum(1), (a * w * np.cos(phase)).sum(1)


@pytest.mark.parametrize("steps", [3.0, 30.0])
def test_signs_left_by_the_mask_are_right_however_coarse_the_encoder(rng, steps):
    """Without any dilation. Five sigmas of white noise would not do where a joint hardly moves."""
    step, cutoff = 1e-3, 20.0
    settings = SignalSettings(cutoff=cutoff, decimate=1, mask=SlowMask(dilate=0.0))
    escaped = 0
    for _ in range(5):
        q, qd = small_motion(rng, steps, cutoff, RATE)
        log = make_log(ARM, RATE, step * np.round(q), q, name="coarse")
        settled = plan(log, settings)
        ready = prepare(log, settled)
        wrong = np.sign(ready.qd) != np.sign(qd[ready.first : ready.first + len(ready.t)])
        assert not (wrong & ready.usable).any()
        escaped += int((wrong & usable(ready.qd, 5.0 * settled.velocity_noise, 0)).sum())
    assert escaped > 20


@pytest.mark.parametrize(("rate", "cutoff", "step"), [(1000.0, 11.0, 1e-5), (5000.0, 6.1, 1e-6)])
def test_signs_left_by_the_mask_are_right_wherever_the_log_begins(rate, cutoff, step):
    """A joint so fast that no sample is slow turns back ever earlier, until before the border and out of the log."""
    w = 2.0 * np.pi * 0.6
    settings = SignalSettings(cutoff=cutoff, decimate=1, mask=SlowMask())

    def beginning(turn):
        """Log of 1.5 s whose first joint turns back ``turn`` samples after its start, and its true velocities."""
        t = (np.arange(1.5 * rate) - turn)[:, None] / rate + [0.25 / 0.6, 0.0]
        q = np.sin(w * t) / w
        return make_log(ARM, rate, step * np.round(q / step), q, name="beginning"), np.cos(w * t)

    settled = plan(beginning(0.0)[0], settings)
    assert w / rate > 2.0 * settled.slow[0]  # the speed's change in a sample, beside the speeds that are slow
    wrong = 0
    for turn in np.arange(0.0, settled.border + 2 * settled.reach, 0.618e-3 * rate):
        log, qd = beginning(turn)
        ready = prepare(log, settings)
        bad = np.sign(ready.qd) != np.sign(qd[ready.first : ready.first + len(ready.t)])
        assert not (bad & ready.usable).any()
        wrong += int(bad[:, 0].any())
    assert wrong > 5  # what is left of the continuation moves a reversal next to the border past a sample


def test_mask_marks_slow_samples_and_their_neighbours():
    qd = np.array([3.0, 2.0, 1.0, 0.4, -0.4, -1.0, -2.0, -3.0, -0.3])[:, None]
    np.testing.assert_array_equal(usable(qd, np.array([0.5]), 0)[:, 0], [1, 1, 1, 0, 0, 1, 1, 1, 0])
    np.testing.assert_array_equal(usable(qd, np.array([0.5]), 1)[:, 0], [1, 1, 0, 0, 0, 0, 1, 0, 0])
    # between two samples of opposite sign it stood still, where anything is masked at all
    np.testing.assert_array_equal(usable(qd, np.array([0.1]), 3)[:, 0], [1, 1, 1, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(usable(qd, np.array([0.1]), 0, 1)[:, 0], [1, 1, 0, 0, 0, 0, 1, 1, 1])
    assert usable(qd, np.array([0.0]), 1, 1).all()
    log = log_of(sigma=1e-5)
    settings = replace(SETTINGS, mask=SlowMask(0.2, "absolute", dilate=0.01))
    ready = prepare(log, settings)
    _, qd, _ = motion(ready.t)
    margin = 20 / RATE * np.max(np.abs(motion(ready.t)[2]))  # how far the speed goes in the dilation
    assert not ready.usable[np.abs(qd) < 0.2 - 1e-3].any()
    assert ready.usable[np.abs(qd) > 0.2 + margin + 1e-3].all()
    assert any("slower than" in note and "20 samples on each side" in note for note in plan(log, settings).notes)


def test_mask_in_units_of_noise_follows_the_encoder():
    limits = [plan(log_of(sigma=s), replace(SETTINGS, mask=SlowMask(5.0))).slow for s in (1e-5, 1e-4)]
    np.testing.assert_allclose(limits[1] / limits[0], 10.0, rtol=0.1)
    log = log_of(sigma=1e-4)
    expected = 5.0 * velocity_noise(np.full(2, 1e-4), RATE, plan(log, SETTINGS).lowpass, Differences())
    np.testing.assert_allclose(limits[1], expected, rtol=0.1)


def test_choices_are_made_and_said():
    log = log_of(sigma=1e-5)
    settled = plan(log)
    assert len(settled.notes) == 2
    assert settled.notes[0].startswith("cutoff ")
    assert settled.notes[1].startswith("decimation ")
    # motion up to 0.6 Hz: the filter must leave it alone, and torque noise must be averaged
    assert 6.0 <= settled.lowpass.cutoff <= 60.0
    assert 0.4 * RATE / settled.decimation.factor >= 3.0
    assert settled.decimation.factor >= 10
    assert 0.4 * RATE / settled.decimation.factor <= 0.5 * settled.lowpass.cutoff
    assert "decimate by 40 or more" in plan(log, SignalSettings(cutoff=40.0, decimate=10)).notes[0]
    half = plan(log, SignalSettings(cutoff=25.0))
    assert half.lowpass.cutoff == 25.0
    assert len(half.notes) == 1
    assert plan(log, SETTINGS).notes == ()


def test_logs_that_are_too_short_or_settings_that_make_no_sense_are_refused():
    with pytest.raises(LogError, match=r"log 'known': 60 samples at 2000 Hz are too few: \d+ are cut at each end"):
        plan(log_of(60), SETTINGS)
    still = make_log(ARM, RATE, np.zeros((500, 2)), np.zeros((500, 2)))
    with pytest.raises(UsageError, match="no position moves"):
        plan(still)
    for wrong in (
        lambda: SignalSettings(cutoff=-1.0), lambda: SignalSettings(decimate=0), lambda: SignalSettings(border=-1),
        lambda: SignalSettings(least_share=2.0), lambda: SlowMask(-1.0), lambda: SlowMask(1.0, "rpm"),  # type: ignore[arg-type]
        lambda: SlowMask(dilate=-1.0),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=r"expected|choose"):
            wrong()
    with pytest.raises(UsageError, match="below half the sampling rate"):
        plan(log_of(), replace(SETTINGS, cutoff=1000.0))


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the recording is not here: {SHARED}")
def test_tx40_choices_are_near_the_authors():
    log = read_log(SHARED / "tx40_train.parquet", chain(6, "tx40"))
    settled = plan(log)
    assert 30.0 <= settled.lowpass.cutoff <= 100.0  # they took 50 Hz
    assert 30 <= settled.decimation.factor <= 150  # and 100


def test_memory_does_not_grow_with_the_length_of_a_file(tmp_path):
    import tracemalloc

    import pyarrow as pa

    def peaks(n):
        source = open_log(write_log(log_of(n, sigma=1e-5), tmp_path / f"{n}.parquet"), ARM)
        settled = plan(source, SETTINGS)
        tracemalloc.start()
        arrow = 0
        for _ in prepared(source, settled, 8192):
            arrow = max(arrow, pa.total_allocated_bytes())  # a reader that keeps what it has read shows here
        numpy = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return np.array([arrow, numpy])

    np.testing.assert_allclose(peaks(600_000), peaks(200_000), rtol=0.1)
