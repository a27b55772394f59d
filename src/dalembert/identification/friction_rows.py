"""Rows with a friction model's columns beside those of the rigid model.

The rigid columns do not depend on the friction law and are kept; the law's columns are made from the motion of each
friction coordinate and decimated by the same low-pass with the same samples left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError
from dalembert.identification.friction import CoordinateMotion, FrictionLaws, FrictionModel, MotionScale
from dalembert.identification.observation import BLOCK, KEPT_BYTES, Closing, Decimated, LogRows, Run
from dalembert.identification.rows import RowBlock
from dalembert.model import Model
from dalembert.robot import Coordinate, Distance
from dalembert.signals import prepared

__all__ = ["FrictionRows", "Tracks", "load_shares"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Track:
    """Motion of all friction coordinates over a block: ``x xd xdd`` (n, c), entries of ``D`` (nnz, n) that bring an
    effort on a coordinate into a row, weights of the samples in each row (rows, n), ``load`` (n, c) where asked for.
    """

    x: Array
    xd: Array
    xdd: Array
    D: Array
    weight: Array
    load: Array | None = None


class Tracks:
    """Motion of a robot's friction coordinates along the logs of some rigid rows; kept when small enough.

    ``load`` (p,) are rigid parameters of an earlier fit: with them each coordinate's motion carries what it transmits.
    """

    def __init__(self, rigid: LogRows, places: Mapping[str, Coordinate | Distance], load: Array | None = None) -> None:
        self.rigid, self.places, self.load = rigid, dict(places), load
        self._shares = None if load is None else load_shares(rigid.model, self.places)
        self._kernel = rigid.model.coordinates_kernel(rigid.projection, self.places)
        self.entries = tuple(zip(*(index.tolist() for index in self._kernel.nonzeros["D"]), strict=True))
        samples = sum(run.plan.samples for run in rigid.runs)
        width = 3 * len(self.places) + len(self.entries) + len(rigid.groups)
        self._keep = samples * width * 8 <= KEPT_BYTES
        self._kept: dict[str, list[_Track]] = {}

    def blocks(self, run: Run) -> Iterator[_Track]:
        """The tracks of one log, block by block."""
        if run.name in self._kept:
            yield from self._kept[run.name]
            return
        closing, kept = Closing(self.rigid.model, run), []
        for signals in prepared(run.source, run.plan, BLOCK):
            state = closing(signals)
            out = self._kernel.compact(*state, self.rigid.sigma)
            x, xd, xdd = (self._full(out[name], name).T for name in ("x", "xd", "xdd"))
            track = _Track(x, xd, xdd, np.array(out["D"]), self.rigid.weights(signals), self._loads(run, state))
            if self._keep:
                kept.append(track)
            yield track
        if self._keep:
            self._kept[run.name] = kept

    def _loads(self, run: Run, state: tuple[Array, Array, Array]) -> Array | None:
        """Effort (n, c) each coordinate transmits, by the rigid model of the earlier fit."""
        if self.load is None or self._shares is None:
            return None
        model = self.rigid.model
        pi = self.load.copy()
        pi[list(self.rigid.absent(run))] = 0.0
        tau = model.torque_kernel()(*state, pi, np.zeros(model.n))["tau"]
        return np.asarray(np.asarray(tau) @ self._shares.T)

    def _full(self, compact: Array, name: str) -> Array:
        dense = np.zeros((len(self.places), compact.shape[1]))
        dense[self._kernel.nonzeros[name][0]] = compact
        return dense

    def quantum(self, run: Run) -> Array:
        """Encoder step seen on each coordinate (c,), of the sensors that share its joints; 0 when unknown."""
        robot = self.rigid.model.robot
        sensors = robot.sensor_map()
        out = np.zeros(len(self.places))
        for k, place in enumerate(self.places.values()):
            if isinstance(place, Coordinate):
                terms = robot.linear_map([place.terms])[0]
                share = np.linalg.lstsq(sensors.T, terms, rcond=None)[0]
                out[k] = float(np.linalg.norm(share * run.plan.position_step))
        return out

    def motions(self, run: Run, track: _Track) -> list[CoordinateMotion]:
        """The motion of each coordinate over a block."""
        quantum, period = self.quantum(run), run.source.info.period
        loads = [None] * len(self.places) if track.load is None else list(track.load.T)
        return [
            CoordinateMotion(track.x[:, k], track.xd[:, k], track.xdd[:, k], period, float(quantum[k]), loads[k])
            for k in range(len(self.places))
        ]

    def scales(self) -> dict[str, MotionScale]:
        """Size of the motion of every coordinate over all logs."""
        gathered: dict[str, list[CoordinateMotion]] = {name: [] for name in self.places}
        slowest = np.full(len(self.places), np.inf)
        for run in self.rigid.runs:
            for track in self.blocks(run):
                slowest = np.minimum(slowest, self._slowest(track))
                for name, motion in zip(self.places, self.motions(run, track), strict=True):
                    gathered[name].append(motion)
        seen = np.where(np.isfinite(slowest), slowest, 0.0)
        return {
            name: replace(MotionScale.of(motions), slowest=float(least))
            for (name, motions), least in zip(gathered.items(), seen, strict=True)
        }

    def _slowest(self, track: _Track) -> Array:
        """Smallest speed of each coordinate (c,) among the samples that weigh in a row it enters."""
        used = np.zeros(track.xd.shape, dtype=bool)
        for row, coordinate in self.entries:
            used[:, coordinate] |= track.weight[row] > 0.0
        return np.asarray(np.where(used, np.abs(track.xd), np.inf).min(axis=0))

    def laws(self, model: FrictionModel) -> FrictionLaws:
        """The friction model on every coordinate, set by the size of its motion."""
        return FrictionLaws.of(model, self.scales())


def load_shares(model: Model, places: Mapping[str, Coordinate | Distance]) -> Array:
    """(c, n): efforts on the friction coordinates that balance the motors' torques, the smallest where several do.

    What a passive joint of a loop carries, and what preload adds to an over-actuated robot's motors, no rigid model
    tells: both are refused.
    """
    if model.n > model.r:
        raise EstimationError(
            f"friction that depends on the load: robot {model.robot.name!r} has {model.n} motors for {model.r} "
            "motions, so the loads depend on the unknown preload; expected another friction model"
        )
    T = model.robot.motor_map()
    turns = []
    for name, place in places.items():
        row = model.robot.linear_map([place.terms])[0] if isinstance(place, Coordinate) else np.zeros(model.n_y)
        share = np.linalg.lstsq(T.T, row, rcond=None)[0]
        if not row.any() or not np.allclose(share @ T, row, atol=1e-9):
            raise EstimationError(
                f"friction that depends on the load: no motor turns {name!r}, so its load is a force of the loop; "
                "expected another friction model"
            )
        turns.append(share)
    return np.asarray(np.linalg.pinv(np.array(turns).T))


class FrictionRows:
    """Rigid rows with the columns of friction laws appended; a :class:`~dalembert.identification.rows.Rows`.

    With ``slopes`` the derivatives of those columns by the shape parameters follow, one column for each pair of
    ``slope_pairs`` (column it is the derivative of, shape parameter).
    """

    def __init__(self, tracks: Tracks, laws: FrictionLaws, *, slopes: bool = False) -> None:
        self.tracks, self.laws, self.slopes = tracks, laws, slopes
        rigid = tracks.rigid
        self.slope_pairs = _slope_pairs(laws, len(rigid.parameters)) if slopes else ()
        self.parameters = (*rigid.parameters, *laws.names, *(f"slope{k}" for k in range(len(self.slope_pairs))))
        self.groups, self.dof_share = rigid.groups, rigid.dof_share
        self.runs = rigid.runs

    def with_laws(self, laws: FrictionLaws) -> FrictionRows:
        """The same motion under other laws."""
        return FrictionRows(self.tracks, laws)

    def blocks(self) -> Iterator[RowBlock]:
        """The rows, in the order of the rigid ones."""
        rigid_blocks = iter(self.tracks.rigid.blocks())
        width = len(self.tracks.rigid.parameters)
        for run in self.runs:
            for group, sample, columns, unsettled in self._run_columns(run):
                rigid = next(rigid_blocks)
                assert (rigid.group, rigid.run) == (group, run.name) and np.array_equal(rigid.sample, sample)
                keep = ~unsettled
                if not keep.any():
                    continue
                whole = np.zeros((int(keep.sum()), len(self.parameters)), order="F")
                whole[:, :width] = rigid.W[keep]
                whole[:, width:] = columns[:, keep].T
                yield RowBlock(whole, rigid.y[keep], group, sample[keep], run.name)
        assert next(rigid_blocks, None) is None  # read to their end, where the rigid rows are kept for the next pass

    def _run_columns(self, run: Run) -> Iterator[tuple[int, NDArray[np.int64], Array, NDArray[np.bool_]]]:
        """For each row block of a log: its group, samples, friction columns (k, m), and rows that still depend on an
        unknown state before the log.
        """
        laws = [model for _, model in self.laws.laws]
        width = sum(len(model.symbols) for model in laws)
        parts = _parts(laws, self.slopes)
        states = [model.start() for model in laws]
        groups = [Decimated(run.plan) for _ in self.groups]
        factor, half = run.plan.decimation.factor, run.plan.decimation.half
        settled_from, seen = 0, 0

        def out(
            g: int, parts: Iterator[tuple[NDArray[np.int64], Array]]
        ) -> Iterator[tuple[int, NDArray[np.int64], Array, NDArray[np.bool_]]]:
            for sample, columns in parts:
                yield g, sample, columns, (sample * factor - half < settled_from) & (settled_from > 0)

        for track in self.tracks.blocks(run):
            efforts = np.empty((width + len(self.slope_pairs), len(track.x)))
            for k, motion in enumerate(self.tracks.motions(run, track)):
                step = laws[k].advance(motion, states[k])
                states[k] = step.state
                efforts[parts[k][0]] = step.columns.T
                if self.slopes:
                    efforts[parts[k][1]] = laws[k].slopes(motion).reshape(len(motion), -1).T
                if not step.settled.all():
                    settled_from = max(settled_from, seen + int(np.flatnonzero(~step.settled)[-1]) + 1)
            seen += len(track.x)
            for g, group in enumerate(groups):
                yield from out(g, group.push(self._into_row(g, track.D, efforts, parts), track.weight[g]))
        for g, group in enumerate(groups):
            yield from out(g, group.finish())

    def _into_row(self, row: int, directions: Array, efforts: Array, parts: Sequence[tuple[slice, slice]]) -> Array:
        """Friction columns of one row (k, n): each effort times how it enters there."""
        columns = np.zeros_like(efforts)
        for entry, (r, c) in enumerate(self.tracks.entries):
            if r == row:
                for part in parts[c]:
                    columns[part] = efforts[part] * directions[entry]
        return columns


def _parts(laws: Sequence[FrictionModel], slopes: bool) -> list[tuple[slice, slice]]:
    """Where each law's columns stand, and its slopes (column by column, shape by shape) behind all columns."""
    out, column = [], 0
    slope = sum(len(model.symbols) for model in laws)
    for model in laws:
        k, s = len(model.symbols), len(model.symbols) * len(model.shape) if slopes else 0
        out.append((slice(column, column + k), slice(slope, slope + s)))
        column, slope = column + k, slope + s
    return out


def _slope_pairs(laws: FrictionLaws, first: int) -> tuple[tuple[int, int], ...]:
    """(column of W, shape parameter) of every slope column."""
    pairs, column, shape = [], first, 0
    for _, model in laws.laws:
        k, s = len(model.symbols), len(model.shape)
        pairs += [(column + i, shape + j) for i in range(k) for j in range(s)]
        column, shape = column + k, shape + s
    return tuple(pairs)
