"""One face for all exporters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dalembert.errors import ExportError, choices
from dalembert.export.contract import Exporter, Options, Written
from dalembert.export.robots import write_mjcf, write_urdf, write_yaml
from dalembert.export.source import identified
from dalembert.export.sources import write_c, write_casadi, write_python
from dalembert.export.tables import write_csv
from dalembert.identification.fit import Fit

__all__ = ["FORMATS", "export", "format_of"]

FORMATS: Mapping[str, tuple[Exporter, tuple[str, ...]]] = {
    "urdf": (write_urdf, (".urdf",)),
    "mjcf": (write_mjcf, (".xml", ".mjcf")),
    "yaml": (write_yaml, (".yaml", ".yml")),
    "csv": (write_csv, (".csv",)),
    "c": (write_c, (".c", "")),
    "casadi": (write_casadi, (".casadi",)),
    "python": (write_python, (".py",)),
}


def format_of(path: Path) -> str:
    """The format of a file by its ending; a folder is for C sources."""
    for name, (_, endings) in FORMATS.items():
        if path.suffix.lower() in endings:
            return name
    known = [ending for _, endings in FORMATS.values() for ending in endings if ending]
    raise ExportError(f"{path}: no format ends in {path.suffix!r}; {choices(path.suffix, known)}, or a folder for C")


def export(
    fit: Fit,
    path: str | Path,
    *,
    to: str | None = None,
    robot: str | Path | None = None,
    payload: str | None = None,
    prior: str = "auto",
    closest: bool = False,
) -> Written:
    """Write an identified robot in the format of the path's ending, or ``to`` another.

    ``robot``: URDF or MJCF file to update in place. ``payload``: the one to carry, "" for none. ``prior`` and
    ``closest``: how a base fit is completed to standard parameters, see :class:`~dalembert.export.contract.Options`.
    """
    path = Path(path)
    name = to or format_of(path)
    if name not in FORMATS:
        raise ExportError(f"format {name!r}; {choices(name, FORMATS)}")
    write, endings = FORMATS[name]
    if path.suffix.lower() not in endings and not (name == "c" and path.is_dir()):
        raise ExportError(
            f"{path}: found ending {path.suffix!r}, expected {' or '.join(e for e in endings if e)} for {name}"
        )
    options = Options(None if robot is None else Path(robot), prior, closest)
    return write(identified(fit, payload), path, options)
