"""``dalembert simulate``: an experiment without a robot, written as a log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.console import AsJson, RobotName, Settings, bold, emit, load, model_of, note, steps, table
from dalembert.errors import UsageError

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.robot import Robot
    from dalembert.simulation import ControllerFile, Simulation, Summary

__all__ = ["simulate"]

TRAJECTORY = "trajectory: .yaml (family fourier, points or outline), or samples in .csv or .parquet (t, coordinates)"


def simulate(
    robot: RobotName,
    trajectory: Annotated[Path, typer.Argument(metavar="TRAJ", help=TRAJECTORY)],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="log to write, .parquet or .csv")] = None,
    controller: Annotated[
        str,
        typer.Option(
            help="controller .yaml, or pd, pid, cascade, feed-forward, augmented-pd or computed-torque as tuned"
        ),
    ] = "computed-torque",
    truth: Annotated[
        Path | None, typer.Option(help="the robot's true parameters: .yaml or fit.json (default: nominal)")
    ] = None,
    noise: Annotated[
        Path | None, typer.Option(help="sensors and drives: .yaml with encoder counts, noise, delay, ripple ...")
    ] = None,
    preload: Annotated[
        str | None,
        typer.Option(metavar="TAU,TAU,...", help="internal torque of an over-actuated robot, per motor [N m or N]"),
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="HZ", help="rate of the controller [Hz] (default 1000)")] = None,
    log_rate: Annotated[float | None, typer.Option(metavar="HZ", help="rate of the log [Hz] (default: --rate)")] = None,
    duration: Annotated[
        float | None, typer.Option(metavar="S", help="duration [s] (default: the trajectory's)")
    ] = None,
    payload: Annotated[
        str | None, typer.Option(metavar="NAME[=KG]", help="carry a payload: a point mass [kg], or from --truth")
    ] = None,
    method: Annotated[str, typer.Option(help="integrator: rk4, dopri5 or bs23")] = "rk4",
    seed: Annotated[int | None, typer.Option(min=0, help="seed of the noise (default: the noise file's)")] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a robot under control along a trajectory and write the log its sensors would record."""
    import numpy as np

    from dalembert.logs import check_log_path, write_log
    from dalembert.simulation import Options, Sensing, read_noise, read_parameters, read_trajectory, summarise
    from dalembert.simulation import simulate as run

    if output is not None:
        check_log_path(output)
    described, label = _loaded(load(robot, settings), payload)
    with steps("simulate") as progress:
        progress("building the model")
        model = model_of(described, quiet=True)
        chosen, inner = _controller(controller, preload, model)
        seen = read_noise(noise, model.robot) if noise else None
        pi = read_parameters(truth, model) if truth else None
        known = read_parameters(chosen.model, model) if chosen.model else None
        path = read_trajectory(trajectory, model)
        ticks = next(hertz for hertz in (rate, chosen.rate, 1000.0) if hertz is not None)
        options = Options(ticks, log_rate, method, saturation=chosen.saturation)
        progress("compiling")
        true = model.nominal() if pi is None else pi.pi
        found = run(
            model, path, chosen.law, duration=duration, pi=true, tuned=_known(known, model, true), options=options,
            sensing=seen.sensing if seen else Sensing(),
            rng=np.random.default_rng(seed if seed is not None else seen.seed if seen else 0),
            preload=inner, name=output.stem if output else "simulated", payload=label,
            progress=_share(progress),
        )  # fmt: skip
    for text in [text for source in (pi, known) if source for text in source.notes]:
        note(text)
    written = None
    if output is not None and found.completed:
        written = write_log(found.log, output)
    numbers = summarise(model, found, true)
    emit(as_json, _data(model, chosen, found, numbers, written), *_shown(model, chosen, found, numbers, written))
    if not found.completed:
        raise typer.Exit(1)


def _share(progress: Callable[[str], None]) -> Callable[[int, int], None]:
    return lambda done, total: progress(f"{100 * done // total} %")


def _known(found: Any, model: Model, true: Any) -> Any:
    """What the controller knows: its own file's parameters, else the nominal ones, else the truth."""
    if found is not None:
        return found.pi
    missing = [name for name in model.parameters if name not in model.robot.nominal]
    return true if missing else model.nominal()


def _loaded(robot: Robot, payload: str | None) -> tuple[Robot, str]:
    """The robot with its payload, and the payload's label."""
    if payload is None:
        return robot, ""
    from dalembert.simulation import with_point_mass

    name, equals, text = payload.partition("=")
    try:
        mass = float(text.removesuffix("kg")) if equals else None
    except ValueError:
        raise UsageError(f"--payload {payload!r}: expected NAME or NAME=KG, for example tool=5.37") from None
    if not name.strip():
        raise UsageError(f"--payload {payload!r}: expected NAME or NAME=KG, for example tool=5.37")
    return with_point_mass(robot, name.strip(), mass), name.strip()


def _controller(text: str, preload: str | None, model: Model) -> tuple[ControllerFile, Any]:
    """The controller, and the internal torque it keeps."""
    from dataclasses import replace

    from dalembert.simulation import ControllerFile, Preload, law_named, read_controller

    suffix = Path(text).suffix
    chosen = read_controller(text, model.robot) if suffix else ControllerFile(text, law_named(text))
    if preload is None:
        return chosen, chosen.preload
    try:
        values = [float(part) for part in preload.split(",")]
    except ValueError:
        raise UsageError(f"--preload {preload!r}: expected numbers separated by commas, one per motor") from None
    if len(values) != model.n:
        raise UsageError(f"--preload {preload!r}: expected {model.n} torques, for {', '.join(model.robot.motor_names)}")
    return (chosen if chosen.preload else replace(chosen, law=Preload(chosen.law))), values


def _data(
    model: Model, chosen: ControllerFile, found: Simulation, numbers: Summary, written: Path | None
) -> dict[str, Any]:
    info = found.log.info
    return {
        "robot": model.robot.name,
        "controller": chosen.name,
        "status": str(found.status),
        "reason": found.reason,
        "remedy": found.remedy,
        "motors": list(model.robot.motor_names),
        "samples": info.samples,
        "rate": info.rate,
        "duration": info.duration if info.samples else 0.0,
        "payload": info.payload,
        "rms_error": numbers.rms_error,
        "max_error": numbers.max_error,
        "rms_torque": numbers.rms_torque,
        "max_torque": numbers.max_torque,
        "closure_error": numbers.closure,
        "energy_imbalance": numbers.imbalance,
        "counts": dict(found.counts),
        "compiled": found.compiled,
        "log": None if written is None else str(written),
    }


def _shown(
    model: Model, chosen: ControllerFile, found: Simulation, numbers: Summary, written: Path | None
) -> list[Any]:
    from dalembert.robot.quantity import effort_unit, position_units

    ending = bold(f"{model.robot.name} under {chosen.name}: {found.status}")
    lines: list[Any] = [ending.append(f", {found.reason}" if found.reason else "", style="not bold")]
    if found.remedy:
        lines.append(f"remedy: {found.remedy}")
    if found.log.info.samples:
        rows = [list(row) for row in zip(
            model.robot.motor_names, numbers.rms_error.tolist(), numbers.max_error.tolist(),
            numbers.rms_torque.tolist(), numbers.max_torque.tolist(), strict=True)]  # fmt: skip
        units = position_units(model.robot)
        places = dict.fromkeys(units[name] for name in model.robot.motor_names)
        position, effort = " or ".join(places), " or ".join(map(effort_unit, places))
        head = ["motor", f"RMS error [{position}]", "largest", f"RMS torque [{effort}]", "largest"]
        lines.append(table("", head, rows))
        lines.append(
            f"loops closed to {numbers.closure:.1e} m or rad; energy to {numbers.imbalance:.1e} of the work done"
        )
    if written is not None:
        lines.append(f"written: {written} ({found.log.info.samples} samples at {found.log.info.rate:g} Hz)")
    return lines
