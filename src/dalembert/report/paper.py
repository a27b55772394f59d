"""Figures for papers: the pictures of the report drawn by matplotlib, and the parameters as a LaTeX table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dalembert.errors import UsageError, choices
from dalembert.identification.fit import Fit
from dalembert.report.builder import contents
from dalembert.report.evidence import Evidence, gather
from dalembert.report.figure import draw
from dalembert.report.latex import parameter_table
from dalembert.report.panels import Picture
from dalembert.report.sheet import drawn
from dalembert.robot.interchange import write_atomically
from dalembert.validation import CrossValidation, Validation

__all__ = ["FORMATS", "TABLE_FILE", "Sheet", "figure_files", "formats_named", "sheets", "write_figures"]

FORMATS = ("pdf", "svg", "png")
TABLE_FILE = "parameters.tex"
_COLUMNS = 2  # of panels on a sheet


@dataclass(frozen=True, slots=True)
class Sheet:
    """Pictures of one kind and log that make one file, and how many stand beside each other."""

    name: str
    pictures: tuple[Picture, ...]
    columns: int


def formats_named(given: Sequence[str]) -> tuple[str, ...]:
    """Formats from names that may be joined by commas."""
    names = [name.strip().lower() for text in given for name in text.split(",")]
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"figures: format {name!r}; {choices(name, FORMATS)}")
    return tuple(dict.fromkeys(names))


def write_figures(
    folder: str | Path,
    fit: Fit,
    validation: Validation | None = None,
    *,
    formats: str | Sequence[str] = ("pdf",),
    compared: Mapping[str, Fit] | Sequence[tuple[str, Fit]] = (),
    crossed: CrossValidation | None = None,
) -> list[Path]:
    """Write the report's figures for a paper (``formats``: pdf, svg, png) and ``parameters.tex`` into a folder, made if
    there is none. The other arguments are those of :func:`~dalembert.write_report`.
    """
    chosen = formats_named([formats] if isinstance(formats, str) else formats)
    others = tuple(compared.items()) if isinstance(compared, Mapping) else tuple(compared)
    return figure_files(Path(folder), gather(fit, validation, compared=others, crossed=crossed), chosen)


def figure_files(folder: Path, evidence: Evidence, formats: Sequence[str]) -> list[Path]:
    """Write the figures of an evidence and the table of its parameters."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for sheet in sheets(evidence):
        for kind, data in drawn(sheet.pictures, sheet.columns, formats).items():
            files.append(folder / f"{sheet.name}.{kind}")
            write_atomically(files[-1], data)
    if evidence.model:
        for kind in formats:
            files.append(folder / f"robot.{kind}")
            draw(evidence.model.model, files[-1])
    files.append(folder / TABLE_FILE)
    write_atomically(files[-1], parameter_table(evidence.fit))
    return files


def sheets(evidence: Evidence) -> list[Sheet]:
    """What the report draws, by kind of picture and log."""
    found: dict[tuple[str, str], list[Picture]] = {}
    for content in contents(evidence):
        for picture in content.pictures:
            kind, *number = picture.key.split("-")[:2]
            found.setdefault((kind, number[0] if number else ""), []).append(picture)
    logs = _file_names([track.name for track in evidence.tracks])
    return [
        Sheet(f"{kind}-{logs[int(number)]}" if number else kind, tuple(pictures), min(_COLUMNS, len(pictures)))
        for (kind, number), pictures in found.items()
    ]


def _file_names(names: Sequence[str]) -> list[str]:
    """Names of logs that may stand in a file name, each once."""
    plain = [re.sub(r"[^\w.-]+", "_", name) or "log" for name in names]
    return [name if plain.count(name) == 1 else f"{name}-{k + 1}" for k, name in enumerate(plain)]
