"""Values of the Python model at a few states, for the tests that travel with an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.export.programs import Functions
from dalembert.kernels import Program, build
from dalembert.motion import random_states

__all__ = ["Vector", "evaluate", "sample_vectors"]

Array = NDArray[np.float64]

COUNT = 4  # states
_AWAY = 1e-2  # [rad or m] where the closure starts from, off the configuration


@dataclass(frozen=True, slots=True)
class Vector:
    """Inputs and outputs of every function at one state, as ``function_port``."""

    arrays: Mapping[str, Array]


def evaluate(program: Program, given: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs of a tape for rows of its inputs, by NumPy: each (samples, rows, columns)."""
    kernel = build(program, backend="numpy")
    ports = [np.atleast_2d(given[port.name]) for port in program.inputs]
    out = kernel(*ports)
    found = {}
    for port, value in zip(program.outputs, out, strict=True):
        found[port.name] = np.asarray(value).reshape(len(ports[0]), *port.shape)
    return found


def sample_vectors(functions: Functions, seed: int = 0) -> list[Vector]:
    """What every function gives at random admissible states."""
    rng = np.random.default_rng(seed)
    states = random_states(functions.source.model, COUNT, rng)
    given = {"y": states.y, "yd": states.yd, "ydd": states.ydd}
    for name, rate in (("theta", "y"), ("thetad", "yd"), ("thetadd", "ydd")):
        given[name] = given[rate] @ functions.sensors.T
    d = functions.dynamics
    for name, size in (("tau", d.n), ("gamma", d.r), ("preload", d.n)):
        given[name] = 10.0 * rng.standard_normal((COUNT, size))
    if functions.has_state:
        given["state"] = rng.uniform(-1.0, 1.0, (COUNT, functions.symbols.state.numel()))
    arrays: dict[str, Array] = {}
    programs = functions.programs
    for name, program in programs.items():
        if name == "newton":
            continue
        arrays |= {f"{name}_{port.name}": given[port.name] for port in program.inputs}
        arrays |= {f"{name}_{port}": value for port, value in evaluate(program, given).items()}
    if "newton" in programs:
        arrays |= _whole_way(functions, given, rng)
    return [Vector({key: value[k] for key, value in arrays.items()}) for k in range(COUNT)]


def _whole_way(functions: Functions, given: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    """From measured positions to efforts, started a little off."""
    programs = functions.programs
    arrays = {
        "close_theta": given["theta"],
        "close_start": given["y"] + _AWAY * rng.uniform(-1.0, 1.0, given["y"].shape),
        "close_y": given["y"],
    }
    used = ["theta", "thetad", "thetadd", *(["preload"] if functions.over_actuated else [])]
    used += ["state"] if functions.has_state else []
    arrays |= {f"torque_{name}": given[name] for name in used}
    moving = dict(given) | {k: v[:, :, 0] for k, v in evaluate(programs["rates"], given).items()}
    if functions.has_state:
        moving["state"] = evaluate(programs["presliding"], moving)["state_next"][:, :, 0]
    effort = evaluate(programs["inverse_dynamics"], moving)["effort"][:, :, 0]
    if functions.over_actuated:
        none = {**moving, "gamma": np.zeros_like(given["gamma"])}
        effort = effort + evaluate(programs["distribute"], none)["tau"][:, :, 0]
    return {**arrays, "torque_effort": effort}
