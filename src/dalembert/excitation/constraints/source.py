"""The contract of limits that are not linear in the unknowns."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.excitation.states import Motion

__all__ = ["Array", "Slopes", "Source"]

Array = NDArray[np.float64]
# by x, xd, xdd and, where it counts, xddd: each (n, k, r), None where the quantities do not depend on it
Slopes = tuple[Array | None, ...]


class Source(Protocol):
    """k bounded quantities of a state. ``still``: they depend on the position alone."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each quantity is, with its unit, for messages (k)."""
        ...

    @property
    def lower(self) -> Array: ...

    @property
    def upper(self) -> Array: ...

    @property
    def still(self) -> bool: ...

    def values(self, motion: Motion) -> Array:
        """The quantities (n, k)."""
        ...

    def slopes(self, motion: Motion) -> Slopes:
        """Their total derivatives, loops followed."""
        ...
