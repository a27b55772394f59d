"""Fitting a friction model's shapes and choosing among models, on the rows of real logs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.base import BaseSet
from dalembert.identification.factor import Factor, accumulate, combine, one_thread, triangle
from dalembert.identification.friction import (
    CANDIDATES,
    MODELS,
    Fold,
    FoldError,
    FrictionLaws,
    FrictionModel,
    Selection,
    contiguous_folds,
    fit_shapes,
    projected_residual,
    select_friction,
    solve_nonnegative,
)
from dalembert.identification.friction_rows import FrictionRows, Tracks
from dalembert.identification.linear import solve_linear
from dalembert.identification.observation import LogRows
from dalembert.identification.rows import RowBlock, Rows

__all__ = ["COMPARED", "Part", "auto_friction", "first_fit", "fitted_shapes", "nonnegative_columns", "squares"]

Array = NDArray[np.float64]
Progress = Callable[[str], None]

GUARD = 5  # decimated instants left out around a block: the low-pass correlates noise further apart by 3 % at most
COMPARED = tuple(MODELS[name] for name in CANDIDATES)
DAHL = "Fd"  # symbols whose coefficients are kept >= 0: neighbouring elements would otherwise cancel each other


class Part:
    """The rows of some instants of a source."""

    def __init__(self, rows: Rows, fold: Fold, *, held: bool) -> None:
        self.rows, self.fold, self.held = rows, fold, held
        self.parameters, self.groups, self.dof_share = rows.parameters, rows.groups, rows.dof_share

    def blocks(self) -> Iterator[RowBlock]:
        """Blocks cut to the instants wanted."""
        choose = self.fold.held if self.held else self.fold.train
        for block in self.rows.blocks():
            keep = choose(block.sample, block.run)
            if keep.any():
                yield replace(block, W=block.W[keep], y=block.y[keep], sample=block.sample[keep])


def _silent(_: str) -> None:
    """Progress nobody asked for."""


def nonnegative_columns(names: Sequence[str]) -> NDArray[np.bool_]:
    """Which columns belong to presliding elements, whose coefficients cannot be negative."""
    return np.array([name.startswith(DAHL) and name[2:3].isdigit() for name in names], dtype=bool)


def first_fit(rows: Rows, columns: Sequence[int], nonnegative: Collection[str]) -> Array:
    """Values of base columns by weighted least squares with the friction coefficients named kept >= 0."""
    with one_thread():
        factors = accumulate(rows)
        weights = _weights(factors, list(columns))
        r = combine(factors, weights)
        mask = np.array([rows.parameters[k] in nonnegative for k in columns], dtype=bool)
        return solve_nonnegative(r[:, list(columns)], r[:, -1], mask).values


def _weights(factors: Sequence[Factor], columns: list[int]) -> Array:
    """1 / sigma of each group (G,): of its own equations, of a passive joint's, which zero meets, of all groups'."""
    together = combine(factors, np.ones(len(factors)))
    common = solve_linear(together[:, columns], together[:, -1]).values
    out = np.ones(len(factors))
    for g, factor in enumerate(factors):
        r, y = factor.R[:, columns], factor.R[:, -1]
        residual = solve_linear(r, y).residual if y.any() else float(np.linalg.norm(r @ common))
        if residual > 0.0:
            out[g] = np.sqrt(factor.count) / residual
    return out


def squares(rows: Rows, columns: Sequence[int], values: Array) -> tuple[float, float]:
    """Squared residual and squared torque of rows."""
    residual = norm = 0.0
    for block in rows.blocks():
        residual += float(np.sum((block.y - block.W[:, list(columns)] @ values) ** 2))
        norm += float(np.sum(block.y**2))
    return residual, norm


def fitted_shapes(
    tracks: Tracks,
    model: FrictionModel,
    base: Callable[[FrictionLaws], BaseSet],
    *,
    fold: Fold | None = None,
    start: FrictionLaws | None = None,
) -> FrictionLaws:
    """The laws with shape parameters found by variable projection, on the instants a fold trains on (all without).

    From ``start`` the search goes down once; without it, from the best of a grid of starts.
    """
    laws = start or tracks.laws(model)
    if not laws.shape:
        return laws
    rigid = len(tracks.rigid.parameters)
    found = base(laws).independent
    weights: Array | None = None

    def residual(shapes: Array) -> tuple[Array, Array]:
        nonlocal weights
        rows = FrictionRows(tracks, laws.with_shape(shapes.tolist()), slopes=True)
        factors = accumulate(rows if fold is None else Part(rows, fold, held=False))
        if weights is None:  # of the first shapes, then kept: the cost must not change its measure on the way
            weights = _weights(factors, list(found))
        place = {column: k for k, column in enumerate(found)}
        pairs = [(place[column], shape) for column, shape in rows.slope_pairs if column in place]
        slopes = [k for k, (column, _) in enumerate(rows.slope_pairs) if column in place]
        first = rigid + len(laws.names)
        r = triangle(combine(factors, weights)[:, [*found, *(first + k for k in slopes), -1]])
        return projected_residual(r, len(found), pairs)

    with one_thread():
        return laws.with_shape(fit_shapes(residual, laws.shape, grid=start is None).values.tolist())


def auto_friction(
    rigid: Callable[[FrictionModel], tuple[LogRows, Tracks]],
    base: Callable[[LogRows, FrictionLaws], BaseSet],
    *,
    candidates: Sequence[FrictionModel] = COMPARED,
    blocks: int = 5,
    progress: Progress = _silent,
) -> tuple[Selection, FrictionLaws]:
    """The friction model that predicts blocks left out best, and its laws fitted to all rows.

    ``rigid`` gives the rows without friction and the friction coordinates' motion for a model that replaces the robot's
    own friction; ``base`` the base set of those rows with laws beside them. All models are scored alike, by the squared
    torque error. Friction cannot drive: coefficients are kept >= 0 here, or a model would pay for what a short log
    leaves to noise (the wrist's sign(qd5), sign(qd6), sign(qd5 + qd6) without the block that tells them apart).
    """
    prepared = {model.name: rigid(model) for model in candidates}
    some = next(iter(prepared.values()))[0]
    factor = {run.name: run.plan.decimation.factor for run in some.runs}
    instants = {run.name: -(-run.plan.samples // factor[run.name]) for run in some.runs}
    folds = contiguous_folds(instants, blocks, GUARD)

    whole: dict[str, FrictionLaws] = {}

    def evaluate(model: FrictionModel, fold: Fold) -> FoldError:
        progress(f"friction {model.name!r}: block {fold.number + 1} of {len(folds)} left out")
        rows, tracks = prepared[model.name]
        if model.name not in whole:
            whole[model.name] = fitted_shapes(tracks, model, lambda found: base(rows, found))
        laws = fitted_shapes(tracks, model, lambda found: base(rows, found), fold=fold, start=whole[model.name])
        every = FrictionRows(tracks, laws)
        columns = base(rows, laws).independent
        train, held = Part(every, fold, held=False), Part(every, fold, held=True)
        values = first_fit(train, columns, laws.nonnegative)
        return FoldError(*squares(train, columns, values), *squares(held, columns, values))

    with one_thread():
        selection = select_friction(candidates, evaluate, folds)
    return selection, whole[selection.chosen.name]
