"""Objects as a person meets them: one line, a table, a picture. Numbers and names are those of the object."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.identification.recovery import model_of
from tests.report.fits import dualv, evidence
from tests.report.test_page import HOSTILE, Page

from dalembert import base_parameters
from dalembert.errors import UsageError
from dalembert.excitation import Effort, Fourier, design_excitation
from dalembert.report.figure import sketch
from dalembert.validation import validate


@pytest.fixture(scope="module")
def things():
    fit, validation = dualv()
    model = model_of("dualv")
    design = design_excitation(model, Fourier(3, 4.0), effort=Effort(starts=1, budget=0.5))
    log = fit.prepared.rigid.runs[0].source
    return {
        "robot": model.robot, "model": model, "log": log, "fit": fit, "validation": validation, "design": design,
        "base": base_parameters(model),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["robot", "model", "log", "fit", "validation", "design", "base"])
def test_an_object_is_one_line(things, name):
    text = repr(things[name])
    assert text.startswith(f"<{type(things[name]).__name__} ") and text.endswith(">")
    assert len(text) < 200 and "\n" not in text


@pytest.mark.parametrize("name", ["robot", "log", "fit", "validation", "design", "base"])
def test_a_notebook_shows_what_the_terminal_does(things, name):
    thing = things[name]
    wanted = {
        "robot": (*thing.body_names, *thing.motor_names, *(loop.name for loop in thing.loops))
        if name == "robot"
        else (),
        "log": [f"tau_{m}" for m in thing.motors] if name == "log" else (),
        "fit": [p.name for p in thing.parameters] if name == "fit" else (),
        "validation": [f"{row.rms:.4g}" for row in thing.rows] if name == "validation" else (),
        "design": [p.name for p in thing.parameters] if name == "design" else (),
        "base": thing.base_names if name == "base" else (),
    }[name]
    page = Page(f"<html>{thing._repr_html_()}</html>")
    cells = [text.strip() for text in page.text]
    assert wanted
    for word in wanted:
        assert word in str(thing)
        assert word in cells


def test_strange_names_stay_text_in_a_notebook(things):
    fit = replace(things["fit"].fit, robot=HOSTILE)
    page = Page(fit._repr_html_())
    assert not page.all("img") and not page.scripts
    assert any(HOSTILE in text for text in page.text)


def test_a_log_tells_the_range_of_its_channels(things):
    log = things["log"]
    rows = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in str(log).splitlines()[2:]}
    for k, motor in enumerate(log.motors):
        x = log.tau[:, k]
        assert rows[f"tau_{motor}"] == pytest.approx([x.min(), x.max(), np.sqrt(np.mean(x**2))], rel=1e-3)


def test_the_picture_of_a_log_is_its_samples(things):
    log = things["log"]
    figure = log.plot()
    for k, motor in enumerate(log.motors):
        q, tau = (np.asarray(trace.y) for trace in figure.data if trace.name == motor)
        np.testing.assert_allclose(q, log.q[:, k])
        np.testing.assert_allclose(tau, log.tau[:, k])
    assert figure.data[0].x[-1] == pytest.approx(log.t[-1])


def test_the_picture_of_a_fit_is_measured_and_predicted_torque(things):
    """Along the rows that were fitted, the drawn residual has the RMS the fit reports."""
    fit = things["fit"]
    figure = fit.plot()
    tracks = [track for track in evidence().tracks if not track.held_out]
    measured = [trace for trace in figure.data if trace.name == "measured"]
    predicted = [trace for trace in figure.data if trace.name == "predicted"]
    residual = [trace for trace in figure.data if trace.name == "residual"]
    assert len(measured) == len(predicted) == len(residual) == sum(len(track.groups) for track in tracks)
    for m, p, r in zip(measured, predicted, residual, strict=True):
        np.testing.assert_allclose(np.asarray(m.y) - np.asarray(p.y), np.asarray(r.y), atol=1e-9)
    worst = max(row.rms for row in fit.rows)
    assert max(np.sqrt(np.nanmean(np.square(trace.y))) for trace in residual) < 2.0 * worst
    assert figure.layout.xaxis.matches == figure.layout.xaxis3.matches  # a column is zoomed together
    with pytest.raises(UsageError, match="read from a file and holds no logs"):
        fit.fit.plot()


def test_the_picture_of_a_robot_is_its_stick_figure(things):
    figure, lines = things["robot"].plot(), sketch(things["model"])
    for (name, line), trace in zip(lines.links, figure.data, strict=False):
        assert trace.name == name
        np.testing.assert_allclose(np.stack([trace.x, trace.y, trace.z], axis=1), line, atol=1e-12)
    assert figure.layout.scene.aspectratio.x == pytest.approx(1.3)


def test_a_validation_takes_the_payloads_by_log(things):
    fit, validation = dualv()
    other = validation.sources[0]
    with_load = validate(fit, other, payload={other.info.name: "load"})
    assert with_load.relative_error > 5.0 * validation.relative_error  # the log was made without it
    assert validate(fit, other.with_payload("load")).relative_error == with_load.relative_error


def test_objects_load_no_plotting_library():
    code = "import sys, dalembert as da; repr(da.load_robot('tx40')); print([m for m in ('plotly', 'matplotlib', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
