"""What an exporter is given, what it gives back, and how files are written: all of them or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dalembert.export.source import Identified
from dalembert.robot.interchange import whole_files

__all__ = ["Exporter", "Options", "Written", "write_files"]


@dataclass(frozen=True, slots=True)
class Options:
    """``template``: robot file to update in place. ``prior``: what completes a base fit (nominal, primitives, uniform,
    or auto: the first that each body has). ``closest``: where no consistent robot has the fit's base values, take the
    nearest one that is.
    """

    template: Path | None = None
    prior: str = "auto"
    closest: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """Files written, and one line for everything that was assumed, completed or left out."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]


class Exporter(Protocol):
    """Writes an identified robot to a file of that name, or to several beside it."""

    def __call__(self, source: Identified, path: Path, options: Options) -> Written: ...


def write_files(contents: Mapping[Path, str | bytes]) -> tuple[Path, ...]:
    """Write whole files, all of them or none: a full disk leaves the old ones."""
    with whole_files(*contents) as drafts:
        for draft, content in zip(drafts, contents.values(), strict=True):
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content.encode() if isinstance(content, str) else content)
    return tuple(contents)
