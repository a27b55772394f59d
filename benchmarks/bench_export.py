"""Exported C, one sample a call as a controller runs it, beside Pinocchio's rnea called from Python on the tree.

The closure starts each sample from the one before, along a motion sampled at 1 kHz.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pinocchio as pin

from dalembert.export import export
from dalembert.export.c_text import prefix_of
from dalembert.identification.base import base_parameters
from dalembert.identification.fit import Fit, FitParameter
from dalembert.identification.fitted import describe
from dalembert.model import Model, build_model
from dalembert.motion import Closer
from dalembert.robot import load_robot
from peers import pinocchio_model

TITLE = "exported C at -O2, calls per second on one core"
ROBOTS = ("tx40", "panda", "dualv", "delta3", "delta")
SAMPLES = 2000
ROUNDS = 50

_MAIN = """\
#include <stdio.h>
#include <time.h>
#include "{p}.h"
static double theta[{n}][{P}_NS], rate[{n}][{P}_NS], acceleration[{n}][{P}_NS];
static double y[{P}_NY], ys[{n}][{P}_NY], yd[{n}][{P}_NY], ydd[{n}][{P}_NY], tau[{P}_K];
static const double none[{P}_N] = {{0.0}};
static double now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }}
int main(void)
{{
    double sum = 0.0, a, b, c;
    int steps = 0;
    FILE *f = fopen("motion.bin", "rb");
    (void)none;
    if (!f || fread(theta, sizeof theta, 1, f) + fread(rate, sizeof rate, 1, f)
        + fread(acceleration, sizeof acceleration, 1, f) != 3) return 1;
    fclose(f);
    for (int i = 0; i < {P}_NY; i++) y[i] = {p}_home[i];
    for (int k = 0; k < {n}; k++) {{
        if (!{p}_close(theta[k], y)) return 2;
        for (int i = 0; i < {P}_NY; i++) ys[k][i] = y[i];
        {p}_rates(y, rate[k], acceleration[k], yd[k], ydd[k]);
    }}
    a = now();
    for (int round = 0; round < {rounds}; round++)
        for (int k = 0; k < {n}; k++) {{ {p}_inverse_dynamics(ys[k], yd[k], ydd[k], tau); sum += tau[0]; }}
    b = now();
    for (int round = 0; round < {rounds}; round++) {{
        for (int i = 0; i < {P}_NY; i++) y[i] = ys[0][i];
        for (int k = 0; k < {n}; k++) {{
            steps += {p}_torque(theta[k], rate[k], acceleration[k]{preload}, y, tau); sum += tau[0];
        }}
    }}
    c = now();
    printf("%.9g %.9g %.4g %.3g", {n} * {rounds} / (b - a), {n} * {rounds} / (c - b), 1.0 * steps / {n} / {rounds},
        sum);
    return 0;
}}
"""


def _fit(model: Model) -> Fit:
    """A fit that found the nominal values."""
    found = base_parameters(model)
    beta = found.project(model.nominal())
    return Fit(
        robot=model.robot.name, method="nominal", status="converged", rank=found.n_base, condition=1.0,
        relative_error=0.0, rows=(),
        parameters=tuple(FitParameter(n, float(v)) for n, v in zip(found.base_names, beta, strict=True)),
        provenance={
            "columns": {n: found.names[i] for n, i in zip(found.base_names, found.independent, strict=True)},
            "model": describe(
                model.robot, model.robot, None, model.default_projection, np.ones(model.n), (), symmetric=False
            ),
        },
    )  # fmt: skip


def _motion(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measured positions and rates along slow sines about home."""
    t = np.arange(SAMPLES)[:, None] * 1e-3
    rng = np.random.default_rng(4)
    home = model.position_map("independent") @ model.home
    w, size = rng.uniform(3.0, 6.0, len(home)), np.full(len(home), 0.05)
    x, xd, xdd = home + size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)
    found = Closer(model, given="independent").motion(x, xd, xdd)
    sensors = model.position_map("sensors")
    return found.y @ sensors.T, found.yd @ sensors.T, found.ydd @ sensors.T


def _peer(model: Model) -> float:
    """Calls per second of rnea on the spanning tree, from Python."""
    peer, _, _ = pinocchio_model(model.robot)
    data = peer.createData()
    q, v, a = (np.random.default_rng(k).standard_normal(peer.nv) for k in range(3))
    start, count = time.perf_counter(), 20_000
    for _ in range(count):
        pin.rnea(peer, data, q, v, a)
    return count / (time.perf_counter() - start)


def _row(name: str) -> dict[str, object]:
    model = build_model(load_robot(name))
    p = prefix_of(name)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        export(_fit(model), folder, to="c")
        preload = ", none" if model.n > model.r else ""
        text = _MAIN.format(p=p, P=p.upper(), n=SAMPLES, rounds=ROUNDS, preload=preload)
        (folder / "main.c").write_text(text)
        (folder / "motion.bin").write_bytes(b"".join(np.ascontiguousarray(x).tobytes() for x in _motion(model)))
        flags = ["-O2", "-std=gnu99", "-o", "main", "main.c", f"{p}.c", "-lm"]
        subprocess.run(["cc", *flags], cwd=folder, check=True)
        done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True)
    plain, whole, steps, _ = (float(word) for word in done.stdout.split())
    peer = _peer(model)
    return {
        "robot": name,
        "inverse dynamics kHz": plain / 1e3,
        "from motor angles kHz": whole / 1e3,
        "Newton steps": steps,
        "rnea in Python kHz": peer / 1e3,
        "ratio": plain / peer,
    }


def run() -> list[dict[str, object]]:
    """One row per robot."""
    return [_row(name) for name in ROBOTS]
