"""``identify`` by methods that simulate: torque logs, controllers and references from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.closed_loop.experiments import recorded
from typer.testing import CliRunner

from dalembert.cli.main import app
from dalembert.errors import DalembertError
from dalembert.logs import write_log

CONTROLLER = """\
controller: pid
derivative_cutoff: 300 Hz
kp: {kp}
kd: {kd}
ki: {ki}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A log with and one without positions, the controller, the reference as samples and as a log."""
    folder = tmp_path_factory.mktemp("didim")
    made = recorded("scara")
    gains = {name: np.array(getattr(made.law, name)).tolist() for name in ("kp", "kd", "ki")}
    (folder / "pid.yaml").write_text(CONTROLLER.format(**gains))
    write_log(made.log, folder / "run.parquet")
    table = pq.read_table(folder / "run.parquet")
    pq.write_table(table.select([c for c in table.column_names if not c.startswith("q_")]), folder / "torque.parquet")
    t = np.arange(5001) / 1000.0
    columns = dict(zip(made.blind.independent, made.path(t)[0].T, strict=True))
    pq.write_table(pa.table({"t": t, **columns}), folder / "path.parquet")
    names = ("pid.yaml", "run.parquet", "torque.parquet", "path.parquet")
    inertia = "inertia=" + ",".join(str(value) for value in made.guess)
    return {name: str(folder / name) for name in names} | {"inertia": inertia, "folder": str(folder)}


def identified(files: dict[str, str], log: str, method: str, *more: str) -> dict[str, object]:
    """JSON of an identification of the log."""
    words = ["identify", "scara", files[log], "--method", method, "--decimate", "20", "--option", files["inertia"]]
    words += ["--controller", files["pid.yaml"], "--reference", files["path.parquet"], *more]
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_log_of_torques_alone_gives_everything_a_fit_has(files, tmp_path):
    made = recorded("scara")
    found = identified(files, "torque.parquet", "didim", "-o", str(tmp_path), "--cross-validate", "3")
    assert (found["method"], found["status"]) == ("didim", "converged")
    assert {Path(file).name for file in found["files"]} == {"fit.json", "parameters.csv", "report.html"}
    assert found["provenance"]["settings"]["controller"] == "pid"
    assert found["cross_validation"]["relative_error"] < 2.0 * found["relative_error"]
    drives = {p["name"]: p for p in found["parameters"] if p["name"].startswith("Fv_")}
    for name, p in drives.items():
        assert abs(p["value"] - made.truth[name]) < 5.0 * p["sigma_robust"]
    checked = CliRunner().invoke(app, ["validate", str(tmp_path / "fit.json"), files["run.parquet"], "--json"])
    assert json.loads(checked.stdout)["relative_error"] < 0.02


@pytest.mark.parametrize("method", ["iv", "cloe"])
def test_methods_that_need_positions_too(files, method):
    found = identified(files, "run.parquet", method)
    assert (found["method"], found["status"]) == (method, "converged")


def test_what_is_missing_is_said(files):
    run, pid, path = files["run.parquet"], files["pid.yaml"], files["path.parquet"]
    for words, expected in (
        (["--method", "didim"], "expected --controller and --reference FILE"),
        (["--method", "didim", "--controller", pid], "expected --reference FILE"),
        (["--method", "ols", "--controller", pid], "'ols' simulates nothing; choose from didim, cloe, iv"),
        (["--method", "didem"], "did you mean 'didim'"),
        (["--method", "didim", "--controller", pid, "--reference", path, "--reference", path], "expected LOG=FILE"),
        (["--method", "didim", "--controller", pid, "--reference", f"ran={path}"], "log 'run': no reference; choose"),
        (["--method", "didim", "--controller", pid, "--reference", path, "--option", "stop=3"], "no such setting"),
        (
            ["--method", "didim", "--controller", pid, "--reference", path, "--friction", "dahl"],
            "expected friction: own",
        ),
        (["--method", "cloe", "--controller", pid, "--reference", path], "no column for any motor"),
    ):
        log = files["torque.parquet"] if "cloe" in words else run
        with pytest.raises(DalembertError) as caught:
            CliRunner().invoke(app, ["identify", "scara", log, *words], catch_exceptions=False)
        assert expected in str(caught.value)
