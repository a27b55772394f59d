"""Motions that make the parameters visible."""

from dalembert.excitation.bspline import BSpline
from dalembert.excitation.constraints.clearance import Capsule
from dalembert.excitation.criteria import CRITERIA, criterion_of
from dalembert.excitation.design import design_excitation
from dalembert.excitation.files import read_coefficients, write_design
from dalembert.excitation.fourier import Fourier, FourierPath, fourier_within_limits, random_fourier
from dalembert.excitation.limits import Clearance, Limits, Margin, Shares, Tilt, Workspace
from dalembert.excitation.limits_file import read_limits
from dalembert.excitation.noise import Noise, read_noise
from dalembert.excitation.point_to_point import PointToPoint
from dalembert.excitation.rested import FourierPolynomial
from dalembert.excitation.result import Design
from dalembert.excitation.search import Effort, Progress
from dalembert.excitation.starts import Infeasible
from dalembert.excitation.workspace import Box, Cone, Cylinder, HalfSpace, Hemisphere, Sphere

__all__ = [
    "CRITERIA",
    "BSpline",
    "Box",
    "Capsule",
    "Clearance",
    "Cone",
    "Cylinder",
    "Design",
    "Effort",
    "Fourier",
    "FourierPath",
    "FourierPolynomial",
    "HalfSpace",
    "Hemisphere",
    "Infeasible",
    "Limits",
    "Margin",
    "Noise",
    "PointToPoint",
    "Progress",
    "Shares",
    "Sphere",
    "Tilt",
    "Workspace",
    "criterion_of",
    "design_excitation",
    "fourier_within_limits",
    "random_fourier",
    "read_coefficients",
    "read_limits",
    "read_noise",
    "write_design",
]
