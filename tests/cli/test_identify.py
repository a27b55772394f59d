"""`dalembert identify` and `dalembert validate` as a user types them, on simulated logs."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.identification.recovery import model_of
from typer.testing import CliRunner

from dalembert.cli.main import app, run
from dalembert.excitation import Fourier
from dalembert.identification.fit import Fit
from dalembert.logs import write_log
from dalembert.model import build_model
from dalembert.parameters import BodyInertia, inertial_names
from dalembert.robot import load_robot, with_payload
from dalembert.simulation.synthetic import random_recording

MASS = 5.37
MOTION = Fourier(5, 5.0)


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Path:
    """Logs of a SCARA (first, second) and of a DualV without and with a payload (free, loaded)."""
    folder = tmp_path_factory.mktemp("identify")
    for seed, name in enumerate(("first", "second")):
        made = random_recording(
            model_of("scara"), np.random.default_rng(seed), family=MOTION, rate=500.0, torque_noise=0.02, name=name
        )
        write_log(made.log, folder / f"{name}.parquet")
    dualv, loaded = model_of("dualv"), build_model(with_payload(load_robot("dualv"), "tool"))
    ten = BodyInertia(MASS, (-0.02, 0.0, 0.02), (0.01, 0.0, 0.0, 0.012, 0.0, 0.02)).parameters()
    values = dict(dualv.robot.nominal) | dict(zip(inertial_names("tool"), ten, strict=True))
    pi = np.array([values[name] for name in loaded.parameters])
    rng = np.random.default_rng(7)
    free = random_recording(dualv, rng, family=MOTION, rate=500.0, name="free").log
    carrying = random_recording(loaded, rng, family=MOTION, rate=500.0, pi=pi, name="loaded").log
    write_log(free, folder / "free.csv")
    write_log(replace(carrying, info=replace(carrying.info, payload="")), folder / "loaded.csv")
    (folder / "nothing.csv").write_text("")
    (folder / "prior.yaml").write_text("zero: ['Fc_*']\n")
    (folder / "wrong.yaml").write_text("zero: ['F_*']\n")
    (folder / "renamed.csv").write_text((folder / "free.csv").read_text().replace("q_m1", "alpha", 1))
    (folder / "map.yaml").write_text("signals: {q_m1: alpha}\n")
    return folder


def call(bench: Path, line: str) -> dict:
    """JSON of a command that succeeds; ``@`` stands for the folder of the logs."""
    result = CliRunner().invoke(app, [*line.replace("@", f"{bench}/").split(), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def said(bench: Path, line: str) -> tuple[str, str]:
    """What a person reads: standard output and standard error."""
    result = CliRunner().invoke(app, line.replace("@", f"{bench}/").split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_a_fit_is_written_scored_and_read_again(bench, tmp_path):
    """fit.json is what --json prints of it; parameters.csv holds the same numbers; validate needs nothing else."""
    found = call(bench, f"identify scara @first.parquet --validate @second.parquet -o {tmp_path}/fit")
    assert {"fit.json", "parameters.csv"} <= {Path(file).name for file in found["files"]}
    fit = Fit.from_json((tmp_path / "fit" / "fit.json").read_text())
    for name in ("robot", "method", "status", "rank", "condition", "relative_error", "rows", "parameters", "standard"):
        assert fit.to_dict()[name] == found[name]
    fields = {"name", "value", "unit", "sigma", "sigma_robust", "relative_sigma", "regrouping", "essential"}
    assert all(fields <= set(p) for p in found["parameters"])
    assert found["provenance"]["logs"][0]["sha256"]
    assert found["provenance"]["versions"]["numpy"] == np.__version__
    assert {"Python", "dalembert", "casadi"} <= set(found["provenance"]["versions"])
    with (tmp_path / "fit" / "parameters.csv").open() as file:
        table = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
    assert table == {p["name"]: p["value"] for p in found["parameters"]}
    scored = call(bench, f"validate {tmp_path}/fit @second.parquet")
    assert scored == found["validation"]
    assert scored["away_error"] < 0.03 and scored["mass_positive"] == 1.0


def test_a_payload_is_weighed_whichever_way_it_is_named(bench):
    """As a file of its own, or as the name of a log given; the label of one log never reaches the other."""
    for line in ("@free.csv --payload tool=@loaded.csv", "@free.csv @loaded.csv --payload tool=loaded"):
        found = call(bench, f"identify dualv {line}")
        mass = next(p for p in found["parameters"] if p["name"] == "M_tool")
        assert abs(mass["value"] - MASS) < mass["high"] - mass["low"] < 0.05
        assert [log["payload"] for log in found["provenance"]["logs"]] == ["", "tool"]


def test_channels_and_prior_files_are_read(bench):
    renamed = call(bench, "identify dualv @renamed.csv --channels @map.yaml")
    plain = call(bench, "identify dualv @free.csv")
    assert [p["value"] for p in renamed["parameters"]] == [p["value"] for p in plain["parameters"]]
    zeroed = call(bench, "identify dualv @free.csv --prior @prior.yaml")
    values = {p["name"]: p["value"] for p in zeroed["parameters"] if p["name"].startswith("Fc_")}
    assert values and not any(values.values())


@pytest.mark.parametrize("rule", ["f-test", "sigma-ratio"])
def test_essential_parameters_print_what_they_cost(bench, rule):
    out, err = said(bench, f"identify scara @first.parquet --essential {rule}")
    line = next(line for line in err.splitlines() if "essential of" in line)
    before, after = (float(part.split()[-1]) for part in line.partition(";")[2].split(" %")[:2])
    assert 0.0 < before <= after
    kept, every = int(line.split()[0]), int(line.split()[3])
    assert (f"({kept} of them essential) by wls" in out) == (kept < every)


def test_friction_is_chosen_by_blocks_left_out(bench):
    out, err = said(bench, "identify scara @first.parquet --friction auto --cross-validate 4")
    assert "on blocks left out" in err and "* " in err  # the winner and the table
    assert "4 blocks left out in turn" in out
    chosen = err[err.index("* ") :].split()[1]
    assert chosen in ("coulomb", "smooth")  # what made the torque: anything richer is noise


def test_every_method_answers(bench):
    for method in ("ols", "irls", "tls", "bounded", "physical", "sdp"):
        found = call(bench, f"identify scara @first.parquet --method {method} --mask-slow 2%")
        assert (found["method"], found["status"]) == (method, "converged")
        assert found["relative_error"] < 0.05
        assert bool(found["standard"]) == (method in ("bounded", "physical", "sdp"))


def test_progress_and_notes_leave_standard_output_alone(bench):
    out, err = said(bench, "identify scara @first.parquet --cutoff auto --decimate 5 --mask-slow none")
    assert out.startswith("scara: 19 base parameters")
    assert "cutoff" in err and "masked" not in err


WRONG = [
    ("identify scara", "Missing argument 'LOG...'"),
    ("identify scara @none.csv", "none.csv: no such file"),
    ("identify scara @nothing.csv", "empty file"),
    ("identify dualv @first.parquet", "another robot's log"),
    ("identify scara @free.csv", "no column for any motor of robot 'scara'"),
    ("identify scara @first.parquet @first.parquet", "given twice"),
    ("identify scara @first.parquet --validate @first.parquet", "the fit is made from that log"),
    ("identify scara @first.parquet --method best", "choose from ols, wls"),
    ("identify scara @first.parquet --friction sticky", "choose from own, auto"),
    ("identify scara @first.parquet --friction sqrt+sqrt", "given twice"),
    ("identify scara @first.parquet --projection sideways", "platform, actuators:NAMES, whitened"),
    ("identify dualv @free.csv --projection actuators:m1,m2", "expected 3"),
    ("identify scara @first.parquet --essential all", "choose from f-test, sigma-ratio, none"),
    ("identify scara @first.parquet --decimate -5", "at least 1"),
    ("identify scara @first.parquet --decimate 2.5", "a whole number or auto"),
    ("identify scara @first.parquet --decimate 100000", "too few"),
    ("identify scara @first.parquet --cutoff 400", "below half the sampling rate (250 Hz)"),
    ("identify scara @first.parquet --cutoff -1", "positive"),
    ("identify scara @first.parquet --cutoff 0.001", "too few"),
    ("identify scara @first.parquet --mask-slow fast", "a number of velocity noises"),
    ("identify scara @first.parquet --mask-slow 1000rad/s", "no rows are left of first"),
    ("identify scara @first.parquet --payload tool", "NAME=LOG"),
    ("identify scara @first.parquet --payload tool=second", "no such log; choose from first"),
    ("identify scara @first.parquet --payload outer_arm=first", "other logs cannot be without"),
    ("identify scara @first.parquet --symmetric", "no symmetric bodies"),
    ("identify scara @first.parquet --prior @none.yaml", "none.yaml"),
    ("identify dualv @free.csv --prior @wrong.yaml", "no parameter 'F_*'"),
    ("identify scara @first.parquet --channels @none.yaml", "none.yaml"),
    ("identify scara @first.parquet --option gamma=1", "method 'wls' has no such setting"),
    ("identify scara @first.parquet --repair gap=fill", "choose from missing"),
    ("identify scara @first.parquet --cross-validate 1", ">= 2 blocks"),
    ("identify scara @first.parquet --set x=1", "no constant 'x'"),
    ("identify scara @first.parquet --frictoin auto", "--friction"),
    ("validate @none.json @first.parquet", "no such file, expected the fit.json"),
    ("validate @map.yaml @first.parquet", "not JSON"),
]


@pytest.mark.parametrize(("line", "expected"), WRONG, ids=[line for line, _ in WRONG])
def test_a_mistake_ends_in_one_line_and_code_2(bench, line, expected, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dalembert", *line.replace("@", f"{bench}/").split()])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    out, err = capsys.readouterr()
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert out == "" and len(errors) == 1 and expected in errors[0], err
    assert "Traceback" not in err
