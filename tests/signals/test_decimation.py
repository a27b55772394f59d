"""Parallel decimation: equal to filter-then-pick, to SciPy's, independent of blocks, exact under any weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from dalembert.errors import UsageError
from dalembert.signals import DecimationFilter, Decimator, decimate, decimation_filter, shares


def direct(x, lowpass):
    """Filter every sample, then pick one of factor."""
    full = [np.convolve(c, lowpass.taps)[lowpass.half : lowpass.half + len(x)] for c in x.T]
    return np.column_stack(full)[:: lowpass.factor]


@pytest.mark.parametrize("kind", ["fir", "chebyshev"])
@pytest.mark.parametrize("factor", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("n", [1, 5, 999, 1000, 1001])
def test_only_the_kept_samples_are_computed_and_equal_filter_then_pick(rng, kind, factor, n):
    lowpass = decimation_filter(factor, kind)
    x = rng.normal(size=(n, 3))
    expected = direct(x, lowpass)
    np.testing.assert_allclose(decimate(x, lowpass), expected, atol=1e-12)
    entries = decimate(np.ascontiguousarray(x.T), lowpass, layout="entries")
    np.testing.assert_allclose(entries.T, expected, atol=1e-12)


@pytest.mark.parametrize("factor", [2, 7, 50])
def test_chebyshev_is_scipys_decimate(rng, factor):
    x = np.cumsum(rng.normal(size=(1000 * factor, 2)), axis=0)
    ours = decimate(x, decimation_filter(factor, "chebyshev"))
    scipys = signal.decimate(x, factor, n=8, ftype="iir", axis=0, zero_phase=True)
    # away from the ends, where SciPy invents a continuation and we leave it out
    np.testing.assert_allclose(ours[300:-300], scipys[300:-300], atol=1e-9 * np.max(np.abs(x)))


@pytest.mark.parametrize("factor", [2, 5, 20, 100])
def test_cutoff_is_08_of_half_the_new_nyquist_frequency(factor):
    rate = 5000.0
    cutoff, nyquist = 0.8 * rate / (2 * factor), rate / (2 * factor)
    fir = decimation_filter(factor)
    assert fir.gain(cutoff, rate)[0] == pytest.approx(0.5, abs=2e-3)
    assert fir.gain(0.0, rate)[0] == pytest.approx(1.0, rel=1e-12)
    assert np.max(np.abs(fir.gain(np.linspace(nyquist, rate / 2, 500), rate))) < 1.5e-3  # 60 dB, less a ripple
    np.testing.assert_allclose(fir.gain(np.linspace(0, 0.6 * nyquist, 100), rate), 1.0, atol=1.5e-3)
    chebyshev = decimation_filter(factor, "chebyshev")
    # ripple 0.05 dB a pass: 0.1 dB at the edge of the pass band
    assert 20 * np.log10(chebyshev.gain(cutoff, rate)[0]) == pytest.approx(-0.1, abs=1e-6)


@pytest.mark.parametrize("layout", ["columns", "entries"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 9, 10, 137, 1000, 5000])
@pytest.mark.parametrize("factor", [10, 64])
def test_blocks_do_not_change_the_result(rng, layout, weighted, size, factor):
    n = 1000 if size == 1 else 4321
    x = rng.normal(size=(n, 2, 3))
    w = rng.uniform(size=(n, 2, 3)) if weighted else None
    axis = 0
    if layout == "entries":
        axis = -1
        x = np.ascontiguousarray(np.moveaxis(x, 0, -1))
        w = None if w is None else np.ascontiguousarray(np.moveaxis(w, 0, -1))
    lowpass = decimation_filter(factor)
    whole = decimate(x, lowpass, w, layout)
    assert whole.shape[axis] == -(-n // factor)
    decimator = Decimator(lowpass, layout)
    take = lambda a, i: None if a is None else (a[i : i + size] if axis == 0 else a[..., i : i + size])  # noqa: E731
    parts = [decimator.push(take(x, i), take(w, i)) for i in range(0, n, size)]
    pieces = np.concatenate([*parts, decimator.finish()], axis=axis)
    # only the order of a sum of 20 factor terms may differ
    np.testing.assert_allclose(pieces, whole, atol=1e-14)
    if size > 20 * factor:
        assert parts[-1].shape[axis] > 0  # outputs come as soon as they can
    again = [decimator.push(x), decimator.finish()]  # a decimator that has finished starts anew
    np.testing.assert_allclose(np.concatenate(again, axis=axis), decimate(x, lowpass, None, layout), atol=1e-14)


def test_weights_are_products_and_read_only_blocks_stay_as_they_are(rng):
    x, w = rng.normal(size=(4, 2000)), rng.uniform(size=2000)
    x.flags.writeable = False
    lowpass = decimation_filter(20)
    np.testing.assert_allclose(
        decimate(x, lowpass, w, "entries"), decimate(x * w, lowpass, None, "entries"), atol=1e-15
    )
    np.testing.assert_allclose(decimate(x.T, lowpass, w), decimate(x * w, lowpass, None, "entries").T, atol=1e-15)


def test_exact_equations_stay_exact_under_any_mask(rng):
    """y = W pi at every sample but the masked ones, where y is garbage: decimated rows still agree."""
    n, p = 5000, 4
    columns = np.cumsum(rng.normal(size=(p, n)), axis=1)
    pi = rng.normal(size=p)
    torque = pi @ columns
    mask = np.repeat(rng.uniform(size=100) > 0.3, 50).astype(float)
    torque = np.where(mask > 0, torque, 1e6 * rng.normal(size=n))
    lowpass = decimation_filter(25)
    y = decimate(torque[None], lowpass, mask, "entries")[0]
    rows = decimate(columns, lowpass, mask, "entries").T
    np.testing.assert_allclose(rows @ pi, y, atol=1e-10 * np.max(np.abs(y)))
    found = np.linalg.lstsq(rows[shares(mask, lowpass).kept()], y[shares(mask, lowpass).kept()], rcond=None)[0]
    np.testing.assert_allclose(found, pi, rtol=1e-9)


def test_shares_say_what_a_row_rests_on(rng):
    lowpass = decimation_filter(20)
    n = 4000
    full = shares(np.ones(n), lowpass)
    inner = slice(10, -10)
    np.testing.assert_allclose(full.share[inner], 1.0, rtol=1e-12)
    np.testing.assert_allclose(full.noise[inner], 1.0, rtol=1e-12)
    assert full.share[0] == pytest.approx(0.5, abs=0.02)  # nothing before the log
    assert np.sum(~full.kept(0.75)) <= 4  # a row or two at each end
    w = np.ones((n, 2))
    w[1000:1200, 1] = 0.0
    holed = shares(w, lowpass)
    np.testing.assert_array_equal(holed.share[:, 0], full.share)
    assert not holed.kept(0.5)[53:57, 1].any()
    assert holed.kept(0.5)[70:, 1].sum() == full.kept(0.5)[70:].sum()
    # the stated noise is the noise: rows of white noise have it as standard deviation
    noise = rng.normal(size=(3000, n))
    spread = np.std(decimate(noise, lowpass, w[:, 1], "entries"), axis=0)
    expected = holed.noise[:, 1] * np.sqrt(np.sum(lowpass.taps**2))
    np.testing.assert_allclose(spread, expected, atol=4 * np.max(expected) / np.sqrt(2 * 3000))


def test_what_cannot_be_decimated_is_refused():
    with pytest.raises(UsageError, match=r"factor 2\.5, expected a whole number"):
        decimation_filter(2.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="factor 0"):
        decimation_filter(0)
    with pytest.raises(UsageError, match="choose from fir, chebyshev"):
        decimation_filter(2, "box")  # type: ignore[arg-type]
    decimator = Decimator(decimation_filter(2))
    decimator.push(np.zeros((4, 2)))
    with pytest.raises(UsageError, match=r"entries \(3,\) after blocks of \(2,\)"):
        decimator.push(np.zeros((4, 3)))
    assert isinstance(decimation_filter(1), DecimationFilter)
