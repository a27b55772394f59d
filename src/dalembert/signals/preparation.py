"""A log made ready for identification: positions filtered, differentiated, borders cut, slow samples marked.

First :func:`plan` settles everything that depends on the whole log (cutoff, factor, noise, thresholds), then
:func:`prepare` or :func:`prepared` apply it, in memory or block by block with the same bits in the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import LogError, UsageError
from dalembert.logs.log import Array, LogInfo, LogSource, sealed
from dalembert.signals.border import border_samples, turning_shift
from dalembert.signals.choice import FLAT, choose
from dalembert.signals.decimation import DecimationFilter, decimation_filter
from dalembert.signals.derivative import Differences
from dalembert.signals.filter import Butterworth
from dalembert.signals.mask import SlowMask, sealed_mask, usable
from dalembert.signals.noise import noise_sigma, quantisation_step, unresolved_speed, velocity_noise
from dalembert.signals.windows import windows

__all__ = ["Motion", "SignalPlan", "SignalSettings", "plan", "prepare", "prepared"]

# A speed that changes within one sample by this many times its RMS is no motion: the fastest steps of smooth logs, at
# rest nearly always, stay below 5. Quantised positions change by a step or two.
_JUMP, _JUMP_STEPS = 30.0, 20.0
_FIRST_LOOK = 1 << 19  # samples from which spectra and noise are estimated: the start of a long log


@dataclass(frozen=True, slots=True)
class SignalSettings:
    """How a log is filtered. None: chosen from the data, and said.

    ``cutoff`` [Hz] of one pass of the position filter (0: no filter) of ``order``; ``decimate``: one sample
    kept of so many (1: all); ``mask``: slow samples, None masks nothing; ``border``: samples cut at each end;
    ``least_share``: rows of which less than this share of the decimation filter's support is left are
    dropped.
    """

    cutoff: float | None = None
    decimate: int | None = None
    order: int = 4
    differences: Differences = field(default_factory=Differences)
    mask: SlowMask | None = None
    border: int | None = None
    decimation: Literal["fir", "chebyshev"] = "fir"
    least_share: float = 0.5

    def __post_init__(self) -> None:
        if self.cutoff is not None and not self.cutoff >= 0.0:
            raise UsageError(f"cutoff {self.cutoff} Hz, expected a positive frequency, or 0 for no filter")
        if self.decimate is not None and (self.decimate < 1 or self.decimate != int(self.decimate)):
            raise UsageError(f"decimation factor {self.decimate}, expected a whole number of at least 1")
        if self.border is not None and self.border < 0:
            raise UsageError(f"border of {self.border} samples, expected at least 0")
        if not 0.0 <= self.least_share <= 1.0:
            raise UsageError(f"least share {self.least_share}, expected 0 to 1")


@dataclass(frozen=True, slots=True)
class SignalPlan:
    """Everything settled for one log. Arrays are per position (k,) or per torque (m,).

    ``border`` samples are cut at each end, so that samples ``border`` to ``border + samples - 1`` of the log
    are used. ``slow`` [rad/s or m/s] is the speed below which samples are masked (0: none), ``reach`` the
    samples masked around them, ``turning`` those around two samples of opposite sign.
    """

    info: LogInfo
    settings: SignalSettings
    lowpass: Butterworth | None
    decimation: DecimationFilter
    border: int
    samples: int
    position_noise: Array
    position_step: Array
    velocity_noise: Array
    torque_noise: Array
    slow: Array
    reach: int
    turning: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Motion:
    """Consecutive samples ready for identification, the first of them number ``first`` of the log.

    ``t`` [s] (n,); ``q``, ``qd``, ``qdd`` (n, positions) filtered; ``tau`` (n, torques) as measured;
    ``usable`` (n, positions) False where that position is too slow. The decimation filter is applied to tau
    and W alike later.
    """

    first: int
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    usable: NDArray[np.bool_]


def plan(source: LogSource, settings: SignalSettings | None = None) -> SignalPlan:
    """Settle cutoff, decimation, border and masks; LogError when the log is too short for them."""
    settings = SignalSettings() if settings is None else settings
    info = source.info
    q, tau = _first_look(source)
    try:
        chosen = choose(q, info.rate, info.samples, settings.cutoff, settings.decimate)
    except UsageError as error:
        raise UsageError(f"log {info.name!r}: {error}") from None
    lowpass = Butterworth(chosen.cutoff, info.rate, settings.order) if chosen.cutoff > 0.0 else None
    step = quantisation_step(q)
    _refuse_jumps(q, step, info)
    differences = settings.differences
    border = border_samples(lowpass, differences) if settings.border is None else settings.border
    border = max(border, differences.margin)
    samples = info.samples - 2 * border
    if samples < max(2, chosen.decimate):
        raise LogError(
            f"log {info.name!r}: {info.samples} samples at {info.rate:g} Hz are too few: {border} are cut at each end "
            f"(cutoff {chosen.cutoff:g} Hz) and decimation by {chosen.decimate} needs at least one frame"
        )
    sigma = noise_sigma(q, info.rate) if len(q) >= 16 else np.zeros(q.shape[1])
    # no velocity is known better than its position's last digit: a joint that stands still has none
    digit = np.finfo(float).eps * np.max(np.abs(q), axis=0, initial=0.0)
    rattle = np.maximum(velocity_noise(sigma, info.rate, lowpass, differences), digit * info.rate)
    slow, reach = np.zeros(q.shape[1]), 0
    notes = list(chosen.reasons)
    kept = 0.4 * info.rate / chosen.decimate
    if lowpass is not None and min(kept, chosen.band) > 1.001 * FLAT * chosen.cutoff:
        notes.append(
            f"torque is compared up to {kept:.3g} Hz but positions are filtered at {chosen.cutoff:.3g} Hz: inertial "
            f"parameters may be biased; decimate by {math.ceil(0.4 * info.rate / (FLAT * chosen.cutoff))} or more"
        )
    if settings.mask is not None:
        unresolved = unresolved_speed(step, info.rate, lowpass)
        slow = settings.mask.limits(rattle, unresolved, _fastest(source, lowpass, settings))
        reach = settings.mask.reach(info.period, chosen.cutoff)
        speeds = ", ".join(f"{name} {value:.3g}" for name, value in zip(info.positions, slow, strict=True))
        notes.append(f"samples slower than {speeds} (per s) masked, with {reach} samples on each side")
    return SignalPlan(
        info=info, settings=settings, lowpass=lowpass, border=border, samples=samples,
        decimation=decimation_filter(chosen.decimate, settings.decimation),
        position_noise=sealed(sigma), position_step=sealed(step), velocity_noise=sealed(rattle),
        torque_noise=sealed(noise_sigma(tau, info.rate) if tau.size else np.zeros(0)),
        slow=sealed(slow), reach=reach, turning=turning_shift(lowpass, differences, border), notes=tuple(notes),
    )  # fmt: skip


def _refuse_jumps(q: Array, step: Array, info: LogInfo) -> None:
    """LogError where a position jumps as no motion does: a full turn lost, a dropout."""
    change = np.diff(q, axis=0)
    if len(change) < 2:
        return
    jerk = np.abs(np.diff(change, axis=0))
    limit = np.maximum(_JUMP * np.sqrt(np.mean(change**2, axis=0)), _JUMP_STEPS * step)
    for j in np.flatnonzero((jerk > np.where(limit > 0.0, limit, np.inf)).any(axis=0)):
        places = np.flatnonzero(jerk[:, j] > limit[j])
        k = int(places[0]) + int(np.argmax(np.abs(change[places[0] : places[0] + 2, j])))
        raise LogError(
            f"log {info.name!r}: position {info.positions[j]!r} jumps by {change[k, j]:.4g} between samples {k + 1} "
            f"and {k + 2} ({len(places)} such changes of speed in all), expected a continuous motion; unwrap full "
            "turns, or repair the log there"
        )


def _first_look(source: LogSource) -> tuple[Array, Array]:
    """Positions and torques of the start of the log."""
    qs, taus, n = [], [], 0
    for block in source.blocks(65536):
        qs.append(block.q)
        taus.append(block.tau)
        n += len(block.q)
        if n >= _FIRST_LOOK:
            break
    return np.concatenate(qs), np.concatenate(taus)


def _fastest(source: LogSource, lowpass: Butterworth | None, settings: SignalSettings) -> Array:
    """Largest speed of each position, from a pass over the log when it is needed."""
    k = len(source.info.positions)
    if settings.mask is None or settings.mask.unit != "relative":
        return np.zeros(k)
    fastest = np.zeros(k)
    for _, _, qd, _ in _differentiated(source, lowpass, settings.differences, 0):
        fastest = np.maximum(fastest, np.max(np.abs(qd), axis=0))
    return fastest


def _differentiated(
    source: LogSource, lowpass: Butterworth | None, differences: Differences, neighbours: int
) -> Iterator[tuple[int, Array, Array, Array]]:
    """First sample number, q, qd, qdd of consecutive stretches, each with ``neighbours`` samples on both
    sides.

    All samples but the differences' margin at both ends of the log.
    """
    info, margin = source.info, differences.margin
    q = (block.q for block in source.blocks(65536))
    need = margin + neighbours
    stretches = lowpass.windows(q, info.samples, need) if lowpass else windows(q, info.samples, 32768, need)
    for window in stretches:
        smooth = lowpass.apply(window) if lowpass else window.values
        low, high = max(0, window.first - need), min(info.samples, window.last + need)
        smooth = smooth[low - window.low : high - window.low]
        qd, qdd = differences.both(smooth, info.period)
        yield low + margin, smooth[margin : len(smooth) - margin], qd, qdd


def prepared(source: LogSource, plan: SignalPlan, size: int = 8192) -> Iterator[Motion]:
    """The log between its borders in blocks of ``size`` samples (the last one shorter)."""
    held: list[Motion] = []
    count = 0
    for motion in _chunks(source, plan):
        held.append(motion)
        count += len(motion.t)
        while count >= size:
            joined = _joined(held)
            yield _cut(joined, 0, size)
            count -= size
            held = [_cut(joined, size, size + count)]
    if count:
        yield _joined(held)


def prepare(source: LogSource, settings: SignalSettings | SignalPlan | None = None) -> Motion:
    """The whole log between its borders, in memory."""
    settled = settings if isinstance(settings, SignalPlan) else plan(source, settings)
    return _joined(list(_chunks(source, settled)))


def _chunks(source: LogSource, plan: SignalPlan) -> Iterator[Motion]:
    """Motion in chunks of fixed place, within the borders."""
    info, torques = source.info, _Torques(source)
    end = plan.border + plan.samples
    at = plan.border
    # a sample is masked for its neighbours' sake, too
    neighbours = max(plan.reach, plan.turning + 1) if plan.settings.mask else 0
    for low, q, qd, qdd in _differentiated(source, plan.lowpass, plan.settings.differences, neighbours):
        mask = (
            usable(qd, plan.slow, plan.reach, plan.turning) if plan.settings.mask else np.ones(q.shape, dtype=np.bool_)
        )
        reaches_end = low + len(q) >= info.samples - plan.settings.differences.margin
        stop = min(end, low + len(q) - (0 if reaches_end else neighbours))
        if stop <= at:
            continue
        cut = slice(at - low, stop - low)
        t = info.times(at, stop)
        yield Motion(
            at, sealed(t), sealed(q[cut]), sealed(qd[cut]), sealed(qdd[cut]), sealed(torques.take(at, stop)),
            sealed_mask(mask[cut]),
        )  # fmt: skip
        at = stop


class _Torques:
    """Torques of any stretch of a log, read in order."""

    def __init__(self, source: LogSource) -> None:
        self.blocks = (block.tau for block in source.blocks(65536))
        self.held: list[Array] = []
        self.start, self.end = 0, 0

    def take(self, first: int, last: int) -> Array:
        while self.end < last:
            block = next(self.blocks)
            self.held.append(block)
            self.end += len(block)
            while self.held and self.start + len(self.held[0]) <= first:
                self.start += len(self.held.pop(0))
        joined = np.concatenate(self.held)
        out = joined[first - self.start : last - self.start].copy()
        self.held, self.start = [joined[last - self.start :]], last
        return out


def _cut(motion: Motion, first: int, last: int) -> Motion:
    part = slice(first, last)
    return Motion(
        motion.first + first, motion.t[part], motion.q[part], motion.qd[part], motion.qdd[part], motion.tau[part],
        motion.usable[part],
    )  # fmt: skip


def _joined(parts: list[Motion]) -> Motion:
    if len(parts) == 1:
        return parts[0]
    t, q, qd, qdd, tau = (
        sealed(np.concatenate([getattr(p, name) for p in parts])) for name in ("t", "q", "qd", "qdd", "tau")
    )
    return Motion(parts[0].first, t, q, qd, qdd, tau, sealed_mask(np.concatenate([p.usable for p in parts])))
