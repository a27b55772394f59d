"""From the located values of a robot file to a Robot: the tree, then motors, then all that refers to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dalembert.errors import RobotError, choices
from dalembert.parameters import INERTIAL
from dalembert.robot.description import Coupling, Limit, Loop, Motor, Robot, Sensor
from dalembert.robot.geometry import Vector
from dalembert.robot.quantity import ACCELERATION, parameter_quantity
from dalembert.robot.yaml_efforts import Efforts
from dalembert.robot.yaml_legs import read_legs
from dalembert.robot.yaml_names import Names
from dalembert.robot.yaml_parts import MotorEntry, read_loop, read_motors, read_sensor
from dalembert.robot.yaml_source import Located, Scope, is_file, parse_file
from dalembert.robot.yaml_tree import Tree, placed, read_bodies, read_limit, read_mdh

__all__ = ["Document", "build_robot"]

DEFAULT_GRAVITY: Vector = (0.0, 0.0, -9.81)

Section = Mapping[str, Located]
Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Top-level values by key, those of extended files first; ``base`` is an extended URDF or MJCF robot."""

    root: Located
    layers: Mapping[str, tuple[Located, ...]] = field(default_factory=dict)
    base: Robot | None = None


def build_robot(document: Document, scope: Scope) -> Robot:
    """The robot of a document whose constants have been read."""
    return _Builder(document, scope).robot()


class _Builder:
    def __init__(self, document: Document, scope: Scope) -> None:
        self.root, self.base = document.root, document.base
        self.layers = {key: tuple(i.within(scope) for i in items) for key, items in document.layers.items()}
        self.top: Section = {key: items[-1] for key, items in self.layers.items()}
        self.templates = read_legs(self.top["legs"]) if "legs" in self.top else []
        self.sections: list[Section] = [self.top, *(leg for t in self.templates for leg in t.legs)]
        self.cut: Located | None = None

    def robot(self) -> Robot:
        name = self._name()
        tree, groups = self._tree()
        names = Names.of(tree.bodies, tree.frames)
        motors, keys = self._motors(names)
        names = Names.of(tree.bodies, tree.frames, motors)
        efforts = self._efforts(names, tree, keys)
        loops, sensors = self._loops(names), self._sensors(names, motors)
        limits, home, nominal = (
            self._limits(names, tree, keys),
            self._home(names),
            self._nominal(tree, efforts),
        )
        independent = self._independent(names)
        unmeasured, without = (self._listed(names, key) for key in ("unmeasured", "without_encoder"))
        symmetric, platform, gravity, source = self._symmetric(names, groups), *self._words(names)
        try:
            return Robot(
                name, tree.bodies, loops, motors, sensors, tuple(efforts.efforts),
                gravity=gravity, independent=independent, home=home, platform=platform, symmetric=symmetric,
                limits=limits, nominal=nominal, unmeasured=unmeasured, without_encoder=without,
                source=source,
            )  # fmt: skip
        except RobotError as error:
            self.root.fail(str(error))

    def _words(self, names: Names) -> tuple[str | None, Vector, str]:
        """Platform, gravity and source."""
        top, base = self.top, self.base
        platform, gravity, source = (base.platform, base.gravity, base.source) if base else (None, DEFAULT_GRAVITY, "")
        return (
            names.body(top["platform"]) if "platform" in top else platform,
            top["gravity"].vector(ACCELERATION) if "gravity" in top else gravity,
            top["source"].prose() if "source" in top else source,
        )

    def _items(self, key: str) -> Iterator[Located]:
        """Entries of a list that the robot and each leg may have."""
        for section in self.sections:
            if key in section:
                yield from section[key].items(f"a list of {key}")

    def _name(self) -> str:
        if "name" in self.top:
            return self.top["name"].text("the name of the robot")
        if self.base is None:
            self.root.fail("the key 'name' is missing, expected the name of the robot")
        return self.base.name

    # tree

    def _tree(self) -> tuple[Tree, Groups]:
        entries = read_bodies(self.top["bodies"]) if "bodies" in self.top else []
        carried: Mapping[str, str] = {}
        if "mdh" in self.top:
            rows, self.cut, carried = read_mdh(self.top["mdh"])
            entries += rows
        groups: list[tuple[str, ...]] = []
        for template in self.templates:
            legs = [read_bodies(leg["bodies"]) for leg in template.legs if "bodies" in leg]
            entries += [entry for leg in legs for entry in leg]
            if template.symmetric and len(legs) > 1:
                groups += [tuple(e.name for e in same) for same in zip(*legs, strict=True) if not same[0].massless]
        if not entries and self.base is None:
            self.root.fail("no bodies, expected at least one under bodies, mdh or legs")
        tree = placed(entries, self.base.bodies if self.base else (), carried)
        if not any(body.joint.coordinates for body in tree.bodies):
            where = next((self.top[key] for key in ("bodies", "mdh", "legs") if key in self.top), self.root)
            where.fail("no joint can move, expected at least one joint that is not fixed")
        return tree, tuple(groups)

    def _symmetric(self, names: Names, groups: Groups) -> Groups:
        if "symmetric" not in self.top:
            return (*(self.base.symmetric if self.base else ()), *groups)
        own = tuple(
            tuple(names.body(body) for body in group.items("a list of bodies"))
            for group in self.top["symmetric"].items("a list of groups [[a, b], [c, d]]")
        )
        return (*own, *groups)

    # motors, sensors, loops

    def _motors(self, names: Names) -> tuple[tuple[Motor, ...], list[Section]]:
        entries: list[MotorEntry] = []
        given = [section["motors"] for section in self.sections if "motors" in section]
        for item in given:
            entries += read_motors(item, names)
        if not given:
            default = tuple(Motor(name, ((name, 1.0),)) for name in names.coordinates)
            motors = self.base.motors if self.base else default
            return motors, [{}] * len(motors)
        seen: dict[str, int] = {}
        for motor, keys in entries:
            _once(keys["name"], "motor", motor.name, seen)
        return tuple(motor for motor, _ in entries), [keys for _, keys in entries]

    def _sensors(self, names: Names, motors: Iterable[Motor]) -> tuple[Sensor, ...]:
        if self.base is not None and not any("sensors" in section for section in self.sections):
            return self.base.sensors
        seen = {motor.name: 0 for motor in motors}
        out = []
        for item in self._items("sensors"):
            out.append(read_sensor(item, names))
            _once(item, "motor or sensor", out[-1].name, seen)
        return tuple(out)

    def _loops(self, names: Names) -> tuple[Loop | Coupling, ...]:
        """Loops of the extended robot, of the file, of the legs, then the cut joints of the table."""
        out = list(self.base.loops) if self.base else []
        seen = {loop.name: 0 for loop in out}
        items = list(self._items("loops"))
        if self.cut is not None:
            items += self.cut.items("a list of cut joints")
        for item in items:
            out.append(read_loop(item, names))
            _once(item, "loop", out[-1].name, seen)
        return tuple(out)

    def _listed(self, names: Names, key: str) -> tuple[str, ...]:
        """Motors a key lists, else those of the robot it extends."""
        if key not in self.top:
            return getattr(self.base, key) if self.base else ()
        return tuple(names.motor(item) for item in self.top[key].items("a list of motors"))

    def _independent(self, names: Names) -> tuple[str, ...]:
        if "independent" not in self.top:
            return self.base.independent if self.base else ()
        out: list[str] = []
        for item in self.top["independent"].items("a list of joints"):
            for name in names.expanded(item):
                if name in out:
                    item.fail(f"the coordinate {name!r} is listed twice, expected different joints")
                out.append(name)
        return tuple(out)

    # efforts and values

    def _efforts(self, names: Names, tree: Tree, motor_keys: Iterable[Section]) -> Efforts:
        efforts = Efforts(names)
        if self.base is not None and not any("efforts" in section for section in self.sections):
            for effort in self.base.efforts:
                efforts.add(self.root, effort)
        for joint in tree.extras:
            if "efforts" in joint.keys:
                efforts.joint(joint.keys["efforts"], joint.joint.coordinates)
        for name, keys in zip(names.motors, motor_keys, strict=True):
            if "efforts" in keys:
                efforts.motor(keys["efforts"], Motor(name, names.motors[name]))
        for item in self._items("efforts"):
            efforts.entry(item)
        return efforts

    def _limits(self, names: Names, tree: Tree, motor_keys: Iterable[Section]) -> dict[str, Limit]:
        out = dict(self.base.limits) if self.base else {}
        for joint in tree.extras:
            if "limits" in joint.keys:
                coordinates = joint.joint.coordinates
                if len(coordinates) != 1:
                    joint.keys["limits"].fail(
                        f"the joint {joint.joint.name!r} has {len(coordinates)} coordinates, expected limits "
                        f"under the key 'limits' of the robot for {', '.join(coordinates) or 'none'}"
                    )
                out[coordinates[0]] = read_limit(joint.keys["limits"], names.motion(coordinates[0]))
        for name, keys in zip(names.motors, motor_keys, strict=True):
            if "limits" in keys:
                out[name] = read_limit(keys["limits"], names.motion(name))
        for section in (*self.sections[1:], self.top):
            if "limits" in section:
                for name, item in section["limits"].entries("limits by joint or motor").items():
                    _known(item, "joint coordinate or motor", name, (*names.coordinates, *names.motors))
                    out[name] = read_limit(item, names.motion(name))
        return out

    def _home(self, names: Names) -> dict[str, float]:
        out = dict(self.base.home) if self.base else {}
        *inherited, own = self.layers.get("home", (None,))
        for item in (*inherited, *(leg.get("home") for leg in self.sections[1:]), own):
            if item is None:
                continue
            for name, value in item.entries("a mapping from joints to positions").items():
                if item in inherited and name not in names.joints and name not in names.coordinates:
                    continue  # a joint that the extending file no longer has
                coordinates = names.expanded(value, name)
                values: tuple[Located, ...] = (value,)
                if value.is_list or len(coordinates) > 1:
                    values = value.exactly(len(coordinates), f"numbers for {', '.join(coordinates)}")
                for coordinate, at in zip(coordinates, values, strict=True):
                    out[coordinate] = at.number(names.position(coordinate))
        return out

    def _nominal(self, tree: Tree, efforts: Efforts) -> dict[str, float]:
        """Values beside bodies and efforts, then those of the legs, then those of the robot."""
        valid = {f"{symbol}_{body.name}" for body in tree.bodies if not body.massless for symbol in INERTIAL}
        valid |= set(efforts.lines)
        out = {k: v for k, v in (self.base.nominal if self.base else {}).items() if k in valid}
        out |= {**tree.nominal, **efforts.nominal}
        *inherited, own = self.layers.get("nominal", (None,))
        for item in (*inherited, *(leg.get("nominal") for leg in self.sections[1:]), own):
            if item is None:
                continue
            for name, value in _values(item).items():
                if name in valid:
                    out[name] = value.number(parameter_quantity(name))
                    if name.startswith("M_") and out[name] < 0.0 and name not in efforts.lines:
                        value.fail(f"found the mass {out[name]:g} kg, expected a mass >= 0")
                elif item not in inherited:  # an inherited value may belong to a term that was replaced
                    _known(value, "parameter", name, sorted(valid))
        return out


def _values(item: Located) -> dict[str, Located]:
    """Parameter values: a mapping, or the name of a file that holds one."""
    if item.is_mapping:
        return item.entries()
    path = Path(item.file).parent / item.text("a mapping of parameters, or a file")
    if not is_file(path):
        item.fail(f"no file {str(path)!r}, expected a YAML file of parameter values")
    return parse_file(path).within(item.scope).entries("a mapping of parameters")


def _known(item: Located, what: str, name: str, valid: Iterable[str]) -> None:
    valid = list(valid)
    if name not in valid:
        item.fail(f"no {what} {name!r}; {choices(name, valid)}")


def _once(item: Located, kind: str, name: str, seen: dict[str, int]) -> None:
    if name in seen:
        first = f", first in line {seen[name]}" if seen[name] else ""
        item.fail(f"the {kind} name {name!r} is used twice{first}; expected different names")
    seen[name] = item.node.line
