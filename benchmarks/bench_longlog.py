"""A log of 1e7 samples of a six-joint arm in a Parquet file: memory and throughput of the whole identification.

Each row is a process of its own that reads the file and identifies 60 base parameters with both sigmas; its peak memory
is the operating system's count, the interpreter and its libraries (about 170 MB) included. Streamed with several block
sizes, then with all samples in memory: the values must be the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.excitation import Fourier, FourierPath, fourier_within_limits
from dalembert.logs import write_log
from dalembert.logs.log import Block, LogInfo
from dalembert.model import Model, build_model
from dalembert.robot import load_robot

TITLE = "1e7 samples of a TX40 from a Parquet file, base parameters with both sigmas"
SAMPLES, RATE, STEP, NOISE = 10_000_000, 5000.0, 2e-5, 0.2
ROBOT = "tx40"

CHILD = """\
import json, resource, sys, time
from dalembert.identification import observation
from dalembert.identification.identify import identify
from dalembert.logs import open_log, read_log
from dalembert.model import build_model
from dalembert.robot import load_robot
from dalembert.signals import SignalSettings
path, block, streamed = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "file"
observation.BLOCK = block
start = time.perf_counter()
robot = load_robot("tx40")
log = (open_log if streamed else read_log)(path, robot)
opened = time.perf_counter()
fit = identify(build_model(robot), log, signals=SignalSettings(cutoff=50.0, decimate=100))
print(json.dumps({
    "values": [p.value for p in fit.parameters], "sigma": [p.sigma_robust for p in fit.parameters],
    "reading": opened - start, "seconds": time.perf_counter() - start, "samples": log.info.samples,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0, "error": fit.relative_error,
}))
"""


@dataclass(frozen=True)
class Made:
    """A log computed as it is written: 20 s of Fourier motion again and again, nominal torque, sensors with noise."""

    info: LogInfo
    model: Model
    path: FourierPath

    def blocks(self, size: int) -> Iterator[Block]:
        rng = np.random.default_rng(1)
        torque, pi = self.model.torque_kernel(), self.model.nominal()
        for first in range(0, self.info.samples, size):
            last = min(first + size, self.info.samples)
            t = self.info.times(first, last)
            q, qd, qdd = self.path(t)
            tau = torque(q, qd, qdd, pi, np.zeros(6))["tau"] + NOISE * rng.standard_normal(q.shape)
            yield Block(first, t, np.round(q / STEP) * STEP, np.asarray(tau))


def made(samples: int = SAMPLES) -> Made:
    """The log of so many samples."""
    model = build_model(load_robot(ROBOT))
    names = model.robot.motor_names
    info = LogInfo("long", "", "", ROBOT, names, names, names, samples, 0.0, 1.0 / RATE)
    path = fourier_within_limits(model, Fourier(harmonics=5, duration=20.0), np.random.default_rng(0))
    return Made(info, model, path)


def measure(path: Path, block: int, where: str) -> dict[str, object]:
    """One identification in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(block), where], capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def run() -> list[dict[str, object]]:
    """One row for each way of reading."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_log(made(), Path(folder) / "long.parquet")
        rows: list[dict[str, object]] = []
        first: dict[str, np.ndarray] = {}
        for where, block in (("file", 8192), ("file", 1000), ("file", 100_000), ("memory", 8192)):
            found = measure(path, block, where)
            values, sigma = np.array(found["values"]), np.array(found["sigma"])
            first = first or {"values": values, "sigma": sigma}
            rows.append(
                {
                    "samples from": where,
                    "block": block,
                    "peak memory MB": found["peak"],
                    "reading s": found["reading"],
                    "seconds": found["seconds"],
                    "samples/s": found["samples"] / found["seconds"],
                    # a value near zero is known to its sigma, not to its last digit
                    "largest difference": float(
                        np.max(np.abs(values - first["values"]) / np.maximum(np.abs(first["values"]), first["sigma"]))
                    ),
                    "of sigma": float(np.max(np.abs(sigma - first["sigma"]) / first["sigma"])),
                    "file GB": path.stat().st_size / 1e9,
                }
            )
    return rows
