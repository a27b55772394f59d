"""MuJoCo in place of our integrator: the same robot, controller and reference, loops as its own soft constraints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from dalembert.model import Model
from dalembert.robot.mjcf_writer import write_mjcf
from dalembert.simulation import Controller, Reference, Target

Array = NDArray[np.float64]

_STIFFEST = 0.9999  # impedance of a constraint: the largest MuJoCo takes
_TIME = 2.0  # time constant of a constraint in steps: the smallest it takes


@dataclass
class Feedback:
    """PD with the model's torque along the reference made wrong by a fifth, so that feedback has work to do."""

    kp: Array
    kd: Array
    period: float
    last: Array | None = None

    def reset(self) -> None:
        self.last = None

    def torque(self, t: float, q: Array, target: Target) -> Array:
        error = target.q - q
        rate = 0.0 * error if self.last is None else (error - self.last) / self.period
        self.last = error
        return 0.8 * target.ff + self.kp * error + self.kd * rate


@dataclass
class Motion:
    """Motor positions and torques (ticks, n), and how far the loops opened [m or rad]."""

    q: Array
    tau: Array
    opened: float


class MuJoCo:
    def __init__(self, model: Model, folder: Path) -> None:
        self.model = model
        write_mjcf(model.robot, folder / "robot.xml")
        self.engine = mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
        for flag in ("CONTACT", "LIMIT"):
            self.engine.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
        self.engine.opt.iterations, self.engine.opt.tolerance = 100, 1e-15
        names = [self.engine.joint(j).name for j in range(self.engine.njnt)]
        self.order = [model.coordinates.index(name) for name in names]
        self.motors = [self.engine.actuator(name).id for name in model.robot.motor_names]

    def run(self, reference: Reference, controller: Controller, substeps: int, integrator: str = "RK4") -> Motion:
        model, engine = self.model, self.engine
        step = 1.0 / reference.rate / substeps
        engine.opt.timestep = step
        engine.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
        engine.eq_solimp[:] = [_STIFFEST, _STIFFEST, 0.001, 0.5, 2.0]
        engine.eq_solref[:] = [_TIME * step, 1.0]
        data = mujoco.MjData(engine)
        data.qpos[:], data.qvel[:] = reference.y[0][self.order], reference.yd[0][self.order]
        forward = model.torque_kernel()(reference.y, reference.yd, reference.ydd, model.nominal(), np.zeros(model.n))
        ff, none, turns = forward["tau"], np.zeros(model.n), model.robot.motor_map()
        out = Motion(np.zeros_like(reference.q), np.zeros_like(reference.q), 0.0)
        controller.reset()
        y = np.zeros(model.n_y)
        for i, t in enumerate(reference.t):
            y[self.order] = data.qpos
            out.q[i] = turns @ y
            wanted = Target(reference.q[i], reference.qd[i], reference.qdd[i], ff[i], none)
            out.tau[i] = controller.torque(float(t), out.q[i], wanted)
            data.ctrl[self.motors] = out.tau[i]
            for _ in range(substeps):
                mujoco.mj_step(engine, data)
            out.opened = max(out.opened, float(np.abs(data.efc_pos[: data.ne]).max()))
        return out
