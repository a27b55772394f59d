"""Robots the tests share, built straight from the description's dataclasses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.parameters import BodyInertia
from dalembert.robot import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Coupling,
    Effort,
    EffortKind,
    Joint,
    JointType,
    Loop,
    LoopKind,
    Motor,
    Placement,
    Robot,
)
from dalembert.robot.geometry import rotation_about, rpy_rotation

Array = NDArray[np.float64]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
TREE_TYPES = tuple(JointType)


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0, rotation: Array | None = None) -> Placement:
    return Placement.of((x, y, z), rotation)


def random_rotation(rng: np.random.Generator) -> Array:
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def random_placement(rng: np.random.Generator, size: float = 0.4) -> Placement:
    return Placement.of(rng.uniform(-size, size, 3), random_rotation(rng))


def random_inertia(rng: np.random.Generator, size: float = 0.2) -> Array:
    """Ten parameters of a physically consistent body: six point masses and a mean mass of 2 kg."""
    masses = rng.uniform(0.1, 0.6, 6)
    points = rng.uniform(-size, size, (6, 3))
    tensor = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    return np.concatenate([np.asarray(tensor)[np.triu_indices(3)], masses @ points, [masses.sum()]])


def random_parameters(robot: Robot, rng: np.random.Generator) -> Array:
    """Standard parameters: consistent bodies, positive effort coefficients."""
    inertial = [random_inertia(rng) for body in robot.bodies if not body.massless]
    n = len(robot.parameters()) - 10 * len(inertial)
    return np.concatenate([*inertial, rng.uniform(0.05, 0.5, n)])


def effort_values(robot: Robot, pi: Array) -> dict[str, float]:
    return dict(zip(robot.parameters(), pi.tolist(), strict=True))


def random_joint(rng: np.random.Generator, name: str, kind: JointType, generic: bool) -> Joint:
    axes = random_rotation(rng) if generic else np.eye(3)[rng.permutation(3)]
    second = axes[0] + 0.4 * axes[1] if generic else axes[1]  # a universal joint need not have square axes
    return Joint(
        name, kind, axis=tuple(axes[0]) if not generic else tuple(axes[0] * 1.7),
        second_axis=tuple(second - 0.9 * axes[0]) if kind is JointType.UNIVERSAL else None,
        pitch=float(rng.uniform(0.01, 0.2)) * float(rng.choice([-1, 1])) if kind is JointType.HELICAL else 0.0,
    )  # fmt: skip


def random_tree(
    rng: np.random.Generator,
    kinds: Sequence[JointType],
    *,
    branching: float = 0.4,
    generic: bool = True,
    massless: float = 0.0,
) -> Robot:
    """A branched tree with joints of the given kinds, in that order, random geometry and random gravity; a share
    ``massless`` of its bodies has no inertia."""
    bodies: list[Body] = []
    for k, kind in enumerate(kinds):
        names = [BASE, *(b.name for b in bodies)]
        parent = names[-1] if rng.random() > branching else str(rng.choice(names))
        placement = random_placement(rng) if generic else at(*rng.uniform(-0.4, 0.4, 3))
        empty = bool(bodies) and bool(rng.random() < massless)
        bodies.append(Body(f"b{k}", parent, random_joint(rng, f"j{k}", kind, generic), placement, empty))
    robot = Robot("tree", tuple(bodies), gravity=tuple(rng.uniform(-10, 10, 3).tolist()))
    return Robot(
        "tree", robot.bodies, gravity=robot.gravity,
        motors=tuple(Motor(f"m_{name}", ((name, 1.0),)) for name in robot.coordinates),
    )  # fmt: skip


def revolute(name: str, axis: tuple[float, float, float] = Z) -> Joint:
    return Joint(name, JointType.REVOLUTE, axis)


def slider(name: str, axis: tuple[float, float, float] = Z) -> Joint:
    return Joint(name, JointType.PRISMATIC, axis)


FIXED = Joint("fixed")


# --- planar loops ----------------------------------------------------------------------------------------------------


def four_bar(closing: str = "axis", *, tilt: bool = True, scale: float = 1.0) -> Robot:
    """Crank, coupler and rocker (0.25, 0.55, 0.45, ground 0.6 m) in a tilted plane, one motor on the crank.

    ``closing`` says how the loop between coupler and rocker is modelled: all are the same mechanism.
    """
    l1, l2, l3, l0 = (scale * x for x in (0.25, 0.55, 0.45, 0.6))
    plane = rpy_rotation((0.3, -0.4, 0.2)) if tilt else np.eye(3)
    origin = scale * np.array([0.1, -0.2, 0.05]) if tilt else np.zeros(3)
    foot = origin + plane @ np.array([l0, 0.0, 0.0])
    bodies = [
        Body("crank", BASE, revolute("q1"), Placement.of(origin, plane)),
        Body("coupler", "crank", revolute("q2"), at(l1)),
    ]
    rocker = Body("rocker", BASE, revolute("q3"), Placement.of(foot, plane))
    tip, end = Anchor("coupler", at(l2)), Anchor("rocker", at(l3))
    home = {"q1": 1.0, "q2": -0.6, "q3": 1.5}
    massless_pin = Body("pin", "coupler", revolute("q4"), at(l2), massless=True)
    match closing:
        case "axis" | "point":
            bodies.append(rocker)
            loops = [Loop("B", LoopKind(closing), tip, end)]
        case "weld":  # the hinge kept as a tree joint of a massless pin, which is welded
            bodies += [rocker, massless_pin]
            loops = [Loop("B", LoopKind.WELD, Anchor("pin"), end)]
            home["q4"] = 1.1
        case "slide":  # the pin slides along the hinge: a slider closes it, its travel held by the plane
            bodies += [rocker, massless_pin]
            loops = [Loop("B", LoopKind.SLIDE, Anchor("pin"), end)]
            home["q4"] = 1.1
        case "cylinder":
            bodies.append(rocker)
            loops = [Loop("B", LoopKind.CYLINDER, tip, end)]
        case "ground":  # rocker hung on the coupler, cut at the ground hinge instead
            bodies.append(Body("rocker", "coupler", revolute("q4"), at(l2, rotation=rotation_about(Z, math.pi))))
            loops = [Loop("B", LoopKind.POINT, Anchor("rocker", at(l3)), Anchor(BASE, Placement.of(foot, plane)))]
            # the rocker's frame differs: it starts at the coupler's tip, not at the ground
            home["q4"] = 1.0
            del home["q3"]
        case _:
            raise AssertionError(closing)
    return Robot(
        f"four-bar-{closing}", tuple(bodies), loops=tuple(loops), motors=(Motor("m", (("q1", 1.0),)),),
        gravity=(1.0, -2.0, -9.0), independent=("q1",), home=home,
    )  # fmt: skip


def five_bar(kind: LoopKind = LoopKind.POINT, *, efforts: bool = True, scale: float = 1.0) -> Robot:
    """Two driven cranks 0.5 m apart and two rods that meet: two mobilities, two motors, geared."""
    s = scale
    bodies = (
        Body("crank1", BASE, revolute("q1"), at(-0.25 * s)),
        Body("rod1", "crank1", revolute("p1"), at(0.3 * s)),
        Body("crank2", BASE, revolute("q2"), at(0.25 * s)),
        Body("rod2", "crank2", revolute("p2"), at(0.3 * s)),
    )
    loops = (Loop("tip", kind, Anchor("rod1", at(0.45 * s)), Anchor("rod2", at(0.45 * s))),)
    motors = (Motor("m1", (("q1", 20.0),)), Motor("m2", (("q2", -15.0),)))
    terms = tuple(
        Effort(f"{m.name}", e, Coordinate(m.turns))
        for m in motors
        for e in (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB, EffortKind.OFFSET)
    )
    return Robot(
        "five-bar", bodies, loops, motors, efforts=terms if efforts else (), gravity=(0.0, -9.81, 0.0),
        home={"q1": 2.2, "p1": -1.2, "q2": 0.9, "p2": 1.2},
    )  # fmt: skip


def redundant_planar(*, efforts: bool = True, free_platform: bool = True) -> Robot:
    """A planar platform on four RRR legs, four motors for three mobilities: over-actuated, like DualV."""
    angles = np.deg2rad([20.0, 160.0, 200.0, 340.0])
    bodies = [Body("platform", BASE, Joint("pose", JointType.PLANAR), IDENTITY_)] if free_platform else []
    loops, motors, home = [], [], {}
    for k, g in enumerate(angles, 1):
        foot = 0.45 * np.array([math.cos(g), math.sin(g), 0.0])
        hip = np.array([0.0, 0.12 * math.copysign(1.0, math.sin(g)), 0.0]) + 0.05 * foot
        bodies.append(Body(f"crank{k}", BASE, revolute(f"q{k}"), Placement.of(foot)))
        bodies.append(Body(f"rod{k}", f"crank{k}", revolute(f"p{k}"), at(0.3)))
        loops.append(Loop(f"C{k}", LoopKind.POINT, Anchor(f"rod{k}", at(0.28)), Anchor("platform", Placement.of(hip))))
        motors.append(Motor(f"m{k}", ((f"q{k}", 1.0),)))
        inward = math.atan2(*(hip - foot)[1::-1])
        home[f"q{k}"] = inward + 0.8 * (1 if math.sin(g) * math.cos(g) > 0 else -1)
        home[f"p{k}"] = -1.6 * (1 if math.sin(g) * math.cos(g) > 0 else -1)
    terms = tuple(
        Effort(f"q{k}", e, Coordinate(((f"q{k}", 1.0),)))
        for k in range(1, 5)
        for e in (EffortKind.ROTOR, EffortKind.VISCOUS, EffortKind.COULOMB)
    )
    return Robot(
        "redundant-planar", tuple(bodies), tuple(loops), tuple(motors), efforts=terms if efforts else (),
        platform="platform", independent=("pose.x", "pose.y", "pose.angle"), home=home,
        symmetric=(tuple(f"crank{k}" for k in range(1, 5)), tuple(f"rod{k}" for k in range(1, 5))),
    )  # fmt: skip


def redundant_3prrr() -> Robot:
    """Three legs with a slide and a crank driven each: six motors, six mobilities, three of them the platform's."""
    bodies = [Body("platform", BASE, Joint("pose", JointType.PLANAR))]
    loops, motors, home = [], [], {}
    for k in range(3):
        turn = rotation_about(Z, 2 * math.pi * k / 3)
        foot = turn @ np.array([0.0, -0.45, 0.0])
        hip = turn @ np.array([0.0, -0.12, 0.0])
        bodies += [
            Body(f"slide{k}", BASE, slider(f"s{k}", X), Placement.of(foot, turn)),
            Body(f"crank{k}", f"slide{k}", revolute(f"q{k}")),
            Body(f"rod{k}", f"crank{k}", revolute(f"p{k}"), at(0.2)),
        ]
        loops.append(Loop(f"C{k}", LoopKind.POINT, Anchor(f"rod{k}", at(0.2)), Anchor("platform", Placement.of(hip))))
        motors += [Motor(f"ms{k}", ((f"s{k}", 200.0),)), Motor(f"mq{k}", ((f"q{k}", 1.0),))]
        home |= {f"q{k}": math.pi / 2 + 0.6, f"p{k}": -1.2}
    return Robot(
        "3prrr-own", tuple(bodies), tuple(loops), tuple(motors), platform="platform", home=home, gravity=(0, 0, 0)
    )


# --- spatial loops ---------------------------------------------------------------------------------------------------


def _aim(direction: Array) -> Array:
    """Rotation whose z axis points along a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross([0.0, 1.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def stewart(closing: str = "point", *, scale: float = 1.0) -> Robot:
    """6-UPS: universal, driven prismatic, ball. ``closing`` models the ball as a point loop, as a spherical tree
    joint of a massless foot that is welded to the platform, or the whole leg as a rod of changing length... the
    platform hangs free ("point", "spherical") or at the end of leg 0 ("hanging")."""
    bodies: list[Body] = []
    loops: list[Loop] = []
    height = 0.7 * scale
    if closing != "hanging":
        bodies.append(Body("platform", BASE, Joint("pose", JointType.FREE), at(0, 0, height)))
    home: dict[str, float] = {}
    for k in range(6):
        a = math.pi / 3 * (k // 2 * 2) + (0.25 if k % 2 else -0.25)
        b = math.pi / 3 * (k // 2 * 2) + (0.8 if k % 2 else -0.8)
        foot = scale * 0.5 * np.array([math.cos(a), math.sin(a), 0.0])
        hip = scale * 0.25 * np.array([math.cos(b), math.sin(b), 0.0])
        along = hip + np.array([0.0, 0.0, height]) - foot
        length = float(np.linalg.norm(along))
        aim = _aim(along)
        bodies += [
            Body(f"barrel{k}", BASE, Joint(f"u{k}", JointType.UNIVERSAL, X, Y), Placement.of(foot, aim)),
            Body(f"rod{k}", f"barrel{k}", slider(f"l{k}"), at(0, 0, length)),
        ]
        here = Anchor("platform", Placement.of(hip))
        if closing == "hanging" and k == 0:
            hub = Placement.of((0.0, 0.0, 0.0), aim.T)
            joint = Joint("ball", JointType.SPHERICAL)
            # the ball's frame has the platform's orientation at home; the platform frame sits at its centre
            bodies.append(Body("ball", "rod0", joint, hub, massless=True))
            bodies.append(Body("platform", "ball", FIXED, Placement.of(-hip)))
        elif closing == "spherical":
            joint = Joint(f"s{k}", JointType.SPHERICAL)
            bodies.append(Body(f"foot{k}", f"rod{k}", joint, Placement.of((0, 0, 0), aim.T), massless=True))
            loops.append(Loop(f"B{k}", LoopKind.WELD, Anchor(f"foot{k}"), here))
        else:
            loops.append(Loop(f"B{k}", LoopKind.POINT, Anchor(f"rod{k}"), here))
    return Robot(
        f"6ups-{closing}", tuple(bodies), tuple(loops),
        tuple(Motor(f"m{k}", ((f"l{k}", 500.0),)) for k in range(6)),
        platform="platform", home=home,
        independent=() if closing == "hanging" else tuple(f"pose.{c}" for c in ("x", "y", "z", "rx", "ry", "rz")),
    )  # fmt: skip


def delta(forearm: str = "rod") -> Robot:
    """Three driven arms and a translating platform held by two rods each: massless rods ("rod") or one body per
    parallelogram on a universal joint ("body")."""
    bodies = [Body("platform", BASE, Joint("pose", JointType.TRANSLATION), at(0, 0, -0.5))]
    loops, home = [], {}
    for k in range(3):
        turn = rotation_about(Z, 2 * math.pi * k / 3)
        bodies.append(Body(f"arm{k}", BASE, revolute(f"q{k}", Y), Placement.of(turn @ [0.15, 0, 0], turn)))
        home[f"q{k}"] = 0.4
        if forearm == "rod":
            loops.append(
                Loop(f"L{k}", LoopKind.ROD, Anchor(f"arm{k}", at(0.25)),
                     Anchor("platform", Placement.of(turn @ [0.05, 0, 0])), length=0.5)
            )  # fmt: skip
        else:
            down = rotation_about(Y, math.pi / 2)  # x of the forearm points down at zero
            joint = Joint(f"u{k}", JointType.UNIVERSAL, Y, Z)
            bodies.append(Body(f"forearm{k}", f"arm{k}", joint, Placement.of((0.25, 0, 0), down)))
            loops.append(
                Loop(f"L{k}", LoopKind.POINT, Anchor(f"forearm{k}", at(0.5)),
                     Anchor("platform", Placement.of(turn @ [0.05, 0, 0])))
            )  # fmt: skip
            home[f"u{k}.first"] = 0.5
    return Robot(
        f"delta-{forearm}", tuple(bodies), tuple(loops), tuple(Motor(f"m{k}", ((f"q{k}", 1.0),)) for k in range(3)),
        platform="platform", independent=("pose.x", "pose.y", "pose.z"), home=home,
    )  # fmt: skip


IDENTITY_ = Placement()


# --- one loop of each kind, in space ---------------------------------------------------------------------------------

# what joint a loop kind stands for, and how many one-axis joints leave two mobilities to the chain it closes
STANDS_FOR = {
    LoopKind.POINT: (JointType.SPHERICAL, 5),
    LoopKind.AXIS: (JointType.REVOLUTE, 7),
    LoopKind.SLIDE: (JointType.PRISMATIC, 7),
    LoopKind.CYLINDER: (JointType.CYLINDRICAL, 6),
    LoopKind.WELD: (JointType.FIXED, 8),
    LoopKind.ROD: (JointType.SPHERICAL, 3),
}
ROD_LENGTH = 0.35


def single_loop(kind: LoopKind, seed: int = 0, *, explicit: bool = False) -> Robot:
    """A chain of generic one-axis joints closed on the base by one loop; two mobilities, over-actuated by one.

    ``explicit`` models the closing joint as a tree joint of a massless body that is welded to the base; for a rod
    the massless body is the rod itself, on a universal joint at the chain and a ball at the base.
    """
    rng = np.random.default_rng([seed, list(LoopKind).index(kind)])
    joint, n = STANDS_FOR[kind]
    bodies: list[Body] = []
    tip = np.eye(4)
    for k in range(n):
        parent = bodies[-1].name if bodies else BASE
        placement = random_placement(rng, 0.3)
        kinds = (JointType.REVOLUTE, JointType.REVOLUTE, JointType.PRISMATIC, JointType.HELICAL)
        step = random_joint(rng, f"j{k}", kinds[int(rng.integers(4))], True)
        bodies.append(Body(f"b{k}", parent, step, placement))
        here = np.eye(4)
        here[:3, :3], here[:3, 3] = placement.R, placement.p
        tip = tip @ here
    local = random_placement(rng, 0.3)
    end = Placement.of(tip[:3, 3], tip[:3, :3]) @ local  # the chain's end at zero: home is closed there
    mine, base = Anchor(bodies[-1].name, local), Anchor(BASE, end)
    if kind is LoopKind.ROD:
        far = Anchor(BASE, end @ at(ROD_LENGTH))
        if explicit:
            rod = Body("rod", mine.body, Joint("ball", JointType.UNIVERSAL, Y, Z), local, massless=True)
            bodies.append(rod)
            loop = Loop("L", LoopKind.POINT, Anchor("rod", at(ROD_LENGTH)), far)
        else:
            loop = Loop("L", kind, mine, far, ROD_LENGTH)
    elif explicit and kind is LoopKind.WELD:  # cut in the middle of the chain instead
        return _cut_elsewhere(bodies, local, end, rng)
    elif explicit:
        bodies.append(Body("pin", mine.body, Joint("close", joint, Z), local, massless=True))
        loop = Loop("L", LoopKind.WELD, Anchor("pin"), base)
    else:
        loop = Loop("L", kind, mine, base)
    motors = tuple(Motor(f"m{k}", ((f"j{k}", 1.0),)) for k in range(3))
    return Robot(f"single-{kind}", tuple(bodies), (loop,), motors, gravity=(2.0, -3.0, -8.0), independent=("j0", "j1"))


def _cut_elsewhere(bodies: list[Body], local: Placement, end: Placement, rng: np.random.Generator) -> Robot:
    """The welded chain split at its joint 5: both halves hang on the base, and bodies 5 and up are held from behind.

    Joint 5's two sides become the loop (its kind follows the joint), so its coordinate leaves the tree.
    """
    kind = {JointType.REVOLUTE: LoopKind.AXIS, JointType.PRISMATIC: LoopKind.SLIDE}
    cut = next(k for k in (5, 6, 4, 3) if bodies[k].joint.type in kind)
    to_z = _aim_axis(np.array(bodies[cut].joint.axis))
    loop = Loop(
        "L", kind[bodies[cut].joint.type], Anchor(bodies[cut - 1].name, bodies[cut].placement @ to_z),
        Anchor(bodies[cut].name, to_z),
    )  # fmt: skip
    behind: list[Body] = []
    # body n-1 is rigidly at end @ local^-1 in the base; each one before it hangs on the next by the inverse joint
    parent, placement = BASE, end @ local.inverse()
    for body in reversed(bodies[cut:]):
        j = body.joint
        if parent == BASE:
            behind.append(Body(body.name, BASE, Joint(f"w{body.name}"), placement))
        else:
            behind.append(Body(body.name, parent, Joint(f"w{body.name}"), placement))
        if body is not bodies[cut]:
            # the joint's far side: a massless body that moves against the joint's own axis
            back = Joint(j.name, j.type, tuple(-np.array(j.axis)), pitch=j.pitch)
            behind.append(Body(f"{body.name}'", body.name, back, IDENTITY_, massless=True))
            parent, placement = f"{body.name}'", body.placement.inverse()
    motors = tuple(Motor(f"m{k}", ((f"j{k}", 1.0),)) for k in range(3))
    return Robot(
        "single-weld-cut", (*bodies[:cut], *behind), (loop,), motors, gravity=(2.0, -3.0, -8.0),
        independent=("j0", "j1"),
    )  # fmt: skip


def _aim_axis(axis: Array) -> Placement:
    other = np.eye(3)[int(np.abs(axis).argmin())]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return Placement.of((0, 0, 0), np.stack([x, np.cross(axis, x), axis], axis=1))


def parallelogram(closing: str = "coupling") -> Robot:
    """Crank, coupler and an equal rocker: by couplings, or by a point loop of a planar chain."""
    bodies = (
        Body("crank", BASE, revolute("q1")),
        Body("coupler", "crank", revolute("q2"), at(0.3)),
        Body("rocker", BASE, revolute("q3"), at(0.5)),
    )
    loops: tuple[Loop | Coupling, ...]
    if closing == "coupling":
        loops = (Coupling("c2", "q2", (("q1", -1.0),), 0.0), Coupling("c3", "q3", (("q1", 1.0),)))
    else:
        loops = (Loop("B", LoopKind.POINT, Anchor("coupler", at(0.5)), Anchor("rocker", at(0.3))),)
    return Robot(
        "parallelogram", bodies, loops, (Motor("m", (("q1", 1.0),)),), gravity=(0, -9.81, 0),
        independent=("q1",), home={"q1": 0.9, "q2": -0.9, "q3": 0.9},
    )  # fmt: skip


def ball_rod(joint: str = "spherical") -> Robot:
    """Crank and rocker about skew axes joined by a rod with mass between two balls (RSSR).

    The rod hangs on a tree ball joint, on a universal joint that cannot spin, or free between two point loops.
    """
    bodies = [Body("crank", BASE, revolute("q1")), Body("rocker", BASE, revolute("q2", X), at(0.5, 0.1, 0.3))]
    kinds = {
        "spherical": JointType.SPHERICAL, "universal": JointType.UNIVERSAL, "free": JointType.FREE
    }  # fmt: skip
    length = 0.6
    rod = Joint("rod", kinds[joint], Y, Z)
    far = Loop("far", LoopKind.POINT, Anchor("rod", at(length)), Anchor("rocker", at(0, 0, 0.3)))
    near = Loop("near", LoopKind.POINT, Anchor("crank", at(0.25)), Anchor("rod"))
    home = {"q1": 0.4, "q2": 0.3}
    if joint == "free":
        bodies.append(Body("rod", BASE, rod))
        home |= {"rod.x": 0.23, "rod.y": 0.1, "rod.ry": -0.8}
    else:
        bodies.append(Body("rod", "crank", rod, at(0.25)))
        home |= {"rod.ry": -0.8} if joint == "spherical" else {"rod.first": -0.8}
    loops = (near, far) if joint == "free" else (far,)
    return Robot(f"rssr-{joint}", tuple(bodies), loops, (Motor("m", (("q1", 1.0),)),), home=home, independent=("q1",))


def loop_robots() -> dict[str, Robot]:
    """Every closed-loop test robot, by name."""
    robots = [
        four_bar("axis"), four_bar("cylinder"), four_bar("weld"), five_bar(), redundant_planar(), redundant_3prrr(),
        stewart("point"), stewart("spherical"), stewart("hanging"), delta("rod"), delta("body"), parallelogram(),
        *(single_loop(kind, seed=2 if kind is LoopKind.ROD else 0) for kind in LoopKind),
    ]  # fmt: skip
    return {robot.name: robot for robot in robots}


def planar_2r(l1: float = 0.5) -> Robot:
    """The textbook arm: two parallel axes, in the horizontal plane."""
    return Robot(
        "2r", (Body("link1", BASE, revolute("q1")), Body("link2", "link1", revolute("q2"), at(l1))),
        motors=(Motor("m1", (("q1", 1.0),)), Motor("m2", (("q2", 1.0),))), gravity=(0.0, -9.81, 0.0),
    )  # fmt: skip


def rod_inertia(mass: float, length: float) -> Array:
    """A slender rod along x from the joint."""
    i = mass * length**2 / 12
    return BodyInertia(mass, (length / 2, 0.0, 0.0), (1e-4 * i, 0.0, 0.0, i, 0.0, i)).parameters()
