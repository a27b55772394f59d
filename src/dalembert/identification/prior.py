"""What is believed of the parameters beforehand: nominal values, CAD values, bodies of simple shape and known
material.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import EstimationError, choices
from dalembert.identification.rows import Array
from dalembert.parameters import (
    INERTIAL,
    N_INERTIAL,
    BodyInertia,
    from_pseudo_inertia,
    inertial_names,
    is_physical,
    pseudo_inertia,
)
from dalembert.robot.geometry import IDENTITY, Placement

__all__ = ["DENSITY", "Box", "Cylinder", "Prior", "Sphere", "density", "natural_scale"]

# Densities [kg/m^3] at room temperature. Metals: ASM Handbook vol. 2 and vol. 1 (alloys named); polymers: CRC Handbook
# of Chemistry and Physics, typical grades; carbon/epoxy at 60 % fibre by volume: rule of mixtures of 1800 and 1200.
DENSITY: Mapping[str, float] = MappingProxyType(
    {
        "aluminium": 2700.0,  # 6061: 2700
        "steel": 7850.0,  # carbon steel
        "stainless steel": 8000.0,  # 304: 8000
        "cast iron": 7200.0,  # grey iron
        "titanium": 4430.0,  # Ti-6Al-4V
        "magnesium": 1810.0,  # AZ91
        "brass": 8500.0,  # C36000
        "copper": 8960.0,
        "carbon fibre": 1560.0,  # 0.6 * 1800 + 0.4 * 1200
        "abs": 1050.0,
        "pom": 1410.0,
        "nylon": 1140.0,  # PA 6
        "peek": 1300.0,
    }
)


_PRINCIPAL = [INERTIAL.index(symbol) for symbol in ("XX", "YY", "ZZ")]


def density(material: str | float) -> float:
    """Density [kg/m^3] of a material by name, or the number given."""
    if isinstance(material, str):
        if material not in DENSITY:
            raise EstimationError(f"material: no {material!r}; {choices(material, DENSITY)}")
        return DENSITY[material]
    if not 0.0 < material < math.inf:
        raise EstimationError(f"material: density {material}, expected a positive number in kg/m^3")
    return float(material)


def _positive(shape: str, **sizes: float) -> None:
    for name, value in sizes.items():
        if not 0.0 < value < math.inf:
            raise EstimationError(f"{shape}: {name} {value}, expected a positive length in m")


def _moved(J_own: Array, placement: Placement) -> Array:
    """Ten parameters in the body frame of a pseudo-inertia given in the shape's own frame, placed in the body."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = placement.R, placement.p
    return from_pseudo_inertia(T @ J_own @ T.T)


@dataclass(frozen=True, slots=True)
class Cylinder:
    """Cylinder along its own z axis, centred at ``placement`` in the body frame; hollow where ``inner`` > 0. Lengths
    in m.
    """

    radius: float
    length: float
    material: str | float = "aluminium"
    inner: float = 0.0
    placement: Placement = IDENTITY

    def __post_init__(self) -> None:
        _positive("cylinder", radius=self.radius, length=self.length)
        density(self.material)
        if not 0.0 <= self.inner < self.radius:
            raise EstimationError(f"cylinder: inner radius {self.inner}, expected 0 <= inner < {self.radius}")

    def parameters(self) -> Array:
        """The ten standard parameters in the body frame."""
        mass = density(self.material) * math.pi * (self.radius**2 - self.inner**2) * self.length
        across = 0.25 * mass * (self.radius**2 + self.inner**2)
        return _moved(np.diag([across, across, mass * self.length**2 / 12.0, mass]), self.placement)


@dataclass(frozen=True, slots=True)
class Box:
    """Box of edges ``size`` [m] along its own axes, centred at ``placement`` in the body frame."""

    size: tuple[float, float, float]
    material: str | float = "aluminium"
    placement: Placement = IDENTITY

    def __post_init__(self) -> None:
        _positive("box", **dict(zip("xyz", self.size, strict=True)))
        density(self.material)

    def parameters(self) -> Array:
        """The ten standard parameters in the body frame."""
        mass = density(self.material) * math.prod(self.size)
        second = [mass * edge**2 / 12.0 for edge in self.size]
        return _moved(np.diag([*second, mass]), self.placement)


@dataclass(frozen=True, slots=True)
class Sphere:
    """Solid sphere centred at ``placement`` in the body frame. Lengths in m."""

    radius: float
    material: str | float = "aluminium"
    placement: Placement = IDENTITY

    def __post_init__(self) -> None:
        _positive("sphere", radius=self.radius)
        density(self.material)

    def parameters(self) -> Array:
        """The ten standard parameters in the body frame."""
        mass = density(self.material) * 4.0 / 3.0 * math.pi * self.radius**3
        return _moved(np.diag([0.2 * mass * self.radius**2] * 3 + [mass]), self.placement)


Shape = Cylinder | Box | Sphere | BodyInertia


@dataclass(frozen=True, slots=True)
class Prior:
    """Values believed of standard parameters, by name. ``scale``: how far a value may be off, where not its own
    size.
    """

    values: Mapping[str, float]
    scale: Mapping[str, float] = field(default_factory=dict)
    source: str = "nominal"

    def __post_init__(self) -> None:
        for name in ("values", "scale"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for name, value in self.values.items():
            if not math.isfinite(value):
                raise EstimationError(f"prior: {name} = {value}, expected a finite number")
        for name, value in self.scale.items():
            if not 0.0 < value < math.inf:
                raise EstimationError(f"prior: scale of {name} is {value}, expected a positive number")

    @classmethod
    def of_bodies(
        cls,
        bodies: Mapping[str, Shape | Sequence[Shape]],
        others: Mapping[str, float] = MappingProxyType({}),
        source: str = "geometry",
    ) -> Prior:
        """From shapes or CAD values (:class:`BodyInertia`) per body, several shapes adding up, and further
        parameters.

        A shape leaves out bearings and screws: its inertias may each be off by the largest of them. By its own size the
        one about a rod's axis would be the surest of all numbers, and it is the least sure.
        """
        values, scale = dict(others), {}
        for body, parts in bodies.items():
            shapes = [parts] if isinstance(parts, (Cylinder, Box, Sphere, BodyInertia)) else list(parts)
            ten = np.sum([shape.parameters() for shape in shapes], axis=0)
            values.update(zip(inertial_names(body), ten.tolist(), strict=True))
            if not all(isinstance(shape, BodyInertia) for shape in shapes):
                scale.update({f"{symbol}_{body}": float(ten[_PRINCIPAL].max()) for symbol in ("XX", "YY", "ZZ")})
        return cls(values, scale, source)

    def __or__(self, other: Prior) -> Prior:
        """Both; where both speak of a parameter, the right one holds."""
        return Prior({**self.values, **other.values}, {**self.scale, **other.scale}, f"{self.source}, {other.source}")

    def vector(self, parameters: Sequence[str]) -> Array:
        """Values (p,) of given columns, zero where nothing is believed; a belief about no column raises."""
        for name in (*self.values, *self.scale):
            if name not in parameters:
                raise EstimationError(f"prior ({self.source}): no parameter {name!r}; {choices(name, parameters)}")
        return np.array([self.values.get(name, 0.0) for name in parameters])

    def check_body(self, body: str) -> Array:
        """The ten values of a body, which must be physically consistent."""
        ten = np.array([self.values.get(name, 0.0) for name in inertial_names(body)])
        if not is_physical(ten):
            smallest = np.linalg.eigvalsh(pseudo_inertia(ten))[0]
            found = f"is not physically consistent (pseudo-inertia eigenvalue {smallest:.3g})"
            if not ten.any():
                found = "has no mass and inertia"
            raise EstimationError(
                f"prior ({self.source}): body {body!r} {found}, expected those of a body that can exist: under "
                f"'inertia' in the robot file, or as a shape, a prior file with bodies: {{{body}: {{box: [x, y, z]}}}}"
            )
        return ten


def natural_scale(ten: ArrayLike) -> Array:
    """The size (10,) each parameter of a body can have given its diagonal: |J_ij| <= sqrt(J_ii J_jj) of the
    pseudo-inertia.
    """
    root = np.sqrt(np.maximum(np.diag(pseudo_inertia(ten)), 0.0))
    scale = from_pseudo_inertia(np.outer(root, root))
    scale = np.abs(scale)
    assert len(scale) == N_INERTIAL
    return scale
