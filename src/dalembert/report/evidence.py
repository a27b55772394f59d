"""What a report is made from: a fit, the logs behind it and those it was tested on, seen through its own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import oaconvolve

from dalembert.identification.fit import Fit
from dalembert.identification.fitted import FittedModel, fitted
from dalembert.identification.identify import Identification
from dalembert.identification.observation import BLOCK, Closing, Run
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.report.prior import prior_values
from dalembert.signals import SignalSettings, decimation_filter, plan, prepared
from dalembert.validation import CrossValidation, Validation
from dalembert.validation.heldout import payload_values, settings_of

__all__ = ["Evidence", "Motion", "Track", "gather"]

Array = NDArray[np.float64]

MOST_SAMPLES = 1 << 21  # of one log that are drawn: the start of a longer one
STATES = 1200  # configurations along a log at which portraits, mass matrix and stick figure are drawn


@dataclass(frozen=True, slots=True)
class Motion:
    """A log's motion at some instants ``t`` (m,): positions and rates of the sensors (m, k), configurations ``y``
    (m, n_y); mass matrices ``mass`` (m, r, r) on the independent velocities; ``lowest`` and ``highest`` (3, k) of q,
    qd and qdd over every sample; ``closure`` (n,) and ``mismatch`` (n, k) of every sample.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    y: Array
    mass: Array
    lowest: Array
    highest: Array
    closure: Array
    mismatch: Array


@dataclass(frozen=True, slots=True)
class Track:
    """One log through the model: ``measured`` and ``predicted`` (n, groups) in the fit's projection at full rate from
    ``start`` [s]; nan where the model has no state yet. ``factor``: decimation of the identification. ``cut``: samples
    of the log beyond those drawn.
    """

    name: str
    held_out: bool
    payload: str
    rate: float
    start: float
    factor: int
    groups: tuple[str, ...]
    measured: Array
    predicted: Array
    motion: Motion
    cut: int = 0

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return 1.0 / self.rate

    def compared(self, values: Array) -> Array:
        """A signal (n,) after the low-pass of the identification's decimation, at full rate; its ends are left out."""
        taps = decimation_filter(self.factor).taps
        half = len(taps) // 2
        if half == 0 or len(values) <= 2 * half:
            return values
        out = np.full(len(values), np.nan)
        out[half:-half] = oaconvolve(values, taps, mode="valid")
        return out

    @property
    def low_pass(self) -> float:
        """Edge [Hz] of the low-pass of the identification's decimation, 0 without any."""
        return 0.4 * self.rate / self.factor if self.factor > 1 else 0.0

    def residual_rms(self, k: int) -> float:
        """RMS of the residual of a group, as compared."""
        return self._rms(self.measured[:, k] - self.predicted[:, k])

    def residual_error(self, k: int) -> float:
        """Norm of the residual of a group over that of its torque, both as compared."""
        known = np.isfinite(self.predicted[:, k])
        size = self._rms(np.where(known, self.measured[:, k], np.nan))
        return self.residual_rms(k) / size if size > 0.0 else 0.0

    def _rms(self, values: Array) -> float:
        compared = self.compared(values)
        return float(np.sqrt(np.nanmean(compared**2))) if np.isfinite(compared).any() else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the sections of a report look at. ``model`` is None for a fit that does not hold its model."""

    fit: Fit
    model: FittedModel | None
    tracks: tuple[Track, ...]
    validation: Validation | None
    crossed: CrossValidation | None
    compared: tuple[tuple[str, Fit], ...]
    prior: Mapping[str, float]

    @property
    def identification(self) -> Identification | None:
        """The fit with its data, when it has them."""
        return self.fit if isinstance(self.fit, Identification) else None

    @property
    def projected(self) -> bool:
        """True where torques are compared after projection: the motors' own hold a preload no model predicts."""
        return self.model is not None and self.model.projection.partition(":")[0] in ("platform", "whitened")

    def unit(self, group: str) -> str:
        """Unit of a row group."""
        return next((row.unit for row in self.fit.rows if row.name == group), "N m")


def gather(
    fit: Fit,
    validation: Validation | None = None,
    *,
    compared: Sequence[tuple[str, Fit]] = (),
    crossed: CrossValidation | None = None,
) -> Evidence:
    """Look at the logs of a fit, and of its validation, through its model."""
    found = fit if isinstance(fit, Identification) else None
    model = None
    if "model" in fit.provenance:
        model = fitted(fit, found.prepared.model if found else None)
    logs: list[tuple[LogSource, SignalSettings, bool]] = []
    if found:
        logs += [(run.source, _settled(run), False) for run in found.prepared.rigid.runs]
    names = {source.info.name for source, _, _ in logs}
    for source in validation.sources if validation else ():
        if source.info.name not in names or source.info.sha256 not in {s.info.sha256 for s, _, _ in logs}:
            logs.append((source, settings_of(fit, source), True))
    tracks = tuple(_track(model, *log) for log in logs) if model else ()
    return Evidence(fit, model, tracks, validation, crossed, tuple(compared), prior_values(found) if found else {})


def _settled(run: Run) -> SignalSettings:
    """What was chosen for a log of the identification."""
    cutoff = 0.0 if run.plan.lowpass is None else run.plan.lowpass.cutoff
    return replace(run.plan.settings, cutoff=cutoff, decimate=run.plan.decimation.factor)


def _track(model: FittedModel, source: LogSource, settings: SignalSettings, held_out: bool) -> Track:
    full = replace(settings, decimate=1, mask=None)
    run = Run(source, plan(source, full))
    samples = min(run.plan.samples, MOST_SAMPLES)
    groups, measured, predicted = _torques(model, source, full, samples)
    info = source.info
    return Track(
        name=info.name, held_out=held_out, payload=info.payload, rate=info.rate,
        start=info.start + info.period * run.plan.border, factor=settings.decimate or 1, groups=groups,
        measured=measured, predicted=predicted, motion=_motion(model, run, samples), cut=run.plan.samples - samples,
    )  # fmt: skip


def _torques(
    model: FittedModel, source: LogSource, settings: SignalSettings, samples: int
) -> tuple[tuple[str, ...], Array, Array]:
    """Row groups, measured and predicted torques (n, groups) in the fit's projection."""
    rows = model.rows([source], [settings])
    measured, predicted = (np.full((samples, len(rows.groups)), np.nan) for _ in range(2))
    for block in rows.blocks():
        if len(block.sample) and block.sample[0] >= samples:
            break
        inside = block.sample < samples
        at = block.sample[inside]
        measured[at, block.group] = block.y[inside]
        predicted[at, block.group] = block.W[inside] @ model.values
    return rows.groups, measured, predicted


def _motion(model: FittedModel, run: Run, samples: int) -> Motion:
    rigid, step = model.model, max(1, samples // STATES)
    closing, sensors = Closing(rigid, run), rigid.robot.sensor_map()
    kept: list[tuple[Array, ...]] = []
    closure, mismatch = np.zeros(samples), np.zeros((samples, len(sensors)))
    lowest, highest = (np.full((3, len(sensors)), sign * np.inf) for sign in (1.0, -1.0))
    for signals in prepared(run.source, run.plan, BLOCK):
        first = signals.first - run.plan.border
        if first >= samples:
            break
        y = closing(signals)[0]
        where = slice(first, min(first + len(y), samples))
        count = where.stop - where.start
        closure[where] = _closure(rigid, y)[:count]
        mismatch[where] = (signals.q - y @ sensors.T)[:count]
        states = (signals.q, signals.qd, signals.qdd)
        lowest = np.minimum(lowest, [x[:count].min(axis=0) for x in states])
        highest = np.maximum(highest, [x[:count].max(axis=0) for x in states])
        some = slice(-first % step, count, step)
        kept.append(tuple(np.array(x[some]) for x in (signals.t, *states, y)))
    t, q, qd, qdd, y = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    mass = rigid.mass_matrix(y, payload_values(model, run.source.info.payload))
    return Motion(t, q, qd, qdd, y, mass, lowest, highest, closure, mismatch)


def _closure(model: Model, y: Array) -> Array:
    """Largest error of any loop (n,) [m or rad]."""
    if not model.robot.loops:
        return np.zeros(len(y))
    c = np.asarray(model.loops_kernel()(y)["c"]).reshape(len(y), -1)
    return np.asarray(np.abs(c).max(axis=1, initial=0.0))
