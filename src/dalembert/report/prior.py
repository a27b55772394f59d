"""What was known before: nominal values of the robot, regrouped as the fit's base parameters are."""

from __future__ import annotations

import numpy as np

from dalembert.identification.identify import Identification

__all__ = ["prior_values"]

_CANCELLED = 1e-12  # of the largest term: the regrouping is known to 1e-14, so less is a sum that is zero


def prior_values(found: Identification) -> dict[str, float]:
    """Base values of the robot's nominal parameters, of those whose regrouping is known in full."""
    base, robot = found.prepared.base, found.prepared.described
    standard = np.array([robot.nominal.get(name, np.nan) for name in found.prepared.model.parameters])
    values = np.array([robot.nominal.get(name, np.nan) for name in base.names])
    for column, members in enumerate(base.ties.matrix.T != 0.0):
        values[column] = standard[members].mean()
    out = {}
    for i, name in enumerate(base.base_names):
        used = base.K[i] != 0.0
        terms = np.append(
            values[base.independent[i]], base.K[i][used] * values[np.array(base.dependent, dtype=int)[used]]
        )
        if np.isfinite(terms).all():
            value = float(terms.sum())
            out[name] = 0.0 if abs(value) <= _CANCELLED * np.abs(terms).max() else value
    return out
