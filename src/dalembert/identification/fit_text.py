"""A fit as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.display import aligned, number
from dalembert.identification.verdict import Verdict
from dalembert.parameters import INERTIAL, inertial_names

if TYPE_CHECKING:
    from dalembert.identification.fit import Fit, FitParameter

__all__ = ["Need", "fit_headline", "fit_lines", "needs"]

_SHORT = {Verdict.WELL: "well", Verdict.WEAK: "weakly", Verdict.NOT: "NOT"}


def fit_headline(fit: Fit) -> str:
    """What was found, in one line."""
    kept = sum(p.essential for p in fit.parameters)
    of = f" ({kept} of them essential)" if kept < len(fit.parameters) else ""
    return (
        f"{fit.robot}: {len(fit.parameters)} base parameters{of} by {fit.method}, {fit.status}; "
        f"torque error {100.0 * fit.relative_error:.2f} %, condition {fit.condition:.4g}"
    )


def fit_lines(fit: Fit) -> list[str]:
    """The lines of ``print(fit)``."""
    lines = [fit_headline(fit)]
    if fit.message:
        lines.append(f"{fit.message}; {fit.remedy}" if fit.remedy else fit.message)
    header = ("parameter", "value", "sigma", "robust", "95 % from", "to", "unit", "determined")
    lines += ["", *aligned([header, *(_cells(p) for p in fit.parameters)], right=range(1, 6))]
    lines += _gains(fit) + _shapes(fit)
    lines += _regroupings(fit.parameters)
    if fit.standard:
        lines += _standard(fit)
    cells = [
        (r.name, f"{r.rows} rows", f"RMS {r.rms:.4g} {r.unit}", f"{100.0 * r.relative_error:.2f} %") for r in fit.rows
    ]
    lines += ["", "torque error of each row group", *aligned(cells, right=(1, 3), indent="  ")]
    lines += _help(fit.parameters)
    doubts = fit.provenance.get("doubts", ())
    return lines + (["", "doubtful", *(f"  {doubt}" for doubt in doubts)] if doubts else [])


def _cells(p: FitParameter) -> tuple[str, ...]:
    return (
        p.name, number(p.value, ".5g"), number(p.sigma, ".2g"), number(p.sigma_robust, ".2g"), number(p.low),
        number(p.high), p.unit,
        _verdict(p),
    )  # fmt: skip


def _verdict(p: FitParameter) -> str:
    if not p.essential:
        return "left out"
    if p.sigma == 0.0 and p.sigma_robust == 0.0:
        return "given"
    if not p.verdict:
        return ""
    zero = p.low is not None and p.high is not None and p.low <= 0.0 <= p.high
    return _SHORT[Verdict(p.verdict)] + (", about 0" if zero and p.verdict == Verdict.WELL else "")


def _gains(fit: Fit) -> list[str]:
    """Torque constants found with the parameters."""
    found = fit.provenance.get("gains")
    if not found:
        return []
    cells = [(motor, number(g["value"], ".5g"), number(g["sigma"], ".2g")) for motor, g in found.items()]
    return ["", "torque constants, times what the channel map says", *aligned(
        [("motor", "gain", "sigma"), *cells], right=(1, 2), indent="  ")]  # fmt: skip


def _shapes(fit: Fit) -> list[str]:
    """Speeds that friction is not linear in."""
    found = fit.provenance.get("shapes")
    if not found:
        return []
    cells = [(name, number(s["value"], ".4g"), number(s["sigma"], ".2g"), s["unit"]) for name, s in found.items()]
    return ["", "friction that is not linear in a speed", *aligned(
        [("shape", "value", "robust", "unit"), *cells], right=(1, 2), indent="  ")]  # fmt: skip


def _regroupings(parameters: Sequence[FitParameter]) -> list[str]:
    """What parameters stand for that are more than themselves."""
    cells = [(p.name, f"= {p.regrouping}") for p in parameters if " " in p.regrouping]
    return ["", "regrouped", *aligned(cells, indent="  ")] if cells else []


def _standard(fit: Fit) -> list[str]:
    """Bodies in a table of ten columns; the others where no base parameter above is the same."""
    standard, alone = fit.standard, {p.name for p in fit.parameters}
    prefix = INERTIAL[0] + "_"
    bodies = [name.removeprefix(prefix) for name in standard if name.startswith(prefix)]
    bodies = [b for b in bodies if all(name in standard for name in inertial_names(b))]
    rows = [(b, *(number(standard[name], ".4g") for name in inertial_names(b))) for b in bodies]
    own = {name for b in bodies for name in inertial_names(b)}
    others = [(name, number(value, ".5g")) for name, value in standard.items() if name not in own | alone]
    header = ("body", *INERTIAL)
    lines = ["", "standard parameters [kg m^2, kg m, kg], each body in its joint frame"]
    lines += aligned([header, *rows], right=range(1, 11), indent="  ")
    return lines + aligned(others, right=(1,), indent="  ")


@dataclass(frozen=True, slots=True)
class Need:
    """What would fix some parameters: their verdict, their names and the motion they need."""

    verdict: str
    names: tuple[str, ...]
    motion: str


def needs(parameters: Sequence[FitParameter]) -> tuple[tuple[Need, ...], tuple[str, ...]]:
    """Which motion would fix what is not well determined, alike needs together; and which parameters move together."""
    found: dict[tuple[str, str], list[str]] = {}
    together = []
    for p in parameters:
        if not p.hint:
            continue
        need, moves, tail = p.hint.partition("; moves ")
        owner = re.escape(p.name.partition("_")[2])
        found.setdefault((p.verdict, re.sub(rf"\bof {owner}\b", "of {}", need)), []).append(p.name)
        if tail:
            together.append(f"{p.name}{moves.removeprefix(';')}{tail}")
    out = []
    for verdict in (Verdict.NOT, Verdict.WEAK):
        for (graded, need), names in found.items():
            if graded == verdict:
                owners = ", ".join(dict.fromkeys(name.partition("_")[2] for name in names))
                out.append(Need(verdict, tuple(names), need.replace("{}", owners)))
    return tuple(out), tuple(together)


def _help(parameters: Sequence[FitParameter]) -> list[str]:
    found, together = needs(parameters)
    lines = []
    for verdict in (Verdict.NOT, Verdict.WEAK):
        mine = [need for need in found if need.verdict == verdict]
        if mine:
            lines += ["", f"{verdict}", *(f"  {', '.join(need.names)}: {need.motion}" for need in mine)]
    return lines + [f"  {tail}" for tail in together]
