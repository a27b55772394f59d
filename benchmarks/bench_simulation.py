"""Simulation of 10 s at 1 kHz by RK4 under computed torque: beside Pinocchio in a Python loop, and against real time.

The peer gets what ``pin.aba`` takes: inertias, rotors on joints, viscous friction. Both then make the same motion, as
the table shows; dry friction, whose every stop and start is met, comes on top in the other rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin

from dalembert.excitation import Fourier, FourierPath, fourier_within_limits
from dalembert.model import Model, build_model
from dalembert.parameters import inertial_names
from dalembert.robot import Coordinate, EffortKind, Robot, load_robot
from dalembert.simulation import ComputedTorque, Reference, Simulation, Simulator, make_reference
from peers import pinocchio_model

TITLE = "10 s at 1 kHz, RK4 and computed torque"
DURATION, RATE = 10.0, 1000.0
BANDWIDTH, DAMPING = 30.0, 0.7
CLOSED = ("dualv", "delta", "orthoglide", "3prrr")
REPEATS = 3
# ours: XX XY XZ YY YZ ZZ MX MY MZ M; Pinocchio's: M MX MY MZ XX XY YY XZ YZ ZZ
TO_PINOCCHIO = [9, 6, 7, 8, 0, 1, 3, 2, 4, 5]


class Peer:
    """What a user of Pinocchio writes for a tree whose motors turn with its joints."""

    def __init__(self, model: Model) -> None:
        robot = model.robot
        self.engine, _, _ = pinocchio_model(robot)
        self.data = self.engine.createData()
        values = robot.nominal
        armature, self.viscous = np.zeros(model.n_y), np.zeros(model.n_y)
        for effort in robot.efforts:
            ((name, _),) = effort.on.terms
            where = armature if effort.kind is EffortKind.ROTOR else self.viscous
            where[model.coordinates.index(name)] += values[effort.parameters[0]]
        self.engine.armature = armature
        for k, body in enumerate(robot.body_names, 1):
            ours = np.array([values[name] for name in inertial_names(body)])
            self.engine.inertias[k] = pin.Inertia.FromDynamicParameters(ours[TO_PINOCCHIO])

    def _rate(self, y: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return pin.aba(self.engine, self.data, y, v, tau - self.viscous * v)

    def run(self, reference: Reference) -> np.ndarray:
        """Joint positions (ticks, n)."""
        h, w = 1.0 / RATE, 2.0 * np.pi * BANDWIDTH
        kp, kd = w**2, 2.0 * DAMPING * w
        y, v = reference.y[0].copy(), reference.yd[0].copy()
        before = None
        out = np.zeros_like(reference.y)
        for k in range(len(reference.t)):
            out[k] = y
            error = reference.q[k] - y
            slope = (error - before) / h if before is not None else np.zeros_like(error)
            before = error
            rate, asked = reference.qd[k] - slope, reference.qdd[k] + kp * error + kd * slope
            tau = pin.rnea(self.engine, self.data, y, rate, asked) + self.viscous * rate
            a1 = self._rate(y, v, tau)
            v2 = v + h / 2 * a1
            a2 = self._rate(y + h / 2 * v, v2, tau)
            v3 = v + h / 2 * a2
            a3 = self._rate(y + h / 2 * v2, v3, tau)
            v4 = v + h * a3
            a4 = self._rate(y + h * v3, v4, tau)
            y = y + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return out


def _as_the_peer_takes_it(robot: Robot) -> Robot:
    """Rotors and viscous friction alone, those of the wrist's shared motor on its own joint: aba knows no coupling."""
    kept = [effort for effort in robot.efforts if effort.kind in (EffortKind.ROTOR, EffortKind.VISCOUS)]
    return robot.with_efforts([replace(effort, on=Coordinate(effort.on.terms[-1:])) for effort in kept])


def _motion(model: Model) -> Reference:
    """A random motion within the robot's limits; at half their size it stays inside any workspace."""
    path = fourier_within_limits(model, Fourier(5, DURATION), np.random.default_rng(1))
    calm = FourierPath(path.family, path.centre, 0.5 * path.sine, 0.5 * path.cosine)
    return make_reference(model, calm, DURATION, RATE)


def _seconds(run: Callable[[], object]) -> float:
    """Least CPU time of several runs: neighbours on the machine do not count."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def _simulator(robot: Robot) -> tuple[Model, Simulator, Reference]:
    model = build_model(robot)
    simulator = Simulator(model, ComputedTorque(BANDWIDTH, DAMPING))
    reference = _motion(model)
    found = simulator.run(reference)  # compiles
    if not found.completed:
        raise RuntimeError(f"{robot.name}: {found.reason}")
    return model, simulator, reference


def _row(name: str, seconds: float, peer: float | None, apart: float | None, found: Simulation) -> dict[str, object]:
    return {
        "robot": name,
        "s": seconds,
        "x real time": DURATION / seconds,
        "peer s": peer,
        "peer / ours": peer and peer / seconds,
        "apart [rad]": apart,
        "stops met": found.counts["events"],
    }


def run() -> list[dict[str, object]]:
    """One row per robot."""
    model, simulator, reference = _simulator(_as_the_peer_takes_it(load_robot("tx40")))
    peer = Peer(model)
    apart = float(np.abs(peer.run(reference) - simulator.run(reference).truth.y).max())
    theirs = _seconds(lambda: peer.run(reference))
    ours = _seconds(lambda: simulator.run(reference))
    rows = [_row("tx40, as peer", ours, theirs, apart, simulator.run(reference))]
    for name in ("tx40", *CLOSED):
        _, simulator, reference = _simulator(load_robot(name))
        ours = _seconds(lambda s=simulator, r=reference: s.run(r))
        rows.append(_row(name, ours, theirs if name == "tx40" else None, None, simulator.run(reference)))
    return rows
