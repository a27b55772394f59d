"""Every study runs, in its quick form: the paper's findings hold, tables and figures are whole."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert.errors import UsageError
from dalembert.studies import STUDIES, Study, draw, reproduce

PNG = b"\x89PNG"


@pytest.fixture(scope="module", params=STUDIES)
def study(request) -> Study:
    said: list[str] = []
    done = reproduce(request.param, said.append, quick=True)
    assert done.name == request.param
    assert said  # it says what it is at
    return done


@pytest.mark.slow
def test_the_findings_of_the_paper_hold(study):
    assert study.findings
    failed = [f"{f.name}: {f.paper}; here {f.ours}" for f in study.findings if not f.holds]
    assert not failed
    assert study.holds


@pytest.mark.slow
def test_tables_set_the_papers_numbers_beside_ours(study):
    text = str(study)
    for table in study.tables:
        assert table.rows
        assert table.title in text
        numbers = [cell for row in table.rows for cell in row if isinstance(cell, float)]
        assert np.isfinite(numbers).all()
    heads = [cell for table in study.tables for cell in (*table.columns, *table.rows[0])]
    assert any(isinstance(cell, str) and "paper" in cell for cell in heads)
    written = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert [f["name"] for f in written["findings"]] == [f.name for f in study.findings]


@pytest.mark.slow
def test_figures_are_drawn(study, tmp_path):
    assert study.figures
    names = [figure.name for figure in study.figures]
    assert len(set(names)) == len(names)
    for figure in study.figures:
        for panel in figure.panels:
            assert all(np.isfinite(curve.y).any() for curve in panel.curves)
        path = tmp_path / f"{figure.name}.png"
        draw(figure, path)
        assert path.read_bytes().startswith(PNG)
    assert sorted(p.stem for p in tmp_path.iterdir()) == sorted(names)  # nothing else is left behind


def test_an_unknown_study_is_named():
    with pytest.raises(UsageError, match=r"no study 'detla'.*did you mean 'delta'"):
        reproduce("detla")
