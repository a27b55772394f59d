"""``dalembert reproduce``: the papers' experiments in simulation, their tables beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType

from dalembert.cli.console import AsJson, bold, emit, note, plain
from dalembert.errors import DalembertError, UsageError, choices

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
    """Reproduce published studies in simulation; exit code 1 when a finding of a paper does not hold here.

    With all, a study that cannot be run is said and the others go on.
    """
    from dalembert import studies

    if study != "all" and study not in studies.STUDIES:
        raise UsageError(f"reproduce: no study {study!r}; {choices(study, (*studies.STUDIES, 'all'))}")
    names = tuple(studies.STUDIES) if study == "all" else (study,)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    done: list[Study] = []
    failed: dict[str, str] = {}
    for number, name in enumerate(names, start=1):

        def progress(text: str, name: str = name, number: int = number) -> None:
            note(f"[{number}/{len(names)}] {name}: {text}")

        try:
            result = studies.reproduce(name, progress, quick=quick)
        except DalembertError as error:
            if study != "all":
                raise
            failed[name] = str(error)
            note(f"[{number}/{len(names)}] {name}: failed: {error}")
            continue
        note(f"[{number}/{len(names)}] {name}: {result.seconds:.1f} s")
        done.append(result)
        if out is not None:
            _write(result, out if study != "all" else out / name)
        if not as_json:
            typer.echo(f"{result}\n")
    findings = [finding for result in done for finding in result.findings]
    held, seconds = sum(finding.holds for finding in findings), sum(result.seconds for result in done)
    data = {
        "holds": held == len(findings) and not failed,
        "seconds": seconds,
        "studies": {result.name: result.to_dict() for result in done},
        "failed": failed,
    }
    said: list[RenderableType] = [
        bold(f"{held} of {len(findings)} findings hold").append(f" ({seconds:.0f} s)", style="not bold")
    ]
    said += [f"{name} could not be run: {message}" for name, message in failed.items()]
    emit(as_json, data, *said)
    if not data["holds"]:
        raise typer.Exit(1)


def _write(result: Study, folder: Path) -> None:
    from dalembert.robot.interchange import write_atomically
    from dalembert.studies import draw

    folder.mkdir(parents=True, exist_ok=True)
    for figure in result.figures:
        draw(figure, folder / f"{figure.name}.png")
    text = json.dumps(plain(result.to_dict()), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / "study.json", text + "\n")
    note(f"wrote {folder / 'study.json'} and {len(result.figures)} figures")
