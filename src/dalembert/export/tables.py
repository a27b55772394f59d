"""The parameters of a fit as a table."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from pathlib import Path

from dalembert.export.contract import Options, Written, write_files
from dalembert.export.source import Identified
from dalembert.identification.fit import FitParameter

__all__ = ["write_csv"]


def write_csv(source: Identified, path: Path, options: Options) -> Written:
    """One line per parameter with everything the fit says of it: base parameters, then standard ones if it has any."""
    names = [field.name for field in fields(FitParameter)]
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["kind", *names])
    for parameter in source.fit.parameters:
        cells = [getattr(parameter, name) for name in names]
        out.writerow(["base", *("" if cell is None else cell for cell in cells)])
    for name, value in source.fit.standard.items():
        out.writerow(["standard", name, repr(value), *[""] * (len(names) - 2)])
    return Written(write_files({path: text.getvalue()}), source.notes)
