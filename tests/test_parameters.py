"""The ten numbers of a body: parallel axes, pseudo-inertia, log-Cholesky [Gnad24]."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.robots import random_inertia

from dalembert.errors import RobotError
from dalembert.parameters import (
    INERTIAL,
    BodyInertia,
    from_log_cholesky,
    from_pseudo_inertia,
    inertia_tensor,
    is_physical,
    log_cholesky_jacobian,
    pseudo_inertia,
    to_log_cholesky,
)

coordinates = st.lists(st.floats(-1.5, 1.5), min_size=10, max_size=10)


def cloud(rng: np.random.Generator, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(0.01, 0.3, n), rng.uniform(-0.3, 0.3, (n, 3))


def test_the_tensor_of_a_cloud_of_points(rng: np.random.Generator) -> None:
    """Ten integrals over point masses, with the signs of tensor elements: XY = -sum m x y."""
    m, p = cloud(rng)
    x, y, z = p.T
    moments = [
        m @ (y**2 + z**2), -m @ (x * y), -m @ (x * z), m @ (x**2 + z**2), -m @ (y * z), m @ (x**2 + y**2),
        m @ x, m @ y, m @ z, m.sum(),
    ]  # fmt: skip
    com = m @ p / m.sum()
    local = p - com
    tensor = sum(k * (r @ r * np.eye(3) - np.outer(r, r)) for k, r in zip(m, local, strict=True))
    body = BodyInertia(m.sum(), tuple(com), tuple(np.asarray(tensor)[np.triu_indices(3)]))
    np.testing.assert_allclose(body.parameters(), moments, rtol=0, atol=1e-14)
    back = BodyInertia.of(moments)
    np.testing.assert_allclose([back.mass, *back.com, *back.tensor], [body.mass, *body.com, *body.tensor], atol=1e-14)


def test_pseudo_inertia_is_the_second_moment(rng: np.random.Generator) -> None:
    """sum m [p; 1][p; 1]': positive definite by construction, and a round trip."""
    m, p = cloud(rng)
    homogeneous = np.column_stack([p, np.ones(len(m))])
    expected = (homogeneous.T * m) @ homogeneous
    pi = from_pseudo_inertia(expected)
    np.testing.assert_allclose(pseudo_inertia(pi), expected, rtol=0, atol=1e-14)
    assert is_physical(pi)


@given(coordinates)
def test_log_cholesky_gives_all_ten_entries_of_u_u(theta: list[float]) -> None:
    """[Gnad24, eq. 14] as it should read, entry by entry: U'U written out, misprints corrected."""
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    e = np.exp
    expected = np.exp(2 * alpha) * np.array([
        s12**2 + s13**2 + s23**2 + e(2 * d2) + e(2 * d3),
        -s12 * e(d1),
        -s13 * e(d1),
        s13**2 + s23**2 + e(2 * d1) + e(2 * d3),
        -s12 * s13 - s23 * e(d2),
        s12**2 + e(2 * d1) + e(2 * d2),
        t1 * e(d1),
        t1 * s12 + t2 * e(d2),
        t1 * s13 + t2 * s23 + t3 * e(d3),
        t1**2 + t2**2 + t3**2 + 1.0,
    ])  # fmt: skip
    np.testing.assert_allclose(from_log_cholesky(theta), expected, rtol=1e-12, atol=1e-12)


@given(coordinates)
def test_log_cholesky_is_always_physical_and_comes_back(theta: list[float]) -> None:
    pi = from_log_cholesky(theta)
    assert is_physical(pi)
    # the factor of a matrix of condition up to 1e6 comes back to 1e-16 times that
    np.testing.assert_allclose(to_log_cholesky(pi), theta, rtol=0, atol=1e-8)


@given(coordinates)
def test_log_cholesky_jacobian_equals_finite_differences(theta: list[float]) -> None:
    h = 1e-5
    at = np.array(theta)
    columns = [(from_log_cholesky(at + h * e) - from_log_cholesky(at - h * e)) / (2 * h) for e in np.eye(10)]
    found = log_cholesky_jacobian(at)
    # central differences: h^2 = 1e-10 times third derivatives, at most 8 times the value itself
    np.testing.assert_allclose(found, np.stack(columns, axis=1), rtol=0, atol=1e-8 * np.abs(found).max())


@given(coordinates)
def test_any_body_satisfies_the_triangle_inequalities(theta: list[float]) -> None:
    body = BodyInertia.of(from_log_cholesky(theta))
    xx, xy, xz, yy, yz, zz = body.tensor
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert body.mass > 0
    assert principal[0] > -1e-9 * principal[2]
    assert principal[0] + principal[1] > principal[2] * (1 - 1e-9)


def test_pseudo_inertia_catches_what_a_positive_tensor_does_not(rng: np.random.Generator) -> None:
    """Principal moments 1, 1, 3 break the triangle inequality though the tensor is positive definite."""
    pi = BodyInertia(2.0, (0.1, 0.2, 0.3), (1.0, 0, 0, 1.0, 0, 3.0)).parameters()
    assert np.linalg.eigvalsh(inertia_tensor(pi))[0] > 0
    assert not is_physical(pi)
    with pytest.raises(RobotError, match="eigenvalue") as caught:
        to_log_cholesky(pi)
    assert "\n" not in str(caught.value)
    assert not is_physical(random_inertia(rng), margin=1e3)


def test_power_is_positive_for_any_physical_body(rng: np.random.Generator) -> None:
    """Kinetic energy of a spinning, sliding body from the ten numbers equals the sum over its points."""
    m, p = cloud(rng)
    homogeneous = np.column_stack([p, np.ones(len(m))])
    pi = from_pseudo_inertia((homogeneous.T * m) @ homogeneous)
    w, v = rng.standard_normal((2, 3))
    points = 0.5 * m @ ((v + np.cross(w, p)) ** 2).sum(axis=1)
    mass, first = pi[9], pi[6:9]
    energy = 0.5 * (w @ inertia_tensor(pi) @ w + mass * v @ v) + first @ np.cross(v, w)
    assert energy == pytest.approx(points, rel=1e-12)
    assert len(INERTIAL) == 10
