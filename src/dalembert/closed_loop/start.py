"""Where the first simulation starts from: parameters with a regular mass matrix and nothing else known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import EstimationError
from dalembert.model import Model
from dalembert.parameters import inertial_names
from dalembert.robot import EffortKind

__all__ = ["regular_parameters"]

Array = NDArray[np.float64]

_REGULAR = 1e-6  # smallest over largest eigenvalue of a mass matrix that an integrator can be started on


def regular_parameters(model: Model, y: Array, without: tuple[str, ...] = ()) -> Array:
    """The regular initialisation [Gautier11, eq. 27]: every rotor inertia one, all else zero (p,).

    Then ``M_v = J_inv' J_inv``, regular wherever the motors move all there is to move; two motors that share a joint
    give it both inertias [Gautier11, section V]. Where that is not regular at all configurations ``y`` (n, n_y), or a
    motor has no rotor among the parameters, bodies of one kg and one kg m^2 are added, all but those in ``without``.
    """
    index = {name: k for k, name in enumerate(model.parameters)}
    pi = np.zeros(len(index))
    for effort in model.robot.efforts:
        if effort.kind is EffortKind.ROTOR:
            pi[[index[name] for name in effort.parameters]] = 1.0
    if not _regular(model, y, pi):
        for body in model.robot.bodies:
            names = inertial_names(body.name)
            if body.name not in without and names[0] in index:
                pi[[index[names[k]] for k in (0, 3, 5, 9)]] = 1.0  # XX, YY, ZZ, M
    if not _regular(model, y, pi):
        raise EstimationError(
            f"start=regular: robot {model.robot.name!r} has a motion that no rotor and no body resists; expected "
            "rotor inertias among its efforts, or start=reference"
        )
    return pi


def _regular(model: Model, y: Array, pi: Array) -> bool:
    eigen = np.linalg.eigvalsh(model.mass_matrix(y, pi))
    return bool((eigen[:, 0] > _REGULAR * eigen[:, -1]).all())
