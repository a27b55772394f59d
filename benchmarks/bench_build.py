"""Building a model with all its kernels: the first time (compiling) and from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from dalembert.robot import catalog_names

TITLE = "seconds to describe, derive and compile every kernel of a model, in a fresh process (CPU: compiler included)"

_BUILD = """
import os, sys, time
start = time.perf_counter()
from dalembert.model import build_model
from dalembert.robot import load_robot
imported, used = time.perf_counter(), sum(os.times()[:4])
model = build_model(load_robot(sys.argv[1]))
for kernel in (model.regressor_kernel, model.newton_kernel, model.rates_kernel, model.velocity_kernel,
               model.loops_kernel, model.torque_kernel, model.mass_kernel, model.forward_kernel, model.energy_kernel):
    kernel()
print(imported - start, time.perf_counter() - imported, sum(os.times()[:4]) - used)
"""


def _seconds(robot: str, cache: str) -> tuple[float, float, float]:
    """Seconds to import, to build, and of CPU to build."""
    environment = {**os.environ, "DALEMBERT_CACHE": cache}
    run = subprocess.run(
        [sys.executable, "-c", _BUILD, robot], env=environment, capture_output=True, text=True, check=True
    )
    imported, built, cpu = (float(word) for word in run.stdout.split())
    return imported, built, cpu


def run() -> list[dict[str, object]]:
    """One row per catalog robot."""
    rows = []
    for name in catalog_names():
        with tempfile.TemporaryDirectory() as cache:
            _, first, first_cpu = _seconds(name, cache)
            imported, again, again_cpu = _seconds(name, cache)
        rows.append({
            "robot": name, "first": first, "CPU": first_cpu, "from cache": again, "its CPU": again_cpu,
            "import": imported,
        })  # fmt: skip
    return rows
