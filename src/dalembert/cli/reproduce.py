"""``dalembert reproduce``: the papers' experiments in simulation, their tables beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.cli.console import AsJson, emit, note, plain
from dalembert.errors import UsageError, choices

if TYPE_CHECKING:
    from dalembert.studies import Study

__all__ = ["reproduce"]


def reproduce(
    study: Annotated[str, typer.Argument(help="dualv, delta, tx40, 3prrr, orthoglide or all")] = "all",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="folder for figures and study.json (of all: one folder per study in it)"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="shorter experiments: less exact, in about a minute")] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce published studies in simulation; exit code 1 when a finding of a paper does not hold here."""
    from dalembert import studies

    if study != "all" and study not in studies.STUDIES:
        raise UsageError(f"reproduce: no study {study!r}; {choices(study, (*studies.STUDIES, 'all'))}")
    names = tuple(studies.STUDIES) if study == "all" else (study,)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    done: list[Study] = []
    for number, name in enumerate(names, start=1):

        def progress(text: str, name: str = name, number: int = number) -> None:
            note(f"[{number}/{len(names)}] {name}: {text}")

        result = studies.reproduce(name, progress, quick=quick)
        note(f"[{number}/{len(names)}] {name}: {result.seconds:.1f} s")
        done.append(result)
        if out is not None:
            _write(result, out if study != "all" else out / name)
        if not as_json:
            typer.echo(f"{result}\n")
    findings = [finding for result in done for finding in result.findings]
    held, seconds = sum(finding.holds for finding in findings), sum(result.seconds for result in done)
    data = {
        "holds": held == len(findings),
        "seconds": seconds,
        "studies": {result.name: result.to_dict() for result in done},
    }
    emit(as_json, data, f"[bold]{held} of {len(findings)} findings hold[/bold] ({seconds:.0f} s)")
    if held < len(findings):
        raise typer.Exit(1)


def _write(result: Study, folder: Path) -> None:
    from dalembert.studies import draw

    folder.mkdir(parents=True, exist_ok=True)
    for figure in result.figures:
        draw(figure, folder / f"{figure.name}.png")
    temporary = folder / ".study.json.part"
    text = json.dumps(plain(result.to_dict()), indent=2, ensure_ascii=False, allow_nan=False)
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(folder / "study.json")
    note(f"wrote {folder / 'study.json'} and {len(result.figures)} figures")
