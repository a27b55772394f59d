"""Excitation of the TX40, the task the peers were measured on: 5 harmonics, 10 s, 52 base columns, 400 samples.

All are judged by the same code here: W by the model's regressor at 400 instants half a step off, unscaled, limits at
1000 instants. The peers run on the same fast W, limits and random starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import LinearConstraint, minimize

from dalembert.excitation import Effort, Fourier, Limits, Shares, criterion_of, design_excitation
from dalembert.excitation.criteria import Context
from dalembert.excitation.information import Information
from dalembert.excitation.setup import Objective, Setup
from dalembert.excitation.starts import random_start, scaled_to_fit
from dalembert.identification.base import base_parameters
from dalembert.identification.factor import one_thread
from dalembert.model import Model, build_model
from dalembert.robot import load_robot, select_efforts

TITLE = "TX40, 5 harmonics in 10 s: what W'W of 400 samples reaches in how many seconds, all limits kept (2 threads)"

FAMILY = Fourier(5, 10.0)
SAMPLES, CHECKS, INSTANTS = 400, 1000, 40  # judged on, limits checked at, limits given to the peers
ALL = Shares(1.0, 1.0, 1.0, 1.0, 1.0)


def tx40() -> Model:
    """Inertial parameters, rotors, viscous and Coulomb friction of each joint: 52 base parameters."""
    return build_model(select_efforts(load_robot("tx40"), friction="actuated", offsets=False, rotor=True))


def judged(model: Model, columns: list[int], coefficients: np.ndarray) -> dict[str, object]:
    """Condition number, the same with columns of unit norm, logdet of W'W, and the largest share of a limit used."""
    t = (np.arange(SAMPLES) + 0.5) * (FAMILY.duration / SAMPLES)
    w = np.array(model.regressor(*(FAMILY.basis(t, k) @ coefficients.T for k in range(3))))
    w = w.reshape(-1, len(model.parameters))[:, columns]
    s = np.linalg.svd(w, compute_uv=False)
    t = np.arange(CHECKS) * (FAMILY.duration / CHECKS)
    x = [np.abs(FAMILY.basis(t, k) @ coefficients.T).max(axis=0) for k in range(3)]
    bounds = [model.robot.limits[name] for name in model.independent]
    used = [
        max(x[0][j] / b.upper, x[1][j] / b.velocity, x[2][j] / b.acceleration) for j, b in enumerate(bounds)
    ]  # the TX40's ranges are symmetric
    return {
        "cond": round(float(s[0] / s[-1]), 2),
        "normalised": round(float(np.linalg.cond(w / np.linalg.norm(w, axis=0))), 3),
        "logdet": round(2.0 * float(np.log(s).sum()), 2),
        "limits used": f"{100.0 * max(used):.2f} %",
    }


@dataclass(slots=True)
class Task:
    """The unknowns z (66,), each coordinate's divided by its reach, their objective and limits, for the peers."""

    setup: Setup
    objective: Objective
    deadline: float = np.inf
    best: tuple[float, np.ndarray] | None = None

    def value(self, z: np.ndarray) -> float:
        return self.value_and_gradient(z)[0]

    def value_only(self, z: np.ndarray) -> float:
        s = self.setup
        return float(self.objective.criterion.value(s.grid_information(z), self.objective.context)[0])

    def value_and_gradient(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        return self.setup.problem(self.objective).objective(z)

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Limits as ``lower <= A z <= upper``: they are linear."""
        t = np.arange(INSTANTS) * (FAMILY.duration / INSTANTS)
        a, low, high = [], [], []
        for group in self.setup.linear:
            basis = FAMILY.basis(t, group.order)
            for c, lower, upper in zip(group.combinations, group.lower, group.upper, strict=True):
                scale = group.size[0] if len(group.size) == 1 else max(abs(lower), abs(upper))
                a.append(np.kron(c * self.setup.reach, basis) / scale)
                low.append(np.full(INSTANTS, lower / scale))
                high.append(np.full(INSTANTS, upper / scale))
        return np.vstack(a), np.concatenate(low), np.concatenate(high)

    def watch(self, z: np.ndarray) -> None:
        if time.monotonic() > self.deadline:
            raise StopIteration

    def fitted(self, z: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Shrunk about its centre until the limits hold everywhere."""
        rest = self.setup.still(centre)
        kept = scaled_to_fit(rest, np.asarray(z) - rest, self.setup.fine, 0.0)
        return self.setup.grid.coefficients(rest if kept is None else kept)


def slsqp(task: Task, z: np.ndarray) -> np.ndarray:
    """SLSQP, objective differentiated by finite differences."""
    a, low, high = task.rows()
    last = [z]

    def watch(x: np.ndarray) -> None:
        last[0] = x.copy()
        task.watch(x)

    with suppress(StopIteration):
        minimize(
            task.value_only, z, method="SLSQP", callback=watch, options={"maxiter": 300, "ftol": 1e-6},
            constraints=[LinearConstraint(a, low, high)],
        )  # fmt: skip
    return last[0]


class _Callback(ca.Callback):  # type: ignore[misc]
    """Value of the objective as CasADi calls it, with its exact gradient as the Jacobian."""

    def __init__(self, task: Task, size: int) -> None:
        ca.Callback.__init__(self)
        self.task, self.size = task, size
        self.slope: Any = None
        self.construct("f", {"enable_fd": False})

    def get_n_in(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self.size, 1)

    def eval(self, args: list[Any]) -> list[Any]:
        return [self.task.value(np.array(args[0]).ravel())]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inames: list[str], onames: list[str], options: dict[str, Any]) -> Any:
        outer = self

        class Slope(ca.Callback):  # type: ignore[misc]
            def __init__(self) -> None:
                ca.Callback.__init__(self)
                self.construct(name, options)

            def get_n_in(self) -> int:
                return 2

            def get_sparsity_in(self, i: int) -> Any:
                return ca.Sparsity.dense(outer.size if i == 0 else 1, 1)

            def get_sparsity_out(self, i: int) -> Any:
                return ca.Sparsity.dense(1, outer.size)

            def eval(self, args: list[Any]) -> list[Any]:
                return [outer.task.value_and_gradient(np.array(args[0]).ravel())[1][None]]

        self.slope = Slope()
        return self.slope


def ipopt(task: Task, z: np.ndarray) -> np.ndarray:
    """IPOPT with the exact gradient and limited memory for the curvature, as CasADi brings it."""
    a, low, high = task.rows()
    x = ca.MX.sym("z", len(z))
    f = _Callback(task, len(z))
    solver = ca.nlpsol(
        "design", "ipopt", {"x": x, "f": f(x), "g": ca.mtimes(ca.DM(a), x)},
        {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-4,
         "ipopt.hessian_approximation": "limited-memory", "ipopt.max_iter": 3000,
         "ipopt.max_wall_time": max(task.deadline - time.monotonic(), 0.1)},
    )  # fmt: skip
    return np.array(solver(x0=z, lbg=low, ubg=high)["x"]).ravel()


def _product(model: Model, columns: list[int], criterion: str, seconds: float) -> dict[str, object]:
    begun, used = time.perf_counter(), time.process_time()
    design = design_excitation(
        model, FAMILY, criterion=criterion, limits=Limits.of(model.robot, ALL), noise=1.0,
        rate=SAMPLES / FAMILY.duration, effort=Effort(starts=1000, budget=seconds),
    )  # fmt: skip
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    return _row(
        "dalembert", criterion, seconds, wall, cpu, design.search.starts, judged(model, columns, design.coefficients)
    )


def _row(
    method: str, criterion: str, allowed: float, wall: float, cpu: float, starts: int, found: dict[str, object]
) -> dict[str, object]:
    return {
        "method": method, "minimises": criterion, "time allowed": allowed, "s": round(wall, 2), "CPU s": round(cpu, 2),
        "starts": starts, **found,
    }  # fmt: skip


def _peer(
    name: str, method: Callable[[Task, np.ndarray], np.ndarray], setup: Setup, centre: np.ndarray, model: Model,
    columns: list[int], criterion: str, seconds: float,
) -> dict[str, object]:  # fmt: skip
    context = Context((), np.eye(len(columns)), np.zeros((0, len(columns))))
    gain = SAMPLES / setup.samples
    begun, used = time.perf_counter(), time.process_time()
    deadline = time.monotonic() + seconds
    best: tuple[float, np.ndarray] | None = None
    starts = 0
    while time.monotonic() < deadline:
        objective = Objective(criterion_of(criterion), context, gain, np.zeros((len(columns),) * 2), masked=False)
        task = Task(setup, objective, deadline)
        z = method(task, random_start(setup, centre, np.random.default_rng([0, starts])))
        starts += 1
        kept = task.fitted(z, centre)
        value = task.value_only((kept / setup.reach[:, None]).ravel())
        if best is None or value < best[0]:
            best = (value, kept)
    assert best is not None
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    return _row(name, criterion, seconds, wall, cpu, starts, judged(model, columns, best[1]))


def _random(
    model: Model, columns: list[int], setup: Setup, centre: np.ndarray, number: int = 2000
) -> dict[str, object]:
    """Best of each column among random motions within the limits."""
    begun, used = time.perf_counter(), time.process_time()
    found = []
    for k in range(number):
        z = random_start(setup, centre, np.random.default_rng([1, k]))
        found.append(judged(model, columns, setup.grid.coefficients(z)))
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    best: dict[str, object] = {
        "cond": min(float(str(f["cond"])) for f in found),
        "normalised": min(float(str(f["normalised"])) for f in found),
        "logdet": max(float(str(f["logdet"])) for f in found),
        "limits used": "(each column another motion)",
    }
    return _row(f"best of {number} random motions", "each", np.inf, wall, cpu, number, best)


def run() -> list[dict[str, object]]:
    """The product at the times asked for, then the peers."""
    model = tx40()
    begun, used = time.perf_counter(), time.process_time()
    first = design_excitation(
        model, FAMILY, limits=Limits.of(model.robot, ALL), noise=1.0, rate=SAMPLES / FAMILY.duration,
        effort=Effort(starts=1, budget=0.1),
    )  # fmt: skip
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    columns = [first.base.names.index(name) for name in first.columns]
    rows = [
        _row(
            "dalembert, first call of all: compiles",
            "logdet",
            0.1,
            wall,
            cpu,
            1,
            judged(model, columns, first.coefficients),
        )
    ]
    for criterion, times in (
        ("logdet", (2.0, 10.0)),
        ("condition", (5.0, 30.0)),
        ("condition-normalised", (5.0, 30.0)),
    ):
        rows += [_product(model, columns, criterion, seconds - 0.5) for seconds in times]
    base = base_parameters(model)
    setup = Setup(model, FAMILY, Information(model, base, 1.0), Limits.of(model.robot, ALL), ())
    setup.information.prepare()
    centre = np.zeros(model.r)  # the middle of the ranges
    with one_thread():
        rows.append(_random(model, columns, setup, centre))
        for criterion in ("logdet", "condition", "condition-normalised"):
            rows.append(_peer("SLSQP, finite differences", slsqp, setup, centre, model, columns, criterion, 30.0))
            rows.append(_peer("IPOPT, exact gradient", ipopt, setup, centre, model, columns, criterion, 30.0))
    return rows


if __name__ == "__main__":
    for row in run():
        print(row, flush=True)
