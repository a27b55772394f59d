"""A robot description handed to Pinocchio: the referee for trees, and with a KKT system of our own for loops.

Written from the description's documentation alone (placements, joint types, loop kinds): nothing here calls
``dalembert.symbolic`` or asks a joint for its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from dalembert.parameters import N_INERTIAL
from dalembert.robot import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Coupling,
    Distance,
    Effort,
    EffortKind,
    Joint,
    JointType,
    Loop,
    LoopKind,
    Placement,
    Robot,
)
from dalembert.robot.expression import Expression, Name, Number

Array = NDArray[np.float64]

# ours: XX XY XZ YY YZ ZZ MX MY MZ M; Pinocchio's: M MX MY MZ XX XY YY XZ YZ ZZ
TO_PINOCCHIO = [9, 6, 7, 8, 0, 1, 3, 2, 4, 5]


def se3(placement: Placement) -> pin.SE3:
    return pin.SE3(np.array(placement.rotation), np.array(placement.position))


def _turn(axis: Array) -> pin.JointModel:
    for k, aligned in enumerate((pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)):
        if np.array_equal(axis, np.eye(3)[k]):
            return aligned()
    return pin.JointModelRevoluteUnaligned(np.array(axis))


def _slide(axis: Array) -> pin.JointModel:
    for k, aligned in enumerate((pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)):
        if np.array_equal(axis, np.eye(3)[k]):
            return aligned()
    return pin.JointModelPrismaticUnaligned(np.array(axis))


def one_axis_joints(joint: Joint) -> list[pin.JointModel]:
    """A joint as a chain of Pinocchio's one-axis joints, in the order of its coordinates."""
    x, y, z = np.eye(3)
    axis = np.array(joint.axis)
    match joint.type:
        case JointType.REVOLUTE:
            return [_turn(axis)]
        case JointType.PRISMATIC:
            return [_slide(axis)]
        case JointType.HELICAL:
            return [pin.JointModelHelicalUnaligned(axis, joint.pitch)]
        case JointType.CYLINDRICAL:
            return [_slide(axis), _turn(axis)]
        case JointType.UNIVERSAL:
            return [_turn(axis), _turn(np.array(joint.second_axis))]
        case JointType.SPHERICAL:
            return [_turn(x), _turn(y), _turn(z)]
        case JointType.PLANAR:
            return [_slide(x), _slide(y), _turn(z)]
        case JointType.TRANSLATION:
            return [_slide(x), _slide(y), _slide(z)]
        case JointType.FREE:
            return [_slide(x), _slide(y), _slide(z), _turn(x), _turn(y), _turn(z)]
        case _:
            return []


@dataclass
class Engine:
    """Pinocchio's model of a robot's tree, where each body's frame sits in it, and the robot's loops."""

    robot: Robot
    model: pin.Model
    data: pin.Data
    frames: dict[str, tuple[int, pin.SE3]]  # body -> Pinocchio joint and the body frame's place in it
    ids: dict[tuple[str, Placement], int]
    order: NDArray[np.int_]  # Pinocchio numbers subtree by subtree: its coordinate k is ours order[k]

    # --- the tree ------------------------------------------------------------------------------------------------

    def ours(self, vector: Array) -> Array:
        """A vector or square matrix over Pinocchio's coordinates in the robot's order."""
        out = np.zeros(np.shape(vector))
        if out.ndim == 1:
            out[self.order] = vector
        else:
            out[np.ix_(self.order, self.order)] = vector
        return out

    def _theirs(self, *vectors: Array) -> list[Array]:
        return [np.asarray(v, dtype=float)[self.order] for v in vectors]

    def rnea(self, y: Array, yd: Array, ydd: Array) -> Array:
        return self.ours(pin.rnea(self.model, self.data, *self._theirs(y, yd, ydd)))

    def mass(self, y: Array) -> Array:
        return self.ours(pin.crba(self.model, self.data, *self._theirs(y)))

    def aba(self, y: Array, yd: Array, tau: Array) -> Array:
        return self.ours(pin.aba(self.model, self.data, *self._theirs(y, yd, tau)))

    def torque_regressor(self, y: Array, yd: Array, ydd: Array) -> Array:
        """(n_y, 10 n_joints): Pinocchio's own standard regressor, its joints and parameter order in the columns."""
        theirs = np.array(pin.computeJointTorqueRegressor(self.model, self.data, *self._theirs(y, yd, ydd)))
        out = np.zeros_like(theirs)
        out[self.order] = theirs
        return out

    def kinetic(self, y: Array, yd: Array) -> float:
        return float(pin.computeKineticEnergy(self.model, self.data, *self._theirs(y, yd)))

    def potential(self, y: Array) -> float:
        return float(pin.computePotentialEnergy(self.model, self.data, *self._theirs(y)))

    def place(self, y: Array, yd: Array) -> None:
        """Poses, velocities, Jacobians and accelerations at zero ydd of all frames."""
        q, v = self._theirs(y, yd)
        pin.forwardKinematics(self.model, self.data, q, v, np.zeros(len(v)))
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)

    # --- efforts on coordinates ----------------------------------------------------------------------------------

    def effort(self, values: dict[str, float], y: Array, yd: Array, ydd: Array) -> Array:
        """Generalised force (n_y,) of the robot's effort terms that act on linear combinations of coordinates."""
        index = {name: i for i, name in enumerate(self.robot.coordinates)}
        out = np.zeros(len(y))
        for term in self.robot.efforts:
            if isinstance(term.on, Distance):
                out += distance_effort(self, term, values, y, yd)
                continue
            if term.kind is EffortKind.FORCE:
                for name, law in term.force:
                    out[index[name]] += values[term.parameters[0]] * law_value(law, index, y, yd, ydd)
                continue
            assert isinstance(term.on, Coordinate), f"no referee for {term}"
            row = np.zeros(len(y))
            for name, ratio in term.on.terms:
                row[index[name]] += ratio
            x, xd, xdd = row @ y + term.on.constant, row @ yd, row @ ydd
            p = [values[name] for name in term.parameters]
            match term.kind:
                case EffortKind.ROTOR:
                    value = p[0] * xdd
                case EffortKind.VISCOUS:
                    value = p[0] * xd
                case EffortKind.COULOMB:
                    value = p[0] * np.sign(xd)
                case EffortKind.OFFSET | EffortKind.CONSTANT:
                    value = p[0]
                case EffortKind.SPRING:
                    value = p[0] * (x - term.rest) if term.rest is not None else p[0] * x - p[1]
                case EffortKind.BASIS:
                    laws = [law_value(law, index, y, yd, ydd) for law in term.basis]
                    value = float(np.dot(p, laws))
                case _:
                    raise AssertionError(f"no referee for {term}")
            out += value * row
        return out

    # --- loops ---------------------------------------------------------------------------------------------------

    def _anchor(self, anchor: Anchor) -> int | None:
        """Pinocchio frame of an anchor; None in the base."""
        if anchor.body == BASE:
            return None
        return self.ids[anchor.body, anchor.placement]

    def _motion(self, anchor: Anchor) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array]:
        """p, R, velocity, angular velocity, their Jacobians and accelerations (at zero ydd), world axes."""
        frame = self._anchor(anchor)
        if frame is None:
            still, none = np.zeros(3), np.zeros((3, self.model.nv))
            p, r = np.array(anchor.placement.position), np.array(anchor.placement.rotation)
            return p, r, still, still, none, none, still, still
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        place = self.data.oMf[frame]
        velocity = pin.getFrameVelocity(self.model, self.data, frame, axes)
        acceleration = pin.getFrameClassicalAcceleration(self.model, self.data, frame, axes)
        jacobian = np.zeros((6, self.model.nv))
        jacobian[:, self.order] = pin.getFrameJacobian(self.model, self.data, frame, axes)
        return (
            np.array(place.translation), np.array(place.rotation), np.array(velocity.linear),
            np.array(velocity.angular), jacobian[:3], jacobian[3:], np.array(acceleration.linear),
            np.array(acceleration.angular),
        )  # fmt: skip

    def constraints(self, y: Array, yd: Array) -> tuple[Array, Array, Array]:
        """(f, J, drift) of all loops: ``f`` zero when closed, ``J yd`` its kind of rate, ``J ydd + drift = 0``.

        Rates are those of relative velocity and angular velocity, not the derivative of any chosen ``f``.
        """
        self.place(y, yd)
        f: list[Array] = []
        j: list[Array] = []
        drift: list[Array] = []
        for loop in self.robot.loops:
            block = self._coupling(loop, y) if isinstance(loop, Coupling) else self._loop(loop)
            for store, part in zip((f, j, drift), block, strict=True):
                store.append(part)
        if not f:
            return np.zeros(0), np.zeros((0, len(y))), np.zeros(0)
        return np.concatenate(f), np.vstack(j), np.concatenate(drift)

    def _coupling(self, loop: Coupling, y: Array) -> tuple[Array, Array, Array]:
        index = {name: i for i, name in enumerate(self.robot.coordinates)}
        row = np.zeros((1, len(y)))
        row[0, index[loop.coordinate]] = 1.0
        for name, ratio in loop.terms:
            row[0, index[name]] -= ratio
        return row @ y - loop.constant, row, np.zeros(1)

    def _loop(self, loop: Loop) -> tuple[Array, Array, Array]:
        pa, ra, va, wa, ja, ka, aa, alpha_a = self._motion(loop.a)
        pb, rb, vb, wb, jb, kb, ab, alpha_b = self._motion(loop.b)
        d, dv, dj, da = pb - pa, vb - va, jb - ja, ab - aa
        w, dk, dalpha = wb - wa, kb - ka, alpha_b - alpha_a
        if loop.kind is LoopKind.POINT:
            return d, dj, da
        if loop.kind is LoopKind.ROD:
            return np.array([d @ d - loop.length**2]) / 2, (d @ dj)[None], np.array([d @ da + dv @ dv])

        def across(k: int) -> tuple[Array, Array, Array]:
            """d along a's axis k, which turns with a."""
            e = ra[:, k]
            ed = np.cross(wa, e)
            edd = np.cross(alpha_a, e) + np.cross(wa, ed)
            row = e @ dj + np.cross(e, d) @ ka  # d . (w_a x e) = w_a . (e x d)
            return np.array([d @ e]), row[None], np.array([e @ da + 2 * dv @ ed + d @ edd])

        def turning(k: int) -> tuple[Array, Array, Array]:
            """Relative angular velocity about a's axis k."""
            e = ra[:, k]
            angle = (
                pin.log3(ra.T @ rb)[k]
                if loop.kind in (LoopKind.WELD, LoopKind.SLIDE)
                else (np.cross(ra[:, 2], rb[:, 2]) @ e)
            )
            return np.array([angle]), (e @ dk)[None], np.array([e @ dalpha + w @ np.cross(wa, e)])

        match loop.kind:
            case LoopKind.AXIS:
                blocks = [(d, dj, da), turning(0), turning(1)]
            case LoopKind.CYLINDER:
                blocks = [across(0), across(1), turning(0), turning(1)]
            case LoopKind.SLIDE:
                blocks = [across(0), across(1), turning(0), turning(1), turning(2)]
            case _:
                blocks = [(d, dj, da), turning(0), turning(1), turning(2)]
        f, j, drift = zip(*blocks, strict=True)
        return np.concatenate(f), np.vstack(j), np.concatenate(drift)

    def null_space(self, y: Array, yd: Array, tolerance: float = 1e-9) -> Array:
        """Admissible velocities (n_y, r), orthonormal, by SVD."""
        _, j, _ = self.constraints(y, yd)
        if not j.size:
            return np.eye(len(y))
        _, sigma, vt = np.linalg.svd(j)
        rank = int((sigma > tolerance * sigma[0]).sum())
        return vt[rank:].T

    def forward(self, y: Array, yd: Array, tau_tree: Array, rotor: Array | None = None) -> Array:
        """ydd of the closed robot under generalised forces ``tau_tree``: the KKT system of Gauss's principle.

        ``rotor`` (n_y, n_y) adds to the mass matrix. Redundant rows are left to the least-squares solution, which
        changes the multipliers only.
        """
        mass = self.mass(y) + (0.0 if rotor is None else rotor)
        bias = self.rnea(y, yd, np.zeros(len(y)))
        _, j, drift = self.constraints(y, yd)
        n, m = len(y), len(drift)
        scale = np.abs(mass).max()  # multipliers in units that keep the system balanced
        kkt = np.block([[mass, scale * j.T], [scale * j, np.zeros((m, m))]])
        right = np.concatenate([tau_tree - bias, -scale * drift])
        return np.linalg.lstsq(kkt, right, rcond=1e-13)[0][:n]


def law_value(law: Expression, index: dict[str, int], y: Array, yd: Array, ydd: Array) -> float:
    """A law of the robot file at one state, evaluated on numbers."""
    if isinstance(law, Number):
        return law.value
    if isinstance(law, Name):
        return math.pi if law.name == "pi" else float(y[index[law.name]])
    if law.function in ("d", "dd"):
        (coordinate,) = law.arguments
        assert isinstance(coordinate, Name)
        return float((yd if law.function == "d" else ydd)[index[coordinate.name]])
    a = [law_value(argument, index, y, yd, ydd) for argument in law.arguments]
    table = {
        "+": lambda: a[0] + a[1], "-": lambda: a[0] - a[1], "*": lambda: a[0] * a[1], "/": lambda: a[0] / a[1],
        "^": lambda: a[0] ** a[1], "neg": lambda: -a[0], "sign": lambda: float(np.sign(a[0])), "abs": lambda: abs(a[0]),
    }  # fmt: skip
    return float(table[law.function]() if law.function in table else getattr(math, law.function)(*a))


def distance_effort(engine: Engine, term: Effort, values: dict[str, float], y: Array, yd: Array) -> Array:
    """Generalised force of an effort on the distance of two points: value times the unit vector between them."""
    assert isinstance(term.on, Distance)
    engine.place(y, yd)
    pa, _, va, _, ja, *_ = engine._motion(term.on.a)
    pb, _, vb, _, jb, *_ = engine._motion(term.on.b)
    x = float(np.linalg.norm(pb - pa))
    along = (pb - pa) / x
    xd = float(along @ (vb - va))
    p = [values[name] for name in term.parameters]
    match term.kind:
        case EffortKind.VISCOUS:
            value = p[0] * xd
        case EffortKind.COULOMB:
            value = p[0] * np.sign(xd)
        case EffortKind.OFFSET | EffortKind.CONSTANT:
            value = p[0]
        case EffortKind.SPRING:
            value = p[0] * (x - term.rest) if term.rest is not None else p[0] * x - p[1]
        case _:
            raise AssertionError(f"no referee for {term}")
    return value * (along @ (jb - ja))


def _add_body(model: pin.Model, body: Body, up: tuple[int, pin.SE3]) -> tuple[int, pin.SE3]:
    joint, placement = up[0], up[1] * se3(body.placement)
    for k, step in enumerate(one_axis_joints(body.joint)):
        joint = model.addJoint(joint, step, placement, f"{body.name}/{k}")
        placement = pin.SE3.Identity()
    return joint, placement


def _n_inertial(robot: Robot) -> int:
    return N_INERTIAL * sum(not body.massless for body in robot.bodies)


def to_pinocchio(robot: Robot, pi: Array | None = None) -> Engine:
    """Pinocchio's tree of a robot with standard parameters ``pi`` (inertial ones first, the robot's order)."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    model.gravity.angular = np.zeros(3)
    frames: dict[str, tuple[int, pin.SE3]] = {BASE: (0, pin.SE3.Identity())}
    inertial = iter(np.reshape(np.asarray(pi)[: _n_inertial(robot)], (-1, N_INERTIAL))) if pi is not None else None
    inertias = {b.name: next(inertial)[TO_PINOCCHIO] for b in robot.bodies if not b.massless} if inertial else {}
    first, count = {}, 0
    for body in robot.bodies:
        first[body.name] = count
        count += len(body.joint.coordinates)
    order: list[int] = []

    def descend(parent: str) -> None:  # Pinocchio needs the coordinates of a subtree side by side
        for body in robot.bodies:
            if body.parent != parent:
                continue
            joint, placement = frames[body.name] = _add_body(model, body, frames[parent])
            order.extend(first[body.name] + k for k in range(len(body.joint.coordinates)))
            if body.name in inertias:
                model.appendBodyToJoint(joint, pin.Inertia.FromDynamicParameters(inertias[body.name]), placement)
            descend(body.name)

    descend(BASE)
    ids: dict[tuple[str, Placement], int] = {}
    anchors = [x for loop in robot.loops if isinstance(loop, Loop) for x in (loop.a, loop.b)]
    anchors += [x for e in robot.efforts if isinstance(e.on, Distance) for x in (e.on.a, e.on.b)]
    anchors += [Anchor(body.name) for body in robot.bodies]
    for anchor in anchors:
        if anchor.body != BASE and (anchor.body, anchor.placement) not in ids:
            joint, placement = frames[anchor.body]
            name = f"{anchor.body}#{len(ids)}"
            frame = pin.Frame(name, joint, 0, placement * se3(anchor.placement), pin.FrameType.OP_FRAME)
            ids[anchor.body, anchor.placement] = model.addFrame(frame)
    assert model.nq == model.nv == len(robot.coordinates)
    return Engine(robot, model, model.createData(), frames, ids, np.array(order))


def engine_constraints(engine: Engine) -> list[pin.RigidConstraintModel]:
    """The robot's POINT and WELD loops as Pinocchio's own constraints, no stabilisation."""
    out = []
    for loop in engine.robot.loops:
        assert isinstance(loop, Loop)
        kind = {LoopKind.POINT: pin.ContactType.CONTACT_3D, LoopKind.WELD: pin.ContactType.CONTACT_6D}[loop.kind]
        (ja, pa), (jb, pb) = (engine.frames[x.body] for x in (loop.a, loop.b))
        constraint = pin.RigidConstraintModel(
            kind, engine.model, ja, pa * se3(loop.a.placement), jb, pb * se3(loop.b.placement),
            pin.ReferenceFrame.LOCAL,
        )  # fmt: skip
        gains = constraint.m_baumgarte_parameters
        assert not np.any(gains.Kp)
        assert not np.any(gains.Kd)
        out.append(constraint)
    return out
