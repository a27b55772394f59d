"""What is believed of the parameters before the motion is recorded: values, and ranges they may lie in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import UsageError
from dalembert.identification.prior import Prior
from dalembert.identification.prior_file import Known
from dalembert.model import Model

__all__ = ["Belief", "Believable", "beliefs_of"]

Array = NDArray[np.float64]
Believable = ArrayLike | Prior | Known


@dataclass(frozen=True, slots=True)
class Belief:
    """Values (p,) believed of the parameters ``names``, each certain to lie between ``lower`` and ``upper`` (p,).

    A range that is open on a side says nothing about how far a torque can be off: it is closed to the value.
    """

    names: tuple[str, ...]
    values: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, model: Model, item: Believable) -> Belief:
        """A parameter vector (p,), or values and bounds by name over the robot's nominal ones."""
        names = model.parameters
        if not isinstance(item, Prior | Known):
            values = model.vector(item)
            for name, value in zip(names, values, strict=True):
                if not np.isfinite(value):
                    raise UsageError(f"prior: value of {name} is {value}, expected a finite number")
            return cls(names, values, values, values)
        known = Known(item) if isinstance(item, Prior) else item
        given = known.constraints.resolve(names)
        prior = known.prior or Prior({})
        prior.vector(names)  # refuses names that are none
        believed = {**model.robot.nominal, **prior.values}
        unknown = [name for name, fixed in zip(names, given.fixed, strict=True) if np.isnan(fixed)]
        missing = [name for name in unknown if name not in believed]
        if missing:
            shown = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
            raise UsageError(
                f"prior ({prior.source}): no value of {shown}, and the robot gives no nominal one; expected one of each"
            )
        values = np.array([believed.get(name, 0.0) for name in names])
        values = np.where(np.isnan(given.fixed), values, given.fixed)
        closed = np.isfinite(given.lower) & np.isfinite(given.upper) & np.isnan(given.fixed)
        return cls(
            names, values, np.where(closed, given.lower, values), np.where(closed, given.upper, values)
        )  # fmt: skip

    def on(self, model: Model) -> Belief:
        """The same for a model that has further parameters, of which the nominal values are believed."""
        if model.parameters == self.names:
            return self
        nominal = np.array([model.robot.nominal.get(name, 0.0) for name in model.parameters])
        at = [model.parameters.index(name) for name in self.names]
        values, lower, upper = (nominal.copy() for _ in range(3))
        values[at], lower[at], upper[at] = self.values, self.lower, self.upper
        return Belief(model.parameters, values, lower, upper)

    @property
    def centre(self) -> Array:
        """Middle of the ranges (p,)."""
        return np.asarray((self.lower + self.upper) / 2.0)

    @property
    def spread(self) -> Array:
        """Half of the ranges (p,)."""
        return np.asarray((self.upper - self.lower) / 2.0)


def beliefs_of(model: Model, priors: Sequence[Believable] | None) -> tuple[tuple[Belief, ...], tuple[str, ...]]:
    """The beliefs of a design, the robot's nominal values unless ``priors`` are given; and what was not known."""
    if priors is not None:
        return tuple(Belief.of(model, item) for item in priors), ()
    if any(name not in model.robot.nominal for name in model.parameters):
        return (), ("no nominal values: torque limits and relative errors are not considered",)
    return (Belief.of(model, model.nominal()),), ()
