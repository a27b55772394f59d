"""What logs already recorded, designs already made and priors tell of the base parameters of the next design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.identification.base import BaseSet
from dalembert.identification.outcome import own_scales
from dalembert.identification.prepare import Prepared
from dalembert.identification.prior import Prior

if TYPE_CHECKING:
    from dalembert.excitation.result import Design

__all__ = ["known_information"]

Array = NDArray[np.float64]

_OPEN = 1e-12  # share of the largest eigenvalue below which a direction of the dependent parameters is not known


def known_information(items: Sequence[Prepared | Design | Prior], base: BaseSet) -> Array:
    """Sum of the information of logs, designs and priors on the base parameters (b, b).

    A log counts by what it is: its rows weighted by their own residuals. Parameters a log does not have (a payload it
    did not carry) it tells nothing of; one it has and the design has not is an error.
    """
    names = tuple(base.names[k] for k in base.independent)
    total = np.zeros((len(names), len(names)))
    for item in items:
        if isinstance(item, Prior):
            total += _of_prior(item, base)
            continue
        own, m = _of_log(item) if isinstance(item, Prepared) else (item.columns, item.information)
        strange = [name for name in own if name not in names]
        if strange:
            raise UsageError(
                f"given logs: their base parameter {strange[0]!r} is none of the design's; expected the same robot, "
                f"friction and ties"
            )
        at = [names.index(name) for name in own]
        total[np.ix_(at, at)] += m
    return total


def _of_log(prepared: Prepared) -> tuple[tuple[str, ...], Array]:
    problem = prepared.problem
    r = problem.weighted(own_scales(problem)[0])[:, list(problem.kept)]
    return problem.names, np.asarray(r.T @ r)


def _of_prior(prior: Prior, base: BaseSet) -> Array:
    """Information on ``beta = pi_b + K pi_d`` of independent beliefs of standard deviation ``scale`` about pi.

    In (beta, pi_d) it is ``[[D_b, -D_b K], [-K' D_b, D_d + K' D_b K]]`` with D = diag(1 / scale^2); what it says of
    beta, whatever pi_d is, is the Schur complement. Parameters without a scale are not known at all.
    """
    if not prior.scale:
        raise UsageError(
            f"prior ({prior.source}): no scale says how well a parameter is known, expected 'scale: {{NAME: SIGMA}}'"
        )
    prior.vector(base.names)  # refuses names that are none
    weight = np.array([1.0 / prior.scale[name] ** 2 if name in prior.scale else 0.0 for name in base.names])
    own, others = np.diag(weight[list(base.independent)]), np.diag(weight[list(base.dependent)])
    across = own @ base.K
    rest = others + base.K.T @ across
    return np.asarray(own - across @ np.linalg.pinv(rest, _OPEN, hermitian=True) @ across.T)
