"""Measured against predicted torque of every motor, what is left, and at which frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.report.envelope import thinned
from dalembert.report.evidence import Evidence, Track
from dalembert.report.numbers import percent, significant, unit_text
from dalembert.report.panels import Curve, Panel
from dalembert.report.sections.contract import Content
from dalembert.signals.spectrum import power_spectrum

__all__ = ["section", "spectrum_panel", "torque_panel"]

Array = NDArray[np.float64]

POINTS = 200_000  # of all curves of all logs
LEAST, MOST = 1500, 24_000  # of one curve
_SPECTRUM = 1 << 19  # samples of a residual its spectrum is taken from
_FREQUENCIES = 400  # points a spectrum is drawn with, evenly spaced on a logarithmic axis


def section(evidence: Evidence) -> Content | None:
    """Panels for each log and row group, and their errors."""
    if evidence.model is None or not evidence.tracks:
        return None
    curves = 4 * sum(len(track.groups) for track in evidence.tracks)
    points = int(np.clip(POINTS // curves, LEAST, MOST))
    pictures: list[Panel] = []
    logs = []
    for number, track in enumerate(evidence.tracks):
        torque = [torque_panel(evidence, track, k, points, number) for k in range(len(track.groups))]
        spectra = [spectrum_panel(evidence, track, k, number) for k in range(len(track.groups))]
        pictures += [*torque, *spectra]
        logs.append(_log(evidence, track, [p.key for p in torque], [p.key for p in spectra], points))
    return Content(
        "torque",
        "Measured and predicted torque",
        "Torque",
        {"logs": logs, "projected": evidence.projected, "projection": evidence.model.projection},
        tuple(pictures),
    )


def _log(evidence: Evidence, track: Track, torque: list[str], spectra: list[str], points: int) -> dict[str, Any]:
    samples = len(track.measured)
    return {
        "name": track.name,
        "held_out": track.held_out,
        "torque": torque,
        "spectra": spectra,
        "low_pass": significant(track.low_pass, 3) if track.low_pass else "",
        "stretch": -(-2 * samples // points) if samples > points else 0,
        "samples": samples,
        "cut": track.cut,
        "rows": [
            {
                "name": name,
                "error": percent(track.residual_error(k)),
                "rms": significant(track.residual_rms(k), 3),
                "unit": unit_text(evidence.unit(name)),
            }
            for k, name in enumerate(track.groups)
        ],
    }


def torque_panel(evidence: Evidence, track: Track, k: int, points: int, number: int = 0) -> Panel:
    """Torque of one row group over time and, below, what the model leaves of it."""
    name, unit = track.groups[k], unit_text(evidence.unit(track.groups[k]))
    measured, predicted = track.measured[:, k], track.predicted[:, k]
    compared = track.compared(measured - predicted)
    shown: list[tuple[str, Array, Any, int]] = [
        ("measured", track.compared(measured), "measured", 0),
        ("predicted", track.compared(predicted), "predicted", 0),
        ("residual", compared, "residual", 1),
    ]
    if track.factor > 1:
        shown.insert(0, ("measured, no filter", measured, "raw", 0))
    curves = []
    for label, values, role, row in shown:
        thin = thinned(values, track.start, track.period, points)
        curves.append(Curve(label, thin.y, role, start=thin.start, step=thin.step, row=row))
    return Panel(
        f"torque-{number}-{k}", f"{name}: {percent(track.residual_error(k))} not predicted", "time [s]",
        (f"{name} [{unit}]", f"residual [{unit}]"), tuple(curves), link=f"time-{number}", height=300,
    )  # fmt: skip


def spectrum_panel(evidence: Evidence, track: Track, k: int, number: int = 0) -> Panel:
    """Amplitude spectral density of the torque and of what is left of it, without any low-pass."""
    name, unit = track.groups[k], unit_text(evidence.unit(track.groups[k]))
    both = np.stack([track.measured[:, k], track.measured[:, k] - track.predicted[:, k]], axis=1)[:_SPECTRUM]
    both = both[np.isfinite(both).all(axis=1)]
    curves: list[Curve] = []
    if len(both) >= 16:
        found = power_spectrum(both, track.rate)
        frequency, density = _even(found.frequency[1:], np.sqrt(found.power[1:]))
        curves = [
            Curve("measured", density[:, 0], "measured", x=frequency),
            Curve("residual", density[:, 1], "residual", x=frequency),
        ]
    marks = ((track.low_pass, "compared below"),) if track.low_pass else ()
    return Panel(
        f"spectrum-{number}-{k}", name, "frequency [Hz]", (f"density [{unit}/√Hz]",), tuple(curves),
        link=f"frequency-{number}", log_x=True, log_y=True, height=220, marks=marks,
    )  # fmt: skip


def _even(frequency: Array, density: Array) -> tuple[Array, Array]:
    """RMS of the densities in bands of equal width on a logarithmic axis."""
    edges = np.geomspace(frequency[0], frequency[-1], _FREQUENCIES + 1)
    band = np.clip(np.searchsorted(edges, frequency, side="right") - 1, 0, _FREQUENCIES - 1)
    count = np.bincount(band, minlength=_FREQUENCIES)
    used = count > 0
    mean = [np.bincount(band, weights=column**2, minlength=_FREQUENCIES)[used] / count[used] for column in density.T]
    centre = np.bincount(band, weights=frequency, minlength=_FREQUENCIES)[used] / count[used]
    floor = np.finfo(np.float32).tiny
    return centre, np.sqrt(np.maximum(np.stack(mean, axis=1), floor))
