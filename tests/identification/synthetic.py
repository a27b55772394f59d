"""A small made-up robot: two bodies, friction on three row groups, a regrouping known by construction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.identification.prior import Box, Cylinder, Prior
from dalembert.identification.problem import Problem
from dalembert.identification.rows import ArrayRows
from dalembert.parameters import inertial_names
from dalembert.robot.geometry import Placement

GROUPS = ("j1", "j2", "j3")
BODIES = ("arm", "hand")
FRICTION = tuple(f"{kind}_{group}" for group in GROUPS for kind in ("Fv", "Fc"))
PARAMETERS = (*(name for body in BODIES for name in inertial_names(body)), *FRICTION)
# XX, YY and M of the arm and M of the hand regroup into others, as in any serial arm
DEPENDENT = tuple(PARAMETERS.index(n) for n in ("YY_arm", "MZ_arm", "M_arm", "MZ_hand", "M_hand", "YY_hand"))


@dataclass(frozen=True)
class Base:
    names: tuple[str, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    K: np.ndarray


def base_set() -> Base:
    independent = tuple(i for i in range(len(PARAMETERS)) if i not in DEPENDENT)
    K = np.zeros((len(independent), len(DEPENDENT)))
    row = {PARAMETERS[i]: k for k, i in enumerate(independent)}
    for target, source, value in (
        ("XX_arm", "YY_arm", -1.0),
        ("ZZ_arm", "M_hand", 0.16),
        ("MX_arm", "M_hand", 0.4),
        ("XX_arm", "M_hand", -0.16),
        ("MY_arm", "MZ_hand", 1.0),
        ("ZZ_arm", "M_arm", 0.0),
        ("XX_hand", "YY_hand", -1.0),
        ("ZZ_arm", "YY_hand", 1.0),
        ("MY_arm", "MZ_arm", 0.2),
    ):
        K[row[target], DEPENDENT.index(PARAMETERS.index(source))] = value
    return Base(PARAMETERS, independent, DEPENDENT, K)


def nominal() -> Prior:
    """The truth: a beam with a tool of steel."""
    arm = Cylinder(0.05, 0.4, placement=Placement.of((0.2, 0.01, 0.02), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
    hand = Box((0.1, 0.06, 0.2), 4000.0, placement=Placement.of((0.05, 0.02, 0.1)))
    friction = {name: 3.0 + 0.5 * k if name.startswith("Fv") else 5.0 - 0.5 * k for k, name in enumerate(FRICTION)}
    return Prior.of_bodies({"arm": arm, "hand": hand}, friction, source="truth")


def truth() -> np.ndarray:
    return nominal().vector(PARAMETERS)


def guess() -> Prior:
    """Another physical belief: 30 % heavier bodies a little off, friction off by a factor."""
    arm = Cylinder(0.06, 0.35, placement=Placement.of((0.17, 0.0, 0.0), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
    hand = Box((0.08, 0.08, 0.15), 6000.0, placement=Placement.of((0.03, 0.0, 0.08)))
    return Prior.of_bodies({"arm": arm, "hand": hand}, dict.fromkeys(FRICTION, 2.0), source="guess")


def regressor(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W (3 samples, p) smooth in time, group (3 samples,), sample (3 samples,)."""
    rng = np.random.default_rng(seed)
    base = base_set()
    b = len(base.independent)
    t = np.linspace(0.0, 1.0, samples, endpoint=False)
    B = np.zeros((b, len(PARAMETERS)))
    B[np.arange(b), base.independent] = 1.0
    B[:, base.dependent] = base.K
    blocks = []
    for g in range(len(GROUPS)):
        f = rng.uniform(1.0, 12.0, (4, b))
        a, phase = rng.standard_normal((4, b)), rng.uniform(0.0, 2.0 * np.pi, (4, b))
        X = np.sum(a[:, None] * np.cos(2.0 * np.pi * f[:, None] * t[None, :, None] + phase[:, None]), axis=0)
        velocity = np.sin(2.0 * np.pi * (g + 2) * t + g)
        for column, i in enumerate(base.independent):
            if PARAMETERS[i] in FRICTION:
                X[:, column] = 0.0
                if PARAMETERS[i].endswith(GROUPS[g]):
                    X[:, column] = velocity if PARAMETERS[i].startswith("Fv") else np.sign(velocity)
        blocks.append(X @ B)
    return np.concatenate(blocks), np.repeat(np.arange(3), samples), np.tile(np.arange(samples), 3)


def make_rows(samples: int = 150, noise: float = 0.0, seed: int = 0, **options: object) -> ArrayRows:
    """Rows with torque from the truth; the noise of group g is ``noise * (1 + 3 g)``."""
    W, group, sample = regressor(samples, 5)
    rng = np.random.default_rng(seed)
    y = W @ truth() + noise * (1.0 + 3.0 * group) * rng.standard_normal(len(group))
    return ArrayRows.of(W, y, PARAMETERS, group=group, groups=GROUPS, sample=sample, **options)


def make_problem(rows: ArrayRows, prior: Prior | None = None, **options: object) -> Problem:
    return Problem.of(rows, base_set(), prior=prior or nominal(), instruments=rows, **options)


def beta(standard: np.ndarray) -> np.ndarray:
    base = base_set()
    return standard[list(base.independent)] + base.K @ standard[list(base.dependent)]


def map_blocks(rows: ArrayRows, change: object) -> ArrayRows:
    return replace(rows, data=tuple(change(block) for block in rows.data))
