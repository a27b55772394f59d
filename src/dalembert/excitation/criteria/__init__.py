"""What makes one motion better than another: functions of the information matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dalembert.errors import UsageError, choices
from dalembert.excitation.criteria.chosen import Chosen
from dalembert.excitation.criteria.condition import Condition, condition_number
from dalembert.excitation.criteria.criterion import Context, Criterion
from dalembert.excitation.criteria.determinant import LogDet
from dalembert.excitation.criteria.smallest import SmallestEigenvalue
from dalembert.excitation.criteria.traces import RelativeVariance, TorqueVariance

__all__ = [
    "CRITERIA",
    "Chosen",
    "Condition",
    "Context",
    "Criterion",
    "LogDet",
    "RelativeVariance",
    "SmallestEigenvalue",
    "TorqueVariance",
    "condition_number",
    "criterion_of",
    "stages",
]

CRITERIA: Mapping[str, Callable[[], Criterion]] = {
    "logdet": LogDet,
    "torque": TorqueVariance,
    "relative": RelativeVariance,
    "relative-worst": lambda: RelativeVariance(worst=True),
    "smallest": SmallestEigenvalue,
    "condition": Condition,
    "condition-normalised": lambda: Condition(normalised=True),
}
_SHARPNESS = (4.0, 12.0, 40.0, 120.0)  # eigenvalue norms are sharpened step by step: p = 120 alone stalls early


def criterion_of(name: str | Criterion, patterns: str | Sequence[str] = ()) -> Criterion:
    """A criterion by its name; ``chosen`` takes the name of a parameter, or several."""
    patterns = (patterns,) if isinstance(patterns, str) else patterns
    if not isinstance(name, str):
        return name
    if name == "chosen" or patterns:
        if not patterns:
            raise UsageError("criterion 'chosen': no parameters named, expected names or patterns such as '*_payload'")
        if name not in ("chosen", "logdet"):
            raise UsageError(f"parameters {', '.join(patterns)}: criterion {name!r} takes none, only 'chosen' does")
        return Chosen(tuple(patterns))
    if name not in CRITERIA:
        raise UsageError(f"criterion {name!r}; {choices(name, (*CRITERIA, 'chosen'))}")
    return CRITERIA[name]()


def stages(criterion: Criterion) -> tuple[Criterion, ...]:
    """The criterion in the steps it is best minimised by."""
    if isinstance(criterion, Condition):
        return tuple(Condition(criterion.normalised, p) for p in _SHARPNESS)
    if isinstance(criterion, SmallestEigenvalue):
        return tuple(SmallestEigenvalue(p) for p in _SHARPNESS)
    return (criterion,)
