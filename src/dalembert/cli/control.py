"""``dalembert control``: what an identified model is worth to a controller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.console import AsJson, bold, emit, note, steps, table
from dalembert.errors import ModelError, UsageError, choices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dalembert.identification.fit import Fit
    from dalembert.identification.fitted import FittedModel
    from dalembert.model import Model
    from dalembert.simulation import ControllerFile
    from dalembert.simulation.tracking import Contender, Tracked

__all__ = ["control"]

TRAJECTORY = "trajectory: .yaml (family fourier, points or outline), or samples in .csv or .parquet (t, coordinates)"
DEFAULT = ("pd", "feed-forward", "computed-torque")


def control(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="fit.json, or the folder 'dalembert identify' wrote")],
    trajectory: Annotated[Path, typer.Argument(metavar="TRAJ", help=TRAJECTORY)],
    controller: Annotated[
        list[str] | None,
        typer.Option(
            help="controller .yaml, or pd, pid, cascade, feed-forward, augmented-pd or computed-torque as tuned; "
            "several may be given, errors compare with the first one's (default: pd, feed-forward, computed-torque)"
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="the robot's true parameters: .yaml or fit.json (default: nominal)")
    ] = None,
    noise: Annotated[
        Path | None, typer.Option(help="sensors and drives: .yaml with encoder counts, noise, delay, ripple ...")
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(metavar="NAME[=KG]", help="carry a payload of the fit: a point mass [kg], or from --truth"),
    ] = None,
    rate: Annotated[float, typer.Option(metavar="HZ", help="rate of the controllers [Hz]")] = 1000.0,
    duration: Annotated[
        float | None, typer.Option(metavar="S", help="duration [s] (default: the trajectory's)")
    ] = None,
    method: Annotated[str, typer.Option(help="integrator: rk4, dopri5 or bs23")] = "rk4",
    seed: Annotated[int | None, typer.Option(min=0, help="seed of the noise (default: the noise file's)")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.png", help="picture of the tracking errors")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tracking errors of controllers that know an identified model, on a simulated robot of true parameters."""
    from dalembert.identification.fit_files import read_fit
    from dalembert.identification.fitted import fitted
    from dalembert.simulation import Options, Sensing, read_noise, read_trajectory
    from dalembert.simulation.tracking import track

    _check_picture(output)
    with steps("control") as progress:
        progress("rebuilding the model")
        found = read_fit(fit)
        known = fitted(found)
        label = (payload or "").partition("=")[0].strip()
        model, true = _plant(known, payload, truth)
        contenders = _contenders(found, known, model, controller or DEFAULT, label)
        seen = read_noise(noise, model.robot) if noise else None
        path = read_trajectory(trajectory, model)
        results = track(
            model, path, contenders, true, sensing=seen.sensing if seen else Sensing(),
            seed=seed if seed is not None else seen.seed if seen else 0, options=Options(rate, method=method),
            duration=duration, payload=label, progress=progress,
        )  # fmt: skip
    written = None
    if output is not None and any(one.run.completed for one in results):
        _draw(model, results, output)
        written = str(output)
    emit(as_json, _data(model, fit, label, results, written), *_shown(model, results, written))
    if not all(one.run.completed for one in results):
        raise typer.Exit(1)


# --- what is run -----------------------------------------------------------------------------------------------------


def _plant(known: FittedModel, payload: str | None, truth: Path | None) -> tuple[Model, NDArray[Any]]:
    """The simulated robot, carrying the fit's payloads as bodies, and its true parameters: those of a payload that is
    not carried are zero.
    """
    import numpy as np

    from dalembert.model import build_model
    from dalembert.parameters import inertial_names
    from dalembert.robot import with_payload
    from dalembert.simulation import read_parameters, with_point_mass

    name, equals, text = (payload or "").partition("=")
    name = name.strip()
    if payload is not None and name not in known.payloads:
        have = f"expected one of the fit's: {', '.join(known.payloads)}" if known.payloads else "the fit has none"
        raise UsageError(f"--payload {payload!r}: {have}")
    robot = known.described
    for other in known.payloads:
        if other not in robot.body_names:
            robot = with_payload(robot, other)
    if equals:
        try:
            mass = float(text.removesuffix("kg"))
        except ValueError:
            raise UsageError(f"--payload {payload!r}: expected NAME or NAME=KG, for example tool=5.37") from None
        robot = _nominal(robot, with_point_mass(known.described, name, mass).nominal)
    absent = dict.fromkeys((n for p in known.payloads if p != name for n in inertial_names(p)), 0.0)
    robot = _nominal(robot, absent)
    model = build_model(robot)
    if truth is not None:
        return model, read_parameters(truth, model).pi
    try:
        return model, np.asarray(model.nominal())
    except ModelError as error:
        raise UsageError(f"{error}; or say what is true by --truth FILE") from None


def _nominal(robot: Any, values: Any) -> Any:
    from dataclasses import replace

    return replace(robot, nominal=dict(robot.nominal) | dict(values))


def _contenders(fit: Fit, known: FittedModel, model: Model, names: Sequence[str], payload: str) -> list[Contender]:
    """The controllers, each knowing the fit unless its file names other parameters."""
    from dalembert.parameters import inertial_names
    from dalembert.simulation import parameters_of_fit, read_parameters
    from dalembert.simulation.tracking import Contender, check_known

    identified = parameters_of_fit(fit, model)
    for text in identified.notes:
        note(text)
    bare = identified.pi.copy()
    for other in known.payloads:  # what was found of a payload says nothing of the robot without it
        if other != payload:
            bare[[model.parameters.index(n) for n in inertial_names(other)]] = 0.0
    check_known(model, bare, "fit")
    out: list[Contender] = []
    for text in names:
        one = _controller(text, model)
        pi = bare
        if one.model is not None:
            pi = read_parameters(one.model, model).pi
            check_known(model, pi, str(one.model))
        label = Path(text).stem if Path(text).suffix else text
        if any(label == other.name for other in out):
            raise UsageError(f"--controller {text!r}: given twice under the name {label!r}, expected different ones")
        out.append(Contender(label, one, pi))
    return out


def _controller(text: str, model: Model) -> ControllerFile:
    from dalembert.simulation import ControllerFile, law_named, read_controller

    if Path(text).suffix:
        return read_controller(text, model.robot)
    return ControllerFile(text, law_named(text))


# --- what is shown ---------------------------------------------------------------------------------------------------


def _units(model: Model) -> tuple[str, ...]:
    """The unit rad or m of each motor's position."""
    from dalembert.robot.quantity import position_units

    units = position_units(model.robot)
    return tuple(units[name] for name in model.robot.motor_names)


def _data(model: Model, fit: str, payload: str, results: Sequence[Tracked], picture: str | None) -> dict[str, Any]:
    runs = []
    for one in results:
        s = one.summary
        runs.append({
            "name": one.name, "status": str(one.run.status), "reason": one.run.reason, "remedy": one.run.remedy,
            "rms_error": s.rms_error, "max_error": s.max_error, "rms_torque": s.rms_torque, "max_torque": s.max_torque,
            "reduction": one.reduction, "duration": float(one.run.truth.t[-1]) if len(one.run.truth.t) else 0.0,
        })  # fmt: skip
    return {
        "robot": model.robot.name, "fit": fit, "payload": payload, "motors": list(model.robot.motor_names),
        "units": list(_units(model)), "controllers": runs, "picture": picture,
    }  # fmt: skip


def _shown(model: Model, results: Sequence[Tracked], picture: str | None) -> list[Any]:
    import numpy as np

    units = _units(model)
    lines: list[Any] = [bold(f"{model.robot.name}: controllers that know the identified model")]
    rows: list[list[object]] = []
    for one in results:
        if not one.run.completed:
            lines.append(f"{one.name}: {one.run.status}, {one.run.reason}; remedy: {one.run.remedy}")
            continue
        s = one.summary
        for k, motor in enumerate(model.robot.motor_names):
            less = 100.0 * one.reduction[k]
            rows.append([
                one.name if k == 0 else "", motor, f"m{units[k]}", f"{1e3 * s.rms_error[k]:.4g}",
                f"{1e3 * s.max_error[k]:.4g}", f"{less:.1f} %" if np.isfinite(less) else "", f"{s.rms_torque[k]:.4g}",
            ])  # fmt: skip
    head = ["controller", "motor", "unit", "RMS error", "largest", f"below {results[0].name}", "RMS torque"]
    if rows:
        lines.append(table("", head, rows))
    if picture is not None:
        lines.append(f"written: {picture}")
    return lines


def _check_picture(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() != ".png":
        raise UsageError(f"picture {path.name!r}: unknown ending {path.suffix!r}; {choices(path.suffix, ['.png'])}")
    if not path.parent.is_dir():
        raise UsageError(f"picture {str(path)!r}: there is no folder {str(path.parent)!r}")


def _draw(model: Model, results: Sequence[Tracked], path: Path) -> None:
    """Errors over time motor by motor, and all RMS errors on one logarithmic scale."""
    import numpy as np

    from dalembert.studies import Curve, Figure, Panel, draw

    done = [one for one in results if one.run.completed]
    panels = []
    for k, (motor, unit) in enumerate(zip(model.robot.motor_names, _units(model), strict=True)):
        curves = [Curve.of(one.name, one.run.truth.t, 1e3 * one.run.truth.error[:, k]) for one in done]
        panels.append(Panel(motor, "time [s]", f"tracking error [m{unit}]", tuple(curves)))
    places = np.arange(float(model.n))
    dots = [Curve.of(one.name, places, 1e3 * np.maximum(one.summary.rms_error, 1e-12)) for one in done]
    units = " or ".join(f"m{unit}" for unit in dict.fromkeys(_units(model)))
    panels.append(
        Panel("all motors", "", f"RMS error [{units}]", tuple(dots), ticks=model.robot.motor_names, logarithmic=True)
    )
    caption = f"{model.robot.name}: tracking errors of controllers that know the identified model"
    draw(Figure("control", caption, tuple(panels), columns=2 if model.n > 1 else 1), path)
