"""``dalembert identify``: logs in, parameters with their uncertainty out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.cli.console import AsJson, RobotName, Settings, emit, load, model_of, note, steps
from dalembert.cli.options import (
    ChannelsOption,
    CutoffOption,
    DecimateOption,
    LogReader,
    MaskOption,
    PayloadOption,
    RepairOption,
    signal_settings,
)
from dalembert.cli.results import CompareOption, FiguresOption, results
from dalembert.errors import UsageError, choices

if TYPE_CHECKING:
    from dalembert.identification.essential import Reduction

__all__ = ["identify"]

ESSENTIAL = ("f-test", "sigma-ratio", "none")


def identify(
    robot: RobotName,
    logs: Annotated[
        list[str], typer.Argument(metavar="LOG...", help="logs: .csv, .parquet, .mat, .mcap, .bag or a bag's folder")
    ],
    payload: PayloadOption = None,
    method: Annotated[
        str, typer.Option("--method", help="ols, wls, irls, tls, iv, didim, cloe, bounded, physical or sdp")
    ] = "wls",
    controller: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="didim, cloe and iv: controller .yaml of the logs, as in simulate"),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="didim, cloe and iv: trajectory the logs follow; LOG=FILE for one log only"),
    ] = None,
    projection: Annotated[
        str | None,
        typer.Option(help="platform, actuators, actuators:NAME,NAME,... or whitened (default: the robot's)"),
    ] = None,
    friction: Annotated[
        str,
        typer.Option(
            help="own: the robot's; auto: the model that predicts blocks left out best; none; or terms joined by +: "
            "viscous coulomb offset asymmetric smooth stribeck sqrt quadratic cubic dahl load"
        ),
    ] = "own",
    cutoff: CutoffOption = "auto",
    decimate: DecimateOption = "auto",
    mask_slow: MaskOption = "5",
    channels: ChannelsOption = None,
    repair: RepairOption = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="what is known beforehand: values, bodies by shape and material, fixed, zero, tied or bounded "
            "parameters; or a robot or fit.json whose values are taken (default: the robot's nominal values)",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="a setting of the method, e.g. gamma_p=1e-4, regularisation=entropic, loss=tukey; a wrong name lists "
            "them",
        ),
    ] = None,
    essential: Annotated[
        str,
        typer.Option(
            help="drop base parameters: f-test (while the torque does not miss them), sigma-ratio (the papers' rule) "
            "or none"
        ),
    ] = "none",
    symmetric: Annotated[bool, typer.Option("--symmetric", help="tie the bodies of each symmetric group")] = False,
    validate: Annotated[
        list[str] | None, typer.Option("--validate", metavar="LOG", help="score the fit on a log it was not made from")
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option("--cross-validate", metavar="N", help="leave out N blocks of the logs in turn and predict them"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="folder for fit.json, parameters.csv and report.html"),
    ] = None,
    figures: FiguresOption = None,
    compare: CompareOption = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Identify the dynamic parameters of a robot from logs of its motor positions and torques."""
    from dalembert.closed_loop.methods import ALL_METHODS, CLOSED_LOOP, needs_positions, simulating_named
    from dalembert.identification.friction import parse_friction
    from dalembert.identification.identify import identify as run
    from dalembert.identification.methods import estimator_named
    from dalembert.identification.prepare import column_names
    from dalembert.identification.prior_file import Known, read_known
    from dalembert.validation import cross_validate
    from dalembert.validation import validate as score

    asked = _options(option or ())
    if method not in CLOSED_LOOP:
        estimator = estimator_named(method, asked, ALL_METHODS)
        if controller or reference:
            raise UsageError(f"--controller, --reference: {method!r} simulates nothing; {choices(method, CLOSED_LOOP)}")
    rule, law = _rule(essential), parse_friction(friction)
    signals = signal_settings(cutoff, decimate, mask_slow)
    described = load(robot, settings)
    wanted = results(described.name, output, figures or (), compare or ())
    model = model_of(described, quiet=True)
    if method in CLOSED_LOOP:
        estimator = simulating_named(method, asked, controller, reference or (), model)
    held_out = list(validate or ())
    for file in held_out:
        if file in logs:
            raise UsageError(f"--validate {file}: the fit is made from that log, expected one it is not made from")
    with steps("identify") as progress:
        progress("reading the logs")
        reader = LogReader(described, channels or (), repair or (), () if needs_positions(method) else logs)
        every = reader.read([*logs, *held_out], payload or ())
        used = [log for log in every if log.info.path not in held_out]
        carried = tuple(dict.fromkeys(log.info.payload for log in used if log.info.payload))
        names = column_names(described, payloads=carried, friction=law, symmetric=symmetric)
        known = Known() if prior is None else read_known(prior, described, names)
        found = run(
            model, used, estimator=estimator, projection=projection, signals=signals, friction=law,
            symmetric=symmetric, essential=rule, prior=known.prior, constraints=known.constraints,
            progress=progress,
        )  # fmt: skip
        scored = None
        if held_out:
            progress("predicting the logs left out")
            scored = score(found.fit, [log for log in every if log.info.path in held_out])
        crossed = None if blocks is None else cross_validate(found, estimator, blocks, progress=progress)
        written = wanted.write(found, scored, crossed, progress)
    for text in (*known.notes, *found.prepared.notes):
        note(text)
    data = found.to_dict()
    for name, result in (("validation", scored), ("cross_validation", crossed)):
        if result is not None:
            data[name] = result.to_dict()
    data["files"] = [str(file) for file in (*written.files, *written.figures)]
    shown = [str(found), *(f"\n{result}" for result in (scored, crossed) if result is not None)]
    if written.files:
        shown.append(f"\n{written}")
    emit(as_json, data, *shown)


def _rule(name: str) -> Reduction | None:
    from dalembert.identification.essential import FTest, SigmaRatio

    if name not in ESSENTIAL:
        raise UsageError(f"--essential {name!r}; {choices(name, ESSENTIAL)}")
    rules: dict[str, Reduction | None] = {"f-test": FTest(), "sigma-ratio": SigmaRatio(), "none": None}
    return rules[name]


def _options(given: Sequence[str]) -> dict[str, str]:
    """Settings of the method by name."""
    out = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"--option {text!r}: expected NAME=VALUE, for example --option gamma_p=1e-4")
        out[name.strip()] = value.strip()
    return out
