"""How a robot hangs together: home closed by Newton, independent rows and coordinates, idle mobilities frozen."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from dalembert.errors import ClosureError, ModelError
from dalembert.robot import Coupling, Loop, Robot
from dalembert.symbolic.algebra import block_sizes
from dalembert.symbolic.loops import Closures, closures
from dalembert.symbolic.tree import Tree, flatten

__all__ = ["Assembly", "assemble"]

Array = NDArray[np.float64]

CLOSED = 1e-12  # [m or rad] closure reached by Newton in double precision on metre-sized robots
RANK_TOLERANCE = 1e-9  # relative; closure Jacobians of sound robots have singular values above 1e-4
_PROBES = 4  # configurations near home on which generic rank is judged
_PROBE_STEP = 0.05  # [rad or m] their distance from home
_FAR = 0.02  # [rad or m] from the home written: more than lengths rounded in a file explain
_MAX_CONDITION = 1e3  # a choice of independent coordinates worse than this times the best is not considered


@dataclass(frozen=True, slots=True)
class Assembly:
    """A tree, its independent closure rows and the coordinates that describe its motion near home.

    ``rows`` index the closures kept, ``independent`` and ``dependent`` split ``y``; ``frozen`` names coordinates of
    idle mobilities that are held at home; ``notes`` say in words what was decided.
    """

    robot: Robot
    tree: Tree
    y: ca.SX
    closures: Closures
    rows: tuple[int, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    home: Array
    frozen: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def c(self) -> ca.SX:
        """Independent closure rows (m,)."""
        return self.closures.c[list(self.rows)] if self.rows else ca.SX(0, 1)


class _Loops:
    """Numeric closure and Jacobian of a robot, as functions of ``y``."""

    def __init__(self, robot: Robot, tree: Tree) -> None:
        self.robot, self.tree = robot, tree
        self.y = ca.SX.sym("y", tree.n_y)
        self.closures = closures(robot, tree, self.y)
        jacobian = ca.jacobian(self.closures.c, self.y)
        self._function = ca.Function("closure", [self.y], [self.closures.c, ca.densify(jacobian)])

    def __call__(self, y: Array) -> tuple[Array, Array]:
        c, jacobian = self._function(y)
        return np.array(c).ravel(), np.array(jacobian).reshape(-1, self.tree.n_y)

    def pattern(self) -> NDArray[np.bool_]:
        """Which entries of the closure Jacobian are not structurally zero."""
        sparsity = ca.sparsify(ca.jacobian(self.closures.c, self.y)).sparsity()
        filled: NDArray[np.bool_] = np.asarray(ca.DM(sparsity, 1).full() != 0.0)
        return filled.reshape(-1, self.tree.n_y)

    def close(self, guess: Array) -> Array:
        """Nearest closed configuration: damped Newton with minimum-norm steps."""
        y = guess.copy()
        c, jacobian = self(y)
        for _ in range(60):
            worst = np.abs(c).max(initial=0.0)
            if worst < CLOSED / 10:
                return y
            step = np.linalg.lstsq(jacobian, -c, rcond=RANK_TOLERANCE)[0]
            step *= min(1.0, 0.5 / max(np.abs(step).max(initial=0.0), 1e-300))
            for scale in (1.0, 0.5, 0.25, 0.1):
                trial = y + scale * step
                trial_c, trial_jacobian = self(trial)
                if np.linalg.norm(trial_c) < np.linalg.norm(c) or scale == 0.1:
                    break
            if np.linalg.norm(trial_c) >= np.linalg.norm(c) and worst < CLOSED:
                return y
            y, c, jacobian = trial, trial_c, trial_jacobian
        return self._refuse(c)

    def _refuse(self, c: Array) -> Array:
        worst = int(np.abs(c).argmax())
        raise ClosureError(
            f"robot {self.robot.name!r}: loop {self.closures.loops[worst]!r} cannot close near home: "
            f"{abs(c[worst]):.3g} (m or rad) is left, expected < {CLOSED:g}; check its lengths and home"
        )

    def rank(self, y: Array) -> int:
        """Rank of the closure Jacobian."""
        jacobian = self(y)[1]
        return _rank(jacobian)


def _rank(matrix: Array) -> int:
    if not matrix.size:
        return 0
    sigma = np.linalg.svd(matrix, compute_uv=False)
    return int((sigma > RANK_TOLERANCE * max(1.0, sigma[0])).sum())


def _null_space(matrix: Array, n: int) -> Array:
    if not matrix.size:
        return np.eye(n)
    _, sigma, vt = np.linalg.svd(matrix, full_matrices=len(matrix) < n)  # a tall matrix has all of vt anyway
    rank = int((sigma > RANK_TOLERANCE * max(1.0, sigma[0])).sum())
    return vt[rank:].T


def _home(robot: Robot, loops: _Loops) -> Array:
    for name, value in loops.closures.constant:
        if abs(value) > CLOSED * 100:
            raise ClosureError(
                f"robot {robot.name!r}: loop {name!r} can never close: a row that no coordinate moves is {value:.3g}, "
                f"expected 0; check the planes the loop's bodies lie in"
            )
    guess = np.array([robot.home.get(name, 0.0) for name in robot.coordinates])
    return loops.close(guess) if loops.closures.loops else guess


def _moved(robot: Robot, home: Array) -> list[str]:
    """What to say where the loops close far from the home that was written for what drives or describes the motion."""
    leading = robot.independent or tuple(name for motor in robot.motors for name, _ in motor.turns)
    found = dict(zip(robot.coordinates, home.tolist(), strict=True))
    moved = [name for name in dict.fromkeys(leading) if abs(found[name] - robot.home.get(name, found[name])) > _FAR]
    if not moved:
        return []
    said = ", ".join(f"{name} = {found[name]:.4g} for {robot.home[name]:.4g}" for name in moved)
    return [f"the loops close near the home written, at {said} [rad or m]: nearer guesses of all other joints keep it"]


def _probes(loops: _Loops, home: Array) -> list[Array]:
    """Closed configurations near home, on which a rank is generic."""
    rng = np.random.default_rng(1)
    free = _null_space(loops(home)[1], len(home))
    if not free.shape[1]:
        return [home]
    out = []
    for _ in range(_PROBES):
        direction = free @ rng.standard_normal(free.shape[1])
        out.append(loops.close(home + _PROBE_STEP * direction / np.abs(direction).max()))
    return out


def _independent_rows(robot: Robot, loops: _Loops, home: Array, probes: list[Array]) -> tuple[int, ...]:
    jacobian = loops(home)[1]
    if not jacobian.size:
        return ()
    rank, generic = _rank(jacobian), [loops.rank(y) for y in probes]
    if min(generic) != rank or max(generic) != rank:
        raise ModelError(
            f"robot {robot.name!r}: home is singular: the loops have rank {rank} there and {max(generic)} nearby; "
            f"choose another home configuration"
        )
    _, _, order = qr(jacobian.T, pivoting=True, mode="economic")
    rows = tuple(sorted(int(k) for k in order[:rank]))
    for y in probes:
        if _rank(loops(y)[1][list(rows)]) != rank:
            raise ModelError(
                f"robot {robot.name!r}: no fixed choice of {rank} closure rows stays independent near home"
            )
    return rows


class _Connections:
    """Points where bodies are joined, as functions of ``y``: what an idle spin leaves where it is.

    A body joined to one other only (a pendulum, a castor) counts with its orientation: its swing is a mobility.
    """

    def __init__(self, loops: _Loops) -> None:
        tree, y = loops.tree, loops.y
        points, self.platform = [], None
        for index, frame in enumerate(tree.frames):
            if frame.step is not None:
                points.append(tree.pose(index, y)[1])
        for loop in loops.robot.loops:
            if isinstance(loop, Loop):
                points += [tree.anchor(loop.a, y)[1], tree.anchor(loop.b, y)[1]]
        outputs = [ca.vertcat(*points)]
        joined = {body.parent for body in loops.robot.bodies}
        joined |= {a.body for loop in loops.robot.loops if isinstance(loop, Loop) for a in (loop.a, loop.b)}
        outputs += [ca.vec(tree.pose(index, y)[0]) for index, body in tree.bodies() if body.name not in joined]
        if loops.robot.platform is not None:
            rotation, position = tree.pose(tree.frame_of(loops.robot.platform), y)
            outputs.append(ca.vertcat(ca.vec(rotation), position))
        jacobian = ca.densify(ca.jacobian(ca.vertcat(*outputs), y))
        self._function = ca.Function("points", [y], [jacobian])

    def __call__(self, y: Array) -> Array:
        return np.array(self._function(y))


def _idle_coordinates(robot: Robot, loops: _Loops, home: Array, probes: list[Array]) -> tuple[int, ...]:
    """Coordinates to hold so that bodies which only spin between their own joints stop doing so.

    An idle motion moves no motor, no sensor, no platform and no point where bodies are joined.
    """
    if not any(isinstance(loop, Loop) for loop in robot.loops):
        return ()
    connections, actuated = _Connections(loops), np.vstack([robot.motor_map(), robot.sensor_map()])
    held = actuated.any(axis=0)

    def idle_space(y: Array) -> Array:
        return _null_space(np.vstack([loops(y)[1], actuated, connections(y)]), len(home))

    spaces = [idle_space(y) for y in (home, *probes)]
    count = min(space.shape[1] for space in spaces)
    if not count:
        return ()
    generic = min(spaces, key=lambda space: space.shape[1])
    free = generic * np.where(held, 0.0, 1.0)[:, None]
    _, _, order = qr(free.T, pivoting=True, mode="economic")
    return tuple(sorted(int(k) for k in order[:count]))


def _frozen_robot(robot: Robot, frozen: Sequence[int], home: Array) -> Robot:
    names = [robot.coordinates[k] for k in frozen]
    held = tuple(Coupling(f"idle {name}", name, (), float(home[k])) for name, k in zip(names, frozen, strict=True))
    return replace(robot, loops=(*robot.loops, *held))


def _candidates(robot: Robot, jacobian: Array, r: int) -> list[tuple[int, ...]]:
    """Sets of r coordinates worth trying as independent: declared, those of multi-axis joints, motors', pivoted."""
    index = {name: i for i, name in enumerate(robot.coordinates)}
    sets: list[tuple[int, ...]] = []
    if len(robot.independent) == r:
        sets.append(tuple(index[name] for name in robot.independent))
    joints = [tuple(index[c] for c in b.joint.coordinates) for b in robot.bodies if len(b.joint.coordinates) >= 3]
    sets += [joint for joint in joints if len(joint) == r]
    driven = np.flatnonzero(robot.motor_map().any(axis=0))
    if len(driven) == r:
        sets.append(tuple(int(k) for k in driven))
    elif 0 < len(driven) - r <= 3:
        sets += [tuple(int(k) for k in subset) for subset in itertools.combinations(driven, r)]
    free = _null_space(jacobian, len(index))
    _, _, order = qr(free.T, pivoting=True, mode="economic")
    sets.append(tuple(sorted(int(k) for k in order[:r])))
    for joint in joints:  # a joint completed by the best of the others
        if len(joint) < r:
            rest = free - free @ np.linalg.pinv(free[list(joint)]) @ free[list(joint)]
            _, _, order = qr(rest.T, pivoting=True, mode="economic")
            extra = [int(k) for k in order if k not in joint][: r - len(joint)]
            sets.append((*joint, *extra))
    return list(dict.fromkeys(sets))


def _choose_independent(robot: Robot, jacobian: Array, pattern: NDArray[np.bool_], r: int) -> tuple[int, ...]:
    """The well-conditioned candidate whose dependent coordinates fall into the smallest blocks."""
    if not len(jacobian):
        return tuple(range(len(robot.coordinates)))
    graded = []
    for chosen in _candidates(robot, jacobian, r):
        dependent = [k for k in range(jacobian.shape[1]) if k not in chosen]
        sizes = block_sizes(pattern[:, dependent])
        if sizes and len(dependent) == len(jacobian):
            graded.append((sum(s**3 for s in sizes), np.linalg.cond(jacobian[:, dependent]), chosen))
    if not graded or min(g[1] for g in graded) > 1e12:
        raise ModelError(f"robot {robot.name!r}: no {r} coordinates describe its motion at home (singular home)")
    best = min(condition for _, condition, _ in graded)
    return min((g for g in graded if g[1] <= _MAX_CONDITION * best), key=lambda g: (g[0], g[1]))[2]


def assemble(robot: Robot) -> Assembly:
    """Close the robot at home and decide rows, independent coordinates and what to freeze."""
    tree = flatten(robot)
    loops = _Loops(robot, tree)
    home = _home(robot, loops)
    probes = _probes(loops, home)
    rows = _independent_rows(robot, loops, home, probes)
    notes = _moved(robot, home)
    dropped = len(loops.closures.loops) + len(loops.closures.constant) - len(rows)
    if dropped:
        notes.append(f"{dropped} redundant closure rows left out of {dropped + len(rows)}")
    idle = _idle_coordinates(robot, loops, home, probes)
    frozen = tuple(robot.coordinates[k] for k in idle)
    if idle:
        notes.append(
            f"idle mobility held at home: {', '.join(frozen)} (moves no motor, sensor, platform or joint centre)"
        )
        robot = _frozen_robot(robot, idle, home)
        loops = _Loops(robot, tree)
        home = loops.close(home)
        rows = _independent_rows(robot, loops, home, _probes(loops, home))
    r = tree.n_y - len(rows)
    if r == 0:
        raise ModelError(f"robot {robot.name!r}: the loops leave no motion at home (0 degrees of freedom)")
    jacobian = loops(home)[1][list(rows)]
    pattern = loops.pattern()[list(rows)]
    independent = _choose_independent(robot, jacobian, pattern, r)
    dependent = tuple(k for k in range(tree.n_y) if k not in independent)
    home.flags.writeable = False
    return Assembly(
        robot, tree, loops.y, loops.closures, rows, independent, dependent, home, frozen, tuple(notes)
    )  # fmt: skip
