"""What logs already recorded, and designs already made, tell of the base parameters of the next design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.identification.outcome import own_scales
from dalembert.identification.prepare import Prepared

if TYPE_CHECKING:
    from dalembert.excitation.result import Design

__all__ = ["Known", "known_information"]

Array = NDArray[np.float64]
Known = "Prepared | Design"


def known_information(items: Sequence[Prepared | Design], names: Sequence[str]) -> Array:
    """Sum of the information of logs and designs on the base columns ``names`` (b, b).

    A log counts by what it is: its rows weighted by their own residuals. Parameters a log does not have (a payload it
    did not carry) it tells nothing of; one it has and the design has not is an error.
    """
    total = np.zeros((len(names), len(names)))
    for item in items:
        own, m = _of_log(item) if isinstance(item, Prepared) else (item.columns, item.information)
        strange = [name for name in own if name not in names]
        if strange:
            raise UsageError(
                f"given logs: their base parameter {strange[0]!r} is none of the design's; expected the same robot, "
                f"friction and ties"
            )
        at = [names.index(name) for name in own]
        total[np.ix_(at, at)] += m
    return total


def _of_log(prepared: Prepared) -> tuple[tuple[str, ...], Array]:
    problem = prepared.problem
    r = problem.weighted(own_scales(problem)[0])[:, list(problem.kept)]
    return problem.names, np.asarray(r.T @ r)
