"""``dalembert excite``: a motion that makes the parameters visible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.console import AsJson, RobotName, Settings, emit, load, model_of, note, steps, table
from dalembert.errors import UsageError, choices

if TYPE_CHECKING:
    from dalembert.excitation.family import Family
    from dalembert.excitation.result import Design
    from dalembert.excitation.search import Progress
    from dalembert.model import Model

__all__ = ["excite"]

FAMILIES = ("fourier", "fourier-polynomial", "b-spline", "point-to-point")


def excite(
    robot: RobotName,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="folder for everything written")],
    family: Annotated[str, typer.Option(help=", ".join(FAMILIES))] = "fourier",
    harmonics: Annotated[
        int, typer.Option(help="harmonics; of a b-spline the pieces, of point-to-point the stops")
    ] = 5,
    duration: Annotated[float, typer.Option(help="one period [s]")] = 10.0,
    repeat: Annotated[int, typer.Option(help="periods recorded")] = 1,
    free_frequency: Annotated[
        bool, typer.Option("--free-frequency", help="split the duration into 1 to 4 periods, whichever is best")
    ] = False,
    criterion: Annotated[
        str,
        typer.Option(
            help="logdet, torque (mean variance of predicted torque), relative, relative-worst, smallest, condition, "
            "condition-normalised, or chosen"
        ),
    ] = "logdet",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="PATTERN", help="with 'chosen': MX_payload, '*_link6' ..."),
    ] = None,
    limits: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML: limits over those of the robot (see docs/excitation.md)")
    ] = None,
    starts: Annotated[int, typer.Option(help="random motions that are optimised")] = 8,
    budget: Annotated[float, typer.Option(help="time to search [s]")] = 30.0,
    noise: Annotated[
        Path | None, typer.Option(metavar="FILE", help="torque noise: YAML {rate, torque}, or a fit.json (residuals)")
    ] = None,
    given: Annotated[
        list[str] | None, typer.Option("--given", metavar="LOG", help="a log already recorded: the next best motion")
    ] = None,
    payload: Annotated[
        bool,
        typer.Option("--payload", help="two runs, the second with a payload on the platform: DIR/empty, DIR/loaded"),
    ] = False,
    payload_mass: Annotated[float, typer.Option(help="mass expected of the payload [kg], for the torque limits")] = 0.0,
    random: Annotated[
        int, typer.Option(metavar="N", help="take the best of N random motions instead of optimising")
    ] = 0,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="parameters believed, .yaml or fit.json (default: nominal); several: torque limits hold under each",
        ),
    ] = None,
    speed: Annotated[
        float, typer.Option(metavar="WEIGHT", help="reward of fast motors: times the RMS of their speed over its limit")
    ] = 0.0,
    warm: Annotated[
        Path | None, typer.Option(metavar="DIR", help="start from the design in DIR, of the same family")
    ] = None,
    coordinates: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="coordinates to plan in: a joint's or pose (default: the robot's)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="of the random starts")] = 0,
    pictures: Annotated[bool, typer.Option("--pictures/--no-pictures", help="draw paths, margins, workspace")] = True,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Design a motion that shows the dynamic parameters best within the robot's limits."""
    from dalembert.excitation import Effort, Limits, design_excitation, read_coefficients, read_limits, read_noise

    chosen = _family(family, harmonics, duration)
    described = load(robot, settings)
    model = model_of(described, quiet=True) if coordinates is None else _planned(described, coordinates)
    if starts < 1 or not budget > 0.0:
        raise UsageError(f"--starts {starts}, --budget {budget:g}: expected at least one start and a positive time [s]")
    options: dict[str, Any] = {
        "criterion": criterion, "parameters": tuple(parameter or ()), "repeat": repeat,
        "limits": read_limits(limits, described) if limits is not None else Limits.of(described),
        "noise": read_noise(noise, model) if noise is not None else None,
        "free_frequency": free_frequency, "method": "random" if random else "optimise", "candidates": random or 1,
        "effort": Effort(starts=starts, budget=budget / (2 if payload else 1), seed=seed),
        "speed": speed, "priors": _believed(model, prior or ()),
        "warm": read_coefficients(warm, model, chosen) if warm is not None else None,
    }  # fmt: skip
    with steps("excite") as progress:
        known = _recorded(model, given or (), progress)

        def watch(p: Progress) -> None:
            progress(f"{p.seconds:.0f} s, {p.finished} starts, best value {p.value:.5g}")

        progress("preparing")
        if payload:
            empty_run = {**options} if criterion != "chosen" else {**options, "criterion": "logdet", "parameters": ()}
            first = design_excitation(model, chosen, given=known, watch=watch, **empty_run)
            second = design_excitation(
                model,
                chosen,
                given=[*known, first],
                payload="payload",
                payload_mass=payload_mass,
                watch=watch,
                **options,
            )
            runs = {"empty": first, "loaded": second}
        else:
            runs = {"": design_excitation(model, chosen, given=known, watch=watch, **options)}
        progress("writing")
        files = {name: _written(design, output / name, pictures) for name, design in runs.items()}
    for design in runs.values():
        for text in design.notes:
            note(text)
    _say(as_json, runs, files)


def _family(name: str, size: int, duration: float) -> Family:
    from dalembert.excitation import BSpline, Fourier, FourierPolynomial, PointToPoint

    if name not in FAMILIES:
        raise UsageError(f"--family {name!r}; {choices(name, FAMILIES)}")
    if name == "fourier":
        return Fourier(size, duration)
    if name == "fourier-polynomial":
        return FourierPolynomial(size, duration)
    return BSpline(size, duration) if name == "b-spline" else PointToPoint(size, duration)


def _planned(robot: Any, names: str) -> Model:
    from dalembert.model import build_model

    asked = [name.strip() for name in names.split(",")]
    moved = [[c for c in robot.coordinates if c.startswith(f"{name}.")] or [name] for name in asked]
    return build_model(replace(robot, independent=tuple(c for group in moved for c in group)))


def _believed(model: Model, files: Sequence[str]) -> list[Any] | None:
    """Parameter vectors of files, None where there are none."""
    from dalembert.simulation import read_parameters

    return [read_parameters(path, model).pi for path in files] or None


def _recorded(model: Model, given: Any, progress: Any) -> list[Any]:
    """Logs already recorded, prepared as identification prepares them."""
    if not given:
        return []
    from dalembert.cli.options import LogReader, signal_settings
    from dalembert.identification.prepare import prepare_problem

    progress("reading the logs given")
    logs = LogReader(model.robot, (), ()).read(given, ())
    return [prepare_problem(model, logs, signals=signal_settings("auto", "auto", "5"))]


def _written(design: Design, folder: Path, pictures: bool) -> list[Path]:
    from dalembert.excitation.files import write_design

    files = write_design(design, folder)
    if pictures:
        from dalembert.report.design_figures import draw_design

        files += draw_design(design, folder)
    return files


def _say(as_json: bool, runs: dict[str, Design], files: dict[str, list[Path]]) -> None:
    from dalembert.excitation.files import design_data

    data = {name: {**design_data(design), "files": [str(f) for f in files[name]]} for name, design in runs.items()}
    shown: list[Any] = []
    for name, design in runs.items():
        begin, end = design.ride.record
        shown += [
            f"[bold]{design.model.robot.name}{f', {name}' if name else ''}: {design.criterion} {design.value:.6g}, "
            f"condition {design.criteria['condition']:.3g} (columns of unit norm: "
            f"{design.criteria['condition-normalised']:.3g})[/bold]",
            f"record from {begin:.4g} to {end:.4g} s of {design.duration:.4g} s; {len(design.hidden)} of "
            f"{len(design.parameters)} base parameters cannot be shown; nearest limit: {_nearest(design)}",
            _sigmas(design),
        ]
        shown += [f"not shown: {p.name}: {p.why}" for p in design.hidden]
        shown.append("written: " + ", ".join(str(f) for f in files[name]))
    emit(as_json, data.get("", {"runs": data}), *shown)


def _nearest(design: Design) -> str:
    if not design.margins:
        return "none"
    m = design.margins[0]
    return f"{m.name} {m.value:.5g} of {m.bound:.5g}"


def _sigmas(design: Design) -> Any:
    rows = [
        [p.name, p.unit, "" if p.value is None else f"{p.value:.4g}", f"{p.sigma:.3g}",
         "" if p.relative is None else f"{100.0 * p.relative:.3g} %"]
        for p in design.parameters
    ]  # fmt: skip
    return table("", ["base parameter", "unit", "prior", "expected sigma", "relative"], rows)
