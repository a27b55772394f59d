"""How a simulation is run: rates, integrator, tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalembert.errors import UsageError
from dalembert.simulation.tableau import tableau

__all__ = ["Options"]

_MAX_RATE = 1e6  # [Hz] of samples that serve both the controller's and the log's rate
_MIN_RATE = 0.01  # [Hz] a tick in 100 s


@dataclass(frozen=True, slots=True)
class Options:
    """``control_rate`` and ``log_rate`` [Hz] (log: the controller's unless given); integrator ``method`` rk4, dopri5
    or bs23 (the last two choose their own steps from ``tolerance``); ``max_step`` [s] bounds the steps of rk4.

    Torques are held between ticks. ``saturation`` False lifts the motors' torque limits.
    """

    control_rate: float = 1000.0
    log_rate: float | None = None
    method: str = "rk4"
    max_step: float = 1e-3
    tolerance: float = 1e-8
    saturation: bool = True

    def __post_init__(self) -> None:
        tableau(self.method)
        for name in ("control_rate", "log_rate", "max_step", "tolerance"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise UsageError(f"simulation: {name} {value}, expected a positive number")
            if value is not None and name.endswith("rate") and not _MIN_RATE <= value <= _MAX_RATE:
                raise UsageError(f"simulation: {name} {value:g} Hz, expected {_MIN_RATE:g} to {_MAX_RATE:g} Hz")
        self.sample_rate()

    def sample_rate(self) -> tuple[float, int, int]:
        """Rate [Hz] of the samples, and how many of them lie between two ticks and between two logged samples."""
        control, log = Fraction(self.control_rate), Fraction(self.log_rate or self.control_rate)
        control, log = (f.limit_denominator(1000) for f in (control, log))
        common = Fraction(
            math.lcm(control.numerator * log.denominator, log.numerator * control.denominator),
            control.denominator * log.denominator,
        )
        if common > _MAX_RATE:
            raise UsageError(
                f"simulation: a log at {self.log_rate} Hz and a controller at {self.control_rate} Hz need "
                f"{float(common):.3g} samples/s to meet, expected at most {_MAX_RATE:g}; choose rates of which one "
                f"divides the other"
            )
        return float(common), int(common / control), int(common / log)
