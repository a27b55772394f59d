"""Lines that show the regions of a workspace."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.excitation import Box, Cone, Cylinder, HalfSpace, Hemisphere, Sphere
from dalembert.excitation.workspace import Region

__all__ = ["region_lines"]

Array = NDArray[np.float64]

_TURN = np.linspace(0.0, 2.0 * np.pi, 73)
_WIDEST = 0.75  # of the box's diagonal: radius a cone is drawn to
_RIBS = 4  # lines along a cylinder or cone


def region_lines(region: Region, low: Array, high: Array) -> list[Array]:
    """Polylines (n, 3) on the surface of a region; what reaches to infinity is cut at the box ``low`` to ``high``."""
    middle, size = (low + high) / 2.0, float(np.linalg.norm(high - low))
    match region:
        case Box():
            return _box(np.maximum(region.lower, low), np.minimum(region.upper, high))
        case Sphere():
            return [_circle(region.centre, axis, region.radius) for axis in np.eye(3)]
        case Hemisphere():
            half = _circle(region.centre, region.axis, region.radius)
            arcs = [_arc(region.centre, side, region.axis, region.radius) for side in _sides(region.axis)]
            return [half, *arcs]
        case Cylinder():
            axis = _unit(region.axis)
            centre, own = np.asarray(region.centre, dtype=float), float((middle - region.centre) @ axis)
            ends = np.clip([region.lower, region.upper], own - size / 2.0, own + size / 2.0)
            rings = [_circle(centre + end * axis, axis, region.radius) for end in ends]
            return [*rings, *_ribs(rings[0], rings[1])]
        case Cone():
            axis, apex = _unit(region.axis), np.asarray(region.apex, dtype=float)
            height = max(float((middle - apex) @ axis) + size / 2.0, size / 4.0)
            height = min(height, _WIDEST * size / np.tan(region.angle))
            ring = _circle(apex + height * axis, axis, height * np.tan(region.angle))
            return [ring, *_ribs(np.broadcast_to(apex, ring.shape), ring)]
        case HalfSpace():
            normal, length = _unit(region.normal), float(np.linalg.norm(region.normal))
            foot = middle + (region.offset / length - middle @ normal) * normal
            a, b = (0.5 * size * side for side in _sides(normal))
            return [foot + np.array([a + b, a - b, -a - b, b - a, a + b])]
        case _:
            return []


def _unit(axis: ArrayLike) -> Array:
    a = np.asarray(axis, dtype=float)
    return np.asarray(a / np.linalg.norm(a))


def _sides(axis: ArrayLike) -> Array:
    """Two unit vectors (2, 3) square to an axis and to each other."""
    return np.asarray(np.linalg.svd(_unit(axis)[None])[2][1:])


def _circle(centre: ArrayLike, axis: ArrayLike, radius: float) -> Array:
    a, b = _sides(axis)
    return np.asarray(np.asarray(centre) + radius * (np.outer(np.cos(_TURN), a) + np.outer(np.sin(_TURN), b)))


def _arc(centre: ArrayLike, side: Array, axis: ArrayLike, radius: float) -> Array:
    """Half a circle from one side over the pole to the other."""
    half = _TURN / 2.0
    return np.asarray(
        np.asarray(centre) + radius * (np.outer(np.cos(half), side) + np.outer(np.sin(half), _unit(axis)))
    )


def _ribs(first: Array, second: Array) -> list[Array]:
    at = np.linspace(0, len(_TURN) - 1, _RIBS, endpoint=False).astype(int)
    return [np.stack([first[k], second[k]]) for k in at]


def _box(low: Array, high: Array) -> list[Array]:
    """The twelve edges."""
    corner = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    pairs = [(i, j) for i in range(8) for j in range(i) if np.abs(corner[i] - corner[j]).sum() == 1]
    return [low + corner[[i, j]] * (high - low) for i, j in pairs]
