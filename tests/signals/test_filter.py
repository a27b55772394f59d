"""The zero-phase low-pass cuts where it was asked to and does not depend on how the log is cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from dalembert.errors import UsageError
from dalembert.signals import Butterworth, Differences, border_samples, low_pass
from dalembert.signals.windows import windows


def measured_gain(lowpass: Butterworth, frequency: float) -> complex:
    """Response to a sine, away from the ends: size and phase."""
    n = 60000
    t = np.arange(n) / lowpass.rate
    y = low_pass(np.cos(2 * np.pi * frequency * t), lowpass)
    inner = slice(n // 4, 3 * n // 4)
    basis = np.column_stack([np.cos(2 * np.pi * frequency * t), np.sin(2 * np.pi * frequency * t)])[inner]
    a, b = np.linalg.lstsq(basis, y[inner], rcond=None)[0]
    return complex(a, b)


@pytest.mark.parametrize("cutoff", [2.0, 20.0, 50.0, 300.0])
@pytest.mark.parametrize("order", [1, 2, 4, 5, 8])
def test_gain_at_the_cutoff_is_what_was_asked(cutoff, order):
    per_pass = Butterworth(cutoff, 1000.0, order)
    assert per_pass.gain(cutoff)[0] == pytest.approx(0.5, rel=1e-9)  # -3 dB twice
    total = Butterworth(cutoff, 1000.0, order, at="total")
    assert total.gain(cutoff)[0] == pytest.approx(np.sqrt(0.5), rel=1e-9)  # -3 dB in all
    assert measured_gain(per_pass, cutoff) == pytest.approx(0.5, abs=1e-6)  # and no phase
    assert measured_gain(total, cutoff) == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_passband_is_flat_and_stopband_falls_as_the_order_says():
    lowpass = Butterworth(20.0, 5000.0, 4)
    gain = lowpass.gain([0.0, 2.0, 40.0, 80.0])
    np.testing.assert_allclose(gain[:2], 1.0, atol=2e-8)  # (1/10)^8
    # one more octave: 8 * 6.02 dB for both passes
    assert 20 * np.log10(gain[2] / gain[3]) == pytest.approx(48.2, abs=0.3)


@pytest.mark.parametrize(("cutoff", "n"), [(50.0, 3000), (50.0, 200000), (5.0, 90000), (700.0, 40000)])
def test_agrees_with_scipy_on_the_whole_log(rng, cutoff, n):
    lowpass = Butterworth(cutoff, 5000.0)
    x = np.cumsum(rng.normal(size=(n, 2)), axis=0) / 50.0
    pad = min(n - 1, lowpass.settling(1e-16))
    reference = signal.sosfiltfilt(signal.butter(4, cutoff, fs=5000.0, output="sos"), x, axis=0, padlen=pad)
    # rounding of a recursive filter with poles this close to 1
    np.testing.assert_allclose(low_pass(x, lowpass), reference, atol=1e-9 * np.max(np.abs(x)))


def test_one_column_and_many_are_the_same(rng):
    x = rng.normal(size=(5000, 3))
    lowpass = Butterworth(30.0, 1000.0)
    together = low_pass(x, lowpass)
    for j in range(3):
        np.testing.assert_array_equal(low_pass(x[:, j], lowpass), together[:, j])


@pytest.mark.parametrize("size", [1, 333, 50000])
def test_windows_cover_the_log_once_whatever_the_blocks(rng, size):
    n, chunk, margin = 1000 if size == 1 else 20000, 600, 70
    x = rng.normal(size=(n, 2))
    blocks = (x[i : i + size] for i in range(0, n, size))
    at = 0
    for window in windows(blocks, n, chunk, margin):
        assert window.first == at
        at = window.last
        assert (window.low, window.high) == (max(0, window.first - margin), min(n, window.last + margin))
        np.testing.assert_array_equal(window.values, x[window.low : window.high])
    assert at == n
    with pytest.raises(UsageError, match=f"ends after {n} samples, expected {n + 5}"):
        list(windows([x], n + 5, chunk, margin))


def test_border_leaves_five_percent_of_a_wrong_continuation():
    lowpass = Butterworth(50.0, 5000.0)
    border = border_samples(lowpass, Differences(4))
    poles = signal.butter(4, 50.0, fs=5000.0, output="zpk")[1]
    assert np.max(np.abs(poles)) ** (border - 4) == pytest.approx(np.exp(-3.0), rel=0.02)
    assert border_samples(None, Differences(2)) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Butterworth(500.0, 1000.0),
            r"cutoff 500 Hz, expected above 0 and below half the sampling rate \(500 Hz\)",
        ),
        (lambda: Butterworth(0.0, 1000.0), "cutoff 0 Hz"),
        (lambda: Butterworth(float("nan"), 1000.0), "cutoff nan Hz"),
        (lambda: Butterworth(5.0, -1.0), "sampling rate -1"),
        (lambda: Butterworth(5.0, 100.0, 0), "order 0"),
        (lambda: Butterworth(5.0, 100.0, at="both"), "choose from per pass, total"),  # type: ignore[arg-type]
        (lambda: low_pass([1.0], Butterworth(5.0, 100.0)), "1 samples to filter"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(UsageError, match=message):
        make()
