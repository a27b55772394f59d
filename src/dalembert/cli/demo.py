"""``dalembert demo``: a robot whose loops close, shown in under a minute."""

from __future__ import annotations

import time

import numpy as np

from dalembert.cli.console import AsJson, emit, model_of, note, table
from dalembert.identification.base import base_parameters
from dalembert.motion import Closer, singularity_margins
from dalembert.robot import load_robot

__all__ = ["demo"]

_SECONDS, _RATE = 10.0, 1000.0


def demo(as_json: AsJson = False) -> None:
    """Show the over-actuated DualV: base parameters, and its loops closed along a motion of the platform."""
    note("loading the DualV, a planar parallel robot with 4 motors for 3 degrees of freedom")
    model = model_of(load_robot("dualv"), quiet=as_json)
    found = base_parameters(model)
    t = np.arange(0.0, _SECONDS, 1.0 / _RATE)
    path = np.stack(
        [0.06 * np.sin(2.1 * t), 0.05 * np.sin(3.3 * t), 0.25 * np.sin(1.7 * t)], axis=1
    )  # platform x, y [m] and angle [rad]
    y = Closer(model, given="independent").positions(path, t)
    theta = y @ model.robot.motor_map().T
    closer = Closer(model)
    closer.positions(theta[:100], t[:100])
    start = time.perf_counter()
    closed = closer.positions(theta, t)
    seconds = time.perf_counter() - start
    error = float(np.abs(model.loops_kernel()(closed)["c"]).max())
    margins = singularity_margins(model, closed)
    data = {
        "robot": "dualv",
        "base": found.n_base,
        "standard": len(model.parameters),
        "relations": found.relations(),
        "samples": len(t),
        "closure_error_m": error,
        "position_error": float(np.abs(closed - y).max()),
        "samples_per_second": len(t) / seconds,
        "worst_condition": float(margins.condition.max()),
    }
    emit(
        as_json,
        data,
        f"[bold]DualV: {found.n_base} base parameters of {len(model.parameters)} standard ones[/bold]",
        table("", ["base parameter", "regrouping"], [[k, v] for k, v in found.relations().items()]),
        f"closed {len(t)} samples of a {_SECONDS:g} s motion from the four motor angles alone: largest loop error "
        f"{error:.1e} m, {len(t) / seconds:,.0f} samples/s",
        f"worst condition of the motors' map along it: {margins.condition.max():.2f}",
        "next: dalembert show dualv -o dualv.png; dalembert base dualv --payload; dalembert robots",
    )
