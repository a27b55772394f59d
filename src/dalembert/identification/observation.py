"""Logs and a model to rows ``y = W pi``: closed, projected, decimated alike, block by block.

Nothing the size of W of a long log is ever in memory. Each log runs through: positions filtered and differentiated,
loops closed, W and the projected torque evaluated, both decimated by the same low-pass [Briot15, section 4.1].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.rows import RowBlock
from dalembert.kernels import Kernel
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.motion import Closer
from dalembert.parameters import inertial_names
from dalembert.robot import Coordinate, Distance, EffortKind
from dalembert.signals import DecimationFilter, Decimator, SignalPlan, SignalSettings, plan, prepared
from dalembert.signals import Motion as Signals

__all__ = ["Closing", "Decimated", "KnownMotion", "LogRows", "Run"]

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

BLOCK = 8192  # samples evaluated at a time: W of a block stays within tens of megabytes
KEPT_BYTES = 128 * 2**20  # decimated rows are kept for further passes up to this size, else computed again
_LOOK = 100_000  # samples of each log that are looked at for what needs a few: closing all of a long one takes long
_SWITCHING = (EffortKind.COULOMB, EffortKind.FORCE)  # efforts that jump where a joint turns back


@runtime_checkable
class KnownMotion(Protocol):
    """A log that knows the robot's state at every sample: its motion was simulated, not measured."""

    def states(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """Tree coordinates y, yd, ydd (last - first, n_y) of samples ``first`` to ``last - 1``."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One log to identify from, with how its signals are treated."""

    source: LogSource
    plan: SignalPlan

    @property
    def name(self) -> str:
        """Name of the log."""
        return self.source.info.name


class LogRows:
    """The rows of one or several logs in one projection; a :class:`~dalembert.identification.rows.Rows`.

    ``signals``: how logs are filtered, alike or each its own way. ``sigma`` (n motors,) is the torque noise the
    whitened projection weighs motors by. ``payloads`` names the bodies that only the logs with that payload label
    carry. ``dry`` lists coordinates whose dry friction is not in the model
    itself, with the rows it enters: their slow samples are masked too.
    """

    def __init__(
        self,
        model: Model,
        sources: Sequence[LogSource],
        *,
        signals: SignalSettings | Sequence[SignalSettings] | None = None,
        projection: str | None = None,
        sigma: ArrayLike | None = None,
        payloads: Sequence[str] = (),
        runs: Sequence[Run] | None = None,
        dry: Sequence[tuple[frozenset[int], Coordinate | Distance]] = (),
    ) -> None:
        self.model = model
        self.projection = projection or model.default_projection
        self.runs = tuple(runs) if runs else _planned(sources, signals)
        if not self.runs:
            raise EstimationError("identification: no log given, expected at least one")
        self.sigma = np.ones(model.n) if sigma is None else np.asarray(sigma, dtype=float)
        self.payloads = tuple(payloads)
        self.dry = tuple(dry)
        self._check()
        self.parameters = model.parameters
        self._kernel = model.regressor_kernel(self.projection)
        self._rows = _row_layout(self._kernel)
        self.groups = model.row_names(self.projection)
        self.dof_share = len(model.row_names("platform")) / len(self.groups) if self.projection == "whitened" else 1.0
        self._touching = self._positions_by_row()
        self._kept: list[RowBlock] | None = None

    def _check(self) -> None:
        model = self.model
        names = tuple(model.robot.readings)
        for run in self.runs:
            info = run.source.info
            if info.positions != names:
                missing = [name for name in names if name not in info.positions]
                raise EstimationError(
                    f"log {info.name!r}: no position of {', '.join(missing)}, expected {', '.join(names)}"
                )
            if info.payload and info.payload not in self.payloads:
                raise EstimationError(
                    f"log {info.name!r}: unknown payload {info.payload!r}; {choices(info.payload, self.payloads)}"
                )

    def with_runs(self, sources: Sequence[LogSource], signals: SignalSettings | None = None) -> LogRows:
        """The same observation of other logs, for instance held-out ones."""
        return LogRows(
            self.model, sources, signals=signals, projection=self.projection, sigma=self.sigma, payloads=self.payloads,
            dry=self.dry,
        )  # fmt: skip

    def observing(self, runs: Sequence[Run]) -> LogRows:
        """The same observation of the same logs, otherwise moved or with other torques: nothing is planned anew."""
        return LogRows(
            self.model, (), runs=runs, projection=self.projection, sigma=self.sigma, payloads=self.payloads,
            dry=self.dry,
        )  # fmt: skip

    # --- masks ---------------------------------------------------------------------------------------------------

    def weights(self, signals: Signals) -> Array:
        """Weight of every sample in every row (rows, n): 0 where a joint with dry friction in that row is too slow."""
        return np.stack([signals.usable[:, touching].all(axis=1).astype(float) for touching in self._touching])

    def _positions_by_row(self) -> tuple[NDArray[np.intp], ...]:
        """For each row the measured positions whose slow samples spoil it: those of joints with dry friction in it."""
        robot = self.model.robot
        sensors = robot.sensor_map() != 0.0
        column = {name: k for k, name in enumerate(self.parameters)}
        out = []
        for k, (columns, _) in enumerate(self._rows):
            moving = np.zeros(self.model.n_y, dtype=bool)
            for effort in robot.efforts:
                if effort.kind in _SWITCHING and column[effort.parameters[0]] in columns:
                    terms = effort.on.terms if isinstance(effort.on, Coordinate) else ()
                    laws = tuple((name, 1.0) for name, _ in effort.force)
                    moving |= robot.linear_map([terms or laws])[0] != 0.0
            for rows, place in self.dry:
                if k in rows and isinstance(place, Coordinate):
                    moving |= robot.linear_map([place.terms])[0] != 0.0
            out.append(np.flatnonzero((sensors & moving).any(axis=1)))
        return tuple(out)

    # --- rows ----------------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[RowBlock]:
        """The rows, log by log and group by group; computed once when they are few enough to keep."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[RowBlock] | None = []
        size = 0
        for run in self.runs:
            for block in self.run_blocks(run):
                size += block.W.nbytes
                if kept is not None:
                    kept.append(block)
                    if size > KEPT_BYTES:
                        kept = None
                yield block
        self._kept = kept

    def run_blocks(self, run: Run) -> Iterator[RowBlock]:
        """The rows of one log."""
        absent = self.absent(run)
        present = [np.array([int(c) not in absent for c in columns], dtype=bool) for columns, _ in self._rows]
        groups = [Decimated(run.plan) for _ in self._rows]
        torques = [self.model.robot.motor_names.index(name) for name in run.source.info.torques]

        def rows(k: int, parts: Iterator[tuple[IntArray, Array]]) -> Iterator[RowBlock]:
            columns = self._rows[k][0][present[k]]
            for sample, stacked in parts:
                dense = np.zeros((len(sample), len(self.parameters)), order="F")
                dense[:, columns] = stacked[:-1].T
                yield RowBlock(dense, stacked[-1], k, sample, run.name)

        for signals, state in self.motion(run):
            out = self._kernel.compact(*state, self.sigma)
            gamma = self.projected(out["L"], signals.tau, torques)
            for k, weight in enumerate(self.weights(signals)):
                entries = self._rows[k][1][present[k]]
                yield from rows(k, groups[k].push(np.concatenate([out["W"][entries], gamma[k : k + 1]]), weight))
        for k, group in enumerate(groups):
            yield from rows(k, group.finish())

    def sampled(self, count: int) -> tuple[Array, Array, Array]:
        """``y, yd, ydd`` (m, n_y) of about ``count`` samples spread over the logs (over the beginning of long ones)."""
        parts = []
        for run in self.runs:
            step, seen = max(1, min(run.plan.samples, _LOOK) * len(self.runs) // count), 0
            for signals, state in self.motion(run):
                parts.append([x[-signals.first % step :: step] for x in state])
                seen += len(signals.t)
                if seen >= _LOOK:
                    break
        y, yd, ydd = (np.concatenate(part) for part in zip(*parts, strict=True))
        return y, yd, ydd

    def motion(self, run: Run) -> Iterator[tuple[Signals, tuple[Array, Array, Array]]]:
        """Prepared signals of one log, block by block, and the full state y, yd, ydd they give."""
        closing = Closing(self.model, run)
        for signals in prepared(run.source, run.plan, BLOCK):
            yield signals, closing(signals)

    def left(self, state: tuple[Array, Array, Array]) -> Array:
        """Entries (nnz, n) of L, how torques enter the rows in states y, yd, ydd."""
        entries: Array = self._kernel.compact(*state, self.sigma)["L"]
        return entries

    def projected(self, left: Array, tau: Array, torques: Sequence[int]) -> Array:
        """Gamma = L tau (k, n) from the entries of L and torques (n, measured) of the motors of these numbers."""
        rows, columns = self._kernel.nonzeros["L"]
        gamma = np.zeros((len(self.groups), len(tau)))
        for entry, (row, motor) in enumerate(zip(rows, columns, strict=True)):
            if motor in torques:
                gamma[row] += left[entry] * tau[:, torques.index(int(motor))]
            elif np.abs(left[entry]).max(initial=0.0) > 1e-12:
                raise EstimationError(
                    f"projection {self.projection!r}: row {self.groups[row]!r} needs the torque of "
                    f"{self.model.robot.motor_names[motor]!r}, which is not measured"
                )
        return gamma

    def absent(self, run: Run) -> frozenset[int]:
        """Columns of the payload bodies this log does not carry."""
        names = {n for body in self.payloads if body != run.source.info.payload for n in inertial_names(body)}
        return frozenset(k for k, name in enumerate(self.parameters) if name in names)


def _planned(
    sources: Sequence[LogSource], signals: SignalSettings | Sequence[SignalSettings] | None
) -> tuple[Run, ...]:
    each = signals if isinstance(signals, Sequence) else [signals] * len(sources)
    return tuple(Run(source, plan(source, settings)) for source, settings in zip(sources, each, strict=True))


def _row_layout(kernel: Kernel) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """For each row of W: the columns that are not identically zero, and where they are in the compact output."""
    rows, columns = kernel.nonzeros["W"]
    height = kernel.program.output("W").shape[0]
    return [(np.asarray(columns)[rows == k], np.flatnonzero(rows == k)) for k in range(height)]


class Closing:
    """Full state of consecutive blocks of one log, each started where the last one ended; a simulated log knows it."""

    def __init__(self, model: Model, run: Run) -> None:
        self.known = run.source if isinstance(run.source, KnownMotion) else None
        if self.known is None:
            noise = run.plan.position_noise
            weight = 1.0 / noise if len(noise) > model.r and (noise > 0.0).all() else None
            self.closer = Closer(model, weight)
        self.last: Array | None = None

    def __call__(self, signals: Signals) -> tuple[Array, Array, Array]:
        """Y, yd, ydd of a block."""
        if self.known is not None:
            return self.known.states(signals.first, signals.first + len(signals.t))
        y = self.closer.positions(signals.q, signals.t, self.last)
        self.last = y[-1].copy()
        yd, ydd = self.closer.rates(y, signals.qd, signals.qdd)
        return y, yd, ydd


class Decimated:
    """Decimation of several signals of one row group, masked samples left out alike from all of them."""

    def __init__(self, plan: SignalPlan) -> None:
        taps = plan.decimation
        size, square = np.abs(taps.taps), taps.taps**2
        self.least = max(plan.settings.least_share, 1e-6)
        self.signal = Decimator(taps, "entries")
        self.share = Decimator(DecimationFilter(taps.factor, size / size.sum()), "entries")
        self.noise = Decimator(DecimationFilter(taps.factor, square / square.sum()), "entries")
        self.first = 0

    def push(self, stacked: Array, weight: Array) -> Iterator[tuple[IntArray, Array]]:
        """Rows (entries, m) completed by a block of samples (entries, n), with their numbers (m,)."""
        full = bool(weight.all())
        yield from self._rows(
            self.signal.push(stacked, None if full else weight),
            self.share.push(weight[None]),
            self.noise.push(weight[None] ** 2),
        )

    def finish(self) -> Iterator[tuple[IntArray, Array]]:
        """Rows whose support reaches beyond the end."""
        yield from self._rows(self.signal.finish(), self.share.finish(), self.noise.finish())

    def _rows(self, stacked: Array, share: Array, noise: Array) -> Iterator[tuple[IntArray, Array]]:
        sample = np.arange(self.first, self.first + stacked.shape[-1])
        self.first += stacked.shape[-1]
        kept = share.reshape(-1) >= self.least
        if kept.any():
            # partial support averages fewer samples: bring every row to the noise of a full one
            yield sample[kept], stacked[:, kept] / np.sqrt(noise.reshape(-1)[kept])
