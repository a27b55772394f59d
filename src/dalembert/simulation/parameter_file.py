"""Parameters of a simulated robot or of a controller's model, from a file: YAML by name, or a ``fit.json``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError, choices
from dalembert.identification.fit import Fit
from dalembert.identification.fit_files import read_fit
from dalembert.identification.fitted import fitted
from dalembert.model import Model
from dalembert.parameters import inertial_names
from dalembert.robot import Robot, with_payload
from dalembert.robot.quantity import parameter_quantity
from dalembert.robot.yaml_source import parse_file

__all__ = ["ParameterFile", "parameters_of_fit", "read_parameters", "with_point_mass"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """Values ``pi`` (p,) of a model's parameters, and what the file holds that the model cannot carry."""

    pi: Array
    notes: tuple[str, ...] = ()


def read_parameters(path: str | Path, model: Model) -> ParameterFile:
    """From YAML (``M_link2: 3.1 kg``; those not named are the robot's nominal ones) or from a ``fit.json``."""
    path = Path(path)
    if path.suffix.lower() == ".json":
        return parameters_of_fit(read_fit(path), model, str(path))
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"{path}: unknown suffix {path.suffix!r}; expected parameters in .yaml, or a fit in .json")
    found = parse_file(path).mapping(model.parameters, (), "parameters")
    values = dict(model.robot.nominal) | {name: item.number(parameter_quantity(name)) for name, item in found.items()}
    missing = [name for name in model.parameters if name not in values]
    if missing:
        raise UsageError(
            f"{path}: no value for {', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}, and the robot gives "
            f"no nominal one; add them"
        )
    return ParameterFile(np.array([values[name] for name in model.parameters]))


def parameters_of_fit(fit: Fit, model: Model, where: str = "fit") -> ParameterFile:
    """The identified values as a full vector: base values on their own columns, dependent ones zero.

    Friction laws a robot's model has no place for are left out and noted.
    """
    known = fitted(fit)
    if fit.robot != model.robot.name:
        raise UsageError(f"{where}: a fit of robot {fit.robot!r}, expected one of {model.robot.name!r}")
    rigid = dict(zip(known.model.parameters, known.pi.tolist(), strict=True))
    split = len(known.ties.names)
    laws = dict(zip(known.laws.names if known.laws else (), known.values[split:].tolist(), strict=True))
    strange = [name for name, value in rigid.items() if value and name not in model.parameters]
    if strange:
        raise UsageError(
            f"{where}: the robot has no parameter {strange[0]!r} of the fit; {choices(strange[0], model.parameters)}"
        )
    notes = []
    beyond = [name for name in laws if name not in model.parameters and laws[name]]
    if beyond:
        notes.append(f"{where}: friction laws {', '.join(beyond)} have no place in the robot's model and are left out")
    silent = [name for name in model.parameters if name not in rigid and name not in laws]
    if silent:
        notes.append(f"{where}: {', '.join(silent)} not in the fit, taken as zero")
    values = rigid | {name: value for name, value in laws.items() if name in model.parameters}
    return ParameterFile(np.array([values.get(name, 0.0) for name in model.parameters]), tuple(notes))


def with_point_mass(robot: Robot, name: str, mass: float | None) -> Robot:
    """The robot carrying a payload: a point ``mass`` [kg] in the origin of its platform, or one whose parameters come
    from a file (None).
    """
    loaded = with_payload(robot, name)
    if mass is None:
        return loaded
    if not (np.isfinite(mass) and mass > 0.0):
        raise UsageError(f"payload {name!r}: {mass} kg, expected a positive mass")
    return replace(loaded, nominal=dict(robot.nominal) | dict.fromkeys(inertial_names(name), 0.0) | {f"M_{name}": mass})
