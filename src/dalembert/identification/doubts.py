"""What makes a fit doubtful however small its sigmas: torque it leaves unexplained, values no robot can have."""

from __future__ import annotations

import numpy as np

from dalembert.identification.problem import Estimate, Problem
from dalembert.identification.uncertainty import Robust
from dalembert.parameters import INERTIAL

__all__ = ["doubts"]

UNEXPLAINED = 0.5  # of a row group's torque: real arms with the simplest friction leave 0.05 to 0.2
POSITIVE = tuple(symbol for symbol in INERTIAL if symbol in ("XX", "YY", "ZZ", "M"))


def doubts(problem: Problem, estimate: Estimate, robust: Robust | None) -> tuple[str, ...]:
    """One line for each reason to doubt a fit."""
    out = []
    worst = [f"{100.0 * g.relative:.0f} % of {g.group}" for g in estimate.groups if g.rows and g.relative > UNEXPLAINED]
    if worst:
        out.append(
            f"torque not explained: {', '.join(worst)}; is it this robot's log, with the right columns, signs, units "
            "and gear ratios? ('dalembert check' compares them)"
        )
    if robust is not None and (negative := _negative(problem, estimate, robust)):
        out.append(
            f"below zero with their whole intervals: {', '.join(negative)}; friction cannot drive, and bodies and "
            "rotors weigh: a sign or gear ratio is wrong, or the torque holds something the model does not have"
        )
    return tuple(out)


def _negative(problem: Problem, estimate: Estimate, robust: Robust) -> list[str]:
    """Parameters that stand alone in their base parameter, cannot be negative, and are."""
    alone = {c for row, c in enumerate(problem.base.independent) if not np.any(problem.base.K[row])}
    signed = set(problem.nonnegative)
    signed |= {c for c, name in enumerate(problem.parameters) if name.startswith(tuple(f"{s}_" for s in POSITIVE))}
    high = robust.intervals(estimate.values)[:, 1]
    rows = zip(problem.kept, estimate.names, high, estimate.determined, strict=True)
    return [name for column, name, top, known in rows if known and column in alone & signed and top < 0.0]
