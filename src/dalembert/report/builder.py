"""The report: sections made from the evidence, put into one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from dalembert.identification.fit import Fit
from dalembert.report.evidence import Evidence, gather
from dalembert.report.inline import asset, plotly_bundle, script_json
from dalembert.report.sections import SECTIONS, Content
from dalembert.robot.interchange import write_atomically
from dalembert.validation import CrossValidation, Validation

__all__ = ["REPORT_FILE", "contents", "page", "report_file", "write_report"]

REPORT_FILE = "report.html"


def write_report(
    folder: str | Path,
    fit: Fit,
    validation: Validation | None = None,
    *,
    compared: Mapping[str, Fit] | Sequence[tuple[str, Fit]] = (),
    crossed: CrossValidation | None = None,
) -> Path:
    """Write ``report.html`` into a folder, made if there is none, and return its path.

    A fit straight from :func:`~dalembert.identify` shows its logs; one read from ``fit.json`` has none and shows
    those of the validation. ``compared``: further fits by name, shown beside this one.
    """
    others = tuple(compared.items()) if isinstance(compared, Mapping) else tuple(compared)
    return report_file(Path(folder), gather(fit, validation, compared=others, crossed=crossed))


def report_file(folder: Path, evidence: Evidence) -> Path:
    """Write the report of an evidence."""
    text = page(evidence)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / REPORT_FILE, text)
    return folder / REPORT_FILE


def contents(evidence: Evidence) -> tuple[Content, ...]:
    """The sections that have something to show."""
    made = (section(evidence) for section in SECTIONS)
    return tuple(content for content in made if content is not None)


def page(evidence: Evidence) -> str:
    """The HTML text of a report."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    shelf = Environment(
        loader=PackageLoader("dalembert.report", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made = contents(evidence)
    data = {
        "pictures": {p.key: p.to_dict() for content in made for p in content.pictures},
        **{content.key: dict(content.data) for content in made if content.data},
    }
    return shelf.get_template("page.html.j2").render(
        sections=made, fit=evidence.fit, lead=next(c.shown for c in made if c.key == "provenance"),
        data=script_json(data), plotly=plotly_bundle(),
        written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        style=asset("page.css"), scripts=[asset(name) for name in ("plots.js", "motion.js", "page.js")],
    )  # fmt: skip
