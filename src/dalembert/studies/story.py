"""The story of one robot, as ``dalembert demo`` tells it: a motion is designed, recorded, identified and judged.

The DualV of [Briot15] has four motors for three degrees of freedom: they push against each other with a preload that
nobody measures. The simulator knows its parameters; the identification sees nothing but the logs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation import Design, Effort, Fourier, design_excitation, fourier_within_limits, write_design
from dalembert.identification.fit import FitParameter
from dalembert.identification.fit_files import write_fit
from dalembert.identification.identify import Identification, identify
from dalembert.logs import Log, write_log
from dalembert.model import build_model
from dalembert.motion import Closer
from dalembert.report import write_report
from dalembert.robot import load_robot
from dalembert.simulation import ComputedTorque, Options, Preload, Sensing
from dalembert.studies.laboratory import Laboratory
from dalembert.studies.study import Progress, silent
from dalembert.validation import Validation, validate

__all__ = ["PAYLOAD", "Story", "tell"]

Array = NDArray[np.float64]

PAYLOAD = 5.37  # [kg] on the scales [Briot15, section 5.3]
_LOAD = {"M_load": PAYLOAD, "MX_load": -0.127, "ZZ_load": 1.61e-2, "XX_load": 8e-3, "YY_load": 1.2e-2}
_SENSING = Sensing(encoder_step=2.0 * np.pi / 2**20, torque_noise=0.5)
_HARMONICS, _SECONDS = 12, 4.0  # one period of the designed motion
# Limited by work, not by a clock, so that a busy machine tells the same story: four starts of 80 iterations a stage
# find as good a motion as 400 do, in two thirds of the time.
_EFFORT = Effort(starts=4, iterations=80, budget=np.inf)


@dataclass(frozen=True, slots=True)
class Story:
    """What happened: the motion ``design``, its ``logs`` (empty, loaded, unseen), the ``fit`` and how it predicts the
    unseen log; ``closure`` is the largest loop error [m] of the unseen log's closed samples.
    """

    design: Design
    logs: tuple[Log, ...]
    fit: Identification
    validation: Validation
    closure: float

    @property
    def payload(self) -> FitParameter:
        """The payload's mass [kg], which was weighed before."""
        return self.fit["M_load"]

    def write(self, folder: Path) -> list[Path]:
        """Design, logs, fit and report as files; the report last, so that it never stands without the others."""
        files = write_design(self.design, folder / "design")
        files += [write_log(log, folder / f"{log.info.name}.parquet") for log in self.logs]
        files += write_fit(self.fit.fit, folder)
        return [*files, write_report(folder, self.fit, self.validation)]

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        p = self.payload
        return {
            "robot": self.fit.robot,
            "base": len(self.fit.parameters),
            "standard": len(self.fit.prepared.model.parameters),
            "payload": {"weighed": PAYLOAD, "found": p.value, "low": p.low, "high": p.high},
            "relative_error": self.fit.relative_error,
            "held_out_error": self.validation.relative_error,
            "closure_error_m": self.closure,
            "determined": sum(q.verdict == "well determined" for q in self.fit.parameters),
        }


def tell(progress: Progress = silent, *, seed: int = 2015) -> Story:
    """Design, record twice and once more on another motion, identify, validate."""
    model = build_model(load_robot("dualv"))
    progress("searching the motion that shows the parameters best, within the robot's limits")
    design = design_excitation(
        model, Fourier(_HARMONICS, _SECONDS), effort=replace(_EFFORT, seed=seed),
        watch=lambda p: progress(f"{p.finished} of {_EFFORT.starts} starts searched"),
    )  # fmt: skip
    progress("simulating it without and with a payload, each with a preload that is not logged")
    lab = _laboratory(seed)
    other = fourier_within_limits(model, Fourier(_HARMONICS, _SECONDS), lab.rng, 0.7)
    empty = lab.record(design, name="empty", preload=_preload(8.0))
    loaded = lab.record(design, name="loaded", payload="load", preload=_preload(-5.0))
    unseen = lab.record(other, _SECONDS, name="unseen", payload="load", preload=_preload(3.0))
    progress("identifying from the two logs: base parameters of the robot and of the payload")
    fit = identify(model, [empty, loaded])
    progress("predicting a motion that the fit has not seen")
    validation = validate(fit.fit, unseen)
    return Story(design, (empty, loaded, unseen), fit, validation, _closure(fit, unseen))


def _laboratory(seed: int) -> Laboratory:
    law = Preload(ComputedTorque(bandwidth=30.0, damping=0.7, derivative_cutoff=300.0))
    return Laboratory.of(load_robot("dualv"), law, _SENSING, seed, payloads={"load": _LOAD}, options=Options(1000.0))


def _preload(size: float) -> Callable[[Array], Array]:
    """Internal torque per motor (n, 4) [N m]: a constant part and one that wanders."""

    def torque(t: Array) -> Array:
        return np.outer(size * (1.0 + 0.4 * np.sin(1.3 * t)), [1.0, -1.0, 1.0, -1.0])

    return torque


def _closure(fit: Identification, log: Log) -> float:
    """Largest loop error [m] along a log, from its motor angles alone."""
    model = fit.prepared.model
    y = Closer(model).positions(log.q[::10], log.t[::10])
    return float(np.abs(model.loops_kernel()(y)["c"]).max())
