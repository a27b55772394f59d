"""Figures and the table for papers: the report's pictures, in files that others read."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from tests.report.fits import dualv, evidence

from dalembert.errors import UsageError
from dalembert.report.builder import contents
from dalembert.report.latex import parameter_table
from dalembert.report.palette import palette
from dalembert.report.panels import Curve, Panel
from dalembert.report.paper import TABLE_FILE, figure_files, formats_named, sheets
from dalembert.report.sheet import drawn

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = r"XX_a{b}$c&d#e%f~g^h\i<j>"


def test_the_sheets_hold_every_picture_of_the_report_once():
    found = sheets(evidence())
    there = [p.key for content in contents(evidence()) for p in content.pictures]
    drawn_ones = [p.key for sheet in found for p in sheet.pictures]
    assert sorted(there) == sorted(drawn_ones)
    names = [sheet.name for sheet in found]
    assert len(set(names)) == len(names) and {"torque-free", "torque-loaded", "torque-other", "correlation"} <= set(
        names
    )
    with pytest.raises(UsageError, match="figures: format 'eps'; choose from pdf, svg, png"):
        formats_named(["png", "eps"])
    assert formats_named(["png,svg", "PNG"]) == ("png", "svg")


def test_a_panel_is_drawn_where_its_numbers_are():
    """The path of an SVG, taken back to numbers by its two known ends, is the curve."""
    x, y = np.linspace(0.0, 3.0, 50), np.sin(np.linspace(0.0, 3.0, 50))
    panel = Panel("a", HOSTILE, "time [s]", ("torque [N m]",), (Curve(HOSTILE, y, "measured", x=x),), link="t")
    both = drawn([panel], 1, ["svg", "png", "pdf"])
    root = ElementTree.fromstring(both["svg"])
    texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    assert {HOSTILE, "time [s]", "torque [N m]"} <= set(texts)
    ink = f"stroke: {palette()['measured']}"
    (path,) = [p.get("d") for p in root.iter(f"{SVG}path") if ink in (p.get("style") or "")]
    at = np.array([[float(v) for v in pair] for pair in re.findall(r"([-\d.]+) ([-\d.]+)", path)])
    for column, values in ((0, x), (1, y)):
        ends = [values.argmin(), values.argmax()]
        slope, offset = np.polyfit(at[ends, column], values[ends], 1)
        back = slope * at[:, column] + offset
        np.testing.assert_allclose(back, values, atol=1e-3)
    assert both["pdf"].startswith(b"%PDF")
    assert both["png"].startswith(b"\x89PNG")


def test_every_kind_of_picture_becomes_a_file(tmp_path):
    one = replace(evidence(), tracks=evidence().tracks[:1])
    files = figure_files(tmp_path / "new", one, ["svg"])
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(p.name for p in files)
    for file in files[:-1]:
        drawn_there = ElementTree.parse(file).getroot()
        lines = [p.get("d") or "" for p in drawn_there.iter(f"{SVG}path")]
        assert max(len(line) for line in lines) > 200 or list(drawn_there.iter(f"{SVG}image")), file.name
    assert files[-1].read_text(encoding="utf-8") == parameter_table(one.fit)


def test_the_table_says_what_the_fit_does():
    fit, _ = dualv()
    rows = re.findall(
        r"_\{\\mathrm\{(\w+)\}\}\$ & \$(-?[\d.]+)(?: \\cdot 10\^\{(-?\d+)\})?\$ & \$([\d.]+)", parameter_table(fit)
    )
    assert len(rows) == len(fit.parameters)
    for (tail, value, power, _), p in zip(rows, fit.parameters, strict=True):
        assert p.name.endswith(tail)
        assert float(value) * 10.0 ** int(power or 0) == pytest.approx(p.value, abs=0.5 * (p.high - p.low) / 10.0)


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex here (Debian: apt-get install texlive-latex-recommended)"
)
def test_the_table_compiles_whatever_the_names(tmp_path):
    fit = dualv()[0].fit
    many = [replace(fit.parameters[0], name=f"ZZR_link{k}_a", value=10.0 ** (k - 20)) for k in range(41)]
    strange = replace(fit.parameters[0], name=HOSTILE, unit="kg m^2", regrouping="XX_a + \n\\end{document}")
    fit = replace(
        fit, robot="my\nrobot_%", parameters=(*many, strange, replace(strange, name="plain", low=None, high=None))
    )
    (tmp_path / TABLE_FILE).write_text(parameter_table(fit), encoding="utf-8")
    page = r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{parameters}\end{document}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1500:]
