"""What identify leaves on disk: fit, report, figures; everything asked for is checked before the work begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.errors import UsageError

if TYPE_CHECKING:
    from dalembert.identification.fit import Fit
    from dalembert.identification.identify import Identification
    from dalembert.validation import CrossValidation, Validation

__all__ = ["CompareOption", "FiguresOption", "Results", "Written", "results"]

FiguresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--figures",
        metavar="FORMAT",
        help="also the report's figures for a paper, as pdf, svg or png (or several, joined by commas), and "
        "parameters.tex, in DIR/figures",
    ),
]
CompareOption = Annotated[
    list[str] | None,
    typer.Option(
        "--compare", metavar="FIT", help="another fit (fit.json or its folder) to show beside this one in the report"
    ),
]


@dataclass(frozen=True, slots=True)
class Written:
    """The files, and which of them are figures."""

    files: tuple[Path, ...] = ()
    figures: tuple[Path, ...] = ()

    def __str__(self) -> str:
        more = [f"{len(self.figures)} files in {self.figures[0].parent}"] if self.figures else []
        return f"written: {', '.join([*map(str, self.files), *more])}"


@dataclass(frozen=True, slots=True)
class Results:
    """Folder for the results (None: nowhere), formats of the figures, fits to compare with."""

    folder: Path | None
    formats: tuple[str, ...]
    compared: tuple[tuple[str, Fit], ...]

    def write(
        self,
        found: Identification,
        scored: Validation | None,
        crossed: CrossValidation | None,
        progress: Callable[[str], None],
    ) -> Written:
        """Write what was asked for."""
        from dalembert.identification.fit_files import write_fit
        from dalembert.report.builder import report_file
        from dalembert.report.evidence import gather
        from dalembert.report.paper import figure_files

        if self.folder is None:
            return Written()
        progress("writing the report")
        evidence = gather(found, scored, compared=self.compared, crossed=crossed)
        files = (*write_fit(found.fit, self.folder), report_file(self.folder, evidence))
        if not self.formats:
            return Written(files)
        progress("drawing the figures")
        return Written(files, tuple(figure_files(self.folder / "figures", evidence, self.formats)))


def results(robot: str, folder: Path | None, figures: Sequence[str], compare: Sequence[str]) -> Results:
    """What the options ask for; other fits are those of the same robot."""
    from dalembert.identification.fit_files import FIT_FILE, read_fit
    from dalembert.report.paper import formats_named

    formats = formats_named(figures)
    for option, given in (("--figures", formats), ("--compare", compare)):
        if given and folder is None:
            raise UsageError(f"{option} {','.join(given)}: -o DIR is missing, the folder the report is written to")
    compared = []
    for text in compare:
        other, path = read_fit(text), Path(text).absolute()
        if other.robot != robot:
            raise UsageError(f"--compare {text}: a fit of {other.robot!r}, expected one of {robot!r}")
        compared.append((path.parent.name if path.name == FIT_FILE else path.stem, other))
    return Results(folder, formats, tuple(compared))
