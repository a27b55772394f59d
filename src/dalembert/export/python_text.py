"""A Python module with an identified robot's functions, for machines without dalembert: NumPy alone."""

from __future__ import annotations

from dalembert.export.c_text import MADE_BY
from dalembert.export.programs import DOCS, Functions
from dalembert.kernels.scalar import python_function

__all__ = ["python_text"]


def python_text(functions: Functions) -> str:
    """The text of the module."""
    source, model = functions.source, functions.source.model
    d = functions.dynamics
    parts = [_HEAD.format(robot=source.robot.name.replace('"', "'"), made=MADE_BY, method=source.fit.method)]
    names = {
        "COORDINATES": list(model.coordinates), "INDEPENDENT": list(model.independent),
        "MOTORS": list(source.robot.motor_names), "SENSORS": list(source.robot.readings),
        "EFFORTS": list(source.robot.motor_names if d.n >= d.r else model.independent),
        "PARAMETERS": list(source.symbols), "NOTES": list(source.notes),
    }  # fmt: skip
    parts.append("\n".join(f"{key} = {value!r}" for key, value in names.items()))
    parts.append(f"BETA = np.array({source.beta.tolist()!r})\nHOME = np.array({model.home.tolist()!r})")
    for name, program in functions.programs.items():
        hidden = name == "newton"
        parts.append(
            python_function(program, f"_{name}" if hidden else name, f"{DOCS[name][:1].upper()}{DOCS[name][1:]}.")
        )
    if "newton" in functions.programs:
        parts.append(_CLOSE_ONCE if functions.linear else _CLOSE)
        parts.append(_torque(functions))
    return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)


def _torque(functions: Functions) -> str:
    """The whole way from measured positions to efforts."""
    given = ["theta", "thetad", "thetadd"]
    given += ["preload"] if functions.over_actuated else []
    given += ["state"] if functions.has_state else []
    lines = [
        f"def torque({', '.join(given)}, start=HOME):",
        '    """Effort of a motion given by measured positions and their rates; and the configuration'
        + (", and the friction's state" if functions.has_state else "")
        + '."""',
        "    y = close(theta, start)",
        "    yd, ydd = rates(y, thetad, thetadd)",
    ]
    state = ""
    if functions.has_state:
        lines.append("    state = presliding(y, state)")
        state = ", state"
    lines.append(f"    effort = inverse_dynamics(y, yd, ydd{state})")
    if functions.over_actuated:
        lines.append(f"    effort = effort + distribute(y, np.zeros({functions.dynamics.r}), preload)")
    lines.append(f"    return effort, y{state}")
    return "\n".join(lines)


_HEAD = '''\
"""{robot}: dynamics identified by {method}, {made}. Needs NumPy alone.

SI units. The entries of an array are along its last axis (matrices: the last two); samples along the axes before, so
that one state or many may be given. Efforts are in the order of EFFORTS, y in that of COORDINATES, theta of SENSORS.
"""

import numpy as np
'''

_CLOSE_ONCE = '''\
def close(theta, start=HOME):
    """Coordinates of measured positions, in closed form."""
    theta = np.asarray(theta, dtype=float)
    return _newton(np.broadcast_to(np.asarray(start, dtype=float), (*theta.shape[:-1], len(HOME))), theta)
'''

_CLOSE = '''\
def close(theta, start=HOME, steps=20):
    """Coordinates at measured positions by Newton from ``start``, which must be near: the sample before, or home."""
    theta = np.asarray(theta, dtype=float)
    y = np.array(np.broadcast_to(np.asarray(start, dtype=float), (*theta.shape[:-1], len(HOME))))
    for _ in range(steps):
        ahead = _newton(y, theta)
        size = np.max(np.abs(ahead - y), initial=0.0)
        y = ahead
        if not size < 0.5:
            break
        if size < 1e-13:
            return y
    if size < 1e-8:
        return y
    raise ValueError("the loops do not close from the given start at these positions; start nearer")
'''
