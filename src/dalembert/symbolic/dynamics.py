"""What a robot does, as SX: motion on its loops, projected regressor, inverse and forward dynamics, energy.

One formulation [theory.md, section 2]: admissible velocities ``yd = N v`` with ``C N = 0``; loop forces do no work on
N, so ``(T N)' tau = N' Y pi``. Every projection of the papers is a choice of velocity map G = N x (r, k):
``(T G)' tau = G' Y pi``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from scipy.linalg import qr

from dalembert.errors import ModelError, choices
from dalembert.parameters import N_INERTIAL
from dalembert.robot import Coordinate, Distance, Robot
from dalembert.symbolic.algebra import SX, pseudo_inverse, solve, solve_blocks, solve_spd
from dalembert.symbolic.assembly import Assembly, assemble
from dalembert.symbolic.efforts import RelativeMotion, effort_columns, relative_motion, spring_energy
from dalembert.symbolic.regressor import inertial_columns, tree_torque

__all__ = ["Dynamics"]


class Dynamics:
    """The symbolic model of one robot. ``r`` mobilities, ``n`` motors, ``n_y`` tree coordinates.

    ``independent`` names the coordinates whose velocities are ``v`` (the robot's own choice unless given).
    """

    def __init__(self, robot: Robot, independent: Sequence[str] = ()) -> None:
        self.assembly: Assembly = assemble(robot)
        self.robot = self.assembly.robot
        self.tree = self.assembly.tree
        self.n_y = self.tree.n_y
        self.y = self.assembly.y
        self.yd = ca.SX.sym("yd", self.n_y)
        self.ydd = ca.SX.sym("ydd", self.n_y)
        self.r = len(self.assembly.independent)
        self.T = robot.motor_map()
        self.n = len(self.T)
        self.parameters = self.robot.parameters()
        self.pi = ca.SX.sym("pi", len(self.parameters))
        self.independent = self._independent(tuple(independent) or robot.independent)

    def _independent(self, names: tuple[str, ...]) -> tuple[str, ...]:
        coordinates = self.robot.coordinates
        if not names:
            return tuple(coordinates[k] for k in self.assembly.independent)
        for name in names:
            if name not in coordinates:
                raise ModelError(f"independent: no coordinate {name!r}; {choices(name, coordinates)}")
        if len(names) != self.r:
            raise ModelError(
                f"robot {self.robot.name!r}: {len(names)} independent coordinates named ({', '.join(names)}), "
                f"expected {self.r}"
            )
        selection = self.robot.linear_map([((name, 1.0),) for name in names])
        at_home = ca.Function("vn", [self.y], [ca.mtimes(ca.DM(selection), self._natural_N)])(self.assembly.home)
        sigma = np.linalg.svd(np.array(at_home), compute_uv=False)
        if sigma[-1] < 1e-9 * sigma[0]:
            raise ModelError(f"robot {self.robot.name!r}: {', '.join(names)} do not determine the motion at home")
        return names

    # --- motion on the loops -------------------------------------------------------------------------------------

    @cached_property
    def C(self) -> SX:
        """Jacobian of the independent closure rows (m, n_y)."""
        return ca.jacobian(self.assembly.c, self.y)

    @cached_property
    def _solved(self) -> tuple[SX, SX, SX]:
        """(N, g, correction): ``C N = 0``, ``C g = -Cd yd`` and ``C correction = -c``, all zero on the independent
        coordinates of the assembly except N's identity there.
        """
        a = self.assembly
        if not a.rows:
            none = ca.SX(ca.DM.zeros(self.n_y))
            return ca.SX.eye(self.n_y), none, none
        dependent, independent = list(a.dependent), list(a.independent)
        # Cd yd without forming Cd: derivative of the closure velocity along the motion
        bias = ca.jtimes(ca.mtimes(self.C, self.yd), self.y, self.yd)
        right = ca.densify(ca.horzcat(-self.C[:, independent], -bias, -a.c))
        x = solve_blocks(self.C[:, dependent], right)
        whole = ca.SX(ca.DM.zeros(self.n_y, self.r + 2))
        whole[dependent, :] = x
        for k, i in enumerate(independent):
            whole[i, k] = 1
        return whole[:, : self.r], whole[:, self.r], whole[:, self.r + 1]

    @property
    def _natural_N(self) -> SX:
        return self._solved[0]

    @property
    def loop_correction(self) -> SX:
        """Newton step (n_y,) on the loops alone: ``C step = -c``, the assembly's independent coordinates held."""
        return self._solved[2]

    @cached_property
    def N(self) -> SX:
        """Admissible velocities (n_y, r): ``yd = N v`` for the chosen independent velocities v."""
        names = self.robot.coordinates
        if tuple(names[k] for k in self.assembly.independent) == self.independent:
            return self._natural_N
        return self.map_for(self.robot.linear_map([((name, 1.0),) for name in self.independent]))

    def map_for(self, velocities: SX) -> SX:
        """N for any r independent combinations of coordinate rates, ``velocities`` (r, n_y): ``N (V N)^{-1}``."""
        natural = self._natural_N
        inverse = solve(ca.densify(ca.mtimes(ca.SX(ca.DM(velocities)), natural)), ca.SX.eye(self.r))
        found: SX = ca.mtimes(natural, inverse)
        # V N (V N)^{-1} is the identity: where v is the rate of one coordinate, that row is known without rounding.
        # Friction of one motor then stands in that motor's row alone, and its slow samples spoil no other.
        for k, row in enumerate(np.asarray(velocities, dtype=float)):
            alone = np.flatnonzero(row)
            if len(alone) == 1:
                found[int(alone[0]), :] = ca.DM(np.eye(self.r)[k] / row[alone[0]]).T
        return found

    @property
    def acceleration_bias(self) -> SX:
        """g(y, yd) with ``ydd = N vd + g`` for the chosen independent velocities."""
        # N vd spans every change of g, so g only needs its share along the chosen coordinates removed.
        g = self._solved[1]
        selection = ca.SX(ca.DM(self.robot.linear_map([((name, 1.0),) for name in self.independent])))
        return g - ca.mtimes(self.N, ca.mtimes(selection, g))

    @cached_property
    def J_inv(self) -> SX:
        """Motor velocities per independent velocity, ``T N`` (n, r)."""
        return ca.mtimes(ca.SX(ca.DM(self.T)), self.N)

    # --- projections ---------------------------------------------------------------------------------------------

    def motor_rows(self, names: Sequence[str]) -> list[int]:
        """Indices of motors by name; ModelError with the choices."""
        known = self.robot.motor_names
        for name in names:
            if name not in known:
                raise ModelError(f"robot {self.robot.name!r}: no motor {name!r}; {choices(name, known)}")
        return [known.index(name) for name in names]

    def velocity_map(self, projection: str, sigma: SX | None = None) -> SX:
        """G (n_y, k) of a projection: ``platform`` (independent velocities, k = r), ``actuators[:NAMES]`` (r motors,
        [Briot15, eq. 19 and 36]) or ``whitened`` (one row per motor, torque noise ``sigma`` (n,)).
        """
        if projection == "platform":
            return self.N  # [Briot15, eq. 30]
        if projection == "whitened":
            return self._whitened(self.N, range(self.n), sigma)
        return self.map_for(self.T[self.motor_rows(self._chosen(projection))])

    def _chosen(self, projection: str) -> list[str]:
        """The r motors of a projection on motors."""
        kind, _, names = projection.partition(":")
        if kind != "actuators":
            raise ModelError(f"projection {projection!r} is unknown; choose from platform, actuators:NAMES, whitened")
        chosen = [name.strip() for name in names.split(",")] if names else list(self.robot.motor_names)
        if len(chosen) != self.r or len(set(chosen)) != self.r:
            raise ModelError(
                f"robot {self.robot.name!r}: projection 'actuators' names {len(chosen)} motors "
                f"({', '.join(chosen)}), expected {self.r} of {', '.join(self.robot.motor_names)}"
            )
        return chosen

    def _whitened(self, free: SX, motors: Sequence[int], sigma: SX | None) -> SX:
        """Rows of these motors for admissible velocities ``free`` (n_y, k)."""
        if len(motors) < free.shape[1]:
            raise ModelError(
                f"robot {self.robot.name!r}: 'whitened' needs at least {free.shape[1]} motors, found {len(motors)}"
            )
        turned = ca.mtimes(ca.SX(ca.DM(self.T[list(motors)])), free)
        weighted = turned if sigma is None else ca.diag(sigma[list(motors)]) @ turned
        # B (B'B)^{-1} is the transpose of B's pseudo-inverse
        return ca.mtimes(free, pseudo_inverse(ca.densify(weighted)))

    # --- torques that are not measured ---------------------------------------------------------------------------

    @cached_property
    def _measured(self) -> tuple[SX, tuple[str, ...]]:
        """Admissible velocities (n_y, k) on which motors of unmeasured torque do no work, for they stand still, and
        the coordinates these are the rates of.
        """
        hidden = self.T[self.motor_rows(self.robot.unmeasured)]
        if not len(hidden):
            return self.N, self.independent
        at_home = np.array(ca.Function("N", [self.y], [ca.densify(self.N)])(self.assembly.home)).reshape(self.n_y, -1)
        _, sigma, axes = np.linalg.svd(hidden @ at_home)
        rank = int((sigma > 1e-9 * sigma[0]).sum())
        if rank == self.r:
            raise ModelError(
                f"robot {self.robot.name!r}: no motion is left whose torque is measured; expected fewer motors under "
                f"'unmeasured'"
            )
        _, _, order = qr(axes[rank:], pivoting=True, mode="economic")
        kept = tuple(self.independent[k] for k in sorted(order[: self.r - rank]))
        _, _, order = qr((hidden @ at_home).T, pivoting=True, mode="economic")
        rows = self.robot.linear_map([((name, 1.0),) for name in kept])
        return self.map_for(np.vstack([rows, hidden[sorted(order[:rank])]]))[:, : len(kept)], kept

    def row_names(self, projection: str) -> tuple[str, ...]:
        """What each row of a projection is called: the motor or independent coordinate; none of unmeasured torque."""
        if projection == "platform":
            return self._measured[1]
        names = self.robot.motor_names if projection == "whitened" else self._chosen(projection)
        return tuple(name for name in names if name not in self.robot.unmeasured)

    def observed_map(self, projection: str, sigma: SX | None = None) -> SX:
        """:meth:`velocity_map` for the rows in which no torque counts that is not measured."""
        hidden = self.robot.unmeasured
        if not hidden:
            return self.velocity_map(projection, sigma)
        free, names = self._measured[0], self.row_names(projection)
        if projection == "platform":
            return free
        if projection == "whitened":
            return self._whitened(free, self.motor_rows(names), sigma)
        chosen = self._chosen(projection)
        left = [name for name in hidden if name not in chosen]
        if left:
            raise ModelError(
                f"robot {self.robot.name!r}: projection {projection!r} needs the torque of {', '.join(left)}, which is "
                f"not measured; name it among the motors, then its row is left out"
            )
        return self.velocity_map(projection)[:, [chosen.index(name) for name in names]]

    @property
    def default_projection(self) -> str:
        """Motors where they are as many as the mobilities, whitened where more, independent velocities where fewer."""
        if self.n == self.r:
            return "actuators"
        return "whitened" if self.n > self.r else "platform"

    def relative(self, on: Coordinate | Distance) -> RelativeMotion:
        """Motion of a relative coordinate of the robot."""
        return relative_motion(self.robot, self.tree, on, self.y, self.yd, self.ydd)

    def regressor(self, velocity_map: SX) -> SX:
        """W (k, p) with ``(T G)' tau = W pi`` over all standard parameters."""
        state = (self.y, self.yd, self.ydd)
        blocks = inertial_columns(self.tree, *state, velocity_map)
        blocks += effort_columns(self.robot, self.tree, *state, velocity_map)
        return ca.horzcat(*blocks)

    # --- dynamics ------------------------------------------------------------------------------------------------

    @cached_property
    def tree_effort(self) -> SX:
        """Generalised force of the opened tree (n_y,) that the motors must supply, parameters ``pi``."""
        n_inertial = N_INERTIAL * len(self.tree.bodies())
        state = (self.y, self.yd, self.ydd)
        torque = tree_torque(self.tree, *state, self.pi[:n_inertial])
        own = effort_columns(self.robot, self.tree, *state, ca.SX.eye(self.n_y))
        return torque + ca.mtimes(ca.horzcat(*own), self.pi[n_inertial:]) if own else torque

    @cached_property
    def tree_mass(self) -> SX:
        """Mass matrix of the opened tree with rotor inertia (n_y, n_y)."""
        return ca.jacobian(self.tree_effort, self.ydd)

    @cached_property
    def mass(self) -> SX:
        """M_v = N' M N (r, r)."""
        return ca.densify(ca.mtimes([self.N.T, self.tree_mass, self.N]))

    @cached_property
    def bias(self) -> SX:
        """Coriolis, gravity and friction force on v (r,): the effort at vd = 0."""
        effort = ca.substitute(self.tree_effort, self.ydd, self.acceleration_bias)
        return ca.mtimes(self.N.T, effort)

    def inverse_dynamics(self, projection: str) -> SX:
        """Projected torque (k,) of a motion."""
        return ca.mtimes(self.velocity_map(projection).T, self.tree_effort)

    def motor_torque(self, preload: SX) -> SX:
        """Motor torques (n,): minimum norm plus the given preload projected on the null space of J_inv'.

        [Briot15, eq. 26 and 50].
        """
        if self.n <= self.r:
            return self.inverse_dynamics(self.default_projection)
        spread = pseudo_inverse(ca.densify(self.J_inv))  # (r, n)
        least = ca.mtimes(spread.T, ca.mtimes(self.N.T, self.tree_effort))
        return least + preload - ca.mtimes(spread.T, ca.mtimes(self.J_inv.T, preload))

    def forward_dynamics(self, tau: SX) -> SX:
        """Accelerations vd (r,) under motor torques ``tau`` (n,): ``M_v vd = J_inv' tau - bias``."""
        return solve_spd(self.mass, ca.mtimes(self.J_inv.T, tau) - self.bias)

    @cached_property
    def energy(self) -> tuple[SX, SX]:
        """Kinetic (rotors included) and potential energy (gravity, springs, constant forces) [J]."""
        kinetic = ca.mtimes([self.yd.T, self.tree_mass, self.yd]) / 2
        potential = ca.SX(0)
        gravity = ca.SX(ca.DM(self.tree.gravity))
        for k, (index, _) in enumerate(self.tree.bodies()):
            rotation, position = self.tree.pose(index, self.y)
            own = self.pi[N_INERTIAL * k : N_INERTIAL * (k + 1)]
            potential -= ca.dot(gravity, own[9] * position + ca.mtimes(rotation, own[6:9]))
        values = {name: self.pi[i] for i, name in enumerate(self.parameters)}
        return kinetic, potential + spring_energy(self.robot, self.tree, self.y, values)
