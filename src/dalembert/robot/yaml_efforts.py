"""Effort terms of a robot file: friction, rotor inertia, offsets, springs, known laws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dalembert.robot.description import Anchor, Coordinate, Distance, Effort, EffortKind, Motor
from dalembert.robot.quantity import ANY, POSITION, parameter_quantity
from dalembert.robot.yaml_bodies import PLACEMENT_KEYS, read_placement
from dalembert.robot.yaml_names import Names
from dalembert.robot.yaml_source import Located

__all__ = ["Efforts", "read_anchor"]

FRICTION = (EffortKind.VISCOUS, EffortKind.COULOMB)
SIMPLE = (EffortKind.ROTOR, *FRICTION, EffortKind.OFFSET, EffortKind.CONSTANT)
_FORMS: Mapping[str, tuple[str, ...]] = {
    "spring": ("name", "spring", "stiffness", "rest"),
    "force": ("name", "force", "value"),
    "basis": ("name", "on", "basis", "values"),
    "on": ("name", "on", "friction", "efforts", "constant"),
}
UNKNOWN = ("unknown", "true")


def read_anchor(item: Located, names: Names, *, axis: bool = False) -> Anchor:
    """``{body, at, rpy | rotation | quaternion | axis}``, or the name of a body or frame alone."""
    if item.is_text:
        return names.frame(item)
    keys = item.mapping(("body", *PLACEMENT_KEYS, *(("axis",) if axis else ())), ["body"], "an anchor")
    frame = names.frame(keys["body"])
    placement = read_placement({key: value for key, value in keys.items() if key != "body"})
    if frame.body == keys["body"].raw():
        return Anchor(frame.body, placement)
    return Anchor(frame.body, frame.placement @ placement)


@dataclass(slots=True)
class Efforts:
    """Collects effort terms and the nominal values written beside them, each parameter once."""

    names: Names
    efforts: list[Effort] = field(default_factory=list)
    nominal: dict[str, float] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def add(self, item: Located, effort: Effort, values: Iterable[float | None] = (None,)) -> None:
        """One effort term, with nominal values of its first parameters where known."""
        for name in effort.parameters:
            if name in self.lines:
                item.fail(
                    f"the parameter {name!r} is used twice, first in line {self.lines[name]}; "
                    "expected another name for this effort"
                )
            self.lines[name] = item.node.line
        self.efforts.append(effort)
        for name, value in zip(effort.parameters, values, strict=False):
            if value is not None:
                self.nominal[name] = value

    def kinds(
        self, item: Located, name: str, on: Coordinate | Distance, allowed: Iterable[EffortKind] = SIMPLE
    ) -> None:
        """``[rotor, viscous]`` or ``{rotor: 0.1, viscous: unknown}`` on one coordinate."""
        valid = {kind.value: kind for kind in allowed}
        if item.is_mapping:
            for word, value in item.mapping(valid, (), "efforts").items():
                effort = Effort(name, valid[word], on)
                self.add(value, effort, [_value(value, effort)])
            return
        for word_item in item.items(f"a list of {', '.join(valid)}, or a mapping of their values"):
            self.add(word_item, Effort(name, valid[word_item.choice_of(valid)], on))

    def joint(self, item: Located, coordinates: Iterable[str]) -> None:
        """The ``efforts`` of a joint, on each of its coordinates."""
        for name in coordinates:
            self.kinds(item, name, Coordinate(((name, 1.0),)))

    def motor(self, item: Located, motor: Motor) -> None:
        """The ``efforts`` of a motor, on what it turns with."""
        self.kinds(item, motor.name, Coordinate(motor.turns))

    def entry(self, item: Located) -> None:
        """One entry of an ``efforts`` list."""
        found = item.entries("an effort")
        form = next((form for form in _FORMS if form in found), None)
        if form is None:
            item.fail(f"found {', '.join(found) or 'no key'}, expected one of the keys on, spring, force")
        keys = item.mapping(_FORMS[form], ["on"] if form == "basis" else (), "an effort")
        {"spring": self._spring, "force": self._force, "basis": self._basis, "on": self._simple}[form](item, keys)

    def _on(self, keys: Mapping[str, Located], at: str) -> list[tuple[str, Coordinate | Distance]]:
        """Named coordinates an entry acts on; several for a joint of several coordinates."""
        item = keys[at]
        given = keys["name"].text() if "name" in keys else None
        if item.is_mapping and "distance" in item.entries() and "distance" not in self.names.coordinates:
            a, b = item.mapping(["distance"])["distance"].exactly(2, "two anchors {body, at}")
            on = Distance(read_anchor(a, self.names), read_anchor(b, self.names))
            if on.a.body == on.b.body:
                item.fail(f"both ends are on {on.a.body!r}, expected two bodies")
            return [(given or f"{on.a.body}-{on.b.body}", on)]
        if item.is_text and item.raw() in self.names.joints:
            coordinates = self.names.joints[item.raw()]
            names = [given + c.removeprefix(item.raw()) if given else c for c in coordinates]
            return [(name, Coordinate(((c, 1.0),))) for name, c in zip(names, coordinates, strict=True)]
        linear = self.names.linear(item)
        if given is None and not item.is_text:
            item.fail("the key 'name' is missing, expected a name for the effort on this combination")
        return [(given or "".join(item.raw().split()), linear)]

    def _simple(self, item: Located, keys: Mapping[str, Located]) -> None:
        if not {"friction", "efforts", "constant"} & set(keys):
            item.fail(f"found {', '.join(keys)}, expected one of the keys friction, efforts, constant, basis")
        for name, on in self._on(keys, "on"):
            if "friction" in keys:
                self.kinds(keys["friction"], name, on, FRICTION)
            if "efforts" in keys:
                self.kinds(keys["efforts"], name, on)
            if "constant" in keys:
                effort = Effort(name, EffortKind.CONSTANT, on)
                self.add(keys["constant"], effort, [_value(keys["constant"], effort)])

    def _spring(self, item: Located, keys: Mapping[str, Located]) -> None:
        if "rest" not in keys:
            item.fail("the key 'rest' is missing, expected the free length or angle, or unknown")
        rest = None if keys["rest"].is_text and keys["rest"].raw() == "unknown" else keys["rest"].number(POSITION)
        for name, on in self._on(keys, "spring"):
            effort = Effort(name, EffortKind.SPRING, on, rest=rest)
            self.add(item, effort, [_value(keys["stiffness"], effort) if "stiffness" in keys else None])

    def _basis(self, item: Located, keys: Mapping[str, Located]) -> None:
        laws = tuple(self.names.law(law) for law in keys["basis"].items("a list of expressions"))
        if not laws:
            keys["basis"].expected("at least one expression of joints")
        values = keys["values"].numbers(ANY, len(laws), f"{len(laws)} numbers") if "values" in keys else ()
        on = self._on(keys, "on")
        if len(on) > 1:
            keys["on"].fail(f"acts on {len(on)} coordinates; choose from {', '.join(name for name, _ in on)}")
        self.add(item, Effort(on[0][0], EffortKind.BASIS, on[0][1], basis=laws), values)

    def _force(self, item: Located, keys: Mapping[str, Located]) -> None:
        if "name" not in keys:
            item.fail("the key 'name' is missing, expected a name for the force")
        force = keys["force"].entries("a mapping from joints to expressions")
        if not force:
            keys["force"].expected("at least one joint and its expression")
        laws = tuple((self.names.coordinate(law, name), self.names.law(law)) for name, law in force.items())
        value = keys["value"].number(ANY) if "value" in keys else None
        self.add(item, Effort(keys["name"].text(), EffortKind.FORCE, None, force=laws), [value])


def _value(item: Located, effort: Effort) -> float | None:
    """A nominal value of an effort's first parameter, or None for ``unknown`` (or ``true``)."""
    if item.is_text and item.raw() in UNKNOWN:
        return None
    return item.number(parameter_quantity(effort.parameters[0]), "a number or unknown")
