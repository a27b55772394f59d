"""The real TX40 log, from its file to the parameters: figaroh 1.0.2 and dalembert, one after the other.

figaroh runs as its own TX40 example does (5 kHz log, cutoff 100 Hz, decimation 10, weighted least squares), through its
public classes: an identification is a subclass that loads the log and converts it to the joint side. In that release
nothing calls the hook that adds the columns of the coupled wrist, so the example fits without them; a second row adds
them by hand. dalembert runs with the same filter and decimation, then as the paper does (50 Hz, 100, [Gautier11]).

    uv run --extra bench dalembert bench figaroh
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from dalembert.errors import UsageError
from dalembert.identification.identify import identify
from dalembert.logs import read_log
from dalembert.model import build_model
from dalembert.robot import EffortKind, load_robot
from dalembert.robot.urdf_writer import write_urdf
from dalembert.signals import SignalSettings, SlowMask

TITLE = "real TX40 log, file to parameters: relative torque error of each one's own rows, seconds of one core"
LOG = Path(__file__).parents[2] / "shared/data/tx40/tx40_train_motor_side.parquet"
RATE = 5000.0
GEARS = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
GEARS[5, 4] = 32.0  # motor 6 turns with joints 5 and 6
ZERO = np.array([0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0])
BORDER = 20  # samples its example cuts at each end
JOINTS = [f"j{i}" for i in range(1, 7)]
CONFIG = """\
robot:
  name: tx40
  properties:
    joints: {active_joints: [j1, j2, j3, j4, j5, j6]}
    mechanics:
      friction_coefficients: {viscous: [0, 0, 0, 0, 0, 0], static: [0, 0, 0, 0, 0, 0]}
      actuator_inertias: [0, 0, 0, 0, 0, 0]
      joint_offsets: [0, 0, 0, 0, 0, 0]
    coupling: {has_coupled_wrist: true, Iam6: 0, fvm6: 0, fsm6: 0}
tasks:
  identification:
    enabled: true
    problem:
      use_joint_torques: true
      model_components: {friction: true, joint_offset: true, actuator_inertia: true}
    signal_processing: {sampling_frequency: 5000.0, cutoff_frequency: CUTOFF, filter_order: 4}
"""
CHANNELS = """\
positions:
  columns: [motor_angle_1, motor_angle_2, motor_angle_3, motor_angle_4, motor_angle_5, motor_angle_6]
  matrix: &gears [[32,0,0,0,0,0], [0,32,0,0,0,0], [0,0,45,0,0,0], [0,0,0,-48,0,0], [0,0,0,0,45,0], [0,0,0,0,32,32]]
  inverse: true
  offset: [0, -pi/2, pi/2, 0, 0, 0]
torques:
  columns: [motor_torque_1, motor_torque_2, motor_torque_3, motor_torque_4, motor_torque_5, motor_torque_6]
  matrix: *gears
  transpose: true
"""


def peer(folder: Path, *, cutoff: float, decimation: int, wrist: bool) -> tuple[float, int]:
    """figaroh's relative torque error and number of base parameters."""
    from figaroh.identification.base_identification import BaseIdentification
    from figaroh.tools.robot import load_robot as load_figaroh

    class Tx40(BaseIdentification):
        def load_trajectory_data(self, data_source=None):
            table = pq.read_table(LOG)
            angle, torque = (
                np.stack([table[f"motor_{kind}_{i}"].to_numpy() for i in range(1, 7)], axis=1)
                for kind in ("angle", "torque")
            )
            return {
                "timestamps": np.arange(len(angle))[:, None] / RATE,
                "positions": angle @ np.linalg.inv(GEARS).T + ZERO,
                "velocities": None,
                "accelerations": None,
                "torques": torque @ GEARS,
            }

        def process_torque_data(self, **kwargs):
            inner = slice(BORDER, -BORDER)
            for name in ("timestamps", "positions", "velocities", "accelerations"):
                self.processed_data[name] = self.processed_data[name][inner]
            return self.raw_data["torques"][inner]

        def with_wrist(self):
            """The columns of the shared motor that its example's hook writes [Gautier11]."""
            qd, qdd = self.processed_data["velocities"], self.processed_data["accelerations"]
            n, sign = len(qd), np.sign(qd[:, 4] + qd[:, 5])
            columns = np.zeros((6 * n, 3))
            columns[4 * n : 5 * n] = np.column_stack([qdd[:, 5], qd[:, 5], sign])
            columns[5 * n :] = np.column_stack([qdd[:, 4], qd[:, 4], sign])
            self.dynamic_regressor = np.hstack([self.dynamic_regressor, columns])
            self.standard_parameter |= dict.fromkeys(("Iam6", "fvm6", "fsm6"), 0.0)

    config, urdf = folder / "tx40_config.yaml", folder / "tx40.urdf"
    config.write_text(CONFIG.replace("CUTOFF", str(cutoff)))
    robot = load_figaroh(str(urdf), package_dirs=str(folder))
    found = Tx40(robot, str(config))
    joints = [robot.model.getJointId(name) for name in JOINTS]
    found.identif_config |= {
        "active_joints": JOINTS,
        "act_Jid": joints,
        "act_J": [robot.model.joints[k] for k in joints],
        "act_idxq": [robot.model.joints[k].idx_q for k in joints],
        "act_idxv": [robot.model.joints[k].idx_v for k in joints],
    }
    found.initialize()
    if wrist:
        found.with_wrist()
    # with columns of one's own the fit succeeds, then its quality report evaluates the basic ones and fails
    with contextlib.suppress(IndexError) if wrist else contextlib.nullcontext():
        found.solve(decimate=True, decimation_factor=decimation, plotting=False, wls=True)
    error = np.linalg.norm(found.tau_noised - found.tau_identif) / np.linalg.norm(found.tau_noised)
    return float(error), len(found.params_base)


def ours(
    folder: Path, *, cutoff: float, decimation: int, mask: SlowMask | None, friction: str | None
) -> tuple[float, int]:
    """dalembert's, with everything from the robot file on: model, log, fit, uncertainty."""
    channels = folder / "channels.yaml"
    channels.write_text(CHANNELS)
    robot = load_robot("tx40")
    model = build_model(robot)
    log = read_log(LOG, robot, channels)
    fit = identify(model, log, friction=friction, signals=SignalSettings(cutoff=cutoff, decimate=decimation, mask=mask))
    return fit.relative_error, len(fit.parameters)


def timed(work: Callable[[], tuple[float, int]]) -> tuple[float, int, float, float]:
    """Error, parameters, seconds on the clock and of computing (compilers it started included); prints are left out."""
    start, before = time.perf_counter(), sum(os.times()[:4])
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        error, count = work()
    return error, count, time.perf_counter() - start, sum(os.times()[:4]) - before


def run() -> list[dict[str, object]]:
    """One row for each tool and treatment."""
    import figaroh.identification.base_identification  # noqa: F401  # its seconds of imports are not counted

    if not LOG.is_file():
        raise UsageError(f"bench figaroh: no log {LOG}, expected the TX40's of the plan beside the checkout")
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        robot = load_robot("tx40")
        write_urdf(robot.with_efforts(e for e in robot.efforts if e.kind is not EffortKind.ROTOR), folder / "tx40.urdf")
        os.environ["DALEMBERT_CACHE"] = str(folder / "kernels")  # no compiled kernel from an earlier run
        paper = {"cutoff": 50.0, "decimation": 100}
        example = {"cutoff": 100.0, "decimation": 10}
        masked = {"mask": SlowMask(), "friction": None}
        cases: dict[str, tuple[str, Callable[[], tuple[float, int]]]] = {
            "figaroh 1.0.2, its example": ("100 Hz / 10", lambda: peer(folder, **example, wrist=False)),
            "figaroh, wrist columns by hand": ("100 Hz / 10", lambda: peer(folder, **example, wrist=True)),
            "figaroh, wrist by hand, paper's filters": ("50 Hz / 100", lambda: peer(folder, **paper, wrist=True)),
            "dalembert, kernels compiled": ("50 Hz / 100", lambda: ours(folder, **paper, **masked)),
            "dalembert": ("50 Hz / 100", lambda: ours(folder, **paper, **masked)),
            "dalembert, no mask": ("50 Hz / 100", lambda: ours(folder, **paper, mask=None, friction=None)),
            "dalembert, sqrt friction": (
                "50 Hz / 100",
                lambda: ours(folder, **paper, mask=SlowMask(), friction="sqrt"),
            ),
            "dalembert, figaroh's filters": ("100 Hz / 10", lambda: ours(folder, **example, **masked)),
        }
        rows: list[dict[str, object]] = []
        for label, (filters, work) in cases.items():
            times = 3 if label == "dalembert" else 1
            error, count, seconds, computing = min((timed(work) for _ in range(times)), key=lambda found: found[3])
            rows.append({"tool": label, "cutoff / decimation": filters, "base": count, "error %": 100 * error,
                         "seconds": seconds, "computing": computing})  # fmt: skip
        for row in rows:
            row["error / figaroh's"] = row["error %"] / rows[0]["error %"]
            row["times faster"] = rows[0]["seconds"] / row["seconds"]
            row["computing less"] = rows[0]["computing"] / row["computing"]
    return rows
