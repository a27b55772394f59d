"""Which criterion predicts the error of an identification? Monte Carlo with the product from design to fit.

Motions are random ones and ones designed for every criterion. Each is recorded several times with fresh noise and
identified as ``identify`` does by default; the errors are those of the base parameters (median of the relative errors)
and of the torques predicted for other motions. The robot that is recorded is not the one the design believes in, and
another one in every log: its bodies are larger or smaller, stretched, turned and moved, its friction is another. A
criterion predicts well when it ranks the motions as their errors do: 1 is perfect, 0 chance, negative the wrong way
round; +- is its standard error, from motions drawn again with replacement. Noise is absolute, the same for every
motion; limits are used in full.

    python benchmarks/bench_criteria.py [--motions 49] [--logs 12] [--starts 2] [CASE ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import spearmanr

from dalembert.excitation import (
    CRITERIA,
    Design,
    Effort,
    Fourier,
    Limits,
    Noise,
    Shares,
    criterion_of,
    design_excitation,
)
from dalembert.excitation.criteria import Context
from dalembert.excitation.information import Information
from dalembert.excitation.states import States
from dalembert.identification.identify import identify
from dalembert.model import Model, build_model
from dalembert.parameters import from_pseudo_inertia, inertial_names, pseudo_inertia
from dalembert.robot import load_robot, select_efforts
from dalembert.simulation import Sensing
from dalembert.simulation.synthetic import perfect_tracking
from dalembert.studies.laboratory import base_values

TITLE = "rank correlation of each criterion with the true errors; errors of random and of designed motions [%]"
Array = NDArray[np.float64]

RATE = 500.0
FAMILY = Fourier(5, 10.0)
ALL = Shares(1.0, 1.0, 1.0, 1.0, 1.0)
_HELD_OUT, _POINTS = 6, 300  # other motions whose torque is predicted, and their samples
_NOISE = 5.0  # times the 2 % of the RMS torque that a design assumes
_CORNER = 25.0  # [Hz] of the coloured noise
_UNWEIGHTED = "logdet, no weights"
_PATIENCE = 120.0  # seconds after which a search would be given up: never, so that every machine finds the same motions
_DRAWS = 200  # of the motions, for the standard errors


@dataclass(frozen=True)
class Case:
    """A robot and what its sensors do: ``torques`` makes noise (n, motors) of unit variance."""

    model: Callable[[], Model]
    torques: Callable[[np.random.Generator, tuple[int, int]], Array]
    encoder_step: float


def white(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """White noise."""
    return rng.standard_normal(shape)


def coloured(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """White noise through a low-pass of first order: most of it is where the motion is."""
    pole = np.exp(-2.0 * np.pi * _CORNER / RATE)
    return np.asarray(lfilter([np.sqrt(1.0 - pole**2)], [1.0, -pole], rng.standard_normal(shape), axis=0))


def tx40() -> Model:
    """The robot of the first study: friction and rotors of every joint alone, no offsets: 52 base parameters."""
    robot = load_robot("tx40")
    single = select_efforts(robot, friction="actuated", offsets=False, rotor=True)
    return build_model(replace(single, nominal={**single.nominal, "Ia_j6": robot.nominal["Ia_m6"]}))


def coupled() -> Model:
    """Friction and rotors of every joint and of the coupled wrist, no offsets: 54 base parameters."""
    return build_model(select_efforts(load_robot("tx40"), offsets=False))


CASES = {
    "tx40, white torque noise": Case(tx40, white, 0.0),
    "tx40 with coupled wrist, white torque noise": Case(coupled, white, 0.0),
    "tx40 with coupled wrist, coloured torque noise and encoder steps": Case(coupled, coloured, 1e-5),
    "dualv, white torque noise": Case(lambda: build_model(load_robot("dualv")), white, 0.0),
}


def true_parameters(model: Model, rng: np.random.Generator) -> dict[str, float]:
    """Another robot of the same kind: every body's mass spread differently, every other parameter off by 30 % or so."""
    values = {name: value * float(rng.lognormal(0.0, 0.3)) for name, value in model.robot.nominal.items()}
    for body in model.robot.bodies:
        if body.massless:
            continue
        names = inertial_names(body.name)
        nominal = pseudo_inertia([model.robot.nominal[name] for name in names])
        size = float(np.sqrt(np.trace(nominal[:3, :3]) / nominal[3, 3]))  # radius of gyration about the body's frame
        change = np.eye(4)
        change[:3, :3] += 0.2 * rng.standard_normal((3, 3))
        change[:3, 3] = 0.2 * size * rng.standard_normal(3)
        mass = float(rng.lognormal(0.0, 0.2))
        # the body's matter moved by x -> A x + b: consistent with physics whatever A and b
        values |= dict(zip(names, from_pseudo_inertia(mass * change @ nominal @ change.T).tolist(), strict=True))
    return values


@dataclass(frozen=True)
class Judged:
    """One motion: how it was made, what each criterion says of it, and the errors it led to [%]."""

    kind: str
    criteria: dict[str, float]
    parameter: float
    torque: float


def drawn(model: Model, noise: Noise | None, seed: int) -> Design:
    """A random motion within the limits."""
    limits = Limits.of(model.robot, ALL)
    return design_excitation(
        model, FAMILY, limits=limits, noise=noise, rate=RATE, method="random", candidates=1, effort=Effort(seed=seed)
    )


def motions(model: Model, noise: Noise, number: int, starts: int) -> list[tuple[str, Design]]:
    """Random motions, and as many designed ones: the criteria in turn, from ``starts`` each, however long it takes."""
    out = [("random", drawn(model, noise, 100 + k)) for k in range(number)]
    limits = Limits.of(model.robot, ALL)
    for k in range(number):
        name = list(CRITERIA)[k % len(CRITERIA)]
        effort = Effort(starts=starts, budget=_PATIENCE, seed=k)
        found = design_excitation(model, FAMILY, limits=limits, noise=noise, criterion=name, effort=effort)
        out.append((name, found))
    return out


def held_out(model: Model, design: Design) -> tuple[Array, Array]:
    """Rows W (motions * samples, motors, b) of other motions in base columns, and the torque's RMS per motor."""
    columns = [model.parameters.index(name) for name in design.columns]
    rows, squares = [], []
    for k in range(_HELD_OUT):
        other = drawn(model, design.noise, 9000 + k)
        m = States(model).motion(*other.path(np.linspace(0.0, FAMILY.duration, _POINTS, endpoint=False)))
        rows.append(np.array(model.regressor(m.y, m.yd, m.ydd))[:, :, columns])
        squares.append((model.inverse_dynamics(m.y, m.yd, m.ydd) ** 2).mean(axis=0))
    return np.concatenate(rows), np.sqrt(np.mean(squares, axis=0))


def errors(
    case: Case, design: Design, truths: Sequence[dict[str, float]], test: Array, scale: Array
) -> tuple[float, float]:
    """Errors of parameters and of predicted torque [%], medians over one log of each true robot."""
    begin, end = design.ride.record
    model, found = design.model, []
    for seed, truth in enumerate(truths):
        rng = np.random.default_rng(seed)
        pi = np.array([truth[name] for name in model.parameters])
        exact, _ = perfect_tracking(model, lambda t: design(begin + np.asarray(t)), end - begin, RATE, rng, pi=pi)
        tau = exact.tau + design.noise.values * case.torques(rng, exact.tau.shape)
        fit = identify(model, replace(exact, q=Sensing(case.encoder_step).positions(exact.q, rng), tau=tau))
        known = base_values(fit, truth)
        right = np.array([known[p.name] for p in fit.fit.parameters])
        off = np.array([p.value for p in fit.fit.parameters]) - right
        torque = np.sqrt(((test @ off) ** 2).mean(axis=0)) / scale
        found.append((np.median(np.abs(off / right)), torque.mean()))
    parameter, torque = 100.0 * np.median(found, axis=0)
    return float(parameter), float(torque)


def said(design: Design) -> dict[str, float]:
    """What every criterion makes of a motion; smaller is better."""
    out = dict(design.criteria)
    plain = Information(design.model, design.base, 1.0)
    t = np.linspace(0.0, FAMILY.duration, 400, endpoint=False)
    m = plain.matrix(States(design.model).motion(*design.path(t)))
    nothing = Context(design.base.base_names, np.eye(len(m)), np.zeros((0, len(m))))
    out[_UNWEIGHTED] = criterion_of("logdet").value(m, nothing)[0]
    return out


def judged(case: Case, number: int, logs: int, starts: int) -> list[Judged]:
    """All motions of a case."""
    model = case.model()
    first = drawn(model, None, 0)
    noise = Noise(tuple(_NOISE * s for s in first.noise.sigma), RATE)
    truths = [true_parameters(model, np.random.default_rng([7, k])) for k in range(logs)]
    test, scale = held_out(model, first)
    out = []
    for kind, design in motions(model, noise, number, starts):
        assert design.columns == first.columns
        out.append(Judged(kind, said(design), *errors(case, design, truths, test, scale)))
    return out


def ranked(said: Array, true: Array) -> tuple[float, float]:
    """Spearman's rank correlation and its standard error, from motions drawn again with replacement."""
    rng = np.random.default_rng(0)
    again = [rng.integers(len(said), size=len(said)) for _ in range(_DRAWS)]
    spread = np.std([spearmanr(said[k], true[k])[0] for k in again])
    return round(float(spearmanr(said, true)[0]), 3), round(float(spread), 3)


def rows_of(name: str, every: Sequence[Judged]) -> list[dict[str, object]]:
    """A row per criterion: its correlations, and the median errors of the motions designed by it."""
    chance = [j for j in every if j.kind == "random"]
    out = []
    for criterion in ["random", *every[0].criteria]:
        own = [j for j in every if j.kind == criterion]
        row: dict[str, object] = {"case": name, "criterion": criterion, "motions": len(own)}
        for what in ("parameter", "torque"):
            row[f"rank with {what} error"], row[f"+- {what}"] = ("", "") if criterion == "random" else ranked(
                np.array([j.criteria[criterion] for j in every]), np.array([getattr(j, what) for j in every])
            )  # fmt: skip
        for what in ("parameter", "torque"):
            middle = float(np.median([getattr(j, what) for j in own])) if own else None
            other = float(np.median([getattr(j, what) for j in chance]))
            row[f"{what} error [%]"] = "" if middle is None else round(middle, 3)
            row[f"{what}: random / it"] = "" if middle is None else round(other / middle, 2)
        out.append(row)
    return out


def run(cases: Sequence[str] = (), number: int = 49, logs: int = 12, starts: int = 2) -> list[dict[str, object]]:
    """Every case, and the criteria over all of them."""
    rows = [row for name in cases or CASES for row in rows_of(name, judged(CASES[name], number, logs, starts))]
    return [*rows, *summary(rows)] if len(cases or CASES) > 1 else rows


def summary(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Mean rank correlation of each criterion over the cases, best first; geometric means of the gains."""
    out = []
    for criterion in dict.fromkeys(str(row["criterion"]) for row in rows):
        row: dict[str, object] = {"case": "all", "criterion": criterion, "motions": ""}
        own = [r for r in rows if r["criterion"] == criterion]
        for key in list(rows[0])[3:]:
            values = [float(str(r[key])) for r in own if r[key] != ""]
            if "rank" in key and values:
                row[key] = round(float(np.mean(values)), 3)
            elif "random" in key and values:
                row[key] = round(float(np.exp(np.mean(np.log(values)))), 2)
            else:
                row[key] = ""
        out.append(row)
    ranks = [key for key in rows[0] if "rank" in key]
    return sorted(out, key=lambda row: -sum(float(str(row[k])) if row[k] != "" else 9.0 for k in ranks))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--motions", type=int, default=49, help="random ones, and as many designed ones")
    parser.add_argument("--logs", type=int, default=12, help="recorded of each motion, each of another true robot")
    parser.add_argument("--starts", type=int, default=2, help="of the search for a design")
    options = parser.parse_args()
    for case in options.cases or CASES:
        for one in run((case,), options.motions, options.logs, options.starts):
            print(one, flush=True)
