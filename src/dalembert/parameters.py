"""The standard inertial parameters of a body: their order, names, units and equivalent forms.

This is the one place where the order is fixed. All ten refer to the body's joint frame, at its origin; the
tensor entries are tensor elements, so ``XY = -integral(x y dm)`` [Briot15, eq. 2-4].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import RobotError

__all__ = [
    "INERTIAL",
    "N_INERTIAL",
    "UNITS",
    "BodyInertia",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "inertia_tensor",
    "inertial_names",
    "is_physical",
    "log_cholesky_jacobian",
    "pseudo_inertia",
    "to_log_cholesky",
]

Array = NDArray[np.float64]

INERTIAL: tuple[str, ...] = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
N_INERTIAL = len(INERTIAL)
UNITS: dict[str, str] = {
    **dict.fromkeys(INERTIAL[:6], "kg m^2"),
    **dict.fromkeys(INERTIAL[6:9], "kg m"),
    "M": "kg",
}


def inertial_names(body: str) -> tuple[str, ...]:
    """Names of a body's ten parameters, ``XX_body`` ... ``M_body``."""
    return tuple(f"{symbol}_{body}" for symbol in INERTIAL)


@dataclass(frozen=True, slots=True)
class BodyInertia:
    """Mass [kg], centre of mass [m] and inertia tensor about it [kg m^2], both in the body's joint frame."""

    mass: float
    com: tuple[float, float, float]
    tensor: tuple[float, float, float, float, float, float]  # Ixx Ixy Ixz Iyy Iyz Izz at the centre of mass

    def parameters(self) -> Array:
        """The ten standard parameters at the joint-frame origin (parallel-axis theorem)."""
        c = np.array(self.com)
        xx, xy, xz, yy, yz, zz = self.tensor
        at_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        with np.errstate(over="ignore", invalid="ignore"):  # absurd values are refused as not finite by Robot
            at_origin = at_com + self.mass * (c @ c * np.eye(3) - np.outer(c, c))
            moments = self.mass * c
        return np.concatenate([at_origin[np.triu_indices(3)], moments, [self.mass]])

    @classmethod
    def of(cls, parameters: ArrayLike) -> BodyInertia:
        """Inverse of :meth:`parameters`; the mass must be positive."""
        p = np.asarray(parameters, dtype=float)
        mass = float(p[9])
        if not mass > 0.0:
            raise RobotError(f"body inertia: mass {mass:g} kg, expected a positive mass")
        c = p[6:9] / mass
        at_com = inertia_tensor(p) - mass * (c @ c * np.eye(3) - np.outer(c, c))
        upper = at_com[np.triu_indices(3)]
        return cls(mass, (c[0], c[1], c[2]), tuple(upper.tolist()))


def inertia_tensor(parameters: ArrayLike) -> Array:
    """3x3 inertia tensor at the joint-frame origin."""
    xx, xy, xz, yy, yz, zz = np.asarray(parameters, dtype=float)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """4x4 matrix [[Sigma, h], [h', m]], Sigma = tr(I)/2 - I [Gnad24, eq. 12]; positive definite iff physical."""
    p = np.asarray(parameters, dtype=float)
    tensor = inertia_tensor(p)
    out = np.empty((4, 4))
    out[:3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    out[:3, 3] = out[3, :3] = p[6:9]
    out[3, 3] = p[9]
    return out


def from_pseudo_inertia(matrix: ArrayLike) -> Array:
    """Inverse of :func:`pseudo_inertia`."""
    j = np.asarray(matrix, dtype=float)
    sigma = j[:3, :3]
    tensor = np.trace(sigma) * np.eye(3) - sigma
    return np.concatenate([tensor[np.triu_indices(3)], j[:3, 3], [j[3, 3]]])


def is_physical(parameters: ArrayLike, *, margin: float = 0.0) -> bool:
    """True when the pseudo-inertia's smallest eigenvalue exceeds ``margin``."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(parameters))[0] > margin)


def _upper(theta: Array) -> Array:
    """Upper triangular factor U of the log-Cholesky form, so that the pseudo-inertia is U'U [Gnad24, eq. 13]."""
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    rows = [
        [np.exp(d1), s12, s13, t1],
        [0.0, np.exp(d2), s23, t2],
        [0.0, 0.0, np.exp(d3), t3],
        [0.0, 0.0, 0.0, 1.0],
    ]
    return float(np.exp(alpha)) * np.array(rows)


def from_log_cholesky(theta: ArrayLike) -> Array:
    """The ten parameters of log-Cholesky coordinates (alpha d1 d2 d3 s12 s23 s13 t1 t2 t3) [Gnad24, eq. 13]."""
    upper = _upper(np.asarray(theta, dtype=float))
    return from_pseudo_inertia(upper.T @ upper)


def to_log_cholesky(parameters: ArrayLike) -> Array:
    """Inverse of :func:`from_log_cholesky`; the parameters must be physically consistent."""
    j = pseudo_inertia(parameters)
    try:
        upper = np.linalg.cholesky(j).T
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(j)[0]
        raise RobotError(
            f"log-Cholesky: pseudo-inertia has eigenvalue {smallest:.3g}, expected a physically consistent body"
        ) from None
    alpha = np.log(upper[3, 3])
    u = upper / upper[3, 3]
    d = np.log(np.diag(u)[:3])
    return np.array([alpha, *d, u[0, 1], u[1, 2], u[0, 2], u[0, 3], u[1, 3], u[2, 3]])


def log_cholesky_jacobian(theta: ArrayLike) -> Array:
    """10x10 derivative of :func:`from_log_cholesky`."""
    theta = np.asarray(theta, dtype=float)
    upper, scale = _upper(theta), float(np.exp(theta[0]))
    slots = {
        1: (0, 0),
        2: (1, 1),
        3: (2, 2),
        4: (0, 1),
        5: (1, 2),
        6: (0, 2),
        7: (0, 3),
        8: (1, 3),
        9: (2, 3),
    }
    columns = [2.0 * from_pseudo_inertia(upper.T @ upper)]
    for k in range(1, N_INERTIAL):
        step = np.zeros((4, 4))
        step[slots[k]] = scale * (np.exp(theta[k]) if k <= 3 else 1.0)
        columns.append(from_pseudo_inertia(step.T @ upper + upper.T @ step))
    return np.stack(columns, axis=1)
