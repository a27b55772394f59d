"""One error tree: a message says where, what was found, what was expected and the valid choices."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ClosureError",
    "DalembertError",
    "EstimationError",
    "ExportError",
    "ForeignColumnsError",
    "KernelError",
    "LogError",
    "ModelError",
    "RobotError",
    "UsageError",
    "choices",
]


class DalembertError(Exception):
    """Root of every error a user can cause; the command line prints its message on one line."""


class RobotError(DalembertError):
    """A robot description is malformed or contradicts itself."""


class ModelError(DalembertError):
    """A sound description has no usable model: singular home, no independent motion, unknown projection."""


class ClosureError(DalembertError):
    """The loops cannot be closed at some configuration."""


class KernelError(DalembertError):
    """An expression cannot be compiled, or a kernel was given arrays of the wrong shape."""


class LogError(DalembertError):
    """A log or its channel map cannot be read as asked."""


class ForeignColumnsError(LogError):
    """The columns of a log are not named like the robot's signals: another robot's, or it needs a channels file."""


class EstimationError(DalembertError):
    """An estimate was asked for that the data or the options cannot give."""


class ExportError(DalembertError):
    """A model cannot be written in the format asked for."""


class UsageError(DalembertError):
    """An option or argument is wrong."""


def choices(found: object, valid: Iterable[object]) -> str:
    """Tail of a message about an unknown name: the nearest valid one first, then all of them."""
    names = [str(name) for name in valid]
    near = difflib.get_close_matches(str(found), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"choose from {', '.join(names) if names else '(none)'}{hint}"
