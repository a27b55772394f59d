"""Is the sigma a design expects honest? Logs of the designed run, each with fresh torque noise, identified by default.

The spread of a base parameter over N logs is itself uncertain by 1 / sqrt(2 N): 10 % for 50 logs, 3.5 % for 400. Given
are the ratios of spread and expected sigma over all parameters, those further than 20 % off, and how many are so far
off that N logs cannot make it by chance (chi-square, 1 in 1000 over all parameters). ``robust`` is the mean of the
sigma the identification itself reports, over the expected one.

    python benchmarks/bench_sigma.py [--logs 200] [ROBOT ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import chi2

from dalembert.excitation import Effort, Fourier, design_excitation
from dalembert.identification.identify import identify
from dalembert.model import build_model
from dalembert.robot import load_robot
from dalembert.simulation.synthetic import perfect_tracking
from dalembert.studies.laboratory import base_values

TITLE = "spread of identified base parameters over many logs, relative to the sigma the design expected"

RATE = 500.0
_SURE = 1e-3  # chance to call an honest design dishonest
_ALLOWED = 0.2


def row(name: str, logs: int = 200) -> dict[str, object]:
    """One robot."""
    model = build_model(load_robot(name))
    design = design_excitation(model, Fourier(5, 5.0), rate=RATE, effort=Effort(starts=2, budget=10.0))
    begin, end = design.ride.record
    exact, _ = perfect_tracking(
        model, lambda t: design(begin + np.asarray(t)), end - begin, RATE, np.random.default_rng(0)
    )
    values, own = [], []
    for seed in range(logs):
        noise = np.random.default_rng(seed).standard_normal(exact.tau.shape)
        fit = identify(model, replace(exact, tau=exact.tau + design.noise.values * noise))
        values.append([p.value for p in fit.fit.parameters])
        own.append([p.sigma_robust for p in fit.fit.parameters])
    names = [p.name for p in fit.fit.parameters]
    expected = {p.name: p.sigma for p in design.parameters}
    sigma = np.array([expected[n] for n in names])
    ratio = np.std(values, axis=0, ddof=1) / sigma
    free, tail = logs - 1, _SURE / len(names) / 2
    low, high = (np.sqrt(chi2.ppf(p, free) / free) for p in (tail, 1.0 - tail))
    surely = (ratio < (1.0 - _ALLOWED) * low) | (ratio > (1.0 + _ALLOWED) * high)
    known = base_values(fit, model.robot.nominal)
    off = (np.mean(values, axis=0) - np.array([known[n] for n in names])) / sigma * np.sqrt(logs)
    worst = int(np.abs(np.log(ratio)).argmax())
    return {
        "robot": name, "parameters": len(names), "logs": logs, "uncertain by": f"{100.0 / np.sqrt(2.0 * logs):.1f} %",
        "mean": round(float(np.sqrt((ratio**2).mean())), 3), "least": round(float(ratio.min()), 3),
        "largest": round(float(ratio.max()), 3), "worst": names[worst],
        "beyond 20 %": int((np.abs(ratio - 1.0) > _ALLOWED).sum()), "surely beyond": int(surely.sum()),
        "robust": round(float(np.mean(np.mean(own, axis=0) / sigma)), 3),
        "largest bias [sigma of the mean]": round(float(np.abs(off).max()), 1),
    }  # fmt: skip


def run(robots: Sequence[str] = ("tx40", "dualv", "orthoglide"), logs: int = 200) -> list[dict[str, object]]:
    """One row per robot."""
    return [row(name, logs) for name in robots]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("robots", nargs="*", metavar="ROBOT", default=["tx40", "dualv", "orthoglide"])
    parser.add_argument("--logs", type=int, default=200)
    options = parser.parse_args()
    for one in options.robots:
        print(row(one, options.logs), flush=True)
