"""Parallel decimation: one low-pass, the same for the torque and for every column of the regressor, one
sample kept of nd.

Cutoff 0.8 fm / (2 nd), half the new Nyquist frequency times 0.8 [Briot15, 4.1; Gautier11, II]. Only the kept
samples are computed: the log is cut into frames of nd samples and the filter into phases, so the whole work
is one matrix product per frame.

Any linear combination of exact equations is exact, so nothing is lost by leaving samples out of it. Masked
samples (and those beyond the ends of the log) get weight zero on both sides:

    out_i = sum_s h_s w_{i nd + s} x_{i nd + s}

which keeps every kept row free of what was masked, however long the filter. :func:`shares` says how much of
its support a row still has: rows below a threshold are dropped, and by ``noise`` each row can be brought to
the same noise level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal

from dalembert.errors import UsageError
from dalembert.logs.log import Array, sealed

__all__ = ["DecimationFilter", "Decimator", "Shares", "decimate", "decimation_filter", "shares"]

RELATIVE_CUTOFF = 0.8  # of the new Nyquist frequency
_STOPBAND = 60.0  # dB of the FIR at and above the new Nyquist frequency: aliases below 0.1 %
_TAIL = 1e-14  # of the peak, where the impulse response of the recursive filter is cut
_SCRATCH = 1 << 18  # numbers in flight in a product


@dataclass(frozen=True, slots=True)
class DecimationFilter:
    """A symmetric low-pass: ``taps`` (2 half + 1,) around the kept sample, one kept of ``factor``."""

    factor: int
    taps: Array

    @property
    def half(self) -> int:
        """Samples used on each side of a kept one."""
        return len(self.taps) // 2

    @property
    def phases(self) -> tuple[int, Array]:
        """Frames before the kept sample's own, and the taps as a matrix (factor, frames): x_frame @ phases."""
        before, after = math.ceil(self.half / self.factor), self.half // self.factor
        padded = np.zeros((before + after + 1) * self.factor)
        offset = before * self.factor - self.half
        padded[offset : offset + len(self.taps)] = self.taps
        return before, np.ascontiguousarray(padded.reshape(-1, self.factor).T)

    def gain(self, frequency: ArrayLike, rate: float) -> Array:
        """Gain at each frequency [Hz] for samples at ``rate`` [Hz]; real, the filter has no phase."""
        w = 2.0 * np.pi * np.atleast_1d(np.asarray(frequency, dtype=np.float64)) / rate
        s = np.arange(1, self.half + 1)
        return np.asarray(self.taps[self.half] + 2.0 * np.cos(np.outer(w, s)) @ self.taps[self.half + 1 :])


def decimation_filter(factor: int, kind: Literal["fir", "chebyshev"] = "fir") -> DecimationFilter:
    """The low-pass for one sample kept of ``factor``, cutoff 0.8 fm / (2 factor).

    ``fir``: linear phase, Kaiser window, gain 1/2 (-6 dB) at the cutoff, 60 dB down from the new Nyquist
    frequency on, nine kept samples long on each side. ``chebyshev``: type 1, order 8, ripple 0.05 dB, forward
    and backward, as MATLAB's and SciPy's ``decimate``, by its impulse response.
    """
    if factor != int(factor) or factor < 1:
        raise UsageError(f"decimation factor {factor}, expected a whole number of at least 1")
    if kind not in ("fir", "chebyshev"):
        raise UsageError(f"decimation filter {kind!r}; choose from fir, chebyshev")
    if factor == 1:
        return DecimationFilter(1, sealed(np.ones(1)))
    if kind == "fir":
        width = 2.0 * (1.0 - RELATIVE_CUTOFF) / factor  # of the transition, in units of the Nyquist frequency
        length, beta = signal.kaiserord(_STOPBAND, width)
        half = math.ceil(length / 2)
        taps = signal.firwin(2 * half + 1, RELATIVE_CUTOFF / factor, window=("kaiser", beta))
        return DecimationFilter(int(factor), sealed(np.asarray(taps, dtype=np.float64)))
    return DecimationFilter(int(factor), sealed(_chebyshev(int(factor))))


def _chebyshev(factor: int) -> Array:
    """Impulse response of both passes: the one-pass response correlated with itself."""
    zeros, poles, gain = signal.cheby1(8, 0.05, RELATIVE_CUTOFF / factor, output="zpk")
    length = math.ceil(math.log(_TAIL * 1e-2) / math.log(float(np.max(np.abs(poles)))))
    impulse = np.zeros(length)
    impulse[0] = 1.0
    once = signal.sosfilt(signal.zpk2sos(zeros, poles, gain), impulse)
    both = signal.fftconvolve(once, once[::-1]) if length < 256 else signal.correlate(once, once, method="fft")
    strong = np.flatnonzero(np.abs(both) > _TAIL * np.max(np.abs(both)))
    middle = length - 1
    half = int(max(middle - strong[0], strong[-1] - middle))
    return np.asarray(both[middle - half : middle + half + 1], dtype=np.float64)


class Decimator:
    """Decimates a stream of blocks; the kept samples are numbers 0, nd, 2 nd ... and do not depend on the
    blocks.

    ``layout``: ``"columns"`` for arrays (n, ...) of samples, ``"entries"`` for (..., n) as kernels write
    them. A block of entries without weights is used in place; otherwise small parts of it are copied as they
    are used.
    """

    def __init__(self, filter: DecimationFilter, layout: Literal["columns", "entries"] = "columns") -> None:  # noqa: A002
        self.factor = filter.factor
        self.before, self.phases = filter.phases
        self.layout = layout
        self.started = False
        self.rest = np.zeros((0, 0))  # samples of an unfinished frame, entries first
        self.pending = np.zeros((0, 0))  # sums of outputs whose later frames are still to come
        self.shape: tuple[int, ...] = ()
        self.count = 0  # samples taken
        self.given = 0  # outputs handed out

    def push(self, x: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Take a block and return the outputs it completes; ``weight``: (n,) or the shape of the block."""
        values = np.asarray(x, dtype=np.float64)
        weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        if self.layout == "columns":
            if weights is not None and weights.ndim == 1:
                weights = weights.reshape(-1, *(1,) * (values.ndim - 1))
            values = np.moveaxis(values, 0, -1)
            weights = None if weights is None else np.moveaxis(weights, 0, -1)
        shape, n = values.shape[:-1], values.shape[-1]
        if not self.started:
            self.started, self.shape = True, shape
            self.pending = np.zeros((math.prod(shape), self.phases.shape[1] - 1))
            self.rest = np.zeros((math.prod(shape), 0))
        elif shape != self.shape:
            raise UsageError(f"a block of entries {shape} after blocks of {self.shape}, expected the same")
        self.count += n
        flat = values.reshape(-1, n)
        scale = None if weights is None else np.broadcast_to(weights, values.shape).reshape(-1, n)
        return self._shaped(self._advance(flat, scale))

    def finish(self) -> Array:
        """The outputs whose support reaches beyond the end, what is beyond it left out."""
        if not self.started:
            return np.zeros((0,))
        total = -(-self.count // self.factor)
        fill = (-self.count) % self.factor + self.factor * self.phases.shape[1]
        out = self._advance(np.zeros((len(self.pending), fill)), None, last=total)
        self.started, self.count, self.given = False, 0, 0
        return self._shaped(out)

    def _shaped(self, out: Array) -> Array:
        out = out.reshape(*self.shape, out.shape[-1])
        return np.moveaxis(out, -1, 0) if self.layout == "columns" else out

    def _advance(self, x: Array, weight: Array | None, last: int | None = None) -> Array:
        """Sum the frames of ``x`` (k, n) into the pending outputs; the complete ones come out."""
        outputs: list[Array] = []
        n, at = x.shape[1], 0
        held = self.rest.shape[1]
        if held:
            at = min(self.factor - held, n)
            head = x[:, :at] if weight is None else x[:, :at] * weight[:, :at]
            self.rest = np.concatenate([self.rest, head], axis=1)
            if self.rest.shape[1] == self.factor:
                outputs.append(self._frames(self.rest))
                self.rest = self.rest[:, :0]
        step = self.factor * max(1, _SCRATCH // max(1, len(x) * max(self.factor, self.phases.shape[1])))
        whole = at + (n - at) // self.factor * self.factor if self.rest.shape[1] == 0 else at
        for first in range(at, whole, step):
            part = x[:, first : min(first + step, whole)]
            outputs.append(self._frames(part if weight is None else part * weight[:, first : first + part.shape[1]]))
        if whole < n and self.rest.shape[1] == 0:
            self.rest = np.array(x[:, whole:] if weight is None else x[:, whole:] * weight[:, whole:])
        return self._numbered(outputs, len(x), last)

    def _frames(self, x: Array) -> Array:
        """Outputs completed by whole frames ``x`` (k, m factor); always summed in the order of the frames."""
        k, m = len(x), x.shape[1] // self.factor
        # A matrix product needs samples side by side: blocks of entries have them so, blocks of columns do not.
        frames = x if x.strides[1] == x.itemsize else np.ascontiguousarray(x)
        products = frames.reshape(k, m, self.factor) @ self.phases  # (k, m, frames)
        width = self.phases.shape[1]
        sums = np.concatenate([self.pending, np.zeros((k, m))], axis=1)
        for p in range(width):  # frame f adds phase p to output f - p + before
            sums[:, width - 1 - p : width - 1 - p + m] += products[:, :, p]
        self.pending = sums[:, m:]
        return sums[:, :m]

    def _numbered(self, outputs: list[Array], k: int, last: int | None) -> Array:
        """Leave out what lies before sample 0 and after the last one."""
        out = np.concatenate(outputs, axis=1) if outputs else np.zeros((k, 0))
        ahead = self.phases.shape[1] - 1 - self.before  # outputs before number 0
        first = self.given - ahead
        self.given += out.shape[1]
        stop = out.shape[1] if last is None else max(0, last - first)
        return out[:, max(0, -first) : stop]


def decimate(
    x: ArrayLike,
    filter: DecimationFilter,  # noqa: A002
    weight: ArrayLike | None = None,
    layout: Literal["columns", "entries"] = "columns",
) -> Array:
    """Samples 0, nd, 2 nd ... of ``x`` low-passed; ``x`` is (n, ...) or, with layout ``"entries"``, (..., n)."""
    decimator = Decimator(filter, layout)
    axis = 0 if layout == "columns" else -1
    return np.concatenate([decimator.push(x, weight), decimator.finish()], axis=axis)


@dataclass(frozen=True, slots=True)
class Shares:
    """What decimated rows rest on, shape (rows, ...): ``share`` of the filter's support that had weight, in
    0..1; ``noise``: standard deviation of a row's white noise relative to a row with full support.
    """

    share: Array
    noise: Array

    def kept(self, least: float = 0.5) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Rows with at least that share of their support."""
        return np.asarray(self.share >= least)


def shares(weight: ArrayLike, filter: DecimationFilter) -> Shares:  # noqa: A002
    """Shares of the kept rows for weights in 0..1 (n, ...), samples first.

    The share is sum |h| w / sum |h|: what of the filter's window is there. The noise is sqrt(sum h^2 w^2 /
    sum h^2).
    """
    w = np.asarray(weight, dtype=np.float64)
    size, square = np.abs(filter.taps), filter.taps**2
    share = decimate(w, DecimationFilter(filter.factor, size / size.sum()))
    noise = decimate(w**2, DecimationFilter(filter.factor, square / square.sum()))
    return Shares(sealed(np.ascontiguousarray(share)), sealed(np.sqrt(np.maximum(noise, 0.0))))
