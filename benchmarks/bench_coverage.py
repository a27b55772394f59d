"""Do 95 % intervals hold what they promise? Every catalog robot on 50 simulated logs, each with a motion of its own.

Encoders count steps of 1e-5 rad or m, torques have white noise of 1 % of their RMS (both can be set), and a preload
wanders where the robot is over-actuated. The last columns predict the torque of a second motion as its encoders saw it,
against the torque it really took: away from velocity reversals, and near them, where the sign of a measured velocity is
noise and the true parameters err too.

    python benchmarks/bench_coverage.py [--seeds 50] [--noise 0.01] [--encoder 1e-5] [ROBOT ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation import Fourier
from dalembert.identification.fit import Fit
from dalembert.identification.identify import Identification, identify
from dalembert.model import Model, build_model
from dalembert.robot import catalog_names, load_robot
from dalembert.signals import SignalSettings
from dalembert.simulation.synthetic import random_recording
from dalembert.studies.laboratory import base_values
from dalembert.validation import validate

TITLE = (
    "share of base parameters inside their 95 % intervals over 50 logs [%], and torque errors of a second motion [%]"
)
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sensors:
    """Torque noise as a share of each motor's RMS torque, and encoder step [rad or m]."""

    noise: float = 0.01
    step: float = 1e-5


@dataclass(frozen=True)
class Coverage:
    """Which parameters (seeds, k) lay in their intervals, by the robust sigma and by the papers'."""

    names: tuple[str, ...]
    robust: NDArray[np.bool_]
    plain: NDArray[np.bool_]


def preload(t: Array) -> Array:
    """Torques of DualV's four motors [N m]; their internal part, which moves nothing, varies in time."""
    return 3.0 * np.stack([np.sin(2.0 * np.pi * (0.7 + 0.3 * k) * t + k) for k in range(4)], axis=1)


def fits(model: Model, seeds: int, sensors: Sensors) -> Iterator[Identification]:
    """One identification per seed: 5 s at 500 Hz of a random motion within the robot's limits."""
    inner = preload if model.n > model.r else None
    for seed in range(seeds):
        recording = random_recording(
            model, np.random.default_rng(seed), family=Fourier(5, 5.0), rate=500.0, torque_noise=sensors.noise,
            encoder_step=sensors.step, preload=inner,
        )  # fmt: skip
        yield identify(model, recording.log)


def coverage(model: Model, seeds: int = 50, sensors: Sensors = Sensors()) -> Coverage:
    """How often the intervals hold the truth."""
    robust, plain = [], []
    names: tuple[str, ...] = ()
    for fit in fits(model, seeds, sensors):
        assert fit.robust is not None
        names = tuple(p.name for p in fit.parameters)
        truth = np.array([base_values(fit, model.robot.nominal)[name] for name in names])
        low, high = fit.robust.intervals(fit.estimate.values).T
        robust.append((low <= truth) & (truth <= high))
        plain.append(np.abs(fit.estimate.values - truth) <= 1.96 * fit.estimate.sigma)
    return Coverage(names, np.array(robust), np.array(plain))


def true_fit(fit: Identification, model: Model) -> Fit:
    """The same fit with true values."""
    truth = base_values(fit, model.robot.nominal)
    return replace(fit.fit, parameters=tuple(replace(p, value=truth[p.name]) for p in fit.parameters))


def prediction(model: Model, sensors: Sensors = Sensors()) -> dict[str, float]:
    """Errors [%] of the torque of a second motion by the fit to a first one, and near reversals by the truth."""
    rng, inner = np.random.default_rng(1), preload if model.n > model.r else None
    first, second = (
        random_recording(model, rng, torque_noise=sensors.noise, encoder_step=sensors.step, preload=inner, name=name)
        for name in ("first", "second")
    )
    fit = identify(model, first.log)
    exact = replace(second.log, tau=second.torque)
    settings = SignalSettings(cutoff=fit.provenance["logs"][0]["cutoff"], decimate=1)
    found, best = (validate(f, exact, signals=settings) for f in (fit.fit, true_fit(fit, model)))
    return {
        "away": round(100.0 * found.away_error, 3),
        "near": round(100.0 * found.reversal_error, 2),
        "near, truth": round(100.0 * best.reversal_error, 2),
        "rows near": round(100.0 * found.reversal_share, 1),
    }


def row(name: str, seeds: int = 50, sensors: Sensors = Sensors()) -> dict[str, object]:
    """One robot."""
    model = build_model(load_robot(name))
    found = coverage(model, seeds, sensors)
    each = found.robust.mean(axis=0)
    worst = int(np.argmin(each))
    return {
        "robot": name,
        "parameters": len(found.names),
        "robust": round(100.0 * float(found.robust.mean()), 1),
        "papers' sigma": round(100.0 * float(found.plain.mean()), 1),
        "least": f"{100.0 * each[worst]:.0f} {found.names[worst]}",
        **prediction(model, sensors),
    }


def run(robots: Sequence[str] | None = None, seeds: int = 50, sensors: Sensors = Sensors()) -> list[dict[str, object]]:
    """One row per robot."""
    return [row(name, seeds, sensors) for name in robots or catalog_names()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("robots", nargs="*", metavar="ROBOT")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--noise", type=float, default=0.01, help="torque noise, share of RMS torque")
    parser.add_argument("--encoder", type=float, default=1e-5, help="encoder step, rad or m")
    options = parser.parse_args()
    for name in options.robots or catalog_names():
        print(row(name, options.seeds, Sensors(options.noise, options.encoder)), flush=True)
