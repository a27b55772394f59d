"""The parameters of a fit as a LaTeX table."""

from __future__ import annotations

import re

from dalembert.identification.fit import Fit, FitParameter
from dalembert.report.numbers import with_interval
from dalembert.report.sections.parameters import half_interval

__all__ = ["escaped", "parameter_table"]

_LONGEST = 35  # rows of a table; what has more stands in two halves beside each other
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_DOWN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−–", "-0123456789--")


def parameter_table(fit: Fit) -> str:
    """A ``tabular`` for booktabs: value, half width of the 95 % interval and unit of every essential parameter.

    What the parameters stand for is told in comments.
    """
    kept = [p for p in fit.parameters if p.essential]
    halves = 1 if len(kept) <= _LONGEST else 2
    count = -(-len(kept) // halves)
    columns = [[_cells(p) for p in kept[k * count : (k + 1) * count]] for k in range(halves)]
    columns[-1] += [("", "", "", "")] * (count - len(columns[-1]))
    head = " & ".join([r"parameter & \multicolumn{1}{c}{value} & \multicolumn{1}{c}{$\pm$ 95\,\%} & unit"] * halves)
    return "\n".join([
        rf"% {_line(fit.robot)} by {_line(fit.method)}, written by dalembert; needs \usepackage{{booktabs}}",
        r"\begin{tabular}{@{}" + r"@{\qquad}".join(["lrrl"] * halves) + "@{}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *(" & ".join(cell for cells in row for cell in cells) + r" \\" for row in zip(*columns, strict=True)),
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {_line(p.name)} = {_line(p.regrouping)}" for p in kept if p.regrouping not in ("", p.name)),
        "",
    ])  # fmt: skip


def _cells(p: FitParameter) -> tuple[str, str, str, str]:
    value, half = with_interval(p.value, half_interval(p))
    return _symbol(p.name), _number(value), _number(half), _unit(p.unit)


def _symbol(name: str) -> str:
    """``ZZR_link1`` as ZZR with the index link1."""
    head, _, tail = name.partition("_")
    if not tail:
        return rf"\textit{{{escaped(head)}}}"
    return rf"$\mathit{{{escaped(head)}}}_{{\mathrm{{{escaped(tail)}}}}}$" if _plain(name) else escaped(name)


def _plain(name: str) -> bool:
    return re.fullmatch(r"\w+", name, re.ASCII) is not None


def _number(text: str) -> str:
    """What :mod:`~dalembert.report.numbers` wrote, in mathematics."""
    mantissa, times, power = text.partition("·10")
    if not any(letter.isdigit() for letter in mantissa):
        return "--"
    scale = rf" \cdot 10^{{{power.translate(_DOWN)}}}" if times else ""
    return f"${mantissa.translate(_DOWN)}{scale}$"


def _unit(unit: str) -> str:
    return re.sub(r"\\textasciicircum\{\}(-?\d+)", r"$^{\1}$", escaped(unit)).replace(" ", r"\,")


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_SPECIAL.get(letter, letter) for letter in _line(text))


def _line(text: str) -> str:
    """In one line: nothing that a comment or a cell could end by."""
    return " ".join(text.split())
