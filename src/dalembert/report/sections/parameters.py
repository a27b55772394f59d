"""The identified parameters: value, interval, verdict, what each stands for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dalembert.identification.fit import FitParameter
from dalembert.identification.verdict import Verdict
from dalembert.parameters import INERTIAL, inertial_names
from dalembert.report.evidence import Evidence
from dalembert.report.numbers import percent, significant, unit_text, with_interval
from dalembert.report.sections.contract import Content

__all__ = ["body_rows", "half_interval", "parameter_row", "section"]

_KINDS = (range(6), range(6, 9), range(9, 10))  # inertia, first moment, mass: one unit each
_NOTHING = 1e-9  # of the largest of its kind in the robot: what rounding leaves of a zero
_WORDS = {Verdict.WELL: ("well", "good"), Verdict.WEAK: ("weakly", "fair"), Verdict.NOT: ("not", "poor")}


def half_interval(p: FitParameter) -> float | None:
    """Half width of the 95 % interval."""
    return None if p.low is None or p.high is None else 0.5 * (p.high - p.low)


def section(evidence: Evidence) -> Content:
    """A row for each base parameter; a table of the bodies where the method gives them."""
    fit = evidence.fit
    rows = [parameter_row(p, k) for k, p in enumerate(fit.parameters)]
    count = Counter(row["state"] for row in rows)
    kinds = [(state, word, count[state]) for word, state in [*_WORDS.values(), ("left out", "open")] if count[state]]
    shown = {
        "rows": rows, "kinds": kinds, "bodies": body_rows(fit.standard), "symbols": INERTIAL,
        "robust": any(p.sigma_robust is not None for p in fit.parameters),
    }  # fmt: skip
    return Content("parameters", "Parameters", "Parameters", shown)


def parameter_row(p: FitParameter, k: int) -> dict[str, Any]:
    """What is told of one parameter, number ``k`` of its fit."""
    half = half_interval(p)
    value, width = with_interval(p.value, half)
    word, state = ("left out", "open") if not p.essential else ("", "open")
    if p.essential and p.verdict:
        word, state = _WORDS[Verdict(p.verdict)]
        if state == "good" and p.low is not None and p.high is not None and p.low <= 0.0 <= p.high:
            word = "well, about 0"
    relative = None if half is None or p.value == 0.0 else half / abs(p.value)
    sort = {"value": p.value, "half": -1.0 if half is None else half, "relative": relative or 0.0}
    return {
        "number": k, "name": p.name, "value": value, "half": width, "unit": unit_text(p.unit), "word": word,
        "state": state, "relative": "> 100 %" if (relative or 0.0) > 1.0 else percent(relative, 2), "hint": p.hint,
        "regrouping": p.regrouping, "sigma": significant(p.sigma, 2), "robust": significant(p.sigma_robust, 2),
        "low": significant(p.low, 4), "high": significant(p.high, 4), "sort": sort,
    }  # fmt: skip


def body_rows(standard: Any) -> list[tuple[str, list[str]]]:
    """Name and ten parameters of every body whose parameters are all given."""
    prefix = INERTIAL[0] + "_"
    bodies = [name.removeprefix(prefix) for name in standard if name.startswith(prefix)]
    bodies = [b for b in bodies if all(name in standard for name in inertial_names(b))]
    values = {b: [standard[name] for name in inertial_names(b)] for b in bodies}
    largest = [max((abs(row[k]) for row in values.values() for k in kind), default=0.0) for kind in _KINDS]
    nothing = [_NOTHING * size for size, kind in zip(largest, _KINDS, strict=True) for _ in kind]
    return [
        (b, [significant(0.0 if abs(v) < zero else v, 4) for v, zero in zip(row, nothing, strict=True)])
        for b, row in values.items()
    ]
