"""The parameters of a fit as a table."""

from __future__ import annotations

from pathlib import Path

from dalembert.export.contract import Options, Written, write_files
from dalembert.export.source import Identified
from dalembert.identification.fit_files import parameters_csv

__all__ = ["write_csv"]


def write_csv(source: Identified, path: Path, options: Options) -> Written:
    """One line per parameter with everything the fit says of it: base parameters, then standard ones if it has any."""
    return Written(write_files({path: parameters_csv(source.fit)}), ())
