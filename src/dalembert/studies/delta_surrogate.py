"""[Gnad24], section VII: a model whose parameters are known, identified from two beliefs; figures 3 to 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.identification.base import nominal_values
from dalembert.studies.delta_bench import Bench, Section
from dalembert.studies.delta_models import Array, Errors, Found, Motion, Terms, compare, find
from dalembert.studies.delta_priors import heavy, light
from dalembert.studies.study import Cell, Curve, Figure, Finding, Panel, Progress, Table

__all__ = ["DIAGONAL", "FRICTION", "NOISE", "OFF_DIAGONAL", "TORQUES", "TRUTH", "surrogate"]

# [Gnad24, section VII]: friction of the four drives; the other values of figure 3 are not printed
TRUTH: Mapping[str, float] = {
    **{f"Fv_m{k}": 2.0 for k in (1, 2, 3)}, **{f"Fc_m{k}": 4.0 for k in (1, 2, 3)}, "Fv_m4": 0.5, "Fc_m4": 1.0,
}  # fmt: skip
NOISE = 0.1  # [N m] of each drive: 1 % of its RMS torque
DIAGONAL, OFF_DIAGONAL, TORQUES, FRICTION = 1.0, 2.0, 1.0, 2.2  # [%] the paper's own errors
_LABELS = ("ID1, from the light prior", "ID2, from the heavy prior")


def surrogate(bench: Bench, progress: Progress, *, quick: bool) -> Section:
    """Two priors, one log; mass matrix, torques and friction of what is found beside the truth."""
    priors = [light(bench.name, bench.model.robot), heavy(bench.name, bench.model.robot)]
    progress("designing a motion and recording it")
    logs = bench.record(bench.excite(priors, quick=quick), "excitation")
    progress("identifying from the light and from the heavy prior")
    found = [find(bench.model, logs, prior, bench.constraints) for prior in priors]
    progress("comparing the models on another motion")
    other = bench.run(bench.wander(1, seed=1)[0], "verification")
    motion = Motion.of(other.truth)
    true = Terms.of(bench.drives, motion, bench.lab.truth)
    terms = [Terms.of(bench.drives, motion, one.parameters) for one in found]
    errors = [compare(one, true) for one in terms]
    return Section(
        (_parameters(bench, found), _errors(bench, found, errors)),
        _findings(bench, found, errors),
        (
            _figure_3(bench, found), _figure_4(bench, motion, errors),
            _figure_torques(5, "Coriolis", motion, true.coriolis, [one.coriolis for one in terms]),
            _figure_torques(6, "acceleration", motion, true.acceleration, [one.acceleration for one in terms]),
        ),
    )  # fmt: skip


# --- tables and findings ---------------------------------------------------------------------------------------------


def _shown(bench: Bench, found: Found) -> list[str]:
    """Parameters that are estimated, friction and rotors last; of the platform, which only translates, its mass."""
    fixed = {*bench.constraints.fixed, *bench.constraints.zero}
    names = [n for n in found.values if n not in fixed and (not n.endswith("_platform") or n == "M_platform")]
    return sorted(names, key=lambda n: n.startswith(("Fv_", "Fc_", "Ia_")))


def _true(bench: Bench, names: Sequence[str]) -> dict[str, float]:
    """True values of the columns, tied or not."""
    return nominal_values(bench.lab.model.robot, names) | {n: v for n, v in bench.lab.truth.items() if n in names}


def _parameters(bench: Bench, found: Sequence[Found]) -> Table:
    names = _shown(bench, found[0])
    true = _true(bench, names)
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        cells = [cell for one in found for cell in (one.prior.values.get(name, 0.0), one.values[name])]
        rows.append((name, true[name], *cells))
    return Table(
        "As figure 3: parameters identified from two priors (SI units)",
        ("parameter", "simulator", "light prior", "ID1", "heavy prior", "ID2"),
        tuple(rows),
        "The values of figure 3 are not printed: the simulator has those of table I (ID geom) and the friction of "
        "section VII. The light prior believes every part to be of ABS, the heavy one of steel; the shapes are the "
        "same. As in the paper some parameters come to the truth and others, such as most masses, stay with their "
        "prior: the torque tells only sums of them. 'struts' are the two of a limb.",
    )


def _errors(bench: Bench, found: Sequence[Found], errors: Sequence[Errors]) -> Table:
    friction = [max(map(abs, one.friction_errors(bench.lab.truth).values())) for one in found]
    rows: list[tuple[Cell, ...]] = [
        ("diagonal of M [%]", "< 1", *(e.diagonal for e in errors)),
        ("off-diagonal of M [%]", "about 2", *(e.off_diagonal for e in errors)),
        ("Coriolis torque [%]", "< 1", *(e.coriolis for e in errors)),
        ("acceleration torque [%]", "< 1", *(e.acceleration for e in errors)),
        ("friction [%]", "< 2.2", *friction),
        ("smallest eigenvalue of M over largest", "> 0", *(e.smallest for e in errors)),
        ("cost beside the semidefinite optimum's", None, *(f"{one.gap:.0e}" for one in found)),
        ("semidefinite program [ms]", None, *(1e3 * one.seconds for one in found)),
        ("weight of the prior, gamma_p", None, *(f"{one.fit.estimate.settings['gamma_p']:.1e}" for one in found)),
        ("torque error of the fit [%]", None, *(100.0 * one.fit.relative_error for one in found)),
    ]
    return Table(
        "Section VII: largest errors along a motion not used in the identification",
        ("", "paper", "ID1", "ID2"),
        tuple(rows),
        "The mass matrix is that of all four drives, figure 4 shows three. The paper does not speak of noise; here "
        "encoders have 20 bits and torques 0.1 N m of noise. Its weights are not printed either: here rows count by "
        "their noise, and the prior as much as one sigma of one sample.",
    )


def _findings(bench: Bench, found: Sequence[Found], errors: Sequence[Errors]) -> tuple[Finding, ...]:
    bad = sorted({body for one in found for body in one.inconsistent})
    friction = [max(map(abs, one.friction_errors(bench.lab.truth).values())) for one in found]
    gap, seconds = max(one.gap for one in found), max(one.seconds for one in found)
    smallest = min(e.smallest for e in errors)
    torques = [max(e.coriolis, e.acceleration) for e in errors]
    return (
        Finding(
            "every body is physically consistent, from both priors",
            "by construction",
            f"not: {', '.join(bad)}" if bad else "pseudo-inertias of all bodies positive definite",
            not bad,
        ),
        Finding(
            "the mass matrix is positive definite along the motion",
            "checked by Cholesky",
            f"smallest eigenvalue {smallest:.1e} of the largest",
            smallest > 0.0,
        ),
        _within("the diagonal of the mass matrix is right", "below 1 %", [e.diagonal for e in errors], DIAGONAL),
        _within("its other elements are right", "about 2 %", [e.off_diagonal for e in errors], OFF_DIAGONAL),
        _within("Coriolis and acceleration torques are right", "less than 1 % at any time", torques, TORQUES),
        _within("friction is right", "under 2.2 %", friction, FRICTION),
        Finding(
            "log-Cholesky and semidefinite programming find the same optimum",
            "not in the paper: convex in the parameters, so there is one",
            f"costs differ by {gap:.0e}; {1e3 * seconds:.0f} ms from the triangle of [W tau]",
            gap < 1e-6,
        ),
    )


def _within(name: str, paper: str, found: Sequence[float], bound: float) -> Finding:
    return Finding(name, paper, " and ".join(f"{x:.2f} %" for x in found), max(found) <= bound)


# --- figures ---------------------------------------------------------------------------------------------------------


def _figure_3(bench: Bench, found: Sequence[Found]) -> Figure:
    names = _shown(bench, found[0])
    true = _true(bench, names)
    groups = {
        "masses and first moments": ("kg, kg m", ("M",)),
        "inertias": ("kg m^2", ("XX", "YY", "ZZ", "Ia")),
        "friction": ("N m, N; per rad/s, m/s", ("Fv", "Fc")),
    }
    panels = []
    for title, (unit, symbols) in groups.items():
        ticks = [n for n in names if n.startswith(symbols)]
        x = np.arange(len(ticks))
        curves = [Curve.of("simulator", x, [abs(true[n]) for n in ticks], "truth")]
        for one, label, number in zip(found, ("light", "heavy"), (1, 2), strict=True):
            believed = [abs(one.prior.values.get(n, 0.0)) or np.nan for n in ticks]  # zero has no place on the axis
            curves.append(Curve.of(f"{label} prior", x, believed))
            curves.append(Curve.of(f"ID{number}, from it", x, [abs(one.values[n]) for n in ticks]))
        panels.append(Panel(title, "", f"size [{unit}]", tuple(curves), tuple(ticks), logarithmic=True))
    return Figure("delta-figure3-parameters", "As figure 3 of [Gnad24]: parameters from two priors", tuple(panels))


def _figure_4(bench: Bench, motion: Motion, errors: Sequence[Errors]) -> Figure:
    panels = []
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        bound = DIAGONAL if i == j else OFF_DIAGONAL
        curves = [Curve.of(label, motion.t, e.mass[:, i, j]) for label, e in zip(_LABELS, errors, strict=True)]
        panels.append(Panel(f"M({i + 1},{j + 1})", "time [s]", "error [%]", tuple(curves), bounds=(-bound, bound)))
    caption = "As figure 4 of [Gnad24]: relative errors of the mass matrix (grey: the paper's bounds)"
    return Figure("delta-figure4-mass-matrix", caption, tuple(panels), columns=2)


def _figure_torques(number: int, name: str, motion: Motion, true: Array, found: Sequence[Array]) -> Figure:
    panels = []
    for k in range(true.shape[1]):
        curves = [Curve.of("simulator", motion.t, true[:, k], "truth")]
        curves += [Curve.of(label, motion.t, one[:, k]) for label, one in zip(_LABELS, found, strict=True)]
        panels.append(Panel(f"drive {k + 1}", "time [s]", "torque [N m]", tuple(curves)))
    caption = f"As figure {number} of [Gnad24]: {name} torques"
    return Figure(f"delta-figure{number}-{name.lower()}", caption, tuple(panels), columns=2)
