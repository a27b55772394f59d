"""What every method that simulates is told: the controller and the reference of the logs, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeVar

import numpy as np

from dalembert.closed_loop.bench import path_of
from dalembert.errors import EstimationError, UsageError, choices
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.simulation import Controller, ControllerFile, Law, Reference
from dalembert.simulation.reference import Path

__all__ = ["Reenactment", "chosen"]


_Choice = TypeVar("_Choice", bound=StrEnum)


def chosen(method: str, name: str, found: str, kind: type[_Choice]) -> _Choice:
    """A setting that is one of a few words."""
    if found not in list(kind):
        raise UsageError(f"{method}: {name} {found!r}; {choices(found, kind)}")
    return kind(found)


@dataclass(frozen=True, slots=True)
class Reenactment:
    """``controller`` and ``reference`` are those of the logs; a mapping gives each log, by name, its own reference.

    ``offset`` [s]: time of the reference at the log's first sample. ``inertia`` (n,) is what each motor's gains were
    tuned on [kg m^2 or kg], by default that of the controller's model or the robot's nominal one; only gains that must
    be scaled need it. At most so many ``steps``; they end when changes are below ``tolerance``, relatively.
    """

    controller: ControllerFile | Law | Controller
    reference: Path | Reference | Mapping[str, Path | Reference]
    offset: float = 0.0
    inertia: tuple[float, ...] = ()
    tolerance: float = 0.025
    steps: int = 20
    method: ClassVar[str]
    positions: ClassVar[bool]

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "inertia", tuple(float(value) for value in self.inertia))
        except ValueError:
            raise UsageError(f"{self.method}: inertia {','.join(map(str, self.inertia))}, expected numbers") from None
        if not all(np.isfinite(value) and value > 0.0 for value in self.inertia):
            raise UsageError(f"{self.method}: inertia {list(self.inertia)}, expected positive numbers")
        self._check_time("offset")
        if self.steps < 1 or not self.tolerance > 0.0:
            raise UsageError(
                f"{self.method}: {self.steps} steps to a tolerance of {self.tolerance}, expected at least one step and "
                "a positive tolerance"
            )

    def _check_time(self, name: str) -> None:
        value = getattr(self, name)
        if not (np.isfinite(value) and value >= 0.0):
            raise UsageError(f"{self.method}: {name} {value} s, expected a time of at least 0")

    def check(self, model: Model, log: LogSource) -> Path | Reference:
        """The reference of a log; what cannot be reenacted is refused."""
        if self.inertia and len(self.inertia) != model.n:
            raise UsageError(f"{self.method}: {len(self.inertia)} inertias, expected {model.n}, one per motor")
        info = log.info
        if info.unknown_gains:
            raise EstimationError(
                f"{self.method}: log {info.name!r} has unknown torque constants, expected numbers in its channel map"
            )
        names = tuple(model.robot.readings)
        if self.positions and info.positions != names:
            missing = [name for name in names if name not in info.positions]
            raise EstimationError(f"{self.method}: log {info.name!r} has no position of {', '.join(missing)}")
        if abs(self.offset * info.rate - round(self.offset * info.rate)) > 1e-6:
            raise UsageError(
                f"{self.method}: offset {self.offset} s, expected a whole number of the samples of log {info.name!r}, "
                f"{info.period:g} s each"
            )
        return path_of(self.reference, log)
