"""The method of [Gnad24] on other robots of the Delta family: three and four limbs, rotary and linear drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.studies.delta_bench import Bench, Section
from dalembert.studies.delta_models import Errors, Found, Motion, Terms, compare, find
from dalembert.studies.delta_priors import heavy, light
from dalembert.studies.delta_surrogate import DIAGONAL, FRICTION, OFF_DIAGONAL
from dalembert.studies.study import Cell, Finding, Progress, Table

__all__ = ["family"]

_NOISE: Mapping[str, float] = {"delta3": 0.004, "linear-delta": 0.05, "par4": 0.008}  # [N m or N] 1 % of RMS torques


@dataclass(frozen=True)
class _Result:
    """A robot's two models and their errors on another motion."""

    bench: Bench
    found: Sequence[Found]
    errors: Sequence[Errors]

    @property
    def friction(self) -> float:
        """Largest error of a friction parameter [%]."""
        return max(abs(error) for one in self.found for error in one.friction_errors(self.bench.lab.truth).values())


def family(progress: Progress, *, quick: bool) -> Section:
    """Two priors, one log and another motion for each robot, the first alone when ``quick``; one table."""
    results = {}
    for name in list(_NOISE)[: 1 if quick else None]:
        progress(f"the same on {name}")
        results[name] = _study(Bench.of(name, _NOISE[name]), quick=quick)
    return Section((_table(results),), (_finding(results),))


def _study(bench: Bench, *, quick: bool) -> _Result:
    priors = [prior(bench.name, bench.model.robot) for prior in (light, heavy)]
    logs = bench.record(bench.excite(priors, quick=quick), "excitation")
    found = [find(bench.model, logs, prior, bench.constraints) for prior in priors]
    motion = Motion.of(bench.run(bench.wander(1, seed=1)[0], "verification").truth)
    true = Terms.of(bench.drives, motion, bench.lab.truth)
    return _Result(bench, found, [compare(Terms.of(bench.drives, motion, f.parameters), true) for f in found])


def _table(results: Mapping[str, _Result]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, result in results.items():
        problem = result.found[0].fit.prepared.problem
        fixed = {*result.bench.constraints.fixed, *result.bench.constraints.zero}
        rows.append(
            (
                name, len(problem.names), len(problem.parameters) - len(fixed),
                max(e.diagonal for e in result.errors), max(e.off_diagonal for e in result.errors),
                max(e.coriolis for e in result.errors), max(e.acceleration for e in result.errors), result.friction,
                min(e.smallest for e in result.errors), sum(len(f.inconsistent) for f in result.found),
                f"{max(f.gap for f in result.found):.0e}", 1e3 * max(f.seconds for f in result.found),
            )
        )  # fmt: skip
    rows.append(("paper, 4-dof Delta", 37, 36, 1.0, 2.0, 1.0, 1.0, 2.2, "> 0", 0, None, None))
    return Table(
        "The same method on other Delta-like robots: the worse of two priors, in percent of the true value",
        ("robot", "base", "unknowns", "diag M", "off-diag M", "Coriolis", "acceleration", "friction",
         "least eigenvalue", "inconsistent bodies", "cost - SDP", "SDP [ms]"),
        tuple(rows),
        "Errors are the largest along a motion not used in the identification. Priors: every part of ABS, and every "
        "part of steel. The paper has no such robots: the true values are the catalog's, torque noise is 1 %.",
    )  # fmt: skip


def _finding(results: Mapping[str, _Result]) -> Finding:
    worst = {
        name: (max(e.diagonal for e in r.errors), max(e.off_diagonal for e in r.errors), r.friction)
        for name, r in results.items()
    }
    consistent = not any(one.inconsistent for r in results.values() for one in r.found)
    definite = all(e.smallest > 0.0 for r in results.values() for e in r.errors)
    same = all(one.gap < 1e-6 for r in results.values() for one in r.found)
    return Finding(
        "the method suits other Delta-like robots",
        "'suited for various robots of that class', shown on one",
        "diagonal and off-diagonal of M, friction: "
        + "; ".join(f"{name} {d:.2f}, {o:.2f}, {f:.2f} %" for name, (d, o, f) in worst.items()),
        consistent and definite and same
        and all(d <= DIAGONAL and o <= OFF_DIAGONAL and f <= FRICTION for d, o, f in worst.values()),
    )  # fmt: skip
