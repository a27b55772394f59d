"""``dalembert demo``: the story of one robot from a designed motion to a judged model, in under a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.console import AsJson, bold, emit, note

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="folder for logs, fit and report")
    ] = Path("dalembert-demo"),
    as_json: AsJson = False,
) -> None:
    """Tell the story of the over-actuated DualV: design, record, identify, validate, report."""
    from dalembert.studies.story import PAYLOAD, tell

    begun = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    note("the DualV: a planar parallel robot with 4 motors for 3 degrees of freedom, simulated")
    story = tell(lambda text: note(f"{time.monotonic() - begun:5.1f} s  {text}"))
    files = story.write(output)
    seconds = time.monotonic() - begun
    data = {**story.to_dict(), "seconds": seconds, "files": [str(file) for file in files]}
    fit, p = story.fit, story.payload
    emit(
        as_json,
        data,
        str(fit),
        f"\n{story.validation}\n",
        bold(f"payload: {p.value:.4f} kg, 95 % interval {p.low:.4f} to {p.high:.4f} kg; on the scales {PAYLOAD} kg"),
        f"{data['determined']} of {len(fit.parameters)} base parameters well determined; the motors' preload of up to "
        "11 N m was never logged and drops out of the projected equations",
        f"loops closed from the motor angles alone to {story.closure:.1e} m; {seconds:.0f} s in all",
        "",
        f"look at:  {next(f for f in files if f.suffix == '.html')} in a browser: the verdicts on top, then the torque",
        "          of the motion that was never seen, and M_load among the parameters",
        "then:     dalembert show dualv -o dualv.png",
        f"          dalembert export {output / 'fit.json'} --to c -o {output / 'c'}",
        "          dalembert new my-robot.yaml --from urdf my-robot.urdf",
    )
