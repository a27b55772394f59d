"""A fit on disk: ``fit.json``, which holds all of it, and ``parameters.csv`` for spreadsheets."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from pathlib import Path

from dalembert.errors import EstimationError
from dalembert.identification.fit import Fit, FitParameter
from dalembert.robot.interchange import write_atomically

__all__ = ["FIT_FILE", "PARAMETERS_FILE", "parameters_csv", "read_fit", "write_fit"]

FIT_FILE, PARAMETERS_FILE = "fit.json", "parameters.csv"


def read_fit(path: str | Path) -> Fit:
    """The fit of a ``fit.json``, or of the folder that holds one."""
    path = Path(path)
    if path.is_dir():
        path = path / FIT_FILE
    try:
        return Fit.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EstimationError(f"{path}: no such file, expected the fit.json that 'dalembert identify' wrote") from None
    except UnicodeDecodeError:
        raise EstimationError(f"{path}: not text, expected the fit.json that 'dalembert identify' wrote") from None
    except EstimationError as error:
        raise EstimationError(f"{path}: {error}") from None


def write_fit(fit: Fit, folder: str | Path) -> tuple[Path, Path]:
    """Write both files into a folder, made if there is none; each appears when it is complete."""
    folder = Path(folder)
    texts = {FIT_FILE: fit.to_json(), PARAMETERS_FILE: parameters_csv(fit)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return folder / FIT_FILE, folder / PARAMETERS_FILE


def parameters_csv(fit: Fit) -> str:
    """A line per base parameter, then one per standard parameter where the method gives them; all digits are kept."""
    columns = [item.name for item in fields(FitParameter)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["kind", *columns])
    for parameter in fit.parameters:
        writer.writerow(["base", *(_cell(getattr(parameter, name)) for name in columns)])
    for name, value in fit.standard.items():
        writer.writerow(["standard", name, _cell(value), *[""] * (len(columns) - 2)])
    return out.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
