"""Base parameters: counts against an independent rank, invariances, exact regrouping, textbook cases, scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.catalog import catalog_robot, catalog_trees
from tests.helpers.pinocchio_bridge import to_pinocchio
from tests.helpers.robots import (
    ball_rod,
    delta,
    effort_values,
    five_bar,
    four_bar,
    planar_2r,
    random_parameters,
    random_tree,
    redundant_planar,
    stewart,
)

from dalembert.errors import EstimationError
from dalembert.identification.base import base_parameters
from dalembert.model import build_model
from dalembert.motion import random_states
from dalembert.robot import Anchor, Body, JointType, Loop, LoopKind, Placement, Robot

# decades between kept and dropped remainders that make a rank certain: rounding sits at 1e-15, the weakest column
# of a metre-sized robot at 1e-4
GAP = 6.0


def model_of(robot: Robot):  # type: ignore[no-untyped-def]
    return build_model(robot, backend="numpy")


def referee_rank(robot: Robot, rng: np.random.Generator) -> int:
    """Numerical rank of the referee's observation matrix of the closed robot, a column per standard parameter."""
    model = model_of(robot)
    robot = model.robot  # idle mobilities held
    states = random_states(model, 60, rng)
    names = robot.parameters()
    rows = []
    columns = np.eye(len(names))
    # Pinocchio divides by the mass: a column is the difference two bodies with mass make
    some = random_parameters(robot, rng)
    inertial = range(10 * sum(not b.massless for b in robot.bodies))
    engines = [to_pinocchio(robot, some + columns[k]) for k in inertial]
    plain = to_pinocchio(robot, some)
    for y, yd, ydd in zip(states.y, states.yd, states.ydd, strict=True):
        free, start = plain.null_space(y, yd), plain.rnea(y, yd, ydd)
        bodies = [e.rnea(y, yd, ydd) - start for e in engines]
        effort = [plain.effort(effort_values(robot, e), y, yd, ydd) for e in columns[len(engines) :]]
        rows.append(free.T @ np.array([*bodies, *effort]).T)
    sigma = np.linalg.svd(np.vstack(rows), compute_uv=False)
    sigma = np.maximum(sigma / sigma[0], 1e-17)
    drops = np.log10(sigma[:-1] / sigma[1:])
    cut = int(np.argmax(drops))
    return cut + 1 if drops[cut] > 3.0 else len(sigma)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in catalog_trees() if name != "panda"])
def test_counts_of_catalog_trees_equal_the_referees_rank(name: str, rng: np.random.Generator) -> None:
    robot = catalog_robot(name)
    found = base_parameters(model_of(robot))
    assert found.n_base == referee_rank(robot, rng)
    assert found.gap > GAP


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_random_trees_equal_the_referees_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [(JointType.REVOLUTE, JointType.PRISMATIC, JointType.HELICAL)[i] for i in rng.integers(0, 3, 4)]
    robot = random_tree(rng, [*kinds, JointType.UNIVERSAL], generic=seed % 2 == 0)
    found = base_parameters(model_of(robot))
    assert found.n_base == referee_rank(robot, rng)
    assert found.gap > GAP


LOOPS = {
    "four-bar": four_bar("axis"), "five-bar": five_bar(), "redundant": redundant_planar(), "delta": delta("body"),
    "rods": delta("rod"), "rssr": ball_rod("universal"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(LOOPS))
def test_counts_of_closed_robots_equal_the_referees_rank(name: str, rng: np.random.Generator) -> None:
    found = base_parameters(model_of(LOOPS[name]))
    assert found.n_base == referee_rank(LOOPS[name], rng)
    assert found.gap > GAP


@pytest.mark.parametrize("name", list(LOOPS))
def test_relations_reproduce_torque_exactly(name: str, rng: np.random.Generator) -> None:
    """W pi = W_b beta on fresh states, parameters physical or not."""
    model = model_of(LOOPS[name])
    base = base_parameters(model)
    pi = rng.standard_normal(len(model.parameters))
    s = random_states(model, 30, np.random.default_rng(99))
    w = model.regressor(s.y, s.yd, s.ydd, "platform")
    torque = w @ pi
    # coefficients rounded away below 1e-8 times parameters of order one
    bound = 1e-7 * np.abs(torque).max()
    np.testing.assert_allclose(w[:, :, list(base.independent)] @ base.project(pi), torque, rtol=0, atol=bound)


@pytest.mark.parametrize("name", ["five-bar", "redundant", "delta"])
def test_neither_seed_nor_projection_nor_order_changes_what_is_identifiable(
    name: str, rng: np.random.Generator
) -> None:
    model = model_of(LOOPS[name])
    base = base_parameters(model)
    for seed in (1, 2):
        other = base_parameters(model, seed=seed)
        assert other.independent == base.independent
        # K is a ratio of well separated numbers: the condition of the base columns times rounding
        np.testing.assert_allclose(other.K, base.K, rtol=0, atol=1e-7)
    for projection in ("platform", "whitened"):
        other = base_parameters(model, projection)
        assert other.independent == base.independent
        np.testing.assert_allclose(other.K, base.K, rtol=0, atol=1e-7)
    shuffled = tuple(rng.permutation(model.parameters))
    other = base_parameters(model, order=shuffled)
    assert other.n_base == base.n_base
    assert set(other.unidentifiable) == set(base.unidentifiable)
    # the same quotient space: each set of base parameters determines the other
    pi = rng.standard_normal((200, len(model.parameters)))
    both = np.linalg.matrix_rank(np.hstack([base.project(pi), other.project(pi)]), tol=1e-6)
    assert both == base.n_base


def test_the_textbook_arm() -> None:
    """Planar 2R, vertical: ZZ1 + l^2 M2, MX1 + l M2, MY1, ZZ2, MX2, MY2, friction and rotors left out."""
    base = base_parameters(model_of(planar_2r(0.5)))
    assert base.n_base == 6
    relations = base.relations()
    assert relations == {
        "ZZR_link1": "ZZ_link1 + 0.25 M_link2",
        "MXR_link1": "MX_link1 + 0.5 M_link2",
        "MY_link1": "MY_link1",
        "ZZ_link2": "ZZ_link2",
        "MX_link2": "MX_link2",
        "MY_link2": "MY_link2",
    }
    assert {base.names[k] for k in base.dependent} == {"M_link2"}


def test_the_textbook_arm_without_gravity() -> None:
    """Horizontal: the first link's moments are gone, three inertias and two moments of the second link stay."""
    base = base_parameters(model_of(replace(planar_2r(0.5), gravity=(0.0, 0.0, -9.81))))
    assert set(base.base_names) == {"ZZR_link1", "ZZ_link2", "MX_link2", "MY_link2"}


def test_a_pendulum_alone() -> None:
    """One mobility: ZZ, MX, MY; nothing to regroup."""
    base = base_parameters(model_of(random_pendulum()))
    assert set(base.base_names) == {"ZZ_bob", "MX_bob", "MY_bob"}
    assert len(base.unidentifiable) == 7


def random_pendulum() -> Robot:
    from tests.helpers.robots import revolute

    from dalembert.robot import BASE, Motor

    return Robot(
        "pendulum", (Body("bob", BASE, revolute("q")),), motors=(Motor("q", (("q", 1.0),)),), gravity=(0, -9.81, 0)
    )


def test_a_free_body_shows_all_ten() -> None:
    rng = np.random.default_rng(0)
    assert base_parameters(model_of(random_tree(rng, [JointType.FREE]))).n_base == 10


def test_symmetric_legs_tied(rng: np.random.Generator) -> None:
    """Tying adds no information: W (tied) pi is W with equal legs, and fewer parameters remain."""
    model = model_of(redundant_planar(efforts=False))
    free, tied = base_parameters(model), base_parameters(model, symmetric=True)
    assert tied.n_base < free.n_base
    equal = tied.ties.matrix @ rng.standard_normal(len(tied.names))
    cranks = [equal[[model.parameters.index(f"{s}_crank{k}") for s in ("ZZ", "MX", "M")]] for k in range(1, 5)]
    np.testing.assert_array_equal(cranks[0], cranks[3])


def scaled(robot: Robot, s: float) -> Robot:
    """The same robot s times as long; slides and screws move s times as far."""

    def place(p: Placement) -> Placement:
        return Placement.of(s * p.p, p.R)

    def anchor(a: Anchor) -> Anchor:
        return Anchor(a.body, place(a.placement))

    def slides(name: str) -> bool:
        return any(not step.is_angle for b in robot.bodies for step in b.joint.steps if step.coordinate == name)

    bodies = tuple(
        replace(b, placement=place(b.placement), joint=replace(b.joint, pitch=s * b.joint.pitch)) for b in robot.bodies
    )
    loops = tuple(
        replace(x, a=anchor(x.a), b=anchor(x.b), length=s * x.length) if isinstance(x, Loop) else x for x in robot.loops
    )
    home = {name: s * value if slides(name) else value for name, value in robot.home.items()}
    return replace(robot, bodies=bodies, loops=loops, home=home, efforts=(), nominal={})


@pytest.mark.parametrize("s", [1e-2, 1e2])
@pytest.mark.parametrize("name", ["puma560", "ur5", "tx40", "scara"])
def test_size_does_not_change_the_counts_of_trees(name: str, s: float) -> None:
    robot = catalog_robot(name)
    bare = robot.with_efforts(())
    # on a robot of centimetres a mass weighs 1e-4 beside an inertia of 1 kg m^2; of hectometres 1e4
    assert base_parameters(model_of(scaled(robot, s))).n_base == base_parameters(model_of(bare)).n_base


@pytest.mark.parametrize("s", [1e-2, 1e2])
@pytest.mark.parametrize("name", [*LOOPS, "stewart"])
def test_size_does_not_change_the_counts_of_loops(name: str, s: float) -> None:
    robot = stewart("point") if name == "stewart" else LOOPS[name]
    bare = robot.with_efforts(())
    small, plain = base_parameters(model_of(scaled(robot, s))), base_parameters(model_of(bare))
    assert small.n_base == plain.n_base
    assert small.independent == plain.independent


def test_a_wrong_order_is_named() -> None:
    model = model_of(planar_2r())
    with pytest.raises(EstimationError, match="XX_link3"):
        base_parameters(model, order=("XX_link3", *model.parameters[1:]))


def test_rods_have_no_say(rng: np.random.Generator) -> None:
    """A massless rod and a massless body in its place: the same base parameters."""
    robot = delta("body")
    light = replace(
        robot, bodies=tuple(replace(b, massless=b.name.startswith("forearm")) for b in robot.bodies), name="light"
    )
    a, b = (base_parameters(model_of(r)) for r in (light, delta("rod")))
    assert a.relations() == b.relations()
    assert LoopKind.ROD in {loop.kind for loop in delta("rod").loops if isinstance(loop, Loop)}
    assert len(random_parameters(light, rng)) == len(a.names)
