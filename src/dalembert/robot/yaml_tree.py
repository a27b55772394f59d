"""The spanning tree of a robot file: its ``bodies`` and its ``mdh`` table, placed parents first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dalembert.errors import choices
from dalembert.robot.description import BASE, Anchor, Body, Limit
from dalembert.robot.geometry import IDENTITY, Placement
from dalembert.robot.joints import Joint, JointType
from dalembert.robot.quantity import PURE, Motion
from dalembert.robot.yaml_bodies import (
    BODY_KEYS,
    MDH_KEYS,
    read_inertia,
    read_joint,
    read_mdh_frame,
    read_placement,
)
from dalembert.robot.yaml_source import Located

__all__ = ["Entry", "JointExtras", "Tree", "placed", "read_bodies", "read_limit", "read_mdh"]

_SIGMA = {0.0: JointType.REVOLUTE, 1.0: JointType.PRISMATIC, 2.0: JointType.FIXED}


@dataclass(frozen=True, slots=True)
class JointExtras:
    """What a file says of a joint beside its kind: efforts, limits."""

    joint: Joint
    keys: Mapping[str, Located]


@dataclass(frozen=True, slots=True)
class Entry:
    """A body, or a mere frame (no joint), as written; its parent may be listed later."""

    name: str
    parent: str
    where: Located
    parent_item: Located
    placement: Placement
    joint: Joint | None
    massless: bool = False
    nominal: Mapping[str, float] = field(default_factory=dict)
    extras: Mapping[str, Located] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tree:
    """Bodies parents first, frames of MDH tables, and what was said of the joints and inertias."""

    bodies: tuple[Body, ...]
    frames: Mapping[str, Anchor]
    extras: tuple[JointExtras, ...]
    nominal: Mapping[str, float]


def read_bodies(item: Located) -> list[Entry]:
    """The entries of a ``bodies`` list."""
    return [_body(body) for body in item.items("a list of bodies")]


def _body(item: Located) -> Entry:
    keys = item.mapping(BODY_KEYS, ["name"], "a body")
    name = keys["name"].text("the name of a body")
    parent_item = keys.get("parent", item)
    parent = keys["parent"].text("the name of a body") if "parent" in keys else BASE
    joint, extras = read_joint(keys.get("joint"), name)
    massless, nominal = _inertia(keys, name)
    placement = read_placement(keys)
    return Entry(name, parent, keys["name"], parent_item, placement, joint, massless, nominal, extras)


def _inertia(keys: Mapping[str, Located], name: str) -> tuple[bool, dict[str, float]]:
    massless = keys["massless"].boolean() if "massless" in keys else False
    if massless and "inertia" in keys:
        keys["inertia"].fail(f"the body {name!r} is massless, expected no inertia")
    return massless, read_inertia(keys["inertia"], name) if "inertia" in keys else {}


# Khalil-Kleinfinger tables


def read_mdh(item: Located) -> tuple[list[Entry], Located | None, dict[str, str]]:
    """Entries of an ``mdh`` table, its ``cut`` loops, and the bodies that its joints carry."""
    keys = {"rows": item} if item.is_list else item.mapping(("columns", "rows", "cut"), ["rows"], "a table")
    names = _columns(keys["columns"]) if "columns" in keys else None
    table = [_row(row, names) for row in keys["rows"].items("a list of rows")]
    carried = {row["joint"].text("the name of a joint"): _carried(row) for row in table}
    return [_mdh_entry(row, carried) for row in table], keys.get("cut"), carried


def _columns(item: Located) -> list[str]:
    names = [column.choice_of(MDH_KEYS) for column in item.items("a list of column names")]
    for name in ("joint", "antecedent"):
        if name not in names:
            item.fail(f"the column {name!r} is missing, found {', '.join(names)}")
    if len(set(names)) < len(names):
        item.fail(f"a column is there twice, found {', '.join(names)}; expected different columns")
    return names


def _row(row: Located, names: list[str] | None) -> dict[str, Located]:
    if names is None:
        return row.mapping(MDH_KEYS, ["joint", "antecedent"], "a row")
    cells = zip(names, row.exactly(len(names), f"{len(names)} cells: {', '.join(names)}"), strict=True)
    return {name: cell for name, cell in cells if name in ("joint", "antecedent") or not cell.is_null}


def _sigma(row: Mapping[str, Located]) -> JointType:
    if "sigma" not in row:
        return JointType.REVOLUTE
    value = row["sigma"].number(PURE, "0 (revolute), 1 (prismatic) or 2 (fixed)")
    if value not in _SIGMA:
        row["sigma"].fail(f"found {value:g}; choose from 0 (revolute), 1 (prismatic), 2 (fixed)")
    return _SIGMA[value]


def _carried(row: Mapping[str, Located]) -> str:
    return row["body"].text("the name of a body") if "body" in row else row["joint"].text("the name of a joint")


def _mdh_entry(row: Mapping[str, Located], carried: Mapping[str, str]) -> Entry:
    """A row with sigma 2 and no ``body`` is a frame, not a body."""
    kind, name = _sigma(row), _carried(row)
    joint_name = row["joint"].text("the name of a joint")
    antecedent = row["antecedent"].raw("the name of a joint, or base")
    parent = BASE if antecedent == "0" and "0" not in carried else carried.get(antecedent, antecedent)
    extras = {key: row[key] for key in ("efforts", "limits") if key in row}
    is_frame = kind is JointType.FIXED and "body" not in row
    if is_frame and (wrong := [row[key] for key in ("massless", "inertia", "efforts", "limits") if key in row]):
        wrong[0].fail("the row is a fixed frame without body, expected a name under 'body'")
    massless, nominal = _inertia(row, name)
    return Entry(
        name, parent, row["joint"], row["antecedent"], read_mdh_frame(row),
        None if is_frame else Joint(joint_name, kind), massless, nominal, extras,
    )  # fmt: skip


# order


def placed(entries: Iterable[Entry], bodies: Iterable[Body] = (), carried: Mapping[str, str] | None = None) -> Tree:
    """Bodies in the order written, except that a parent listed later comes first; ``bodies`` are there already.

    ``carried`` names the body of each joint of a table, by which its frame may be called too.
    """
    out = list(bodies)
    frames = {BASE: Anchor(BASE), **{body.name: Anchor(body.name) for body in out}}
    joints = {body.joint.name for body in out}
    named = _by_name(entries, frames)
    extras: list[JointExtras] = []
    nominal: dict[str, float] = {}
    for entry in named.values():
        for link in reversed(_chain(entry, named, frames)):
            anchor = frames[link.parent]
            placement = link.placement
            if anchor.placement is not IDENTITY:
                placement = anchor.placement @ placement
            if link.joint is None:
                frames[link.name] = Anchor(anchor.body, placement)
                continue
            if link.joint.name in joints:
                link.where.fail(f"the joint name {link.joint.name!r} is used twice, expected different names")
            joints.add(link.joint.name)
            frames[link.name] = Anchor(link.name, IDENTITY)
            out.append(Body(link.name, anchor.body, link.joint, placement, link.massless))
            extras.append(JointExtras(link.joint, link.extras))
            nominal.update(link.nominal)
    for joint_name, body in (carried or {}).items():
        frames.setdefault(joint_name, frames[body])
    return Tree(tuple(out), frames, tuple(extras), nominal)


def _by_name(entries: Iterable[Entry], frames: Mapping[str, Anchor]) -> dict[str, Entry]:
    named: dict[str, Entry] = {}
    for entry in entries:
        if entry.name == BASE:
            entry.where.fail(f"a body is named {BASE!r}, which is the name of the fixed base; expected another name")
        if entry.name in named or entry.name in frames:
            line = f", first in line {named[entry.name].where.node.line}" if entry.name in named else ""
            entry.where.fail(f"the body name {entry.name!r} is used twice{line}; expected different names")
        named[entry.name] = entry
    return named


def _chain(entry: Entry, named: Mapping[str, Entry], frames: Mapping[str, Anchor]) -> list[Entry]:
    """The entry and its ancestors that are not placed yet, the entry first."""
    chain: list[Entry] = []
    seen: set[str] = set()
    at = entry
    while at.name not in frames:
        if at.name in seen:
            loop = " <- ".join([link.name for link in chain] + [at.name])
            entry.parent_item.fail(f"the tree has a cycle, {loop}; expected a chain of parents that ends at {BASE}")
        chain.append(at)
        seen.add(at.name)
        if at.parent in frames:
            break
        if at.parent not in named:
            at.parent_item.fail(f"no body {at.parent!r}; {choices(at.parent, (BASE, *named))}")
        at = named[at.parent]
    return chain


def read_limit(item: Located, of: Motion) -> Limit:
    """``{lower, upper, velocity, acceleration, jerk}``, SI units."""
    keys = item.mapping(of, (), "limits")
    limit = Limit(**{name: value.number(of[name]) for name, value in keys.items() if name in ("lower", "upper")})
    if not limit.lower < limit.upper:
        item.fail(f"found lower {limit.lower:g} and upper {limit.upper:g}, expected lower below upper")
    rates = {name: value.positive(of[name], name) for name, value in keys.items() if name not in ("lower", "upper")}
    return replace(limit, **rates)
