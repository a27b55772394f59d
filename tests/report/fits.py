"""A fit of the DualV with and without payload under a preload, and its validation: what the report tests look at."""

from __future__ import annotations

from functools import cache

import numpy as np
from tests.identification.recovery import model_of, preload

from dalembert.excitation import Fourier
from dalembert.identification.identify import Identification, identify
from dalembert.model import build_model
from dalembert.parameters import BodyInertia, inertial_names
from dalembert.report.evidence import Evidence, gather
from dalembert.robot import load_robot, with_payload
from dalembert.simulation.synthetic import random_recording
from dalembert.validation import Validation, validate

LOAD = BodyInertia(5.37, (-0.02, 0.0, 0.02), (0.01, 0.0, 0.0, 0.012, 0.0, 0.016))


@cache
def evidence() -> Evidence:
    """What a report of :func:`dualv` shows."""
    return gather(*dualv())


@cache
def dualv() -> tuple[Identification, Validation]:
    """Two logs of 6 s to identify from, one with a payload, and a third to predict."""
    rng, motion = np.random.default_rng(3), Fourier(6, 6.0)
    loaded_model = build_model(with_payload(load_robot("dualv"), "load"))
    values = dict(zip(inertial_names("load"), LOAD.parameters(), strict=True)) | dict(model_of("dualv").robot.nominal)
    pi = np.array([values[name] for name in loaded_model.parameters])
    free, other = (
        random_recording(model_of("dualv"), rng, family=motion, preload=preload, name=name).log
        for name in ("free", "other")
    )
    loaded = random_recording(
        loaded_model, rng, family=motion, preload=preload, pi=pi, payload="load", name="loaded"
    ).log
    fit = identify(model_of("dualv"), [free, loaded])
    return fit, validate(fit, other)
