"""The file of what is known beforehand: ``identify --prior FILE`` (docs/identification.md).

from: [nominal, stage1/fit.json]       # whose values are believed; the later ones win. Default: nominal
values: {M_link2: 3.1 kg, "Fv_*": 2}   # believed values, by name or pattern
scale: {M_link2: 0.3 kg}               # how far a value may be off, where not by its own size
bodies:                                # bodies of simple shape or from CAD; parts add up
  link2: {cylinder: {radius: 60 mm, length: 0.3 m, inner: 50 mm}, material: steel, at: [0.1, 0, 0], axis: x}
  link3: [{box: [0.1, 0.1, 0.2]}, {sphere: 40 mm, material: 1200}, {mass: 0.4, com: [0, 0, 0.1]}]
fixed: {M_tool: 5.37 kg, "Ia_*": prior, "Fv_*": stage1/fit.json}
zero: ["off_*"]
tied: [[Fv_a, Fv_b]]
tied_bodies: [[upper_1, upper_2, upper_3]]
bounds: {"M_*": [0.1, 5], "Fv_*": {max: 20}}
mass_center: {link2: x, link3: {axis: [1, 1, 0], through: [0, 0, 0.1]}}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError, EstimationError, RobotError, choices
from dalembert.identification.base import nominal_values
from dalembert.identification.constraints import Constraints, Equality
from dalembert.identification.fit import Fit
from dalembert.identification.fit_files import FIT_FILE, read_fit
from dalembert.identification.prior import DENSITY, Box, Cylinder, Prior, Shape, Sphere
from dalembert.identification.problem import bodies_of
from dalembert.parameters import INERTIAL, BodyInertia, inertial_names
from dalembert.robot import Robot, load_robot
from dalembert.robot.load import SUFFIXES
from dalembert.robot.quantity import ANY, LENGTH, Quantity, parameter_quantity
from dalembert.robot.quantity import DENSITY as DENSITIES
from dalembert.robot.yaml_bodies import PLACEMENT_KEYS, read_inertia, read_placement
from dalembert.robot.yaml_source import Located, parse_file

__all__ = ["Known", "read_known"]

KEYS = (
    "from", "values", "scale", "bodies", "fixed", "zero", "tied", "tied_bodies", "bounds", "mass_center", "equal",
)  # fmt: skip
SHAPES = ("cylinder", "box", "sphere")
CAD_KEYS = ("mass", "com", "tensor", *INERTIAL)
NOMINAL, PRIOR = "nominal", "prior"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an identification's parameters: beliefs, certainties, and what to tell the user about them."""

    prior: Prior | None = None
    constraints: Constraints = field(default_factory=Constraints)
    notes: tuple[str, ...] = ()


def read_known(source: str | Path, robot: Robot, names: Sequence[str]) -> Known:
    """From a prior file, or the values of a robot (catalog name or file) or of a ``fit.json`` (or its folder).

    ``names`` are the columns of the identification; every name and pattern in the file must be one of them.
    """
    text = str(source)
    path = Path(text)
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            root = parse_file(path)
            if not {"name", "extends"} & root.entries("a prior file or a robot file").keys():
                return _Reader(root, robot, tuple(names)).whole()
        values, notes = _values_of(text, robot, names)
    except RobotError as error:
        raise EstimationError(str(error)) from None
    return Known(Prior(values, source=text), notes=notes)


def _values_of(source: str, robot: Robot, names: Sequence[str]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Values a robot or a fit gives for the columns."""
    if source == NOMINAL:
        return nominal_values(robot, names), ()
    path = Path(source)
    if path.suffix.lower() == ".json" or (path / FIT_FILE).is_file():
        values, regrouped = _of_fit(read_fit(path))
        left = [name for name in regrouped if name in names]
        notes = (f"{source}: {', '.join(left)} are regrouped there, their values are not taken",) if left else ()
    elif path.suffix.lower() in SUFFIXES or not path.suffix:
        values, notes = nominal_values(load_robot(source), names), ()
    else:
        raise RobotError(
            f"{source}: expected a prior file or robot (.yaml, .urdf, .xml), a fit (.json) or a catalog name"
        )
    found = {name: value for name, value in values.items() if name in names}
    if not found:
        raise RobotError(
            f"{source}: gives no value of a parameter to identify, expected some of {', '.join(names[:3])} ..."
        )
    return found, notes


def _of_fit(fit: Fit) -> tuple[dict[str, float], tuple[str, ...]]:
    """Values of standard parameters in a fit, and the names of those that only stand in groups there."""
    if fit.standard:
        return dict(fit.standard), ()
    columns = fit.provenance.get("columns", {})
    alone = {p.name: p.value for p in fit.parameters if p.essential and p.regrouping in ("", p.name)}
    return alone, tuple(columns.get(p.name, p.name) for p in fit.parameters if p.name not in alone and p.essential)


class _Reader:
    """One prior file. ``known`` are the believed values so far, by name."""

    def __init__(self, root: Located, robot: Robot, names: tuple[str, ...]) -> None:
        self.root, self.robot, self.names = root, robot, names
        self.bodies = tuple(body.name for body in bodies_of(names))
        self.folder = Path(root.file).parent
        self.values: dict[str, float] = {}
        self.scale: dict[str, float] = {}
        self.notes: list[str] = []
        self.fits: dict[str, tuple[dict[str, float], tuple[str, ...]]] = {}

    def whole(self) -> Known:
        parts = self.root.mapping(KEYS, (), "a prior file")
        parts = {key: item for key, item in parts.items() if not item.is_null}
        self.beliefs(parts)
        scale = self.numbers(parts.get("scale"), lambda item, of: item.positive(of, "a scale"))
        fixed = self.fixed(parts.get("fixed"))
        zero = {name for item in self.listed(parts.get("zero")) for name in self.match(item)}
        equalities: list[Equality] = []
        for body, item in self.of_bodies(parts.get("mass_center")):
            flat, lines = _mass_center(body, item)
            zero |= flat
            equalities += lines
        constraints = Constraints(
            fixed=fixed, zero=tuple(n for n in self.names if n in zero), bounds=self.bounds(parts.get("bounds")),
            ties=self.groups(parts.get("tied"), self.match),
            tied_bodies=self.groups(parts.get("tied_bodies"), lambda item: [self.body(item)]),
            equalities=(*equalities, *map(self.equality, self.listed(parts.get("equal")))),
        )  # fmt: skip
        try:
            constraints.resolve(self.names).basis()
        except EstimationError as error:
            self.root.fail(str(error))
        return Known(Prior(self.values, {**self.scale, **scale}, self.root.file), constraints, tuple(self.notes))

    def beliefs(self, parts: Mapping[str, Located]) -> None:
        """Fill in the believed values, the more particular ones last."""
        given = parts.get("from")
        for item in () if given is None else given.items() if given.is_list else (given,):
            self.taken(item)
        if given is None:
            self.values |= _values_of(NOMINAL, self.robot, self.names)[0]
        for body, item in self.of_bodies(parts.get("bodies")):
            shapes = [_shape(part) for part in (item.items() if item.is_list else (item,))]
            if not shapes:
                item.expected("at least one part")
            prior = Prior.of_bodies({body: shapes})
            self.values |= prior.values
            self.scale |= prior.scale
        self.values |= self.numbers(parts.get("values"), Located.number)

    def taken(self, item: Located) -> None:
        """Take over the values of a robot or fit."""
        text = item.text("nominal, none, a robot or a fit.json")
        if text == "none":
            return
        near = self.folder / text
        try:
            values, notes = _values_of(str(near) if near.exists() else text, self.robot, self.names)
        except DalembertError as error:
            item.fail(str(error))
        self.values |= values
        self.notes += notes

    def fixed(self, item: Located | None) -> dict[str, float]:
        """Fixed values: numbers, ``prior``, or the file of an earlier stage; a list of names is fixed at the prior."""
        if item is None:
            return {}
        if item.is_list:
            return {name: self.believed(entry, name) for entry in item.items() for name in self.match(entry)}
        out: dict[str, float] = {}
        for pattern, entry in item.entries("name: value").items():
            for name in self.match(entry, pattern):
                out[name] = self.one_fixed(entry, name)
        return out

    def one_fixed(self, item: Located, name: str) -> float:
        text = item.raw("a number, prior, or the fit.json of an earlier stage")
        if text == PRIOR:
            return self.believed(item, name)
        near = self.folder / text
        if not text.endswith(".json") and not near.is_dir():
            return item.number(parameter_quantity(name))
        if text not in self.fits:
            try:
                self.fits[text] = _of_fit(read_fit(near))
            except DalembertError as error:
                item.fail(str(error))
        values, regrouped = self.fits[text]
        if name in regrouped:
            item.fail(f"{name!r} is regrouped with others in {text}; fix parameters that stand alone there, or take a "
                      "fit by bounded, physical or sdp")  # fmt: skip
        if name not in values:
            item.fail(f"{text} has no {name!r}; {choices(name, values)}")
        return values[name]

    def believed(self, item: Located, name: str) -> float:
        if name not in self.values:
            item.fail(f"nothing is believed of {name!r}, expected a number, or a value under 'values' or 'bodies'")
        return self.values[name]

    def bounds(self, item: Located | None) -> dict[str, tuple[float, float]]:
        """Bounds by name; those of several patterns for one name intersect."""
        out: dict[str, tuple[float, float]] = {}
        for pattern, entry in ({} if item is None else item.entries("name: [lower, upper]")).items():
            names = self.match(entry, pattern)
            of = parameter_quantity(*names)
            if entry.is_mapping:
                ends = entry.mapping(("min", "max"), what="bounds")
                low = ends["min"].number(of) if "min" in ends else -math.inf
                high = ends["max"].number(of) if "max" in ends else math.inf
            else:
                low, high = entry.numbers(of, 2, "[lower, upper] or {min: lower, max: upper}")
            if low > high:
                entry.fail(f"the lower bound {low:g} is above the upper one {high:g}")
            for name in names:
                before = out.get(name, (-math.inf, math.inf))
                out[name] = max(low, before[0]), min(high, before[1])
                if out[name][0] > out[name][1]:
                    entry.fail(f"the bounds of {name!r} exclude those given before, {before[0]:g}..{before[1]:g}")
        return out

    def equality(self, item: Located) -> Equality:
        """``{M_a: 1, MX_a: -10, value: 0}``."""
        terms = item.entries("name: factor")
        value = terms.pop("value").number(ANY) if "value" in terms else 0.0
        return Equality(
            tuple((self.match(at, name, exact=True)[0], at.number(ANY)) for name, at in terms.items()), value
        )

    # --- names -------------------------------------------------------------------------------------------------------

    def match(self, item: Located, pattern: str | None = None, *, exact: bool = False) -> list[str]:
        """The columns a name or pattern picks."""
        pattern = item.text("the name of a parameter") if pattern is None else pattern
        found = [n for n in self.names if n == pattern or (not exact and fnmatchcase(n, pattern))]
        if not found:
            item.fail(f"no parameter {pattern!r}; {choices(pattern, self.names)}")
        return found

    def numbers(self, item: Located | None, read: Callable[[Located, Quantity], float]) -> dict[str, float]:
        """A mapping of names or patterns to numbers; a name by itself wins over a pattern."""
        out: dict[str, float] = {}
        entries = {} if item is None else item.entries("name: value")
        for pattern in sorted(entries, key=lambda p: p in self.names):
            names = self.match(entries[pattern], pattern)
            out |= dict.fromkeys(names, read(entries[pattern], parameter_quantity(*names)))
        return out

    def listed(self, item: Located | None) -> tuple[Located, ...]:
        return () if item is None else item.items()

    def groups(self, item: Located | None, read: Callable[[Located], list[str]]) -> tuple[tuple[str, ...], ...]:
        """Groups of at least two names."""
        out = []
        for group in self.listed(item):
            names = tuple(name for entry in group.items("a list of names") for name in read(entry))
            if len(names) < 2:
                group.fail(f"found {', '.join(names) or 'nothing'}, expected at least two to be equal")
            out.append(names)
        return tuple(out)

    def of_bodies(self, item: Located | None) -> list[tuple[str, Located]]:
        entries = {} if item is None else item.entries("body: ...")
        for name, entry in entries.items():
            self.body(entry, name)
        return list(entries.items())

    def body(self, item: Located, name: str | None = None) -> str:
        name = item.text("a body") if name is None else name
        if name not in self.bodies:
            item.fail(f"no body {name!r}; {choices(name, self.bodies)}")
        return name


def _shape(item: Located) -> Shape:
    """One part of a body: a primitive of a material, or mass, centre and tensor."""
    keys = item.mapping((*SHAPES, "material", *PLACEMENT_KEYS, "axis", *CAD_KEYS), (), "a part")
    kinds = [key for key in SHAPES if key in keys]
    cad = [key for key in CAD_KEYS if key in keys]
    if len(kinds) + bool(cad) != 1:
        found = ", ".join([*kinds, *cad]) or "no shape"
        item.fail(f"found {found}, expected one of {', '.join(SHAPES)}, or mass, com, tensor")
    if cad:
        foreign = next((key for key in keys if key not in cad), None)
        if foreign:
            keys[foreign].fail(f"found {foreign} beside {cad[0]}, expected values in the body's own frame, alone")
        return _given(item)
    placement = read_placement({key: keys[key] for key in (*PLACEMENT_KEYS, "axis") if key in keys})
    material = _material(keys["material"]) if "material" in keys else "aluminium"
    at = keys[kinds[0]]
    try:
        if kinds[0] == "box":
            return Box(at.vector(LENGTH, "three edges [x, y, z]"), material, placement)
        if kinds[0] == "sphere":
            return Sphere(at.number(LENGTH, "a radius"), material, placement)
        sizes = at.mapping(("radius", "length", "inner"), ("radius", "length"), "a cylinder")
        inner = sizes["inner"].number(LENGTH) if "inner" in sizes else 0.0
        return Cylinder(sizes["radius"].number(LENGTH), sizes["length"].number(LENGTH), material, inner, placement)
    except EstimationError as error:
        at.fail(str(error))


def _given(item: Located) -> BodyInertia:
    """A CAD body: ``mass, com, tensor`` at the centre of mass, or the ten parameters by name."""
    ten = np.array(list(read_inertia(item, "cad").values()))
    if not ten[9] > 0.0:
        item.fail("found no mass, expected one above zero")
    return BodyInertia.of(ten)


def _material(item: Located) -> str | float:
    """A material by name, or its density."""
    text = item.raw("a material or a density in kg/m^3")
    if text in DENSITY:
        return text
    if text[:1].isalpha():
        item.fail(f"no material {text!r}; {choices(text, DENSITY)}, or a density in kg/m^3")
    return item.positive(DENSITIES, "a density in kg/m^3")


def _mass_center(body: str, item: Located) -> tuple[set[str], list[Equality]]:
    """Parameters that are zero, and equalities, when the centre of mass of a body lies on an axis of its frame."""
    through, direction = (0.0, 0.0, 0.0), item
    if item.is_mapping:
        keys = item.mapping(("axis", "through"), ("axis",), "an axis")
        direction = keys["axis"]
        through = keys["through"].vector(LENGTH) if "through" in keys else through
    along = np.array(direction.axis())
    names = inertial_names(body)
    normals = np.linalg.svd((along / np.linalg.norm(along))[None])[2][1:]
    if np.count_nonzero(along) == 1:
        normals = np.eye(3)[along == 0.0]
    zero: set[str] = set()
    equalities = []
    for normal in normals:
        offset = float(normal @ through)
        terms = [(names[6 + k], float(normal[k])) for k in range(3) if normal[k] != 0.0]
        if len(terms) == 1 and offset == 0.0:
            zero.add(terms[0][0])
        else:
            equalities.append(Equality((*terms, (names[9], -offset)) if offset else tuple(terms)))
    return zero, equalities
