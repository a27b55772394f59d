"""DIDIM on 10 s logs at 1 kHz: steps from rotors of one, seconds per step, torque error beside IDIM's.

A step simulates the log and solves for all base parameters. The paper's took 7 minutes on a TX40 in Simulink
[Gautier11, section V]. Torque noise is 2 % of each motor's RMS, gains are tuned on inertias up to 40 % off. "error" is
that of the torque, "off" what the errors of the parameters make of it.

    python benchmarks/bench_didim.py [ROBOT ...]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from dalembert.closed_loop.didim import Didim
from dalembert.excitation import Fourier, fourier_within_limits
from dalembert.identification.identify import Identification, identify
from dalembert.model import build_model
from dalembert.robot import load_robot
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation import Options, Pid, Sensing, Simulator, make_reference, motor_inertia
from dalembert.studies.laboratory import base_values

TITLE = "DIDIM from rotors of one on 10 s logs at 1 kHz, beside IDIM on the same log"
ROBOTS = ("tx40", "panda", "dualv", "orthoglide", "delta3")
SECONDS, RATE, NOISE, PAPER = 10.0, 1000.0, 0.02, 420.0
SIGNALS = SignalSettings(cutoff=50.0, decimate=20, mask=SlowMask(0.05, "relative"))


def measured(name: str) -> dict[str, object]:
    """One robot's row."""
    robot, rng = load_robot(name), np.random.default_rng(1)
    true = build_model(robot)
    path = fourier_within_limits(true, Fourier(harmonics=5, duration=SECONDS), rng, 0.7)
    guess = motor_inertia(true, true.nominal(), true.home)[0] * np.exp(rng.uniform(-0.35, 0.35, true.n))
    w = 2.0 * np.pi * 20.0
    law = Pid(derivative_cutoff=300.0, kp=tuple(guess * w**2), kd=tuple(1.4 * guess * w), ki=tuple(0.1 * guess * w**3))
    simulator, reference = Simulator(true, law, Options(RATE)), make_reference(true, path, SECONDS, RATE)
    size = np.sqrt(np.mean(simulator.run(reference).log.tau ** 2, axis=0))
    log = simulator.run(reference, sensing=Sensing(1e-6, NOISE * size), rng=rng).log
    blind = build_model(replace(robot, nominal={}))  # nothing of the truth is in what identifies
    estimator = Didim(law, path, inertia=tuple(guess))
    identify(blind, log, estimator=estimator, signals=SIGNALS)  # kernels are compiled once per machine
    stamps = []

    def progress(text: str) -> None:
        stamps.append((time.perf_counter(), text))

    didim = identify(blind, log, estimator=estimator, signals=SIGNALS, progress=progress)
    at = [stamp for stamp, text in stamps if text.startswith(("evaluating", "step"))]
    step = float(np.median(np.diff(at)))
    start = time.perf_counter()
    idim = identify(blind, log, signals=SIGNALS)
    alone = time.perf_counter() - start
    off = {fit.method: errors(fit, dict(robot.nominal)) for fit in (didim, idim)}
    return {
        "robot": name, "base": len(didim.parameters), "steps": didim.estimate.iterations, "s/step": round(step, 3),
        "IDIM s": round(alone, 3), "x paper": round(PAPER / step) if name == "tx40" else "",
        "error %": round(100.0 * didim.relative_error, 3), "IDIM %": round(100.0 * idim.relative_error, 3),
        "off %": round(100.0 * off["didim"], 3), "IDIM off %": round(100.0 * off["wls"], 3),
    }  # fmt: skip


def errors(fit: Identification, truth: dict[str, float]) -> float:
    """What errors of the parameters do to the torque along the log, relative to it."""
    problem = fit.prepared.problem
    R = problem.weighted(np.ones(len(problem.factors)))
    true = base_values(fit, truth)
    gap = np.array([p.value - true[p.name] for p in fit.parameters])
    return float(np.linalg.norm(R[:, list(problem.kept)] @ gap) / np.linalg.norm(R[:, -1]))


def run(robots: tuple[str, ...] = ROBOTS) -> list[dict[str, object]]:
    """A row per robot."""
    return [measured(name) for name in robots]


if __name__ == "__main__":
    for row in run(tuple(sys.argv[1:]) or ROBOTS):
        print("  ".join(f"{k}: {v:.4g}" if isinstance(v, float) else f"{k}: {v}" for k, v in row.items()))
