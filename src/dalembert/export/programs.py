"""The functions an export offers, each one tape with the identified values written in as numbers.

State of a robot: tree coordinates ``y`` with rates ``yd ydd``, closed on its loops. Motors and further sensors give
``theta``; friction laws with memory have a ``state`` of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from dalembert.export.friction import columns, next_state, start_state, state_size
from dalembert.export.source import Identified
from dalembert.kernels import Program, trace
from dalembert.symbolic import SX, pseudo_inverse
from dalembert.symbolic.algebra import solve_spd
from dalembert.symbolic.dynamics import Dynamics

__all__ = ["DOCS", "Functions"]

DOCS: Mapping[str, str] = {
    "rates": "rates of all coordinates from those of the measured positions",
    "inverse_dynamics": "effort of a motion",
    "regressor": "W with effort = W beta, beta the base parameters",
    "mass_matrix": "mass matrix on the independent velocities",
    "velocity_map": "N with yd = N v, v the independent velocities",
    "forward_dynamics": "accelerations under motor torques",
    "distribute": "motor torques of least norm for an effort on the independent velocities, plus the preload's share "
    "that moves nothing",
    "presliding": "state of the presliding friction at this sample from the one before",
    "presliding_start": "state of the presliding friction at the first sample",
    "newton": "coordinates one Newton step closer to the measured positions",
}


@dataclass(frozen=True, slots=True)
class _Symbols:
    """Inputs of the functions beside y, yd, ydd."""

    theta: SX
    thetad: SX
    thetadd: SX
    tau: SX
    gamma: SX
    preload: SX
    state: SX


class Functions:
    """Symbolic functions of an identified robot.

    Efforts are motor torques, of minimum norm where the robot is over-actuated, or with fewer motors than mobilities
    efforts on the independent velocities.
    """

    def __init__(self, source: Identified) -> None:
        self.source = source
        self.dynamics: Dynamics = source.model.dynamics
        d = self.dynamics
        self.sensors = source.model.position_map("sensors")
        sizes = dict.fromkeys(("theta", "thetad", "thetadd"), len(self.sensors))
        sizes |= {"tau": d.n, "gamma": d.r, "preload": d.n, "state": state_size(source.laws)}
        self.symbols = _Symbols(**{name: ca.SX.sym(name, size) for name, size in sizes.items()})

    @property
    def over_actuated(self) -> bool:
        """More motors than mobilities: torques can strain the robot without moving it."""
        return self.dynamics.n > self.dynamics.r

    @cached_property
    def located(self) -> bool:
        """True where the measured positions determine the configuration."""
        maps = self.source.model.velocity_maps(self.source.model.home)[0][0]
        return int(np.linalg.matrix_rank(self.sensors @ maps, tol=1e-9)) == self.dynamics.r

    @property
    def has_state(self) -> bool:
        """Friction with memory."""
        return bool(self.symbols.state.numel())

    def _state(self) -> dict[str, SX]:
        return {"state": self.symbols.state} if self.has_state else {}

    @cached_property
    def _friction(self) -> tuple[list[SX], list[SX], list[SX]]:
        """Coordinate, gradient (1, n_y) and columns (1, k) of every law."""
        laws, d = self.source.laws, self.dynamics
        motion = [d.relative(law.on) for law in laws]
        own = columns(laws, [m.xd for m in motion], self.symbols.state)
        return [m.x for m in motion], [m.gradient for m in motion], own

    @cached_property
    def tree_effort(self) -> SX:
        """Effort on the opened tree (n_y,), friction laws included."""
        d, source = self.dynamics, self.source
        effort = ca.substitute(d.tree_effort, d.pi, ca.SX(ca.DM(source.pi)))
        _, gradients, own = self._friction
        for law, gradient, block in zip(source.laws, gradients, own, strict=True):
            effort += gradient.T * ca.mtimes(block, ca.SX(ca.DM(law.coefficients)))
        return effort

    @cached_property
    def mass(self) -> SX:
        """Mass matrix on the independent velocities (r, r)."""
        d = self.dynamics
        return ca.densify(ca.mtimes([d.N.T, ca.jacobian(self.tree_effort, d.ydd), d.N]))

    # --- the functions ---------------------------------------------------------------------------------------------

    @cached_property
    def linear(self) -> bool:
        """True where one Newton step is the whole way: measured positions are linear in y and so are the loops."""
        return not self.dynamics.assembly.rows or bool(ca.is_linear(self.dynamics.assembly.c, self.dynamics.y))

    def newton(self) -> tuple[dict[str, SX], dict[str, SX]]:
        """See ``Model.newton_kernel``, with equal weights."""
        given, found = self.source.model.newton_expression("sensors")
        weight = given.pop("weight")
        (y,) = ca.substitute([found["y"]], [weight], [ca.SX.ones(*weight.shape)])
        return given, {"next": y}

    def rates(self) -> tuple[dict[str, SX], dict[str, SX]]:
        given, found = self.source.model.rates_expression("sensors")
        weight = given.pop("weight")
        both = ca.substitute([found["yd"], found["ydd"]], [weight], [ca.SX.ones(*weight.shape)])
        return given, dict(zip(("yd", "ydd"), both, strict=True))

    def inverse_dynamics(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.dynamics
        given = {"y": d.y, "yd": d.yd, "ydd": d.ydd, **self._state()}
        return given, {"effort": ca.mtimes(d.velocity_map(d.default_projection).T, self.tree_effort)}

    def regressor(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d, source = self.dynamics, self.source
        into = d.velocity_map(d.default_projection)
        rigid = d.regressor(into)
        own: dict[str, SX] = {}
        _, gradients, blocks = self._friction
        for law, gradient, block in zip(source.laws, gradients, blocks, strict=True):
            whole = ca.mtimes(into.T, ca.mtimes(gradient.T, block))
            own |= {name: whole[:, k] for k, name in enumerate(law.parameters)}
        parts = [
            own[name] if name in own else ca.mtimes(rigid, ca.SX(ca.DM(source.columns[:, k])))
            for k, name in enumerate(source.symbols)
        ]
        return {"y": d.y, "yd": d.yd, "ydd": d.ydd, **self._state()}, {"W": ca.horzcat(*parts)}

    def mass_matrix(self) -> tuple[dict[str, SX], dict[str, SX]]:
        return {"y": self.dynamics.y}, {"M": self.mass}

    def velocity_map(self) -> tuple[dict[str, SX], dict[str, SX]]:
        return {"y": self.dynamics.y}, {"N": self.dynamics.N}

    def forward_dynamics(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d, s = self.dynamics, self.symbols
        bias = ca.mtimes(d.N.T, ca.substitute(self.tree_effort, d.ydd, d.acceleration_bias))
        vd = solve_spd(self.mass, ca.mtimes(d.J_inv.T, s.tau) - bias)
        given = {"y": d.y, "yd": d.yd, "tau": s.tau, **self._state()}
        return given, {"ydd": ca.mtimes(d.N, vd) + d.acceleration_bias}

    def distribute(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d, s = self.dynamics, self.symbols
        jacobian = ca.densify(d.J_inv)
        needed = s.gamma - ca.mtimes(jacobian.T, s.preload)  # [Briot15, eq. 26 and 50]
        tau = s.preload + ca.mtimes(pseudo_inverse(jacobian).T, needed)
        return {"y": d.y, "gamma": s.gamma, "preload": s.preload}, {"tau": tau}

    def presliding(self) -> tuple[dict[str, SX], dict[str, SX]]:
        x, state = self._friction[0], self.symbols.state
        return {"y": self.dynamics.y, "state": state}, {"state_next": next_state(self.source.laws, x, state)}

    def presliding_start(self) -> tuple[dict[str, SX], dict[str, SX]]:
        return {"y": self.dynamics.y}, {"state": start_state(self.source.laws, self._friction[0])}

    def expressions(self) -> dict[str, tuple[dict[str, SX], dict[str, SX]]]:
        """Inputs and outputs of every function this robot has, by name; ``newton`` only where it is of use."""
        chosen: list[Callable[[], tuple[dict[str, SX], dict[str, SX]]]] = []
        if self.located:
            chosen += [self.newton, self.rates]
        chosen += [self.inverse_dynamics, self.regressor, self.mass_matrix, self.velocity_map]
        if self.dynamics.n:
            chosen.append(self.forward_dynamics)
        if self.over_actuated:
            chosen.append(self.distribute)
        if self.has_state:
            chosen += [self.presliding, self.presliding_start]
        return {write.__name__: write() for write in chosen}

    @cached_property
    def programs(self) -> dict[str, Program]:
        """Every function as a tape, outputs without structural zeros left out."""
        return {
            name: trace(name, given, {key: ca.densify(value) for key, value in found.items()})
            for name, (given, found) in self.expressions().items()
        }
