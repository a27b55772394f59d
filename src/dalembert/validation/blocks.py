"""Cross-validation: the fit made again without one stretch of the logs and scored on it, for each stretch in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import EstimationError
from dalembert.identification.choose_friction import GUARD, Part, squares
from dalembert.identification.factor import accumulate
from dalembert.identification.friction import contiguous_folds
from dalembert.identification.identify import Identification
from dalembert.identification.problem import Estimator
from dalembert.identification.substitution import keeping

__all__ = ["CrossValidation", "cross_validate"]


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Relative torque errors: over all stretches left out, on each of them, and of the fit to all rows."""

    method: str
    relative_error: float
    blocks: tuple[float, ...]
    fitted_error: float

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """One line."""
        each = ", ".join(f"{100 * error:.2f}" for error in self.blocks)
        return (
            f"{len(self.blocks)} blocks left out in turn: torque error {100 * self.relative_error:.2f} % "
            f"({each}), fitted {100 * self.fitted_error:.2f} %"
        )


def _silent(_: str) -> None:
    """Progress nobody asked for."""


def cross_validate(
    found: Identification, estimator: Estimator, blocks: int = 5, *, progress: Callable[[str], None] = _silent
) -> CrossValidation:
    """Refit an identification by ``estimator`` with each of ``blocks`` contiguous stretches of its logs left out.

    Friction shapes and the base set stay as they were found on all rows. Rows whose noise the low-pass ties to that of
    a stretch are in neither part.
    """
    problem, runs = found.prepared.problem, found.prepared.rigid.runs
    estimator = keeping(estimator, problem.constraints)
    if problem.instruments is not None:
        raise EstimationError("cross-validation: not offered with instruments, expected another method")
    instants = {run.name: -(-run.plan.samples // run.plan.decimation.factor) for run in runs}
    sums = []
    for fold in contiguous_folds(instants, blocks, GUARD):
        progress(f"block {fold.number + 1} of {blocks} left out")
        train = Part(problem.rows, fold, held=False)
        estimate = estimator.estimate(replace(problem, rows=train, factors=accumulate(train)))
        columns, values = list(problem.kept), estimate.values
        if estimate.standard is not None:
            columns, values = list(range(len(problem.parameters))), estimate.standard
        sums.append(squares(Part(problem.rows, fold, held=True), columns, values))
    total = np.sum(sums, axis=0)
    if not (np.array(sums)[:, 1] > 0.0).all():
        raise EstimationError("cross-validation: a block left out has no torque, expected longer logs or fewer blocks")
    each = tuple(float(np.sqrt(error / torque)) for error, torque in sums)
    return CrossValidation(found.method, float(np.sqrt(total[0] / total[1])), each, found.relative_error)
