"""Inverse dynamics at the measured configuration: what augmented PD and computed torque share."""

from __future__ import annotations

import casadi as ca

from dalembert.simulation.controllers.contract import Loop
from dalembert.symbolic import SX

__all__ = ["model_torque"]


def model_torque(loop: Loop, rate: SX, acceleration: SX) -> SX:
    """Motor torques (n,) of minimum norm for motor velocities ``rate`` and accelerations asked, at the located
    configuration, by the controller's own parameters.

    Dry friction takes the sign of the reference's velocity: the measured one is noise at rest.
    """
    plant, d, spread = loop.plant, loop.model.dynamics, loop.spread
    v = ca.mtimes(spread, rate)
    yd = ca.mtimes(d.N, v)
    slip = ca.densify(ca.mtimes(plant.directions, ca.mtimes(d.N, ca.mtimes(spread, loop.qrd))))
    bias = ca.substitute(d.acceleration_bias, d.yd, yd)
    vd = ca.mtimes(spread, acceleration - ca.mtimes(ca.SX(ca.DM(d.T)), bias))
    effort = ca.substitute(
        [ca.mtimes(d.N.T, plant.effort)],
        [d.yd, d.ydd, d.pi, plant.signs],
        [yd, ca.mtimes(d.N, vd) + bias, loop.pi, ca.sign(slip)],
    )[0]
    return ca.mtimes(spread.T, effort)
