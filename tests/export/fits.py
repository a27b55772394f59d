"""Fits of catalog robots with known values, made without a log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from tests.helpers.catalog import catalog_robot

from dalembert.identification.base import base_parameters, no_ties
from dalembert.identification.fit import Fit, FitParameter
from dalembert.identification.fitted import describe
from dalembert.identification.friction import FrictionLaws
from dalembert.model import Model, build_model
from dalembert.robot import Robot


@cache
def model_of(name: str) -> Model:
    return build_model(catalog_robot(name), backend="numpy")


def fit_of(
    model: Model,
    *,
    standard: bool = False,
    pi: Sequence[float] | None = None,
    described: Robot | None = None,
    laws: FrictionLaws | None = None,
    law_values: Sequence[float] = (),
    payloads: Sequence[str] = (),
    logs: Sequence[str] = ("",),
) -> Fit:
    """A fit that found ``pi`` (the nominal values unless given), as base or as standard parameters."""
    values = model.nominal() if pi is None else np.asarray(pi, dtype=float)
    found = base_parameters(model, payloads=payloads, carried=tuple(logs))
    beta = found.project(values)
    parameters = [FitParameter(n, float(v)) for n, v in zip(found.base_names, beta, strict=True)]
    columns = {n: found.names[i] for n, i in zip(found.base_names, found.independent, strict=True)}
    extra = dict(zip(laws.names, map(float, law_values), strict=True)) if laws else {}
    parameters += [FitParameter(n, v) for n, v in extra.items()]
    provenance: dict[str, Any] = {
        "columns": columns | {n: n for n in extra},
        "model": describe(
            described or model.robot, model.robot, laws, model.default_projection, np.ones(model.n), payloads, False
        ),
        "logs": [{"name": f"log{k}", "payload": label} for k, label in enumerate(logs)],
    }
    assert len(no_ties(model.parameters).names) == len(values)
    return Fit(
        robot=model.robot.name, method="sdp" if standard else "wls", status="converged", rank=len(parameters),
        condition=1.0, relative_error=0.0, rows=(), parameters=tuple(parameters),
        standard=dict(zip(model.parameters, values.tolist(), strict=True)) | extra if standard else {},
        provenance=provenance,
    )  # fmt: skip
