"""What a look at a log says: one line each, with how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Change", "Finding", "Level"]

Array = NDArray[np.float64]


class Level(StrEnum):
    """How sure a finding is: a fault spoils every parameter, a suspect is worth a look, a note is for information."""

    FAULT = "fault"
    SUSPECT = "suspect"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """``check``: which look found it; ``text``: what, with the numbers; ``mend``: what to do, empty for nothing.

    ``mended``: a channels file can put it right, and the proposal of the check does.
    """

    level: Level
    check: str
    text: str
    mend: str = ""
    mended: bool = False

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "level": str(self.level), "check": self.check, "text": self.text, "mend": self.mend, "mended": self.mended,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """Signals read otherwise: positions ``A theta + b`` (n_s,), torques ``C tau`` (n motors,); and that in words.

    ``check`` names the family it belongs to, ``signals`` what it touches.
    """

    check: str
    words: str
    signals: tuple[str, ...]
    A: Array
    b: Array
    C: Array

    @classmethod
    def none(cls, positions: int, torques: int) -> Change:
        """Everything as it is."""
        return cls("", "", (), np.eye(positions), np.zeros(positions), np.eye(torques))

    @property
    def moves(self) -> bool:
        """True when positions are read otherwise."""
        return bool(self.b.any()) or not np.array_equal(self.A, np.eye(len(self.A)))

    @property
    def turns(self) -> bool:
        """True when torques are read otherwise."""
        return not np.array_equal(self.C, np.eye(len(self.C)))

    def after(self, first: Change) -> Change:
        """Both: the other first, this one on top of it."""
        return Change(
            self.check, self.words, self.signals, self.A @ first.A, self.A @ first.b + self.b, self.C @ first.C
        )  # fmt: skip
