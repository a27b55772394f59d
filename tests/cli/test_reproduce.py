"""``dalembert reproduce``: files, JSON, exit codes, a study that fails, an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalembert import studies
from dalembert.cli.main import app, run
from dalembert.errors import EstimationError, UsageError
from dalembert.studies import Curve, Figure, Finding, Panel, Study, Table


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def study(name: str, holds: bool = True) -> Study:
    t = np.linspace(0.0, 1.0, 50)
    panel = Panel("one", "time [s]", "force [N]", (Curve.of("measured", t, t**2, "truth"), Curve.of("found", t, t)))
    table = Table("Table 1", ("mass", "paper", "here"), (("m", 1.0, float("nan")), ("n", None, "left out")))
    finding = Finding("a mass", "1 kg", "1.01 kg", holds, "" if holds else "because")
    return Study(name, "a paper", (table,), (finding,), (Figure(f"{name}-1", "a figure", (panel,)),), 0.1)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    """The real command with studies that take no time; what each name gives may be set."""
    given: dict[str, Study | BaseException] = {"dualv": study("dualv"), "orthoglide": study("orthoglide")}

    def reproduce(name: str, progress, *, quick: bool = False) -> Study:
        progress("quickly" if quick else "at length")
        found = given[name]
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(studies, "STUDIES", given)
    monkeypatch.setattr(studies, "reproduce", reproduce)
    return given


def call(*words: str):
    return CliRunner().invoke(app, ["reproduce", *words], catch_exceptions=False)


def test_one_study_prints_and_writes_its_files(bench, tmp_path: Path) -> None:
    result = call("dualv", "--quick", "-o", str(tmp_path / "new" / "out"))
    assert result.exit_code == 0
    assert "Table 1" in result.stdout and "a mass: holds" in result.stdout and "1 of 1 findings hold" in result.stdout
    assert "[1/1] dualv: quickly" in result.stderr and "[1/1]" not in result.stdout
    assert names(tmp_path / "new" / "out") == ["dualv-1.png", "study.json"]
    stored = json.loads((tmp_path / "new" / "out" / "study.json").read_text())
    assert stored["tables"][0]["rows"] == [["m", 1.0, None], ["n", None, "left out"]]


def test_json_is_one_object_and_a_finding_that_does_not_hold_is_exit_code_1(bench, tmp_path: Path) -> None:
    bench["orthoglide"] = study("orthoglide", holds=False)
    result = call("--json", "-o", str(tmp_path))
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["holds"] is False and data["failed"] == {}
    assert [data["studies"][name]["holds"] for name in ("dualv", "orthoglide")] == [True, False]
    assert (tmp_path / "dualv" / "study.json").exists() and (tmp_path / "orthoglide" / "orthoglide-1.png").exists()


def test_all_goes_on_after_a_study_that_cannot_be_run(bench, tmp_path: Path) -> None:
    bench["dualv"] = EstimationError("dualv: the [motor] saturates")
    result = call("--json", "-o", str(tmp_path))
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["failed"] == {"dualv": "dualv: the [motor] saturates"} and list(data["studies"]) == ["orthoglide"]
    assert "[1/2] dualv: failed" in result.stderr
    assert "dualv could not be run: dualv: the [motor] saturates" in call().stdout
    with pytest.raises(EstimationError):  # alone it is the answer: one line and exit code 2
        call("dualv")


def test_an_interruption_leaves_whole_files_only(bench, tmp_path: Path, monkeypatch, capsys) -> None:
    bench["orthoglide"] = KeyboardInterrupt()
    monkeypatch.setattr("sys.argv", ["dalembert", "reproduce", "all", "-o", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 130
    assert capsys.readouterr().err.endswith("interrupted\n")
    assert names(tmp_path) == ["dualv"]
    # and in the middle of a file
    bench["orthoglide"] = study("orthoglide")

    def stopped(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    monkeypatch.setattr("sys.argv", ["dalembert", "reproduce", "orthoglide", "-o", str(tmp_path / "late")])
    with pytest.raises(SystemExit):
        run()
    assert names(tmp_path / "late") == []


def test_bad_input_is_refused_before_anything_runs(bench, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no study 'dulv'.*dualv, orthoglide, all.*did you mean 'dualv'"):
        call("dulv")
    (tmp_path / "file").write_text("")
    bench["dualv"] = AssertionError("must not run")
    with pytest.raises(FileExistsError):
        call("dualv", "-o", str(tmp_path / "file"))
