"""A design on disk: ``design.json``, the sampled trajectory in three forms, a report in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import UsageError
from dalembert.excitation.family import Family
from dalembert.excitation.result import Design
from dalembert.excitation.sampled import MOST_SAMPLES, ros_trajectory, table, write_table
from dalembert.model import Model
from dalembert.robot.interchange import whole_files

__all__ = ["design_data", "read_coefficients", "report_text", "write_design"]

_TIGHTEST = 12  # margins printed


def design_data(design: Design) -> dict[str, Any]:
    """Everything but the samples, JSON values only."""
    d = design
    begin, end = d.ride.record
    data: dict[str, Any] = _plain(
        {
            "robot": d.model.robot.name,
            "family": d.family.describe(),
            "coordinates": list(d.coordinates),
            "coefficients": d.coefficients.tolist(),
            "periods": d.ride.repeat,
            "duration": d.duration,
            "record": [begin, end],
            "payload": d.payload,
            "criterion": {"name": d.criterion, "meaning": d.meaning, "value": d.value},
            "criteria": dict(d.criteria),
            "noise": {
                "rate": d.noise.rate,
                "sigma": dict(zip(d.model.robot.motor_names, d.noise.sigma, strict=True)),
                "source": d.noise.source,
            },
            "parameters": [
                {
                    "name": p.name, "regrouping": p.regrouping, "unit": p.unit, "prior": p.value, "sigma": p.sigma,
                    "relative_sigma": p.relative, "inflation": p.inflation, "shown": p.shown, "why": p.why,
                }
                for p in d.parameters
            ],
            "hidden": [p.name for p in d.hidden],
            "without_effect": list(d.without_effect),
            "margins": [
                {"limit": m.name, "value": m.value, "bound": m.bound, "time": m.time, "margin": m.slack}
                for m in d.margins
            ],
            "search": {
                "method": d.search.method, "starts": d.search.starts, "iterations": d.search.iterations,
                "seconds": d.search.seconds, "history": [list(pair) for pair in d.search.history],
                "reason": d.search.reason, "seed": d.search.seed,
            },
            "notes": list(d.notes),
        }
    )  # fmt: skip
    return data


def _plain(value: Any) -> Any:
    """Numbers that are not finite as None."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report_text(design: Design) -> str:
    """The design in words (Markdown)."""
    d = design
    begin, end = d.ride.record
    shown = len(d.parameters) - len(d.hidden)
    lines = [
        f"# Excitation of {d.model.robot.name}" + (f" with payload {d.payload}" if d.payload else ""),
        "",
        f"A run of {d.duration:.4g} s from rest to rest at home; the record is from {begin:.4g} to {end:.4g} s. "
        f"Criterion: {d.criterion}, {d.meaning}; value {d.value:.6g}. Found by {d.search.method} in "
        f"{d.search.seconds:.3g} s ({d.search.starts} starts, {d.search.iterations} iterations).",
        f"Torque noise: {d.noise.source}, sampled at {d.noise.rate:g} Hz: "
        + ", ".join(f"{n} {s:.3g}" for n, s in zip(d.model.robot.motor_names, d.noise.sigma, strict=True))
        + ".",
        "",
        f"## What it will tell: {shown} of {len(d.parameters)} base parameters differ from zero by 2 sigma",
        "",
        "| base parameter | unit | prior | expected sigma | relative | inflation |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for p in d.parameters:
        prior = "" if p.value is None else f"{p.value:.4g}"
        share = "" if p.relative is None else f"{100.0 * p.relative:.3g} %"
        lines.append(f"| {p.name} | {p.unit} | {prior} | {p.sigma:.3g} | {share} | {p.inflation:.3g} |")
    lines += ["", "## What it cannot show, and why", ""]
    lines += [f"- {p.name}: {p.why}" for p in d.hidden] or ["- every base parameter shows"]
    if d.without_effect:
        lines.append(f"- no motion shows {', '.join(d.without_effect)}: they have no effect on the torques")
    lines += [
        "", "## Limits, nearest first", "",
        "| limit | value | bound | at [s] | room, share of the range |", "|---|---:|---:|---:|---:|",
    ]  # fmt: skip
    lines += [f"| {m.name} | {m.value:.4g} | {m.bound:.4g} | {begin + m.time:.3f} | {100.0 * m.slack:.3g} % |"
              for m in d.margins[:_TIGHTEST]]  # fmt: skip
    lines += ["", "## Notes", "", *[f"- {note}" for note in d.notes], ""]
    return "\n".join(lines)


def read_coefficients(folder: str | Path, model: Model, family: Family) -> np.ndarray:
    """Coefficients (r, m) of a design written before, to start from; it must move the same coordinates by the same
    family, in whatever time.
    """
    path = Path(folder)
    path = path / "design.json" if path.is_dir() else path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = np.array(data["coefficients"], dtype=float)
        moved, kind = tuple(data["coordinates"]), data["family"]["family"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: no design to start from ({error}), expected a folder or design.json of excite"
        ) from None
    if moved != model.independent:
        raise UsageError(f"{path}: a motion of {', '.join(moved)}, expected one of {', '.join(model.independent)}")
    if kind != family.describe()["family"] or found.shape != (model.r, family.unknowns):
        raise UsageError(
            f"{path}: {kind} with {found.shape[-1]} unknowns a coordinate, expected {family.describe()['family']} with "
            f"{family.unknowns}"
        )
    return found


def write_design(design: Design, folder: str | Path, rate: float | None = None) -> list[Path]:
    """Write design.json, trajectory.csv, .parquet and .ros.json, report.md into a folder, made if there is none.

    All or none of them. ``rate`` [Hz] of the samples, that of the noise unless given.
    """
    folder = Path(folder)
    rate = design.noise.rate if rate is None else rate
    if not 0.0 < rate * design.duration <= MOST_SAMPLES:
        raise UsageError(f"rate {rate:g} Hz, expected a positive one with at most {MOST_SAMPLES:.0e} samples")
    columns, _ = table(design.model, design.coordinates, design.ride, design.duration, rate)
    texts = {
        "design.json": json.dumps(design_data(design), ensure_ascii=False, indent=1) + "\n",
        "report.md": report_text(design),
        "trajectory.ros.json": json.dumps(ros_trajectory(design.model, columns), ensure_ascii=False) + "\n",
    }
    files = [folder / name for name in (*texts, "trajectory.csv", "trajectory.parquet")]
    with whole_files(*files) as drafts:
        folder.mkdir(parents=True, exist_ok=True)
        for draft, text in zip(drafts, texts.values(), strict=False):
            draft.write_text(text, encoding="utf-8")
        for draft in drafts[len(texts) :]:
            write_table(columns, draft)
    return files
