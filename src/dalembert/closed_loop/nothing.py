"""The result of an identification whose first simulation failed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.identification.outcome import finish
from dalembert.identification.prepare import Prepared
from dalembert.identification.problem import Status
from dalembert.identification.simulating import Settled

__all__ = ["nothing"]


def nothing(method: str, prepared: Prepared, status: Status, message: str) -> Settled:
    """A result without any value, and why: all of the torque is left unexplained."""
    problem = prepared.problem.restrict(())
    estimate = finish(
        method, problem, np.zeros(0), np.ones(len(problem.factors)), gain=np.zeros((0, 0)), rank=0, condition=1.0,
        status=(status, message), settings={},
    )  # fmt: skip
    return Settled(replace(prepared, problem=problem), estimate, None)
