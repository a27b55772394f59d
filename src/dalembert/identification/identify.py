"""Logs in, parameters with their uncertainty out: the whole pipeline in one call."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any, Self

from numpy.typing import ArrayLike

from dalembert.errors import EstimationError
from dalembert.identification.base import nominal_values
from dalembert.identification.choose_friction import nonnegative_columns
from dalembert.identification.constraints import Constraints
from dalembert.identification.dependence import dependence
from dalembert.identification.doubts import doubts
from dalembert.identification.drive import calibrated, find_gains, unknown_motors
from dalembert.identification.essential import Essential, Reduction
from dalembert.identification.fit import Fit
from dalembert.identification.fitted import describe
from dalembert.identification.friction import FrictionLaws, FrictionModel, FrictionSource, solve_nonnegative
from dalembert.identification.gains import Gains
from dalembert.identification.nuisance import Uncertain, covariances
from dalembert.identification.observation import KnownMotion
from dalembert.identification.outcome import own_scales
from dalembert.identification.physical import Physical
from dalembert.identification.prepare import Prepared, Progress, prepare_problem, silent
from dalembert.identification.prior import Prior
from dalembert.identification.problem import Estimate, Estimator, Status
from dalembert.identification.sdp import Sdp
from dalembert.identification.simulating import Simulating
from dalembert.identification.substitution import keeping
from dalembert.identification.uncertainty import Robust
from dalembert.identification.verdict import assess
from dalembert.identification.wls import Wls
from dalembert.logs import LogSource
from dalembert.model import Model
from dalembert.robot.quantity import effort_unit, position_units
from dalembert.signals import SignalSettings

__all__ = ["Identification", "Prepared", "identify", "make_fit", "prepare_problem", "solve"]

_PACKAGES = ("dalembert", "casadi", "numpy", "scipy", "clarabel")  # whose versions a result may depend on


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Identification(Fit):
    """A :class:`Fit` that still has at hand what it was computed from, for pictures, reports and further questions.

    It is printed, stored and validated as the fit it is; ``fit.json`` holds the fit alone.
    """

    prepared: Prepared
    estimate: Estimate
    robust: Robust | None
    essential: Essential | None = None

    @classmethod
    def of_fit(
        cls, fit: Fit, prepared: Prepared, estimate: Estimate, robust: Robust | None, essential: Essential | None = None
    ) -> Self:
        """A fit and its origin."""
        found = {name: getattr(fit, name) for name in Fit.field_names()}
        return cls(**found, prepared=prepared, estimate=estimate, robust=robust, essential=essential)

    @property
    def fit(self) -> Fit:
        """The result alone, free of the data."""
        return Fit(**{name: getattr(self, name) for name in Fit.field_names()})


def solve(prepared: Prepared, estimator: Estimator, *, robust: bool = True, gains: Gains | None = None) -> Uncertain:
    """The estimate and its robust covariance (None where there is none: too few rows, no torque, no optimum)."""
    estimate = estimator.estimate(prepared.problem)
    if not robust or estimate.status not in (Status.CONVERGED, Status.RANK_DEFICIENT):
        return Uncertain(estimate, gains=gains)
    return covariances(prepared, estimate, gains)


def without_idle_elements(prepared: Prepared) -> tuple[Prepared, dict[str, float]]:
    """The problem less the presliding elements whose coefficient wants to be negative: they stay at zero."""
    problem = prepared.problem
    mask = nonnegative_columns(problem.names)
    if not mask.any():
        return prepared, {}
    r = problem.weighted(own_scales(problem)[0])
    found = solve_nonnegative(r[:, list(problem.kept)], r[:, -1], mask)
    idle = {name: 0.0 for name, bound in zip(problem.names, found.at_bound, strict=True) if bound}
    kept = [name for name in problem.names if name not in idle]
    return replace(prepared, problem=problem.restrict(kept)), idle


def identify(
    model: Model,
    logs: LogSource | Sequence[LogSource],
    *,
    estimator: Estimator | None = None,
    projection: str | None = None,
    signals: SignalSettings | None = None,
    payload: Mapping[str, str] | None = None,
    friction: FrictionModel | FrictionLaws | FrictionSource | str | None = None,
    symmetric: bool = False,
    sigma: ArrayLike | None = None,
    prior: Prior | None = None,
    constraints: Constraints | None = None,
    essential: Reduction | None = None,
    progress: Progress = silent,
) -> Identification:
    """Identify a robot from one or several logs; see :func:`prepare_problem` for the options.

    ``estimator`` defaults to :class:`Wls`. ``prior`` defaults, for the methods that need one, to the robot's nominal
    values. ``essential`` drops base parameters the log gives no reason to keep; None keeps all.
    """
    chosen = estimator or Wls()
    simulating = chosen if isinstance(chosen, Simulating) else None
    if constraints is not None:
        if essential is not None and constraints != Constraints():
            raise EstimationError(
                f"essential parameters ({essential.rule}): not offered together with fixed, zero, tied or bounded ones"
            )
        chosen = chosen if simulating else keeping(chosen, constraints)  # one that simulates keeps to them inside
    sources = logs if isinstance(logs, Sequence) else [logs]
    if simulating is not None:
        sources, signals = simulating.begin(model, sources, signals)
    asked: dict[str, Any] = {
        "projection": projection, "signals": signals, "payload": payload, "symmetric": symmetric, "sigma": sigma,
        "prior": prior, "constraints": constraints, "progress": progress,
    }  # fmt: skip
    if unknown_motors(sources):
        progress(f"finding the torque constants of {', '.join(unknown_motors(sources))}")
    law = None if friction in (FrictionSource.AUTO, FrictionSource.AUTO.value) else friction
    gains = find_gains(lambda logs: prepare_problem(model, logs, friction=law, **asked), sources)
    if gains is not None:
        sources = [calibrated(log, dict(zip(gains.motors, gains.values.tolist(), strict=True))) for log in sources]
    prepared = prepare_problem(model, sources, friction=friction, **asked)
    if prior is None and isinstance(simulating.estimator if simulating else chosen, Physical | Sdp):
        prepared = _with_nominal_prior(prepared)
    prepared, dropped = without_idle_elements(prepared)
    settled = None
    if simulating is not None:
        settled = simulating.settle(prepared, progress)
        prepared = settled.prepared
    reduced = None
    if essential is not None and (settled is None or settled.estimate.status.ok):
        progress(f"looking for the essential parameters ({essential.rule})")
        reduced = essential.reduce(prepared.problem)
        dropped |= {item.name: item.value for item in reduced.dropped}
        prepared = replace(prepared, problem=reduced.problem, notes=(*prepared.notes, str(reduced)))
    if settled is not None and reduced is None:
        found = Uncertain(settled.estimate, settled.robust, gains=gains)
    else:
        progress(f"estimating by {chosen.method}")
        found = solve(prepared, chosen, gains=gains)
        if settled is not None:
            before, last = settled.estimate, found.estimate
            settings = {**before.settings, **last.settings}
            found = replace(found, estimate=replace(last, iterations=before.iterations, settings=settings))
    extra: dict[str, Any] = {} if found.gains is None else {"gains": found.gains.to_dict()}
    if found.shapes:
        extra["shapes"] = {name: asdict(shape) for name, shape in found.shapes.items()}
    fit = make_fit(prepared, found.estimate, found.robust, dropped, extra)
    return Identification.of_fit(fit, prepared, found.estimate, found.robust, reduced)


def _with_nominal_prior(prepared: Prepared) -> Prepared:
    """The robot's nominal values as the prior."""
    values = nominal_values(prepared.described, prepared.problem.parameters)
    prior = Prior(values, source="nominal values of the robot")
    return replace(prepared, problem=replace(prepared.problem, prior=prior))


def make_fit(
    prepared: Prepared,
    estimate: Estimate,
    robust: Robust | None,
    dropped: Mapping[str, float] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Fit:
    """The result as it is stored; base parameters that were regrouped carry an R in their name."""
    base = prepared.base
    shown = {base.names[i]: name for i, name in zip(base.independent, base.base_names, strict=True)}
    renamed = replace(estimate, names=tuple(shown.get(name, name) for name in estimate.names))
    units = {shown.get(name, name): unit for name, unit in prepared.problem.units.items()}
    provenance = {
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "columns": {new: old for old, new in shown.items()},
        "model": describe(
            prepared.described, prepared.model.robot, prepared.laws, prepared.rigid.projection, prepared.rigid.sigma,
            prepared.rigid.payloads, prepared.symmetric, prepared.load,
        ),
        "logs": [_log_record(run) for run in prepared.rigid.runs],
        "settings": dict(estimate.settings),
        "notes": list(prepared.notes),
        "doubts": list(doubts(prepared.problem, estimate, robust)),
        **(extra or {}),
    }  # fmt: skip
    return Fit.of(
        renamed,
        robot=prepared.described.name,
        units=units,
        group_units=_group_units(prepared),
        regrouping=base.relations(),
        dropped={shown.get(name, name): value for name, value in (dropped or {}).items()},
        robust=None if robust is None else robust.sigma.tolist(),
        verdicts=_verdicts(prepared, renamed, robust),
        intervals=None if robust is None else [(lo, hi) for lo, hi in robust.intervals(estimate.values)],
        provenance=provenance,
    )


def _verdicts(prepared: Prepared, estimate: Estimate, robust: Robust | None) -> dict[str, tuple[str, str]]:
    """Verdict and hint of every parameter."""
    if robust is None:
        return {}
    base, known = prepared.base, dependence(prepared)
    named = zip(base.independent, base.base_names, strict=True)
    shows = {name: known.get(base.names[column], "") for column, name in named}
    found = assess(prepared.problem, estimate, robust, shows=shows)
    return {a.name: (str(a.verdict), a.hint) for a in found}


def _log_record(run: Any) -> dict[str, Any]:
    info, plan = run.source.info, run.plan
    lowpass = 0.0 if plan.lowpass is None else plan.lowpass.cutoff
    return {
        "name": info.name, "path": info.path, "sha256": info.sha256, "payload": info.payload, "samples": info.samples,
        "rate": info.rate, "cutoff": None if isinstance(run.source, KnownMotion) else lowpass,
        "decimate": plan.decimation.factor, "border": plan.border, "slow": plan.slow.tolist(),
        "position_noise": plan.position_noise.tolist(), "torque_noise": plan.torque_noise.tolist(),
    }  # fmt: skip


def _group_units(prepared: Prepared) -> dict[str, str]:
    """N or N m of each row group."""
    units = position_units(prepared.model.robot)
    return {name: effort_unit(units.get(name, "rad")) for name in prepared.rigid.groups}
