"""A trajectory as a table: written for robots and simulators, read back as a path."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.excitation.quintic import powers
from dalembert.excitation.states import Motion, States
from dalembert.model import Model

__all__ = ["SampledPath", "read_trajectory", "ros_trajectory", "table", "write_table", "written"]

Array = NDArray[np.float64]

_KINDS = ("x", "xd", "xdd")
_EVEN = 1e-6  # share of a period by which times may be uneven


@dataclass(frozen=True, slots=True)
class SampledPath:
    """A path through samples: quintic between them, so that position, velocity and acceleration are kept.

    ``coordinates`` name the columns of ``x xd xdd`` (n, r) at times ``t`` (n,) [s].
    """

    coordinates: tuple[str, ...]
    t: Array
    x: Array
    xd: Array
    xdd: Array

    @property
    def duration(self) -> float:
        """Time of the last sample after the first [s]."""
        return float(self.t[-1] - self.t[0])

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, r) at times ``t`` (n,) [s] from the first sample on."""
        at = np.clip(np.asarray(t, dtype=float) + self.t[0], self.t[0], self.t[-1])
        k = np.clip(np.searchsorted(self.t, at, side="right") - 1, 0, len(self.t) - 2)
        h = (self.t[k + 1] - self.t[k])[:, None]
        ends = [
            scale * part[index] for index in (k, k + 1) for scale, part in ((1, self.x), (h, self.xd), (h**2, self.xdd))
        ]
        c = np.einsum("ij,jnr->inr", _HERMITE, np.array(ends))
        u = (at - self.t[k]) / h[:, 0]
        x, xd, xdd = (np.einsum("ni,inr->nr", powers(u, order), c) / h**order for order in range(3))
        return x, xd, xdd


# coefficients in the time t / h from the two end states, each with its rates times h and h^2
_HERMITE = np.linalg.inv(np.vstack([powers(np.array([u]), order) for u in (0.0, 1.0) for order in range(3)]))


def table(model: Model, coordinates: tuple[str, ...], path: Callable[[Array], Any], duration: float, rate: float
          ) -> tuple[dict[str, Array], Motion]:  # fmt: skip
    """Columns ``t``, ``x_ xd_ xdd_`` of the coordinates, ``q_ qd_ qdd_`` of the motors, and the full motion."""
    t = np.arange(round(duration * rate) + 1) / rate
    x, xd, xdd = path(t)
    motion = States(model).motion(x, xd, xdd)
    turns = model.robot.motor_map().T
    out = {"t": t}
    for kind, part in zip(_KINDS, (x, xd, xdd), strict=True):
        out |= {f"{kind}_{name}": np.ascontiguousarray(part[:, k]) for k, name in enumerate(coordinates)}
    for kind, part in zip(("q", "qd", "qdd"), (motion.y, motion.yd, motion.ydd), strict=True):
        moved = part @ turns
        out |= {f"{kind}_{name}": np.ascontiguousarray(moved[:, k]) for k, name in enumerate(model.robot.motor_names)}
    return out, motion


def written(path: Path, write: Callable[[Path], object]) -> Path:
    """A file that appears when it is complete."""
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def write_table(columns: Mapping[str, Array], path: Path) -> Path:
    """The columns as .csv or .parquet, all digits kept."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as parquet

    data = pa.table({name: pa.array(values) for name, values in columns.items()})
    if path.suffix == ".parquet":
        return written(path, lambda part: parquet.write_table(data, part))
    options = arrow_csv.WriteOptions(quoting_style="none")
    return written(path, lambda part: arrow_csv.write_csv(data, part, write_options=options))


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


def write_json(data: object, path: Path) -> Path:
    """One JSON object, whole or not at all."""
    return written(path, lambda part: part.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8"))


def read_trajectory(path: str | Path, model: Model) -> SampledPath:
    """A sampled trajectory from .csv or .parquet: ``t`` and ``x_NAME`` of independent coordinates, ``xd_`` and ``xdd_``
    where given, from a cubic spline otherwise.
    """
    path = Path(path)
    columns = _read(path)
    if "t" not in columns:
        raise UsageError(f"{path}: no column 't'; found {', '.join(columns) or 'none'}")
    t = columns["t"]
    names = tuple(name.removeprefix("x_") for name in columns if name.startswith("x_"))
    for name in names:
        if name not in model.coordinates:
            raise UsageError(f"{path}: column 'x_{name}': no such coordinate; found in the robot {model.coordinates}")
    if len(names) != model.r:
        raise UsageError(
            f"{path}: {len(names)} columns x_... ({', '.join(names) or 'none'}), expected {model.r}, one for each "
            f"mobility, for example {', '.join('x_' + name for name in model.independent)}"
        )
    if len(t) < 4 or not (np.diff(t) > 0.0).all():
        raise UsageError(f"{path}: expected at least 4 rows with growing times t [s]")
    x = np.column_stack([columns[f"x_{name}"] for name in names])
    if not all(np.isfinite(part).all() for part in (t, x)):
        raise UsageError(f"{path}: a value is not finite")
    if all(f"{kind}_{name}" in columns for kind in ("xd", "xdd") for name in names):
        xd, xdd = (np.column_stack([columns[f"{kind}_{name}"] for name in names]) for kind in ("xd", "xdd"))
    else:
        from scipy.interpolate import CubicSpline

        spline = CubicSpline(t, x)
        xd, xdd = spline(t, 1), spline(t, 2)
    return SampledPath(names, t, x, xd, xdd)


def _read(path: Path) -> dict[str, Array]:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as parquet

    try:
        stream = io.BytesIO(path.read_bytes())
        data = parquet.read_table(stream) if path.suffix == ".parquet" else arrow_csv.read_csv(stream)
        return {
            name: np.asarray(column.to_numpy(), dtype=float)
            for name, column in zip(data.column_names, data.columns, strict=True)
        }
    except (pa.ArrowException, ValueError) as error:
        raise UsageError(f"{path}: not a table of numbers: {' '.join(str(error).split())[:120]}") from None
