"""Everything a design of one model, family and set of limits needs, built once and shared by all starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError, UsageError
from dalembert.excitation.belief import Belief
from dalembert.excitation.constraints.assemble import assemble_limits
from dalembert.excitation.constraints.linear import LinearBounds
from dalembert.excitation.constraints.slack import Grid, Slacks, Tight
from dalembert.excitation.criteria import Context, Criterion
from dalembert.excitation.family import Family
from dalembert.excitation.information import Information
from dalembert.excitation.interior_point import Slope
from dalembert.excitation.limits import Limits
from dalembert.excitation.states import States
from dalembert.model import Model

__all__ = ["Objective", "Setup"]

Array = NDArray[np.float64]

SAMPLES_PER_CORNER = 20  # of the information: 200 for 5 harmonics
CHECKS_PER_CORNER = 10  # of the limits during the search; what lies between is taken off afterwards
FINER = 10  # the final check uses a grid this much finer
_REACH = 1.0  # [rad or m] scale of an unbounded coordinate


@dataclass(frozen=True, slots=True)
class Objective:
    """What the information of a motion is put together with: ``M = gain * (sum over the grid) + given``.

    ``gain`` is the number of samples recorded per grid point, ``given`` (b, b) the information already there. ``speed``
    rewards fast motors [Gnad24, eq. 9]. ``masked``: slow samples count less, see
    :class:`~dalembert.excitation.information.Information`.
    """

    criterion: Criterion
    context: Context
    gain: float
    given: Array
    speed: float = 0.0
    masked: bool = True

    def total(self, grid: Array) -> Array:
        """M of everything recorded, from the sum over the grid."""
        return np.asarray(self.gain * grid + self.given)


class Setup:
    """One worker's view of the task: grids, closed loops, limits. Kernels are shared, warm starts are its own."""

    def __init__(
        self,
        model: Model,
        family: Family,
        information: Information,
        limits: Limits,
        beliefs: Sequence[Belief],
        *,
        samples: int | None = None,
    ) -> None:
        self.model, self.family, self.information, self.limits = model, family, information, limits
        self.beliefs = tuple(beliefs)
        corners = max(family.corners, 4)
        self.samples = samples or SAMPLES_PER_CORNER * corners
        self.checks = CHECKS_PER_CORNER * corners
        self._states = States(model)
        self._coarse_states = States(model)
        self.linear, self.sources, self.notes = assemble_limits(self._coarse_states, limits, self.beliefs)
        self.reach = _reach(self.linear, model.r)
        t, n = family.duration, self.samples
        # half a step off: a sample exactly where a position limit is touched has no velocity, only a sign of rounding
        self.grid = Grid(family, np.asarray((np.arange(n) + 0.5) * (t / n)), self.reach, 3)
        self.coarse = Slacks(self._grid(1), self._coarse_states, self.linear, self.sources)
        self._fine: Slacks | None = None

    def _grid(self, finer: int) -> Grid:
        n = self.checks * finer
        times = np.asarray(np.arange(n + (not self.family.periodic)) * (self.family.duration / n))
        return Grid(self.family, times, self.reach)

    def twin(self) -> Setup:
        """The same task for another thread."""
        return Setup(self.model, self.family, self.information, self.limits, self.beliefs, samples=self.samples)

    @property
    def fine(self) -> Slacks:
        """The limits on a grid ten times finer, and between its points."""
        if self._fine is None:
            self._fine = Slacks(self._grid(FINER), States(self.model), self.linear, self.sources, between=True)
        return self._fine

    # --- motions -------------------------------------------------------------------------------------------------

    def still(self, x: Array) -> Array:
        """Unknowns z of standing still at ``x`` (r,)."""
        return np.asarray((np.outer(x, self.family.still()) / self.reach[:, None]).ravel())

    def unknowns(self, coefficients: Array) -> Array:
        """Unknowns z of coefficients (r, m)."""
        expected = (self.model.r, self.family.unknowns)
        if coefficients.shape != expected:
            raise UsageError(
                f"coefficients of shape {coefficients.shape}, expected {expected}: coordinates by unknowns"
            )
        return np.asarray((coefficients / self.reach[:, None]).ravel())

    def grid_information(self, z: Array) -> Array:
        """Sum of w'w over the information grid (b, b)."""
        return self.information.matrix(self._states.motion(*self.grid.derivatives(z)[:3]))

    def problem(self, objective: Objective) -> _Search:
        """The task as the interior point method takes it."""
        return _Search(self, objective)

    def closes(self, z: Array) -> bool:
        """Whether the loops can be followed from home along the whole motion, on the fine grid."""
        grid = self.fine.grid
        try:
            followed = self._coarse_states.check(grid.derivatives(z)[0])
        except ClosureError:
            return False
        near = self.fine.states.motion(*grid.derivatives(z)[:3]).y
        return bool(np.abs(followed - near).max() < 1e-6)

    def at_rest(self, x: Array) -> list[Tight]:
        """Limits at a standstill, most critical first; ClosureError where the robot cannot be there."""
        return self.coarse.tightest(self.still(x))


@dataclass(slots=True)
class _Search:
    setup: Setup
    objective_of: Objective

    def objective(self, z: Array) -> tuple[float, Array]:
        s, o = self.setup, self.objective_of
        x = s.grid.derivatives(z)
        try:
            motion = s._states.motion(x[0], x[1], x[2])
        except ClosureError:
            return np.inf, np.zeros_like(z)
        matrix, entries = s.information.value_and_entries(motion, o.masked)
        value, by_total = o.criterion.value(o.total(matrix), o.context)
        if not np.isfinite(value):
            return np.inf, np.zeros_like(z)
        gy, gyd, gydd = s.information.pull_back(motion, entries, o.gain * by_total, o.masked)
        if o.speed:
            bonus, by_yd = _speed(s, motion.yd)
            value, gyd = value - o.speed * bonus, gyd - o.speed * by_yd
        return value, s.grid.gradient(*s._states.pull_back(motion, gy, gyd, gydd))

    def slacks(self, z: Array) -> Array:
        return self.setup.coarse(z)

    def slope(self, z: Array) -> Slope:
        return self.setup.coarse.slope()


def _speed(setup: Setup, yd: Array) -> tuple[float, Array]:
    """RMS of the motors' speeds over their limits, and its gradient by yd [Gnad24, eq. 9]."""
    robot = setup.model.robot
    largest = [setup.limits.motor_rate(motor, "velocity") for motor in robot.motors]
    size = np.where(np.isfinite(largest), largest, 1.0)
    rows = robot.motor_map() / size[:, None]
    speed = yd @ rows.T
    rms = float(np.sqrt((speed**2).mean()))
    return rms, (speed @ rows) / (speed.size * max(rms, 1e-300))


def _reach(linear: Sequence[LinearBounds], r: int) -> Array:
    """Scale of each coordinate [rad or m]: half of its range where it has one."""
    reach = np.full(r, _REACH)
    for group in linear:
        if group.order:
            continue
        for a, low, high in zip(group.combinations, group.lower, group.upper, strict=True):
            used = np.flatnonzero(a)
            if len(used) == 1 and np.isfinite(high - low):
                reach[used[0]] = (high - low) / 2.0 / abs(a[used[0]])
    if not (reach > 0.0).all():
        raise UsageError("limits: a coordinate has no room to move, expected lower < upper")
    return reach
