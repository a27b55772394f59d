"""Controller files: a law by name, its tuning, what is wrapped around it (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dalembert.errors import UsageError, choices
from dalembert.robot import Robot
from dalembert.robot.quantity import DAMPING, EFFORT, PURE, RATE, STIFFNESS, Quantity
from dalembert.robot.yaml_source import Located, parse_file
from dalembert.simulation.controllers.augmented_pd import AugmentedPd
from dalembert.simulation.controllers.cascade import Cascade
from dalembert.simulation.controllers.computed_torque import ComputedTorque
from dalembert.simulation.controllers.contract import Law
from dalembert.simulation.controllers.feed_forward import FeedForward
from dalembert.simulation.controllers.pd import Pd
from dalembert.simulation.controllers.pid import Pid
from dalembert.simulation.controllers.preload import Preload
from dalembert.simulation.controllers.stress_free import StressFree
from dalembert.simulation.per_motor import per_motor

__all__ = ["LAWS", "ControllerFile", "law_named", "read_controller"]

LAWS: Mapping[str, Callable[..., Law]] = {
    "pd": Pd,
    "pid": Pid,
    "cascade": Cascade,
    "feed-forward": FeedForward,
    "augmented-pd": AugmentedPd,
    "computed-torque": ComputedTorque,
}
_PLAIN = ("pd", "pid", "cascade")  # laws that need no model: feedback beside the others
_FEEDBACK = {"kp": STIFFNESS, "kd": DAMPING, "ki": Quantity("a gain", ("Nm/rad/s", "N/m/s"))}
_CASCADE = {"kp": RATE, "kv": DAMPING, "ki": STIFFNESS}
_COMPUTED = {"kp": Quantity("a gain", ("Hz^2",)), "kd": RATE}
_GAINS: Mapping[str, Mapping[str, Quantity]] = {
    "pd": _FEEDBACK,
    "pid": _FEEDBACK,
    "cascade": _CASCADE,
    "computed-torque": _COMPUTED,
}
_FREQUENCIES = ("bandwidth", "derivative_cutoff")
_AROUND = ("rate", "saturation", "stress_free", "preload", "model")


@dataclass(frozen=True, slots=True)
class ControllerFile:
    """A control law with what a file says around it: ``rate`` [Hz] of its ticks, whether torques are cut at the motors'
    limits, the internal torque ``preload`` (n,) it is to keep, the file of the parameters it knows.
    """

    name: str
    law: Law
    rate: float | None = None
    saturation: bool = True
    preload: tuple[float, ...] | None = None
    model: Path | None = None


def law_named(name: str) -> Law:
    """A built-in law with its default tuning."""
    if name not in LAWS:
        raise UsageError(f"controller {name!r}; {choices(name, LAWS)}")
    return LAWS[name]()


def read_controller(path: str | Path, robot: Robot) -> ControllerFile:
    """The controller of a file for a robot; an error names file, line, what was found and what was expected."""
    root = parse_file(Path(path))
    if root.is_text:
        name = root.choice_of(LAWS)
        return ControllerFile(name, law_named(name))
    entries = root.entries("a controller")
    name, law = _law(root, entries, robot, _AROUND)
    if "stress_free" in entries and entries["stress_free"].boolean():
        law = StressFree(law)
    preload = None
    if "preload" in entries:
        if len(robot.motors) < 2:
            entries["preload"].fail("found a preload for one motor, expected an over-actuated robot")
        preload = per_motor(entries["preload"], EFFORT, robot.motor_names)
        law = Preload(law)
    rate = entries["rate"].positive(RATE, "a rate in Hz") if "rate" in entries else None
    saturation = entries["saturation"].boolean() if "saturation" in entries else True
    model = None if "model" not in entries else Path(path).parent / entries["model"].text("a file of parameters")
    return ControllerFile(name, law, rate, saturation, preload, model)


def _law(
    item: Located, entries: Mapping[str, Located], robot: Robot, more: tuple[str, ...] = (), names: Any = LAWS
) -> tuple[str, Law]:
    if "controller" not in entries:
        item.fail(f"the key 'controller' is missing; choose from {', '.join(names)}")
    name = entries["controller"].choice_of(names)
    kind: Any = LAWS[name]
    settings = [entry.name for entry in fields(kind)]
    found = item.mapping(("controller", *settings, *more), (), f"the controller {name}")
    given: dict[str, Any] = {}
    for key in settings:
        if key not in found:
            continue
        if key == "feedback":
            given[key] = _law(found[key], found[key].entries("a controller"), robot, names=_PLAIN)[1]
        elif key in _GAINS.get(name, {}):
            given[key] = per_motor(found[key], _GAINS[name][key], robot.motor_names, positive=True)
        else:
            given[key] = found[key].number(RATE if key in _FREQUENCIES else PURE)
    try:
        law: Law = kind(**given)
    except UsageError as error:
        item.fail(str(error))
    return name, law
