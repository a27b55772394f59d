"""Actuators and passive forces of a MuJoCo model as motors and effort terms."""

from __future__ import annotations

import math
from typing import Any

from dalembert.robot.description import Coordinate, Distance, Effort, EffortKind, Motor, Terms
from dalembert.robot.expression import Expression, parse
from dalembert.robot.interchange import unique_name
from dalembert.robot.joints import Joint, JointType
from dalembert.robot.mjcf_loops import site_pair, tendon_terms
from dalembert.robot.mjcf_tree import MjcfTree

__all__ = ["ball_armature", "ball_damping", "read_efforts", "read_motors"]

Force = tuple[tuple[str, Expression], ...]


def read_motors(mujoco: Any, tree: MjcfTree) -> list[Motor]:
    """Actuators on hinges, slides and fixed tendons: motor angle = gear x length, torque = actuator force.

    An actuator without a name is named after its joint or tendon.
    """
    model = tree.model
    motors: list[Motor] = []
    for i in range(len(model.actuator_trntype)):
        name = model.actuator(i).name
        terms, target, bound = _transmission(mujoco, tree, i, name or f"number {i}")
        gear = float(model.actuator_gear[i][0])
        if gear == 0.0:
            raise tree.error(f"actuator {name or i!r}: gear 0, expected a gear that is not zero")
        name = unique_name(name or target, [motor.name for motor in motors])
        limit = bound / abs(gear)
        if model.actuator_forcelimited[i]:
            limit = min(limit, float(max(abs(model.actuator_forcerange[i]))))
        turns = tuple((joint, gear * ratio) for joint, ratio in terms)
        motors.append(Motor(name, turns, limit if limit > 0.0 else math.inf))
    return motors


def _transmission(mujoco: Any, tree: MjcfTree, i: int, name: str) -> tuple[Terms, str, float]:
    """What an actuator turns before its gear, the name of that, and the bound on the force there."""
    model, kinds = tree.model, mujoco.mjtTrn
    kind, target = kinds(int(model.actuator_trntype[i])), int(model.actuator_trnid[i][0])
    if kind in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT):
        joint = tree.joints[target]
        if not tree.is_scalar(target):
            raise tree.error(
                f"actuator {name!r} is on the {joint.type} joint {joint.name!r}, expected a hinge or a slide"
            )
        limited = bool(model.jnt_actfrclimited[target])
        bound = float(max(abs(model.jnt_actfrcrange[target]))) if limited else math.inf
        return ((joint.name, 1.0),), joint.name, bound
    if kind == kinds.mjTRN_TENDON:
        terms = tendon_terms(mujoco, tree, target, f"actuator {name!r}")
        return terms, model.tendon(target).name or f"tendon{target}", math.inf
    found = kind.name.removeprefix("mjTRN_").lower()
    raise tree.error(f"actuator {name!r} acts through a {found}, expected a joint or a fixed tendon")


class _Efforts:
    """Efforts and their nominal values, names made unique kind by kind."""

    def __init__(self, tree: MjcfTree) -> None:
        self.tree = tree
        self.efforts: list[Effort] = []
        self.values: dict[str, float] = {}

    def add(
        self,
        kind: EffortKind,
        name: str,
        on: Coordinate | Distance | None,
        value: float,
        *,
        rest: float | None = None,
        force: Force = (),
    ) -> None:
        """Add one effort with one parameter, unless it does nothing."""
        if value == 0.0:
            return
        if value < 0.0 and kind not in (EffortKind.SPRING, EffortKind.OFFSET):
            raise self.tree.error(f"{kind} effort {name!r}: found {value:g}, expected a number >= 0")
        name = unique_name(name, [e.name for e in self.efforts if e.kind is kind])
        effort = Effort(name, kind, on, rest=rest, force=force)
        self.efforts.append(effort)
        self.values[effort.parameters[0]] = value


def read_efforts(mujoco: Any, tree: MjcfTree, motors: list[Motor]) -> tuple[list[Effort], dict[str, float]]:
    """Armature, damping, frictionloss and springs of joints, tendons and actuators, with their values."""
    out = _Efforts(tree)
    off = _disabled(mujoco, tree)
    for j, joint in enumerate(tree.joints):
        if tree.is_scalar(j):
            _on_hinge(tree, j, joint, off, out)
        else:
            _on_ball(tree, j, joint, off, out)
    for t in range(tree.model.ntendon):
        _on_tendon(mujoco, tree, t, off, out)
    for i, motor in enumerate(motors):  # MuJoCo 4: the motor's own, on its side of the gear
        on = Coordinate(motor.turns)
        out.add(EffortKind.ROTOR, motor.name, on, _value(tree.model, "actuator_armature", i))
        if "damping" not in off:
            out.add(EffortKind.VISCOUS, motor.name, on, _value(tree.model, "actuator_damping", i))
        out.add(EffortKind.OFFSET, motor.name, on, _bias(mujoco, tree.model, i))
    return out.efforts, out.values


def _bias(mujoco: Any, model: Any, i: int) -> float:
    """Constant torque an actuator works against; a bias that depends on the motion is a controller's."""
    constant, *moving = model.actuator_biasprm[i].tolist()
    affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
    return -float(constant) if affine and not any(moving) else 0.0


def _value(model: Any, name: str, index: int) -> float:
    """An entry of an array that older versions of MuJoCo do not have."""
    values = getattr(model, name, None)
    return 0.0 if values is None else float(values[index])


def _disabled(mujoco: Any, tree: MjcfTree) -> set[str]:
    """Passive forces the file's own flags switch off."""
    flags = {
        "spring": ("mjDSBL_SPRING", "mjDSBL_PASSIVE"),
        "damping": ("mjDSBL_DAMPER", "mjDSBL_PASSIVE"),
        "friction": ("mjDSBL_FRICTIONLOSS",),
    }
    bits = {name: sum(int(getattr(mujoco.mjtDisableBit, flag, 0)) for flag in names) for name, names in flags.items()}
    return {name for name, bit in bits.items() if int(tree.model.opt.disableflags) & bit}


def _on_hinge(tree: MjcfTree, j: int, joint: Joint, off: set[str], out: _Efforts) -> None:
    model = tree.model
    dof, on = int(model.jnt_dofadr[j]), Coordinate(((joint.name, 1.0),))
    out.add(EffortKind.ROTOR, joint.name, on, float(model.dof_armature[dof]))
    if "damping" not in off:
        out.add(EffortKind.VISCOUS, joint.name, on, float(model.dof_damping[dof]))
    if "friction" not in off:
        out.add(EffortKind.COULOMB, joint.name, on, float(model.dof_frictionloss[dof]))
    if "spring" not in off:
        rest = float(model.qpos_spring[model.jnt_qposadr[j]])
        out.add(EffortKind.SPRING, joint.name, on, float(model.jnt_stiffness[j]), rest=rest)


def _on_ball(tree: MjcfTree, j: int, joint: Joint, off: set[str], out: _Efforts) -> None:
    model = tree.model
    dof = int(model.jnt_dofadr[j])
    force = ball_armature(joint)
    out.add(EffortKind.FORCE, f"{joint.name}_armature", None, float(model.dof_armature[dof]), force=force)
    if "damping" not in off:
        force = ball_damping(joint)
        out.add(EffortKind.FORCE, f"{joint.name}_damping", None, float(model.dof_damping[dof]), force=force)


def _on_tendon(mujoco: Any, tree: MjcfTree, t: int, off: set[str], out: _Efforts) -> None:
    model = tree.model
    on: Coordinate | Distance
    pair = site_pair(mujoco, tree, t)
    if pair is not None:
        on = Distance(*pair)
    elif int(model.wrap_type[model.tendon_adr[t]]) == int(mujoco.mjtWrap.mjWRAP_JOINT):
        on = Coordinate(tendon_terms(mujoco, tree, t, "tendon"))
    else:
        return  # named among the ignored
    name = model.tendon(t).name or f"tendon{t}"
    out.add(EffortKind.ROTOR, name, on, _value(model, "tendon_armature", t))
    if "damping" not in off:
        out.add(EffortKind.VISCOUS, name, on, float(model.tendon_damping[t]))
    if "friction" not in off:
        out.add(EffortKind.COULOMB, name, on, float(model.tendon_frictionloss[t]))
    lower, upper = model.tendon_lengthspring[t].tolist()
    if "spring" not in off and lower == upper:
        out.add(EffortKind.SPRING, name, on, float(model.tendon_stiffness[t]), rest=lower)


def ball_damping(joint: Joint) -> Force:
    """Force per coordinate of a unit viscous torque on a ball joint: J' J rates, with omega = J rates."""
    x, y, z = joint.coordinates[-3:]
    force = [
        (x, f"d({x}) + sin({y})*d({z})"),
        (y, f"d({y})"),
        (z, f"d({z}) + sin({y})*d({x})"),
    ]
    return _with_slides(joint, force, "d")


def ball_armature(joint: Joint) -> Force:
    """Force per coordinate of a unit armature on a ball joint: J' d(omega)/dt in the body's frame."""
    x, y, z = joint.coordinates[-3:]
    force = [
        (x, f"dd({x}) + sin({y})*dd({z}) + cos({y})*d({y})*d({z})"),
        (y, f"dd({y}) - cos({y})*d({x})*d({z})"),
        (z, f"dd({z}) + sin({y})*dd({x}) + cos({y})*d({x})*d({y})"),
    ]
    return _with_slides(joint, force, "dd")


def _with_slides(joint: Joint, turns: list[tuple[str, str]], rate: str) -> Force:
    """A free joint has the same on its translations, which are isotropic."""
    slides = joint.coordinates[:3] if joint.type is JointType.FREE else ()
    return tuple((name, parse(text)) for name, text in [*((s, f"{rate}({s})") for s in slides), *turns])
