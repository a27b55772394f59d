"""What an integrator is given, compiled or not, and the ways it can fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from dalembert.kernels import Program
from dalembert.simulation.tableau import Tableau

__all__ = ["Fault", "Setup"]

Array = NDArray[np.float64]


class Fault(IntEnum):
    """Why a step failed; the numbers are those of loop.c."""

    FINE = 0
    DIVERGED = 1  # a state beyond every bound, or not finite
    SINGULAR = 2  # the velocity map N grew without bound
    OPEN = 3  # the loops no longer close
    STIFF = 4  # the adaptive step fell below 1e-9 of the interval


@dataclass(frozen=True, slots=True)
class Setup:
    """Programs ``rates friction slip correct`` (see ``plant``), parameters, initial state and tolerances.

    ``rest`` [rad/s or m/s] is the speed below which a velocity with dry friction counts as zero, ``far`` bounds every
    state and ``spread`` the norm of N, beyond which the robot is called singular.
    """

    programs: tuple[Program, Program, Program, Program]
    pi: Array
    y0: Array
    v0: Array
    n: int
    m: int
    closures: int
    method: Tableau
    step: float
    tolerance_r: float = 1e-8
    tolerance_a: float = 1e-10
    rest: float = 1e-12
    far: float = 1e6
    spread: float = 1e4
    event_limit: int = 24
