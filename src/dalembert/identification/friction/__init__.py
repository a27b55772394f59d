"""Friction: laws on a coordinate's motion as columns, nonlinear shapes, and the choice among models."""

from dalembert.identification.friction.catalog import (
    CANDIDATES,
    MODELS,
    TERMS,
    FrictionSource,
    parse_friction,
)
from dalembert.identification.friction.coordinates import coordinate_units, friction_coordinates, without_friction
from dalembert.identification.friction.coulomb import AsymmetricCoulomb, Coulomb
from dalembert.identification.friction.dahl import DahlBank
from dalembert.identification.friction.folds import Fold, contiguous_folds
from dalembert.identification.friction.load_dependent import LoadDependent
from dalembert.identification.friction.model import FrictionLaws, FrictionModel
from dalembert.identification.friction.motion import CoordinateMotion, MotionScale
from dalembert.identification.friction.nonnegative import NonnegativeSolution, solve_nonnegative
from dalembert.identification.friction.offset import Offset
from dalembert.identification.friction.powers import CubicViscous, QuadraticViscous, SqrtVelocity
from dalembert.identification.friction.selection import Candidate, FoldError, Selection, select_friction
from dalembert.identification.friction.shapes import ShapeFit, fit_shapes, projected_residual
from dalembert.identification.friction.speed_shape import SmoothCoulomb, Stribeck
from dalembert.identification.friction.term import Advance, FrictionTerm, Shape
from dalembert.identification.friction.viscous import Viscous

__all__ = [
    "CANDIDATES",
    "MODELS",
    "TERMS",
    "Advance",
    "AsymmetricCoulomb",
    "Candidate",
    "CoordinateMotion",
    "Coulomb",
    "CubicViscous",
    "DahlBank",
    "Fold",
    "FoldError",
    "FrictionLaws",
    "FrictionModel",
    "FrictionSource",
    "FrictionTerm",
    "LoadDependent",
    "MotionScale",
    "NonnegativeSolution",
    "Offset",
    "QuadraticViscous",
    "Selection",
    "Shape",
    "ShapeFit",
    "SmoothCoulomb",
    "SqrtVelocity",
    "Stribeck",
    "Viscous",
    "contiguous_folds",
    "coordinate_units",
    "fit_shapes",
    "friction_coordinates",
    "parse_friction",
    "projected_residual",
    "select_friction",
    "solve_nonnegative",
    "without_friction",
]
