"""Several fits beside each other, and what was known before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.identification.fit import Fit, FitParameter
from dalembert.report.evidence import Evidence
from dalembert.report.numbers import percent, significant, unit_text, with_interval
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.contract import Content
from dalembert.report.sections.parameters import half_interval

__all__ = ["section"]

_ROLES: tuple[Any, ...] = ("2", "3", "4", "5", "6")
Values = Mapping[str, tuple[float, float | None]]


def section(evidence: Evidence) -> Content | None:
    """Values beside each other, and their differences as shares of the torque."""
    others: list[tuple[str, Values]] = [(name, _values(fit)) for name, fit in evidence.compared]
    if evidence.prior:
        others.insert(0, ("nominal", {name: (value, None) for name, value in evidence.prior.items()}))
    kept = [p for p in evidence.fit.parameters if p.essential]
    shared = [p for p in kept if any(p.name in values for _, values in others)]
    if not shared:
        return None
    scores = [("this fit", evidence.fit.method, percent(evidence.fit.relative_error))]
    scores += [(name, fit.method, percent(fit.relative_error)) for name, fit in evidence.compared]
    shown = {
        "names": [name for name, _ in others], "rows": [_row(p, others) for p in shared], "scores": scores,
        "several": bool(evidence.compared), "missing": len(kept) - len(shared),
    }  # fmt: skip
    panel = _panel(evidence, shared, others)
    return Content("comparison", "Comparison", "Comparison", shown, (panel,) if panel else ())


def _values(fit: Fit) -> Values:
    return {p.name: (p.value, half_interval(p)) for p in fit.parameters if p.essential}


def _row(p: FitParameter, others: list[tuple[str, Values]]) -> dict[str, Any]:
    own = half_interval(p)
    value, half = with_interval(p.value, own)
    cells = []
    for _, values in others:
        if p.name not in values:
            cells.append({"value": "", "half": "", "off": "", "agrees": True})
            continue
        theirs, width = values[p.name]
        text, shown = with_interval(theirs, width) if width is not None else (significant(theirs, 4), "")
        reach = float(np.hypot(own or 0.0, width or 0.0))
        off = abs(theirs - p.value) / reach if reach > 0.0 else 0.0
        cells.append({"value": text, "half": shown, "off": significant(off, 2), "agrees": off <= 1.0})
    return {"name": p.name, "value": value, "half": half, "unit": unit_text(p.unit), "cells": cells}


def _panel(evidence: Evidence, shared: list[FitParameter], others: list[tuple[str, Values]]) -> Panel | None:
    """Every parameter in the one unit all share: the torque it makes along the logs, as a share of all torque."""
    share = _torque_shares(evidence)
    rows = [(k, p) for k, p in enumerate(shared) if share.get(p.name, 0.0) > 0.0]
    if not rows:
        return None
    places = np.array([k for k, _ in rows], dtype=float)
    size = np.array([100.0 * share[p.name] for _, p in rows])
    half = np.array([half_interval(p) or 0.0 for _, p in rows])
    own = Curve(
        "this fit", places, "1", x=size * np.array([p.value for _, p in rows]), points=True, error=size * half
    )  # fmt: skip
    curves = [own]
    for number, (name, values) in enumerate(others):
        x = np.array([values.get(p.name, (np.nan, None))[0] for _, p in rows])
        curves.append(Curve(name, places, _ROLES[number % len(_ROLES)], x=size * x, points=True))
    return Panel(
        "comparison", "Torque each parameter makes along the logs", "share of the torque's norm [%]", ("",),
        tuple(curves), ticks=tuple(p.name for p in shared), height=80 + 15 * len(shared),
    )  # fmt: skip


def _torque_shares(evidence: Evidence) -> dict[str, float]:
    """Norm of each kept column over that of the torque."""
    found = evidence.identification
    if found is None or not found.prepared.problem.torque_norm > 0.0:
        return {}
    problem = found.prepared.problem
    norms = np.sqrt(sum(np.sum(f.R[:, list(problem.kept)] ** 2, axis=0) for f in problem.factors))
    names = [p.name for p in found.parameters if p.essential]
    return dict(zip(names, (norms / problem.torque_norm).tolist(), strict=True))
