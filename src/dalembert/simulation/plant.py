"""The robot as the integrator needs it: rates of its state, dry friction apart, closure, work.

State: tree coordinates y (n_y,) and independent velocities v (r,), ``yd = N v``. Motor torques tau (n,) are held
between the controller's ticks. ``sign`` (m,) stands for the sign of each sliding velocity (see ``switches``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError
from dalembert.kernels import Program, trace
from dalembert.model import Model
from dalembert.robot import EffortKind
from dalembert.simulation.switches import Switched, separate
from dalembert.symbolic import SX
from dalembert.symbolic.algebra import solve_spd
from dalembert.symbolic.efforts import effort_columns

__all__ = ["Plant", "Ripple"]

Array = NDArray[np.float64]

_LOSSES = (EffortKind.VISCOUS, EffortKind.COULOMB, EffortKind.BASIS, EffortKind.FORCE)


@dataclass(frozen=True, slots=True)
class Ripple:
    """Torque ripple of every motor: ``amplitude sin(order theta + phase)`` [N m or N] beside the commanded torque."""

    amplitude: tuple[float, ...]
    order: tuple[float, ...]
    phase: tuple[float, ...]


class Plant:
    """Programs of one robot's simulation; parameters ``pi`` (p,) stay an input, so nothing is rebuilt for others.

    ``rates``: y, v, tau, pi, sign -> ``yd``, ``vd`` and ``power`` (2,): work rate of the motors, and of what it takes.
    ``friction``: y, v, tau, pi -> ``slip`` w (m,), its rate ``free`` (m,) without friction, ``A`` (m, m) and ``B``
    (r, m) of ``wd = free - A sign``, ``vd = ... - B sign``. ``slip``: y, v -> ``slip``. ``correct``: y -> ``y`` closed
    by one Newton step, closure ``c`` before it and ``size``, the norm of N.
    """

    def __init__(self, model: Model, ripple: Ripple | None = None) -> None:
        if not model.n:
            raise ModelError(f"robot {model.robot.name!r} has no motors, expected at least one to simulate")
        self.model = model
        self.ripple = ripple
        self.v = ca.SX.sym("v", model.r)
        self.tau = ca.SX.sym("tau", model.n)

    @cached_property
    def _switched(self) -> Switched:
        """Tree effort (n_y,) and the power it takes without giving it back, over y, yd, ydd, pi."""
        d = self.model.dynamics
        loss = ca.SX(0)
        columns = effort_columns(d.robot, d.tree, d.y, d.yd, d.ydd, d.yd) if d.robot.efforts else []
        index = {name: k for k, name in enumerate(d.parameters)}
        for effort, block in zip(d.robot.efforts, columns, strict=True):
            if effort.kind in _LOSSES:
                own = ca.vertcat(*[d.pi[index[name]] for name in effort.parameters])
                loss += ca.mtimes(block, own)
        found = separate([d.tree_effort, loss], [d.y, d.yd, d.ydd, d.pi], d.yd)
        if found.signs.numel():
            return found
        return Switched(found.expressions, ca.SX.sym("sign0"), ca.SX(ca.DM.zeros(1)))

    @property
    def m(self) -> int:
        """Number of velocities with dry friction; a robot without any has one that is always zero."""
        return int(self._switched.signs.numel())

    @property
    def signs(self) -> SX:
        """Symbols (m,) of the signs."""
        return self._switched.signs

    @cached_property
    def effort(self) -> SX:
        """Tree effort (n_y,) over y, yd, ydd, pi and the signs."""
        return self._switched.expressions[0]

    @cached_property
    def directions(self) -> SX:
        """Rows S (m, n_y) of the sliding velocities, ``w = S yd``."""
        return ca.jacobian(self._switched.slip, self.model.dynamics.yd)

    def moving(self, *expressions: SX) -> list[SX]:
        """Expressions with ``yd = N v``."""
        d = self.model.dynamics
        found: list[SX] = ca.substitute(list(expressions), [d.yd], [ca.mtimes(d.N, self.v)])
        return found

    @cached_property
    def motor_torque(self) -> SX:
        """Torque (n,) the motors give at held command ``tau``."""
        if self.ripple is None:
            return self.tau
        theta = ca.mtimes(ca.SX(ca.DM(self.model.dynamics.T)), self.model.dynamics.y)
        wave = [
            a * ca.sin(n * theta[k] + p) if a else ca.SX(0)
            for k, (a, n, p) in enumerate(zip(self.ripple.amplitude, self.ripple.order, self.ripple.phase, strict=True))
        ]
        return self.tau + ca.vertcat(*wave)

    @cached_property
    def _solved(self) -> tuple[SX, SX, SX]:
        """(vd at given signs, vd at zero signs, B), over y, v, tau, pi."""
        d = self.model.dynamics
        still = ca.substitute(self.effort, d.ydd, d.acceleration_bias)
        (bias,) = self.moving(ca.mtimes(d.N.T, still))
        drive = ca.mtimes(d.J_inv.T, self.motor_torque)
        force = ca.densify(ca.jacobian(bias, self.signs))
        free = drive - ca.substitute(bias, self.signs, ca.SX.zeros(self.m, 1))
        solved = solve_spd(d.mass, ca.densify(ca.horzcat(free, force)))
        given = solve_spd(d.mass, ca.densify(drive - bias))
        return given, solved[:, 0], solved[:, 1:]

    def rates(self) -> Program:
        """See the class."""
        d = self.model.dynamics
        vd = self._solved[0]
        yd = ca.mtimes(d.N, self.v)
        motor = ca.dot(self.motor_torque, ca.mtimes(ca.SX(ca.DM(d.T)), yd))
        (loss,) = self.moving(ca.substitute(self._switched.expressions[1], d.ydd, ca.SX.zeros(d.n_y, 1)))
        return _program(
            "rates",
            {"y": d.y, "v": self.v, "tau": self.tau, "pi": d.pi, "sign": self.signs},
            {"yd": yd, "vd": vd, "power": ca.vertcat(motor, loss)},
        )

    def friction(self) -> Program:
        """See the class."""
        d = self.model.dynamics
        _, free, b = self._solved
        s = self.directions
        speed = ca.mtimes(s, d.yd)
        turning = ca.jtimes(speed, d.y, d.yd)
        w, bias = self.moving(speed, turning + ca.mtimes(s, d.acceleration_bias))
        along = ca.mtimes(s, d.N)
        return _program(
            "friction",
            {"y": d.y, "v": self.v, "tau": self.tau, "pi": d.pi},
            {"slip": w, "free": bias + ca.mtimes(along, free), "A": ca.mtimes(along, b), "B": b},
        )

    def slip(self) -> Program:
        """See the class."""
        d = self.model.dynamics
        (w,) = self.moving(ca.mtimes(self.directions, d.yd))
        return _program("slip", {"y": d.y, "v": self.v}, {"slip": w})

    def correct(self) -> Program:
        """See the class."""
        d = self.model.dynamics
        size = ca.sqrt(ca.sumsqr(ca.densify(d.N)))
        return _program("correct", {"y": d.y}, {"y": d.y + d.loop_correction, "c": d.assembly.closures.c, "size": size})

    def locate(self) -> Program:
        """Y, theta -> ``y`` after a Newton step towards the motors' positions ``theta`` (n,), as a controller does."""
        model = self.model
        hold = np.linalg.matrix_rank(model.velocity_maps(model.home)[1][0], tol=1e-9)
        if hold < model.r:
            raise ModelError(
                f"robot {model.robot.name!r}: a controller that locates the robot by its motors finds {hold} of "
                f"{model.r} motions; choose pd, pid, cascade or feed-forward"
            )
        inputs, outputs = model.newton_expression("motors")
        (y,) = ca.substitute([outputs["y"]], [inputs["weight"]], [ca.SX.ones(model.n, 1)])
        return _program("locate", {"y": inputs["y"], "theta": inputs["theta"]}, {"y": y})


def _program(name: str, inputs: dict[str, SX], outputs: dict[str, SX]) -> Program:
    return trace(name, inputs, {key: ca.densify(value) for key, value in outputs.items()})
