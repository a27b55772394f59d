"""A trajectory as a table, for robots and simulators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation.states import Motion, States
from dalembert.model import Model

__all__ = ["MOST_SAMPLES", "ros_trajectory", "table", "write_table"]

Array = NDArray[np.float64]

MOST_SAMPLES = 2e7  # of a table: five and a half hours at 1 kHz
_SAME = 1e-6  # of a sample: what rounding adds to a duration of whole samples
_KINDS = ("", "xd_", "xdd_")


def table(model: Model, coordinates: tuple[str, ...], path: Callable[[Array], Any], duration: float, rate: float
          ) -> tuple[dict[str, Array], Motion]:  # fmt: skip
    """Columns ``t``, coordinates by name, their rates ``xd_ xdd_``, ``q_ qd_ qdd_`` of the motors; the motion."""
    t = np.arange(math.ceil(duration * rate - _SAME) + 1) / rate  # the last sample is at rest
    x, xd, xdd = path(t)
    motion = States(model).motion(x, xd, xdd)
    turns = model.robot.motor_map().T
    out = {"t": t}
    for kind, part in zip(_KINDS, (x, xd, xdd), strict=True):
        out |= {f"{kind}{name}": np.ascontiguousarray(part[:, k]) for k, name in enumerate(coordinates)}
    for kind, part in zip(("q", "qd", "qdd"), (motion.y, motion.yd, motion.ydd), strict=True):
        moved = part @ turns
        out |= {f"{kind}_{name}": np.ascontiguousarray(moved[:, k]) for k, name in enumerate(model.robot.motor_names)}
    return out, motion


def write_table(columns: Mapping[str, Array], path: Path) -> None:
    """The columns as .csv or .parquet, all digits kept."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as parquet

    data = pa.table({name: pa.array(values) for name, values in columns.items()})
    if path.suffix == ".parquet":
        parquet.write_table(data, path)
        return
    with path.open("wb") as stream:
        stream.write((",".join(columns) + "\n").encode())
        arrow_csv.write_csv(data, stream, write_options=arrow_csv.WriteOptions(include_header=False))


def ros_trajectory(model: Model, columns: Mapping[str, Array]) -> dict[str, object]:
    """The motors' motion as a ROS ``trajectory_msgs/JointTrajectory``."""
    names = model.robot.motor_names
    q, qd, qdd = (np.column_stack([columns[f"{kind}_{name}"] for name in names]) for kind in ("q", "qd", "qdd"))
    points = []
    for k, t in enumerate(columns["t"]):
        seconds = int(t)
        points.append(
            {
                "positions": q[k].tolist(),
                "velocities": qd[k].tolist(),
                "accelerations": qdd[k].tolist(),
                "time_from_start": {"sec": seconds, "nanosec": round((float(t) - seconds) * 1e9)},
            }
        )
    return {"header": {"frame_id": ""}, "joint_names": list(names), "points": points}
