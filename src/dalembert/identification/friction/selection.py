"""Choice of a friction model by cross-validation on contiguous blocks left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.errors import EstimationError, choices
from dalembert.identification.friction.folds import Fold
from dalembert.identification.friction.model import FrictionModel

__all__ = ["Candidate", "FoldError", "Selection", "select_friction"]


class FoldError(NamedTuple):
    """Squared sums of a fit on the training part of a fold, and of its prediction of the block left out.

    ``train``, ``held``: squared residuals; ``train_norm``, ``held_norm``: squared torques, in the same (weighted) rows.
    """

    train: float
    train_norm: float
    held: float
    held_norm: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model's errors, relative to the torque norm: pooled over the folds, and held out fold by fold."""

    model: FrictionModel
    train: float
    held: float
    folds: tuple[float, ...]
    gap: float = 0.0  # mean over the folds of held**2 minus the best model's
    gap_error: float = 0.0  # its standard error


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen model, every candidate in the order given, and the reason in words."""

    chosen: FrictionModel
    best: FrictionModel
    candidates: tuple[Candidate, ...]
    reason: str

    def candidate(self, name: str) -> Candidate:
        """The errors of one model."""
        found = {c.model.name: c for c in self.candidates}
        if name not in found:
            raise EstimationError(f"friction selection: no model {name!r}; {choices(name, found)}")
        return found[name]

    def table(self) -> str:
        """One line per candidate, best first: parameters per coordinate, errors fitted and held out in percent."""
        width = max(len(c.model.name) for c in self.candidates)
        lines = [f"  {'model':{width}}  parameters  fitted %  held out %"]
        for c in sorted(self.candidates, key=lambda c: c.held):
            mark = "*" if c.model is self.chosen else " "
            lines.append(
                f"{mark} {c.model.name:{width}}  {c.model.complexity:10d}  {100 * c.train:8.2f}  {100 * c.held:10.2f}"
            )
        return "\n".join(lines)


def _scored(model: FrictionModel, errors: Sequence[FoldError]) -> Candidate:
    sums = np.array(errors, dtype=float)
    if not np.isfinite(sums).all():
        raise EstimationError(f"friction model {model.name!r}: a block left out has no finite error")
    if (sums[:, 3] <= 0.0).any():
        number = int(np.flatnonzero(sums[:, 3] <= 0.0)[0])
        raise EstimationError(f"friction selection: block {number} has no torque, expected rows with torque in each")
    train, train_norm, held, held_norm = sums.sum(axis=0)
    folds = tuple(float(e) for e in np.sqrt(sums[:, 2] / sums[:, 3]))
    return Candidate(model, math.sqrt(train / train_norm), math.sqrt(held / held_norm), folds)


def _compared(candidate: Candidate, best: Candidate) -> Candidate:
    """The gap to the best model and its standard error, paired over the folds: what folds share does not count."""
    difference = np.square(candidate.folds) - np.square(best.folds)
    error = float(np.std(difference, ddof=1) / math.sqrt(len(difference)))
    return Candidate(candidate.model, candidate.train, candidate.held, candidate.folds, float(difference.mean()), error)


def _reason(chosen: Candidate, best: Candidate, rest: Sequence[Candidate]) -> str:
    name = chosen.model.name
    text = f"{name}: {100 * chosen.held:.2f} % on blocks left out"
    if chosen.model is not best.model:
        text += (
            f"; {best.model.name} reaches {100 * best.held:.2f} % with {best.model.complexity} parameters per "
            f"coordinate instead of {chosen.model.complexity}, which is within one standard error"
        )
    simpler = [c for c in rest if c.model.complexity < chosen.model.complexity]
    others = simpler or [c for c in rest if c.held > chosen.held]
    if not others:
        return text
    other = min(others, key=lambda c: c.held)
    wins = sum(a < b for a, b in zip(chosen.folds, other.folds, strict=True))
    kind = "best simpler model" if simpler else "next"
    return text + (
        f"; {kind} {other.model.name} {100 * other.held:.2f} %: "
        f"{100 * (1 - chosen.held / other.held) if other.held else 0.0:.1f} % "
        f"lower, better on {wins} of {len(chosen.folds)} blocks"
    )


def select_friction(
    candidates: Sequence[FrictionModel], evaluate: Callable[[FrictionModel, Fold], FoldError], blocks: Sequence[Fold]
) -> Selection:
    """The model with the lowest mean held-out error, or a simpler one within one standard error of it.

    ``evaluate`` fits a model on the training part of a fold and scores it on the block left out. The error of a fold is
    squared and relative to its torque; the standard error is that of the paired differences to the best model.
    """
    if not candidates or len(blocks) < 2:
        raise EstimationError(
            f"friction selection: {len(candidates)} models and {len(blocks)} blocks, expected >= 1 and >= 2"
        )
    scored = [_scored(model, [evaluate(model, fold) for fold in blocks]) for model in candidates]
    best = min(scored, key=lambda c: float(np.mean(np.square(c.folds))))
    scored = [_compared(candidate, best) for candidate in scored]
    near = [c for c in scored if c.gap <= c.gap_error]
    chosen = min(near, key=lambda c: (c.model.complexity, c.gap))
    rest = [c for c in scored if c.model is not chosen.model]
    return Selection(chosen.model, best.model, tuple(scored), _reason(chosen, best, rest))
