"""``dalembert excite``: a motion that makes the parameters visible."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.console import AsJson, RobotName, Settings, bold, emit, load, model_of, note, steps, table
from dalembert.cli.options import ChannelsOption
from dalembert.errors import UsageError, choices

if TYPE_CHECKING:
    from dalembert.excitation.belief import Believable
    from dalembert.excitation.family import Family
    from dalembert.excitation.result import Design
    from dalembert.excitation.search import Progress
    from dalembert.identification.prepare import Prepared
    from dalembert.identification.prior import Prior
    from dalembert.model import Model
    from dalembert.robot import Robot

__all__ = ["excite"]

FAMILIES = ("fourier", "fourier-polynomial", "b-spline", "point-to-point")


def excite(
    robot: RobotName,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="folder for everything written (default: ROBOT-motion)"),
    ] = None,
    family: Annotated[str, typer.Option(help=", ".join(FAMILIES))] = "fourier",
    harmonics: Annotated[
        int, typer.Option(help="harmonics; of a b-spline the pieces, of point-to-point the stops")
    ] = 5,
    duration: Annotated[float, typer.Option(help="one period [s]")] = 10.0,
    repeat: Annotated[int, typer.Option(min=1, help="periods recorded")] = 1,
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
    starts: Annotated[int, typer.Option(min=1, help="random motions that are optimised")] = 8,
    budget: Annotated[float, typer.Option(help="time to search [s]")] = 30.0,
    noise: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="torque noise: YAML {rate, torque_noise}, or a fit.json (residuals)"),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="LOG",
            help="a log already recorded: the next best motion; or a prior file (.yaml) whose scale says what is known",
        ),
    ] = None,
    channels: ChannelsOption = None,
    payload: Annotated[
        bool,
        typer.Option("--payload", help="two runs, the second with a payload on the platform: DIR/empty, DIR/loaded"),
    ] = False,
    payload_mass: Annotated[float, typer.Option(help="mass expected of the payload [kg], for the torque limits")] = 0.0,
    symmetric: Annotated[bool, typer.Option("--symmetric", help="tie the bodies of each symmetric group")] = False,
    random: Annotated[
        int, typer.Option(min=0, metavar="N", help="take the best of N random motions instead of optimising")
    ] = 0,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="parameters believed: a prior file (.yaml) with values and bounds, or a fit.json (default: nominal); "
            "torque limits hold under each, and everywhere within its bounds",
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
        typer.Option(metavar="NAME,NAME", help="plan in these coordinates, motors or pose (default: the robot's)"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="of the random starts")] = 0,
    pictures: Annotated[bool, typer.Option("--pictures/--no-pictures", help="draw paths, margins, workspace")] = True,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Design a motion that shows the dynamic parameters best within the robot's limits."""
    from dalembert.excitation import Effort, Limits, design_excitation, read_coefficients, read_limits, read_noise

    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"--output {output}: a file, expected a folder")
    chosen = _family(family, harmonics, duration)
    described = load(robot, settings)
    model = model_of(described, quiet=True) if coordinates is None else _planned(described, coordinates)
    if symmetric and not described.symmetric:
        raise UsageError(f"robot {described.name!r} declares no symmetric bodies; leave out --symmetric")
    if channels and not given:
        raise UsageError("--channels says how to read a log, and no --given LOG is there; expected both or none")
    if payload_mass and not payload:
        raise UsageError(f"--payload-mass {payload_mass:g} without --payload, expected both or none")
    if not 0.0 <= payload_mass < float("inf"):
        raise UsageError(f"--payload-mass {payload_mass:g}: expected a mass [kg] that is not negative")
    if random and warm is not None:
        raise UsageError("--random and --warm: random motions start from nothing; expected one or the other")
    if not budget > 0.0:
        raise UsageError(f"--budget {budget:g}: expected a positive time [s]")
    options: dict[str, Any] = {
        "criterion": criterion, "parameters": tuple(parameter or ()), "repeat": repeat,
        "limits": read_limits(limits, described) if limits is not None else Limits.of(described),
        "noise": read_noise(noise, model) if noise is not None else None,
        "free_frequency": free_frequency, "method": "random" if random else "optimise", "candidates": random or 1,
        "effort": Effort(starts=starts, budget=budget / (2 if payload else 1), seed=seed),
        "symmetric": symmetric, "speed": speed, "priors": _believed(model, prior or ()),
        "warm": read_coefficients(warm, model, chosen) if warm is not None else None,
    }  # fmt: skip
    with steps("excite") as progress:
        known = _recorded(model, given or (), channels or (), symmetric, progress)

        def watch(p: Progress) -> None:
            best = f"best value {p.value:.5g}" if p.value < math.inf else "none within the limits yet"
            progress(f"{p.seconds:.0f} s, {p.finished} starts finished, {best}")

        progress("preparing")
        design = partial(design_excitation, model, chosen, watch=watch, **options)
        if payload:
            aim = "logdet" if criterion == "chosen" else criterion  # there is no payload to choose yet
            first = design(given=known, criterion=aim, parameters=())
            same = first.noise  # of the same drives, also where it is assumed
            second = design(given=[*known, first], noise=same, payload="payload", payload_mass=payload_mass)
            runs = {"empty": first, "loaded": second}
        else:
            runs = {"": design(given=known)}
        progress("writing")
        folder = output or Path(f"{described.name}-motion")
        files = {name: _written(run, folder / name, pictures) for name, run in runs.items()}
    for run in runs.values():
        for text in run.notes:
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


def _planned(robot: Robot, names: str) -> Model:
    """The model on coordinates asked for by the names of coordinates, joints (of several) or motors."""
    from dalembert.model import build_model

    chosen: list[str] = []
    for name in (part.strip() for part in names.split(",")):
        motor = next((m for m in robot.motors if m.name == name), None)
        within = [c for c in robot.coordinates if c == name or c.startswith(f"{name}.")]
        if not within and motor is not None:
            within = [turned for turned, _ in motor.turns]
            if len(within) > 1:
                raise UsageError(
                    f"--coordinates: motor {name!r} turns with {' and '.join(within)}; plan in these: a motion of one "
                    f"family in them is one in the motor's angle"
                )
        if not within:
            known = dict.fromkeys((*robot.coordinates, *robot.motor_names))
            raise UsageError(f"--coordinates: no coordinate, joint or motor {name!r}; {choices(name, known)}")
        chosen += within
    return build_model(replace(robot, independent=tuple(chosen)))


def _believed(model: Model, files: Sequence[str]) -> list[Believable] | None:
    """What files say of the parameters, None where there are none."""
    from dalembert.identification.prior_file import read_known
    from dalembert.simulation import read_parameters

    out: list[Believable] = []
    for path in files:
        if Path(path).suffix.lower() == ".json":
            out.append(read_parameters(path, model).pi)
        else:
            out.append(read_known(path, model.robot, model.parameters))
    return out or None


def _recorded(
    model: Model, given: Sequence[str], channels: Sequence[str], symmetric: bool, progress: Callable[[str], None]
) -> list[Prepared | Prior | Design]:
    """Logs already recorded, prepared as identification prepares them, and what priors know."""
    from dalembert.cli.options import LogReader, signal_settings
    from dalembert.identification.prepare import prepare_problem
    from dalembert.identification.prior_file import read_known

    priors = [path for path in given if Path(path).suffix.lower() in (".yaml", ".yml")]
    files = [path for path in given if path not in priors]
    for path in files:
        if Path(path).name == "design.json" or (Path(path) / "design.json").is_file():
            raise UsageError(f"--given {path}: a design, of which nothing is recorded yet; expected a log of its run")
    out: list[Prepared | Prior | Design] = []
    for path in priors:
        known = read_known(path, model.robot, model.parameters)
        if known.prior is not None:
            out.append(known.prior)
    if files:
        progress("reading the logs given")
        logs = LogReader(model.robot, channels, ()).read(files, ())
        out.append(prepare_problem(model, logs, signals=signal_settings("auto", "auto", "5"), symmetric=symmetric))
    return out


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
            bold(
                f"{design.model.robot.name}{f', {name}' if name else ''}: {design.criterion} {design.value:.6g}, "
                f"condition {design.criteria['condition']:.3g} (columns of unit norm: "
                f"{design.criteria['condition-normalised']:.3g})"
            ),
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
