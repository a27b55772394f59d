"""What rows say of themselves before anything is estimated: motors that stand for all, groups that are left empty."""

from __future__ import annotations

from dalembert.errors import EstimationError
from dalembert.identification.observation import LogRows
from dalembert.identification.problem import Problem
from dalembert.motion import subset_conditions

__all__ = ["condition_of_motors", "rows_left"]

_HOPELESS = 1e6  # condition of chosen motors from which their rows hold few digits of the torque
_LOOKED_AT = 2000  # samples at which it is looked at


def condition_of_motors(rigid: LogRows) -> tuple[str, ...]:
    """For rows of chosen motors: the worst condition along the logs of every choice, and an error where it is hopeless.

    Case 2 of [Briot15] breaks where the chosen motors alone become singular: 1557 was seen where all of them stay at 8.
    """
    model = rigid.model
    if model.n == model.r or not rigid.projection.startswith("actuators"):
        return ()
    found = subset_conditions(model, rigid.sampled(_LOOKED_AT)[0])
    chosen = {name.strip() for name in rigid.projection.partition(":")[2].split(",")}
    mine = next(value for motors, value in found.items() if set(motors) == chosen)
    best, least = next(iter(found.items()))
    if not mine < _HOPELESS:
        raise EstimationError(
            f"projection {rigid.projection!r}: these motors alone are singular along the logs (condition {mine:.3g}); "
            f"expected actuators:{','.join(best)} ({least:.3g}), platform or whitened"
        )
    each = ", ".join(f"{'+'.join(motors)} {value:.3g}" for motors, value in found.items())
    return (f"worst condition along the logs of the motors projected on: {each}; whitened rows need no choice",)


def rows_left(rigid: LogRows, problem: Problem) -> tuple[str, ...]:
    """Notes on row groups that a mask leaves without rows; an error where it leaves none at all."""
    empty = [name for name, factor in zip(rigid.groups, problem.factors, strict=True) if not factor.rows]
    if len(empty) == len(rigid.groups):
        logs = ", ".join(run.name for run in rigid.runs)
        raise EstimationError(
            f"no rows are left of {logs}: some joint is too slow all the time; expected faster motion or a lower limit "
            "for slow samples (--mask-slow)"
        )
    return tuple(f"no rows of {name} are left: too slow all the time, or masked" for name in empty)
