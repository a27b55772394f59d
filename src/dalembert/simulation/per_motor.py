"""Values per motor in settings files: one for all, a list in the robot's order, or a mapping by name."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.robot.quantity import Quantity
from dalembert.robot.yaml_source import Located

__all__ = ["per_motor"]


def per_motor(item: Located, of: Quantity, names: Sequence[str], *, positive: bool = False) -> tuple[float, ...]:
    """One number each for ``names``; ``positive`` refuses negative ones."""
    if item.is_text:
        values = [item] * len(names)
    elif item.is_mapping:
        found = item.mapping(names, names, "a value for each motor")
        values = [found[name] for name in names]
    else:
        values = list(item.exactly(len(names), f"one number, or one each for {', '.join(names)}"))
    out = tuple(value.number(of) for value in values)
    if positive:
        for value, number in zip(values, out, strict=True):
            if number < 0.0:
                value.fail(f"found {number:g}, expected a number that is not negative")
    return out
