"""What is known of the parameters for sure: fixed, zero, tied, bounded, on a plane; by name or pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError, choices
from dalembert.identification.rows import Array
from dalembert.parameters import inertial_names

__all__ = ["Constraints", "Equality", "Resolved", "match"]

# Equalities that contradict each other leave a residual of their own size, rounding one of 1e-15.
CONTRADICTION = 1e-9


def match(pattern: str, names: Sequence[str], what: str) -> list[int]:
    """Indices of the names a name or fnmatch pattern picks; an error names the choices when there are none."""
    found = [i for i, name in enumerate(names) if name == pattern or fnmatchcase(name, pattern)]
    if not found:
        raise EstimationError(f"{what}: no parameter {pattern!r}; {choices(pattern, names)}")
    return found


@dataclass(frozen=True, slots=True)
class Equality:
    """``sum coefficient * parameter = value``, such as a centre of mass at a known distance: MX - 0.1 M = 0."""

    terms: tuple[tuple[str, float], ...]
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Constraints:
    """Constraints on standard parameters; every name may be an fnmatch pattern such as ``"M_*"``, except in equalities.

    ``ties``: groups of names (or patterns) with one common value; ``tied_bodies``: groups of bodies equal in all ten.
    A ``bounds`` entry of a narrower pattern does not replace a wider one: the intersection holds.
    """

    fixed: Mapping[str, float] = field(default_factory=dict)
    zero: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ties: tuple[tuple[str, ...], ...] = ()
    tied_bodies: tuple[tuple[str, ...], ...] = ()
    equalities: tuple[Equality, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fixed", MappingProxyType(dict(self.fixed)))
        object.__setattr__(self, "bounds", MappingProxyType(dict(self.bounds)))
        for name, value in self.fixed.items():
            if not np.isfinite(value):
                raise EstimationError(f"fixed {name!r}: {value}, expected a finite number")
        for name, (lower, upper) in self.bounds.items():
            if not lower <= upper:
                raise EstimationError(f"bounds of {name!r}: lower {lower} above upper {upper}")

    def fixing(self, values: Mapping[str, float]) -> Constraints:
        """The same with further values fixed, as those of an earlier stage of a staged identification."""
        return replace(self, fixed={**self.fixed, **values})

    def resolve(self, parameters: Sequence[str]) -> Resolved:
        """The constraints on given columns; unknown names and contradictions raise."""
        return _resolve(self, tuple(parameters))


@dataclass(frozen=True, slots=True)
class Resolved:
    """Constraints by column. ``fixed`` (p,): NaN where free. ``tie`` (p,): the first column tied to each one.

    ``lower``, ``upper`` (p,). ``A`` (k, p), ``b`` (k,): further equalities ``A pi = b``.
    """

    parameters: tuple[str, ...]
    fixed: Array
    tie: NDArray[np.int64]
    lower: Array
    upper: Array
    A: Array
    b: Array

    @property
    def plain(self) -> bool:
        """True when nothing but fixed values, ties and bounds is asked for."""
        return not len(self.A)

    def basis(self) -> tuple[Array, Array]:
        """``x0`` (p,) and ``Z`` (p, k) of all parameters that meet the equalities: ``pi = x0 + Z u``."""
        p = len(self.parameters)
        x0 = np.where(np.isnan(self.fixed), 0.0, self.fixed)
        free = [i for i in range(p) if self.tie[i] == i and np.isnan(self.fixed[i])]
        Z = np.zeros((p, len(free)))
        for column, i in enumerate(free):
            Z[self.tie == i, column] = 1.0
        if self.plain:
            return x0, Z
        A, b = self.A @ Z, self.b - self.A @ x0
        size = np.maximum(np.linalg.norm(self.A, axis=1), 1.0)
        U, s, Vt = np.linalg.svd(A, full_matrices=True)
        rank = int(np.sum(s > CONTRADICTION * max(1.0, float(s.max(initial=0.0)))))
        u0 = Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank])
        gap = np.abs(A @ u0 - b) / size
        if gap.max(initial=0.0) > CONTRADICTION * max(1.0, float(np.abs(self.b).max(initial=0.0))):
            raise EstimationError(
                f"constraints: equality {int(np.argmax(gap))} contradicts the fixed values or the other equalities"
            )
        return x0 + Z @ u0, Z @ Vt[rank:].T


def _resolve(spec: Constraints, names: tuple[str, ...]) -> Resolved:
    p = len(names)
    fixed = np.full(p, np.nan)
    for label, values in (("fixed", spec.fixed), ("zero", dict.fromkeys(spec.zero, 0.0))):
        for pattern, value in values.items():
            for i in match(pattern, names, label):
                # an exact name overrides a pattern, two patterns must agree
                if not np.isnan(fixed[i]) and fixed[i] != value and pattern != names[i]:
                    raise EstimationError(f"{label}: {names[i]!r} is given both {fixed[i]:g} and {value:g}")
                fixed[i] = value
    tie = _ties(spec, names)
    for i in range(p):
        group = np.flatnonzero(tie == i)
        known = {float(v) for v in fixed[group] if not np.isnan(v)}
        if len(known) > 1:
            raise EstimationError(
                f"ties: {', '.join(names[k] for k in group)} are fixed to different values {sorted(known)}"
            )
        if known:
            fixed[group] = known.pop()
    lower, upper = np.full(p, -np.inf), np.full(p, np.inf)
    for pattern, (low, high) in spec.bounds.items():
        for i in match(pattern, names, "bounds"):
            lower[i], upper[i] = max(lower[i], low), min(upper[i], high)
    for i in range(p):
        if lower[i] > upper[i]:
            raise EstimationError(
                f"bounds of {names[i]!r}: lower {lower[i]:g} above upper {upper[i]:g} after all patterns"
            )
        if not np.isnan(fixed[i]) and not lower[i] <= fixed[i] <= upper[i]:
            raise EstimationError(
                f"{names[i]!r} is fixed to {fixed[i]:g}, outside its bounds {lower[i]:g}..{upper[i]:g}"
            )
    A, b = _equalities(spec.equalities, names)
    return Resolved(names, fixed, tie, lower, upper, A, b)


def _ties(spec: Constraints, names: tuple[str, ...]) -> NDArray[np.int64]:
    tie = np.arange(len(names))
    groups: list[Iterable[int]] = [
        [i for pattern in group for i in match(pattern, names, "ties")] for group in spec.ties
    ]
    for bodies in spec.tied_bodies:
        tens = [[match(n, names, f"tied body {body!r}")[0] for n in inertial_names(body)] for body in bodies]
        groups.extend(zip(*tens, strict=True))
    for group in groups:
        roots = {int(tie[i]) for i in group}
        tie[np.isin(tie, list(roots))] = min(roots)
    return tie


def _equalities(equalities: tuple[Equality, ...], names: tuple[str, ...]) -> tuple[Array, Array]:
    A = np.zeros((len(equalities), len(names)))
    for row, equality in enumerate(equalities):
        for name, coefficient in equality.terms:
            if name not in names:
                raise EstimationError(f"equality {row}: no parameter {name!r}; {choices(name, names)}")
            A[row, names.index(name)] += coefficient
    return A, np.array([equality.value for equality in equalities])
