"""The verdicts a reader looks for first: does it predict, what is known, is it physical, what to record next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalembert.identification.fit_text import needs
from dalembert.identification.verdict import Verdict
from dalembert.parameters import inertial_names, is_physical
from dalembert.report.evidence import Evidence
from dalembert.report.numbers import percent, significant
from dalembert.report.reach import beyond
from dalembert.report.sections.contract import Content
from dalembert.report.sections.mass import scaled_eigenvalues
from dalembert.robot import catalog_names

__all__ = ["Answer", "section"]

# Torque error on logs not used, of the torque's norm: what the best published identifications of such robots reach
# [Gautier11; Briot15, section 5] lies below the first; above the second a controller gains little from the model.
GOOD, FAIR = 0.10, 0.25
OVERFIT = 2.0  # held-out over fitted error from which the fit knows its own log better than the robot
_NAMED = 3  # ways in which a held-out log leaves the others, before the rest is only counted
_DISSIPATIVE = ("Fv_", "Fc_", "Fs_", "Ia_")


State = Literal["good", "fair", "poor", "open"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question: a headline, a figure that stands for it, and what it rests on."""

    question: str
    state: State
    headline: str
    figure: str
    details: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


def section(evidence: Evidence) -> Content:
    """Four answers, and the estimation's own status where it did not end well."""
    answers = [_prediction(evidence), _determined(evidence), _physical(evidence)]
    found, together = needs([p for p in evidence.fit.parameters if p.essential])
    fit = evidence.fit
    trouble = "" if fit.status == "converged" else ": ".join(x for x in (fit.status, fit.message, fit.remedy) if x)
    shown = {
        "answers": answers, "needs": found, "together": together, "trouble": trouble, "not": Verdict.NOT,
        "robot": fit.robot if fit.robot in catalog_names() else "ROBOT",  # a file's name is not known here
    }  # fmt: skip
    return Content("verdicts", "Verdicts", "Verdicts", shown)


def _prediction(evidence: Evidence) -> Answer:
    question = "Does it predict torque it has not seen?"
    fitted, scored, crossed = evidence.fit.relative_error, evidence.validation, evidence.crossed
    said = [f"on the logs it was made from: {percent(fitted)}"]
    if crossed:
        each = " ".join(percent(e) for e in crossed.blocks)
        said.append(
            f"each of {len(crossed.blocks)} stretches left out in turn: {percent(crossed.relative_error)} ({each})"
        )
    error = scored.relative_error if scored else crossed.relative_error if crossed else None
    if error is None:
        said.append("give a log of another motion with --validate, or --cross-validate 5")
        return Answer(question, "open", "Not tested", percent(fitted), tuple(said))
    state: State = "good" if error < GOOD else "fair" if error < FAIR else "poor"
    headline = {"good": "Yes", "fair": "Partly"}.get(state, "No")
    if scored:
        said.insert(0, f"torque error on {', '.join(scored.logs)}, norm over norm")
        said.append(f"at full rate without any filter on the torque: {percent(scored.raw_relative_error)}")
        if scored.reversal_share > 0.0:
            said.append(
                f"there {percent(scored.away_error)} away from velocity reversals, {percent(scored.reversal_error)} "
                f"near them ({percent(scored.reversal_share)} of the rows)"
            )
        if scored.notes:
            state, headline = "open", "Not tested"
            said += scored.notes
    if outside := beyond(evidence):
        said.append(
            f"it leaves what the logs of the identification reached: {'; '.join(outside[:_NAMED])}"
            + (f" and {len(outside) - _NAMED} more" if len(outside) > _NAMED else "")
        )
    if evidence.projected:
        said.append("torques are compared after projection: the motors' own hold a preload that no model predicts")
    worse = _overfit(evidence)
    if worse > OVERFIT and state != "open":
        said.append(
            f"RMS error {significant(worse, 2)} times that of the fit: the logs show less than the motion needs"
        )
        state, headline = ("poor", headline) if state == "poor" else ("fair", "Partly")
    return Answer(question, state, headline, percent(error), tuple(said))


def _overfit(evidence: Evidence) -> float:
    """Error on logs not used over that on the fit's own: of each row group in its unit, then their RMS. Shares of the
    torque's norm would blame the fit for a motion of small torque.
    """
    if evidence.validation:
        own = {row.name: row.rms for row in evidence.fit.rows}
        ratios = [row.rms / own[row.name] for row in evidence.validation.rows if own.get(row.name, 0.0) > 0.0]
        return float(np.sqrt(np.mean(np.square(ratios)))) if ratios else 0.0
    fitted = evidence.fit.relative_error
    return evidence.crossed.relative_error / fitted if evidence.crossed and fitted > 0.0 else 0.0


def _determined(evidence: Evidence) -> Answer:
    question = "Which parameters are determined?"
    kept = [p for p in evidence.fit.parameters if p.essential]
    count = Counter(p.verdict for p in kept)
    figure = f"{count[Verdict.WELL]} of {len(kept)}"
    said = [f"{count[v]} {v}" for v in (Verdict.WEAK, Verdict.NOT) if count[v]]
    found = [(v, ", ".join(p.name for p in kept if p.verdict == v)) for v in (Verdict.NOT, Verdict.WEAK)]
    names = tuple((str(v), text) for v, text in found if text)
    left = len(evidence.fit.parameters) - len(kept)
    if left:
        said.append(f"{left} left out: the torque does not miss them")
    said.append(f"condition {significant(evidence.fit.condition, 3)}, rank {evidence.fit.rank}")
    if not any(count[v] for v in Verdict):
        return Answer(question, "open", "Not assessed", f"{len(kept)}", tuple(said))
    share = count[Verdict.WELL] / len(kept)
    state: State = "good" if share == 1.0 else "poor" if count[Verdict.NOT] else "fair"
    headline = {"good": "All", "fair": "Most" if share >= 0.5 else "Some"}.get(state, "Not all")
    return Answer(question, state, headline, figure, tuple(said), names)


def _physical(evidence: Evidence) -> Answer:
    question = "Could such a robot exist?"
    said, wrong = [], []
    negative = [
        p.name for p in evidence.fit.parameters if p.essential and p.value < 0.0 and _positive_by_nature(p.name)
    ]
    sure = [p.name for p in evidence.fit.parameters if p.name in negative and p.high is not None and p.high < 0.0]
    if sure:
        wrong.append(f"negative beyond their interval: {', '.join(sure)}")
    if len(sure) < len(negative):
        said.append(f"negative within their interval: {', '.join(n for n in negative if n not in sure)}")
    share = _mass_positive(evidence)
    if share is not None:
        text = f"mass matrix positive definite at {percent(share, 4)} of the configurations along the logs"
        (said if share == 1.0 else wrong).append(text)
    if evidence.model is None or not evidence.model.physical:
        said.append(
            "base parameters are sums over bodies, which can only be judged together; --method sdp or physical gives "
            "every body a mass, centre and inertia that can exist"
        )
        if wrong:
            return Answer(question, "poor", "No", "", (*wrong, *said))
        return Answer(question, "open" if share is None else "good", "Nothing against it", "", tuple(said))
    bodies = _bodies(evidence)
    bad = [name for name, sound in bodies.items() if not sound]
    if bad:
        wrong.append(f"bodies that cannot exist: {', '.join(bad)}")
    figure = f"{len(bodies) - len(bad)} of {len(bodies)} bodies"
    if wrong:
        return Answer(question, "poor", "No", figure, (*wrong, *said))
    return Answer(question, "good", "Yes", figure, ("mass, centre and inertia of every body can exist", *said))


def _positive_by_nature(name: str) -> bool:
    return name.startswith(_DISSIPATIVE)


def _mass_positive(evidence: Evidence) -> float | None:
    """Share of the configurations along all logs with a positive definite mass matrix."""
    if not evidence.tracks:
        return None
    smallest = np.concatenate([scaled_eigenvalues(track.motion.mass)[:, 0] for track in evidence.tracks])
    return float(np.mean(smallest > 0.0))


def _bodies(evidence: Evidence) -> dict[str, bool]:
    """Physical consistency of every body of a fit that has bodies."""
    assert evidence.model is not None
    names, pi = evidence.model.model.parameters, evidence.model.pi
    bodies = [b.name for b in evidence.model.model.robot.bodies if not b.massless]
    return {b: is_physical(pi[[names.index(n) for n in inertial_names(b)]]) for b in bodies}
