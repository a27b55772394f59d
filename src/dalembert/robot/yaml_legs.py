"""Leg templates: sections of a robot file written once and repeated with each leg's own values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.errors import RobotError
from dalembert.robot.dimension import PLAIN, Dimension
from dalembert.robot.yaml_source import Located, Scope, is_name

__all__ = ["SECTION_KEYS", "Template", "read_legs", "read_scope"]

# What a leg may hold, and the whole robot too.
SECTION_KEYS = ("bodies", "loops", "motors", "sensors", "efforts", "limits", "home", "nominal")


@dataclass(frozen=True, slots=True)
class Template:
    """One leg template: its sections, one per leg; ``symmetric`` when its bodies are meant to be equal."""

    legs: tuple[dict[str, Located], ...]
    symmetric: bool


def read_legs(item: Located) -> list[Template]:
    """One template or a list of templates."""
    templates = item.items() if item.is_list else (item,)
    return [_template(template) for template in templates]


def _template(item: Located) -> Template:
    keys = item.mapping(("each", "symmetric", *SECTION_KEYS), ["each"], "a leg template")
    symmetric = keys["symmetric"].boolean() if "symmetric" in keys else False
    sections = {key: value for key, value in keys.items() if key in SECTION_KEYS}
    legs = []
    for leg in keys["each"].items("a list of legs, [{k: 1}, {k: 2}]"):
        scope = _leg_scope(leg)
        legs.append({key: value.within(scope) for key, value in sections.items()})
    if not legs:
        keys["each"].expected("at least one leg, {k: 1}")
    return Template(tuple(legs), symmetric)


def _leg_scope(leg: Located) -> Scope:
    """Every key of a leg is a label for texts; those that are numbers are constants too."""
    scope = leg.scope
    constants, dimensions, labels = dict(scope.constants), dict(scope.dimensions), dict(scope.labels)
    for name, value in leg.entries("the values of a leg, {k: 1}").items():
        if not is_name(name):
            value.fail(f"found the key {name!r}, expected a name of letters, digits and underscores")
        given = value.within(Scope(constants, dimensions, labels))
        text = given.raw("a number or a text")
        if not text.isprintable():
            value.expected("a number or a text of printable characters")
        try:
            constants[name], dimensions[name] = given.amount()
        except RobotError:
            constants.pop(name, None)  # a text: using it as a number is reported where that is done
        labels[name] = text
    return Scope(constants, dimensions, labels)


def read_scope(constants: Mapping[str, Sequence[Located]]) -> Scope:
    """Constants in the order written; each may use the earlier ones.

    The last value of each replaces those before it, and has their unit where it has none of its own.
    """
    values: dict[str, float] = {}
    dimensions: dict[str, Dimension] = {}
    for name, items in constants.items():
        if not is_name(name):
            items[0].fail(f"found the constant {name!r}, expected letters, digits and underscores, and not pi")
        dimension = PLAIN
        for item in items:
            values[name], own = item.within(Scope(values, dimensions)).amount()
            if not (own.fits(dimension) or dimension.is_plain):
                item.fail(f"found {item.raw()!r} in {own}, expected {dimension} as of the constant it replaces")
            dimension = dimension if own.is_plain else own
        dimensions[name] = dimension
    return Scope(values, dimensions)
