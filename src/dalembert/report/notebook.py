"""What a notebook shows of an object: a headline and a table, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import singledispatch
from html import escape

from dalembert.excitation import Design
from dalembert.identification.base import BaseSet
from dalembert.identification.fit import Fit
from dalembert.identification.fit_text import fit_headline
from dalembert.logs import Log
from dalembert.report.numbers import percent, significant, unit_text
from dalembert.report.sections.parameters import parameter_row
from dalembert.robot import Robot
from dalembert.robot.robot_text import body_cells, headline, loop_cells, motor_cells, sensor_cells
from dalembert.validation import Validation

__all__ = ["html"]

_MARKS = {"good": "●", "fair": "◐", "poor": "○", "open": "–"}
Cells = Sequence[Sequence[str]]


@singledispatch
def html(thing: object) -> str:
    """HTML of an object; its own text where it has no table."""
    return f"<pre>{escape(str(thing))}</pre>"


@html.register
def _robot(robot: Robot) -> str:
    found = (body_cells(robot), loop_cells(robot), motor_cells(robot), sensor_cells(robot))
    tables = [_table(cells) for cells in found if len(cells) > 1]
    return _block(headline(robot), *tables, note=robot.source)


@html.register
def _log(log: Log) -> str:
    return _block(log.headline, _table(log.cells(), right=(1, 2, 3)), note="\n".join(log.notes))


@html.register
def _fit(fit: Fit) -> str:
    rows = [parameter_row(p, k) for k, p in enumerate(fit.parameters)]
    shown: Cells = [
        ("parameter", "value", "± 95 %", "unit", "determined", "stands for"),
        *(
            (row["name"], row["value"], row["half"], row["unit"], f"{_MARKS[row['state']]} {row['word']}", _more(row))
            for row in rows
        ),
    ]
    errors: Cells = [
        ("torque", "RMS", "", "error"),
        *((r.name, significant(r.rms, 3), unit_text(r.unit), percent(r.relative_error)) for r in fit.rows),
    ]
    return _block(fit_headline(fit), _table(shown, right=(1, 2)), _table(errors, right=(1, 3)), note=fit.message)


def _more(row: dict[str, str]) -> str:
    return row["regrouping"] if row["regrouping"] != row["name"] else ""


@html.register
def _validation(validation: Validation) -> str:
    return _block(validation.headline, _table(validation.cells(), right=(1, 2, 4, 5, 6, 7)))


@html.register
def _base(base: BaseSet) -> str:
    return _block(base.headline, _table([("base parameter", "is"), *base.relations().items()]))


@html.register
def _design(design: Design) -> str:
    rows: Cells = [
        ("parameter", "value known", "expected sigma", "unit", ""),
        *(
            (p.name, significant(p.value, 4), significant(p.sigma, 3), unit_text(p.unit), p.why)
            for p in design.parameters
        ),
    ]  # fmt: skip
    return _block(design.headline, _table(rows, right=(1, 2)), note="\n".join(design.notes))


def _block(title: str, *tables: str, note: str = "") -> str:
    said = f"<p>{escape(note)}</p>" if note else ""
    return f"<div><p><b>{escape(title)}</b></p>{said}{''.join(tables)}</div>"


def _table(cells: Cells, right: Collection[int] = ()) -> str:
    """A table that scrolls when it is long; the first row is its header, numbers stand to the right."""

    def line(row: Sequence[str], tag: str) -> str:
        sides = ["right" if k in right else "left" for k in range(len(row))]
        look = [f"text-align:{side};padding:.1em .6em" for side in sides]
        inner = (f'<{tag} style="{style}">{escape(c)}</{tag}>' for style, c in zip(look, row, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(line(row, "td") for row in cells[1:])
    table = f"<table><thead>{line(cells[0], 'th')}</thead><tbody>{body}</tbody></table>"
    return f'<div style="max-height:32em;overflow:auto;display:inline-block;vertical-align:top">{table}</div>'
