from __future__ import annotations

import time

import numpy as np
import pytest

from dalembert.errors import EstimationError
from dalembert.identification.factor import Accumulator, accumulate, combine, triangle
from dalembert.identification.rows import ArrayRows, RowBlock


def stacked(rows: ArrayRows, group: int | None = None) -> np.ndarray:
    parts = [
        np.c_[b.W, b.y] * np.sqrt(1.0 if b.weight is None else b.weight)[..., None]
        if b.weight is not None
        else np.c_[b.W, b.y]
        for b in rows.blocks()
        if group is None or b.group == group
    ]
    return np.concatenate(parts)


def make(rng: np.random.Generator, m: int = 5000, p: int = 12, **options: object) -> ArrayRows:
    W = rng.standard_normal((m, p)) * 10.0 ** rng.uniform(-3, 3, p)
    group = rng.integers(0, 3, m)
    W[group == 1, 3:6] = 0.0  # structurally zero in one group
    W[group == 2, 0] = 0.0
    return ArrayRows.of(
        W, rng.standard_normal(m), [f"x{i}" for i in range(p)], group=group, groups=("a", "b", "c"), **options
    )


@pytest.mark.parametrize("block_rows", [0, 1, 7, 1536, 4000])
def test_equals_numpy_qr_whatever_the_blocks(rng, block_rows):
    rows = make(rng, 2000 if block_rows == 1 else 5000, block_rows=block_rows)
    for g, factor in enumerate(accumulate(rows)):
        A = stacked(rows, g)
        scale = np.linalg.norm(A, axis=0) + (np.linalg.norm(A, axis=0) == 0)
        gram = A.T @ A / np.outer(scale, scale)
        np.testing.assert_allclose(factor.R.T @ factor.R / np.outer(scale, scale), gram, atol=1e-12)
        assert np.all(np.tril(factor.R, -1) == 0.0)
        assert factor.rows == factor.count == len(A)
        assert factor.peak == np.abs(A[:, -1]).max()
    A = stacked(rows)
    R = combine(accumulate(rows), np.ones(3))
    expected = np.linalg.qr(A, mode="r")
    expected *= np.sign(np.diag(expected))[:, None]
    np.testing.assert_allclose(R, expected, atol=1e-10 * np.abs(expected).max())


def test_block_size_does_not_change_the_factor(rng):
    results = [
        combine(accumulate(make(np.random.default_rng(1), block_rows=size)), [1.0, 0.3, 7.0]) for size in (0, 13, 977)
    ]
    for other in results[1:]:
        assert np.abs(other - results[0]).max() <= 1e-10 * np.abs(results[0]).max()


def test_weights_of_groups_are_those_of_stacked_scaled_rows(rng):
    rows, scales = make(rng), np.array([2.0, 0.5, 11.0])
    A = np.concatenate([scales[b.group] * np.c_[b.W, b.y] for b in rows.blocks()])
    R = combine(accumulate(rows), scales)
    np.testing.assert_allclose(R.T @ R, A.T @ A, rtol=1e-10, atol=1e-10 * np.abs(A.T @ A).max())


def test_null_directions_stay_at_rounding_level(rng):
    W = rng.standard_normal((4000, 20)) @ rng.standard_normal((20, 40))
    rows = ArrayRows.of(W, rng.standard_normal(4000), [f"x{i}" for i in range(40)], block_rows=100)
    s = np.linalg.svd(accumulate(rows)[0].R[:, :40], compute_uv=False)
    assert s[20] < 1e-13 * s[0] < s[19]


def test_columns_that_start_late_are_found(rng):
    A = rng.standard_normal((300, 6))
    A[:200, 2] = 0.0
    A[:100, 0] = 0.0
    part = Accumulator(6)
    for k in range(0, 300, 50):
        part.add(A[k : k + 50])
    np.testing.assert_allclose(part.result(), triangle(A), atol=1e-12)


@pytest.mark.parametrize(("where", "name"), [("W", "W is not finite"), ("y", "y is not finite")])
def test_nan_names_block_and_row(rng, where, name):
    rows = make(rng)
    block = rows.data[1]
    W, y = block.W.copy(), block.y.copy()
    (W if where == "W" else y)[17] = np.nan
    bad = ArrayRows(rows.parameters, rows.groups, (rows.data[0], RowBlock(W, y, 1, block.sample, "log7"), rows.data[2]))
    with pytest.raises(EstimationError, match=rf"block 1 \(run 'log7'\), group 'b', row 17 .*{name}"):
        accumulate(bad)


def test_wrong_shapes_and_groups_are_refused():
    W, y, k = np.ones((3, 2)), np.ones(3), np.arange(3)
    for block in (
        RowBlock(W, np.ones(2), 0, k),
        RowBlock(np.ones((3, 3)), y, 0, k),
        RowBlock(W, y, 4, k),
        RowBlock(W, y, 0, k, "", np.array([1.0, -1.0, 1.0])),
    ):
        with pytest.raises(EstimationError, match="block 0"):
            accumulate(ArrayRows(("a", "b"), ("all",), (block,)))


@pytest.mark.slow
def test_faster_than_a_full_qr(rng):
    W = rng.standard_normal((200_000, 60))
    rows = ArrayRows.of(W, W[:, 0], [f"x{i}" for i in range(60)])
    start = time.perf_counter()
    accumulate(rows)
    streamed = time.perf_counter() - start
    start = time.perf_counter()
    np.linalg.qr(np.c_[W, W[:, 0]], mode="r")
    assert streamed < 1.5 * (time.perf_counter() - start)
