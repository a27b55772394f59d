"""What a motion will tell: expected sigma of every base parameter, and what stays hidden and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.base import BaseSet

__all__ = ["Expected", "expectation"]

Array = NDArray[np.float64]

_NULL = 1e-12  # eigenvalue of M scaled to a unit diagonal, of a direction no sample shows
_LOADED = 1e-4  # squared share of a null direction that belongs to a parameter
_SHOWN = 2.0  # sigmas a value must be away from zero: 95 %
_NEGLIGIBLE = 0.01  # of the noise of one sample: torque of a prior value that counts as none
_ENTANGLED = 100.0  # inflation of the variance by the other parameters: 99 % of the torque is theirs
_ROUNDING = 1e-12  # of the largest prior value: one that is nothing but sums that cancel
_PARTNERS = 3
_FAINT = (
    "within these limits a value as large as any believed makes less torque than the noise of one sample; widen them "
    "or record longer"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """One base parameter: ``sigma`` expected [unit] for the stated noise, infinite where the motion cannot show it.

    ``value`` is the prior value (None: none known, or so small that it makes no torque worth speaking of), ``relative``
    sigma over it. ``inflation`` says how often larger the variance is than if all other parameters were known.
    ``shown``: 2 sigma is less than the value, or where there is none, sigma makes less torque than the noise of one
    sample and is no larger than any value of its unit that is believed; ``why`` not.
    """

    name: str
    regrouping: str
    unit: str
    value: float | None
    sigma: float
    inflation: float
    shown: bool
    why: str

    @property
    def relative(self) -> float | None:
        """Sigma over the prior value's size."""
        return None if not self.value else self.sigma / abs(self.value)


def expectation(
    m: Array, base: BaseSet, prior: Array | None, scale: Array, units: dict[str, str]
) -> tuple[Expected, ...]:
    """The base parameters under information ``m`` (b, b).

    ``prior`` (b,): believed base values; ``scale`` (b,): values that make as much torque as the noise of one sample.
    """
    names = base.base_names
    diagonal = np.diag(m)
    seen = diagonal > 0.0
    s = np.where(seen, 1.0 / np.sqrt(np.where(seen, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(m * np.outer(s, s))
    null = values < _NULL
    lost = ((vectors[:, null] ** 2).sum(axis=1) > _LOADED) | ~seen
    inverse = (vectors[:, ~null] / values[~null]) @ vectors[:, ~null].T
    inflation = np.where(lost, np.inf, np.diag(inverse))
    sigma = np.where(lost, np.inf, np.sqrt(np.where(lost, 1.0, np.diag(inverse))) * s)
    unit_of = [units.get(base.names[k], "") for k in base.independent]
    largest = _largest(prior, unit_of)
    out = []
    for i, (name, unit) in enumerate(zip(names, unit_of, strict=True)):
        value = None if prior is None or abs(prior[i]) < _NEGLIGIBLE * scale[i] else float(prior[i])
        most = largest.get(unit, np.inf)
        enough = min(scale[i], most) if value is None else abs(value) / _SHOWN
        shown = bool(not lost[i] and sigma[i] <= enough)
        faint = value is None and most < sigma[i] <= scale[i]
        why = "" if shown else _FAINT if faint else _why(i, names, m, lost, inflation, value, s)
        out.append(Expected(name, base.relation(i), unit, value, float(sigma[i]), float(inflation[i]), shown, why))
    return tuple(out)


def _largest(prior: Array | None, units: Sequence[str]) -> dict[str, float]:
    """The largest believed value of each unit that has one: no parameter of that unit is expected to be larger."""
    out: dict[str, float] = {}
    if prior is not None:
        rounding = _ROUNDING * np.abs(prior).max(initial=0.0)
        for value, unit in zip(np.abs(prior).tolist(), units, strict=True):
            if value > rounding:
                out[unit] = max(value, out.get(unit, 0.0))
    return out


def _why(
    i: int, names: tuple[str, ...], m: Array, lost: NDArray[np.bool_], inflation: Array, value: float | None, s: Array
) -> str:
    """Why a parameter does not show."""
    if not m[i, i] > 0.0:
        return "no torque of this motion depends on it"
    if lost[i]:
        return f"its torque is that of {_partners(i, names, m, s)}: only their combination shows"
    if inflation[i] > _ENTANGLED:
        return (
            f"{100.0 * (1.0 - 1.0 / inflation[i]):.3g} % of its torque looks like that of {_partners(i, names, m, s)}; "
            f"a longer or wider motion tells them apart"
        )
    if value is None:
        return "the torque its uncertainty makes is more than the noise of one sample; record longer"
    strength = abs(value) * np.sqrt(m[i, i] / max(inflation[i], 1.0))
    return (
        f"its torque at the prior value is {strength:.2g} times what the noise of the whole record leaves; it is too "
        f"small to show within these limits"
    )


def _partners(i: int, names: tuple[str, ...], m: Array, s: Array) -> str:
    """The parameters whose columns together come nearest to column i."""
    others = np.delete(np.arange(len(m)), i)
    scaled = m * np.outer(s, s)
    share = np.linalg.lstsq(scaled[np.ix_(others, others)], scaled[others, i], rcond=1e-10)[0]
    order = np.argsort(-np.abs(share))[:_PARTNERS]
    kept = [others[k] for k in order if abs(share[k]) > 0.1 * abs(share[order[0]])]
    return " and ".join(names[k] for k in kept)
