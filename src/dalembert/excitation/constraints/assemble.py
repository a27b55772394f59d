"""From limits to constraints: linear where a limit is linear in the unknowns, sources of derivatives elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca
import numpy as np

from dalembert.excitation.belief import Belief
from dalembert.excitation.constraints.clearance import ClearanceBounds
from dalembert.excitation.constraints.jerk import JerkBounds
from dalembert.excitation.constraints.linear import LinearBounds
from dalembert.excitation.constraints.singularity import Measure, SingularityBounds, singularity_at
from dalembert.excitation.constraints.source import Array, Source
from dalembert.excitation.constraints.symbolic import Bounded, SymbolicBounds, coordinate_rate
from dalembert.excitation.limits import Limits, Margin, Shares
from dalembert.excitation.states import States
from dalembert.model import Model
from dalembert.robot import BASE, Anchor, Limit
from dalembert.robot.geometry import Placement
from dalembert.robot.quantity import effort_unit, position_units

__all__ = ["assemble_limits", "default_margin"]

_KINDS = ("position", "velocity", "acceleration", "jerk")
_UNITS = ("", "/s", "/s^2", "/s^3")
_ROUNDED = 1e-3  # of a torque limit: how much the rounded-off absolute values may add up to where nothing moves
_HOME_SHARE = 1.0 / 3.0  # of home's distance from singularities that a design keeps unless told


def assemble_limits(
    states: States, limits: Limits, beliefs: Sequence[Belief]
) -> tuple[list[LinearBounds], list[Source], tuple[str, ...]]:
    """Constraints of a robot's limits, and notes on what could not be taken into account.

    ``beliefs``: the torque limits must hold under each, for all values in its ranges.
    """
    model = states.model
    limits.check(model.robot)
    linear, dependent, moving = _motion_bounds(model, limits)
    notes: list[str] = []
    if limits.torque and model.n < model.r:
        notes.append("torque limits not kept: fewer motors than mobilities, no torque makes every motion")
    elif limits.torque and not beliefs:
        notes.append("torque limits not kept: the robot has no nominal parameters to predict torque with")
    elif limits.torque:
        moving += [SymbolicBounds(states, _torque_bounds(model, limits, belief), belief.centre) for belief in beliefs]
    still = [*dependent, *_workspace(model, limits), *_tilts(model, limits), *_floor(model, limits)]
    sources: list[Source] = [SymbolicBounds(states, still)] if still else []
    sources += _singularity(model, limits)
    if limits.clearance.pairs:
        c = limits.clearance
        sources.append(ClearanceBounds(model, c.capsules, c.pairs, c.distance))
    return linear, [*sources, *moving], tuple(notes)


def _range(limit: Limit, order: int, shares: Shares) -> tuple[float, float]:
    """Bounds of a derivative, reduced to the share that may be used."""
    if order:
        bound = getattr(limit, _KINDS[order]) * getattr(shares, _KINDS[order])
        return -bound, bound
    if math.isfinite(limit.lower) and math.isfinite(limit.upper):
        middle, half = (limit.lower + limit.upper) / 2.0, (limit.upper - limit.lower) / 2.0
        return middle - shares.position * half, middle + shares.position * half
    return limit.lower, limit.upper


def _motion_bounds(model: Model, limits: Limits) -> tuple[list[LinearBounds], list[Bounded], list[Source]]:
    """Limits of coordinates and motors: of the independent ones (and their combinations) linear."""
    robot = model.robot
    rows = {name: robot.linear_map([((name, 1.0),)])[0] for name in robot.coordinates}
    rows |= dict(zip(robot.motor_names, robot.motor_map(), strict=True))
    turns = _angular(model)
    select = model.position_map("independent")
    linear: list[list[tuple[Array, float, float, str]]] = [[], [], [], []]
    others: list[Bounded] = []
    jerks: list[tuple[Array, float, str]] = []
    for name, limit in limits.motion.items():
        row = rows[name]
        combination = _combination(model, row, select)
        unit = "rad" if turns[row != 0.0].all() else "m"
        for order, kind in enumerate(_KINDS):
            low, high = _range(limit, order, limits.shares)
            if math.isinf(low) and math.isinf(high):
                continue
            label = f"{kind} of {name} [{unit}{_UNITS[order]}]"
            if combination is not None:
                linear[order].append((combination, low, high, label))
            elif order == 3:
                jerks.append((row, high, label))
            else:
                others.append(Bounded(label, coordinate_rate(model, row, order), low, high))
    groups = [
        LinearBounds(
            order,
            np.array([a for a, *_ in group]),
            np.array([low for _, low, _, _ in group]),
            np.array([high for _, _, high, _ in group]),
            tuple(name for *_, name in group),
        )
        for order, group in enumerate(linear)
        if group
    ]
    return groups, others, [JerkBounds(model, jerks)] if jerks else []


def _combination(model: Model, row: Array, select: Array) -> Array | None:
    """The row (r,) over independent coordinates that equals ``row`` over y; None where it needs dependent ones."""
    combination = row @ select.T
    return combination if np.array_equal(combination @ select, row) else None


def _angular(model: Model) -> np.ndarray:
    """Which coordinates are angles (n_y,)."""
    return np.array([step.is_angle for body in model.robot.bodies for step in body.joint.steps])


def _torque_bounds(model: Model, limits: Limits, belief: Belief) -> list[Bounded]:
    """Torques of the motors at the centre of a belief, further out by all that its ranges allow:
    ``|tau - Y centre| <= sum |Y_k| spread_k``, the absolute values rounded off upwards.
    """
    d, names = model.dynamics, model.robot.motor_names
    tau = d.motor_torque(ca.SX(ca.DM.zeros(model.n)))
    uncertain = np.flatnonzero(belief.spread)
    units = position_units(model.robot)
    out: list[Bounded] = []
    for name, limit in limits.torque.items():
        if not math.isfinite(limit):
            continue
        bound = limits.shares.torque * limit
        own, label = tau[names.index(name)], f"torque of {name} [{effort_unit(units[name])}]"
        if not len(uncertain):
            out.append(Bounded(label, own, -bound, bound))
            continue
        parts = ca.jacobian(own, d.pi)[uncertain.tolist()] * ca.DM(belief.spread[uncertain]).T
        apart = ca.sum2(ca.sqrt(parts**2 + (_ROUNDED * bound / len(uncertain)) ** 2))
        out += [Bounded(f"{label} at its highest", own + apart, -math.inf, bound),
                Bounded(f"{label} at its lowest", own - apart, -bound, math.inf)]  # fmt: skip
    return out


def _workspace(model: Model, limits: Limits) -> list[Bounded]:
    d = model.dynamics
    out = []
    for entry in limits.workspace:
        body = entry.body or model.robot.platform
        assert body is not None
        point = d.tree.anchor(Anchor(body, Placement(position=entry.point)), d.y)[1]
        out += [
            Bounded(f"workspace of {body}, {text}", expression, low, high)
            for text, expression, low, high in entry.region.of(point)
            if not (math.isinf(low) and math.isinf(high))
        ]
    return out


def _tilts(model: Model, limits: Limits) -> list[Bounded]:
    d = model.dynamics
    out = []
    for tilt in limits.tilt:
        axes = []
        for body, axis in ((tilt.a, tilt.axis_a), (tilt.b, tilt.axis_b)):
            rotation, _ = d.tree.pose(d.tree.frame_of(body), d.y)
            direction = np.asarray(axis) / np.linalg.norm(axis)
            axes.append(ca.mtimes(rotation, ca.DM(direction)))
        out.append(
            Bounded(f"tilt {tilt.name} (cosine)", ca.dot(*axes), math.cos(tilt.angle), math.inf)
        )  # fmt: skip
    return out


def _floor(model: Model, limits: Limits) -> list[Bounded]:
    d, c = model.dynamics, limits.clearance
    if c.floor is None:
        return []
    return [
        Bounded(
            f"height of {capsule.name} over the floor [m]",
            d.tree.anchor(Anchor(capsule.body, Placement(position=point)), d.y)[1][2] - capsule.radius,
            c.floor + c.distance,
            math.inf,
        )
        for capsule in c.capsules
        if capsule.body != BASE  # what stands still may stand on the floor
        for point in (capsule.start, capsule.end)
    ]


def default_margin(model: Model) -> Margin:
    """A third of home's distance from singularities; nothing for a tree, whose joints are free."""
    if not model.dynamics.assembly.rows:
        return Margin()
    measures: list[Measure] = ["closure"]
    measures += ["motors"] if model.n >= model.r else []
    measures += ["platform"] if model.robot.platform is not None else []
    return Margin(**{name: _HOME_SHARE * float(singularity_at(model, name, model.home)[0]) for name in measures})


def _singularity(model: Model, limits: Limits) -> list[Source]:
    margin = default_margin(model) if limits.singularity is None else limits.singularity
    asked: list[tuple[Measure, float | None]] = [
        ("closure", margin.closure if model.dynamics.assembly.rows else None),
        ("motors", margin.motors),
        ("platform", margin.platform),
        ("condition", margin.condition),
    ]
    return [SingularityBounds(model, measure, bound) for measure, bound in asked if bound is not None]
