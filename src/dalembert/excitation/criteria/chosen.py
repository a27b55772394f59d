"""D_s-optimality: the volume of the confidence ellipsoid of some parameters, whatever the others are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from dalembert.errors import UsageError, choices
from dalembert.excitation.criteria.criterion import Array, Context, inverse
from dalembert.excitation.criteria.determinant import LogDet

__all__ = ["Chosen"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """``-log det`` of the Schur complement of M on the parameters whose names match ``patterns`` (``*_payload``)."""

    patterns: tuple[str, ...]
    name: str = "chosen"

    @property
    def meaning(self) -> str:
        """What is minimised."""
        return f"-log det of the information on {', '.join(self.patterns)}, the other parameters unknown"

    def value(self, m: Array, context: Context) -> tuple[float, Array]:
        """See :class:`~dalembert.excitation.criteria.criterion.Criterion`."""
        rest = np.flatnonzero(~self.among(context.names))
        whole, slope = LogDet().value(m, context)
        if not len(rest) or not np.isfinite(whole):
            return whole, slope
        block = m[np.ix_(rest, rest)]
        others = inverse(block)
        if others is None:
            return np.inf, slope
        part, _ = LogDet().value(block, context)
        gradient = slope.copy()
        gradient[np.ix_(rest, rest)] += others
        return whole - part, gradient

    def among(self, names: Sequence[str]) -> np.ndarray:
        """Which base parameters are meant (b,); a pattern matches with or without the R of regrouped ones."""
        plain = [_plain(name) for name in names]
        out = np.zeros(len(names), dtype=bool)
        for pattern in self.patterns:
            found = [fnmatchcase(a, pattern) or fnmatchcase(b, pattern) for a, b in zip(names, plain, strict=True)]
            if not any(found):
                raise UsageError(f"chosen parameters: {pattern!r} matches no base parameter; {choices(pattern, names)}")
            out |= np.array(found)
        return out


def _plain(name: str) -> str:
    symbol, _, rest = name.partition("_")
    return f"{symbol.removesuffix('R')}_{rest}"
