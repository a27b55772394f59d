"""The commands as a user types them: counts of theory.md section 5, pictures, JSON, one-line errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalembert.cli.main import COMMANDS, app, run
from dalembert.errors import DalembertError

# robot, flags, standard (None: not stated), base
COUNTS = [
    ("tx40", "", 86, 60),
    ("tx40-paper", "", 86, 60),
    ("tx40", "--friction none --no-offsets --no-rotor", 60, 36),
    ("tx40", "--friction none --no-offsets", None, 40),
    ("tx40", "--no-offsets", None, 54),
    ("orthoglide", "", None, 43),
    ("orthoglide", "--no-offsets", None, 41),
    ("orthoglide", "--symmetric", None, 23),
    ("orthoglide", "--symmetric --no-offsets", None, 21),
    ("dualv", "--friction none --no-offsets", None, 16),
    ("dualv", "--friction actuated --no-offsets", None, 24),
    ("dualv", "--friction actuated --offsets", None, 28),
    ("dualv", "--friction none --no-offsets --projection platform", None, 16),
    ("dualv", "--friction actuated --no-offsets --projection platform", None, 24),
    ("dualv", "--friction actuated --offsets --projection platform", None, 28),
    ("dualv", "--friction none --no-offsets --projection actuators:m1,m2,m3", None, 16),
    ("dualv", "--friction actuated --no-offsets --projection actuators:m1,m2,m3", None, 24),
    ("dualv", "--friction actuated --offsets --projection actuators:m1,m2,m3", None, 28),
    ("dualv", "--friction none --no-offsets --payload", None, 20),
    ("delta", "--symmetric --no-rotor --no-offsets", None, 37),
    ("delta", "--symmetric --friction none --no-rotor --no-offsets", None, 27),
    ("delta", "--friction none --no-rotor --no-offsets", None, 49),
    ("3prrr", "--symmetric --friction none --no-rotor --no-offsets", None, 10),
    ("3prrr", "--symmetric --friction none --rotor --no-offsets", None, 14),
    ("3prrr", "--symmetric --friction actuated --rotor --no-offsets", None, 26),
    ("puma560", "--friction none --no-offsets --no-rotor", None, 36),
    ("puma560", "--friction none --no-offsets --rotor", None, 40),
    ("panda", "--friction none --no-offsets --no-rotor", None, 43),
    ("panda", "--friction none --no-offsets --rotor", None, 48),
    ("ur5", "--friction none --no-offsets --no-rotor", None, 36),
    ("ur5", "--friction none --no-offsets --rotor", None, 40),
    ("stanford", "--friction none --no-offsets --no-rotor", None, 33),
    ("stanford", "--friction none --no-offsets --rotor", None, 37),
    ("scara", "--friction none --no-offsets --no-rotor", None, 8),
    ("scara", "--friction none --no-offsets --rotor", None, 11),
]


def call(*words: str) -> dict[str, object]:
    """JSON of a command that succeeds."""
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(("robot", "flags", "standard", "base"), COUNTS)
def test_base_counts_of_the_literature(robot: str, flags: str, standard: int | None, base: int) -> None:
    found = call("base", robot, *flags.split())
    assert found["base"] == base
    assert len(found["relations"]) == base
    if standard is not None:
        assert found["standard"] == standard
    # a rank is sure when kept and dropped columns are ten decades apart (theory.md, section 5)
    assert found["gap"] > 10


def test_a_payload_that_is_always_there_cannot_be_told_from_the_platform() -> None:
    from dalembert.identification.base import base_parameters
    from dalembert.model import build_model
    from dalembert.robot import load_robot, select_efforts, with_payload

    robot = with_payload(select_efforts(load_robot("dualv"), friction="none", offsets=False), "payload")
    assert base_parameters(build_model(robot), payloads=("payload",), carried=("payload",)).n_base == 16


def test_a_constant_of_the_robot_file_can_be_set() -> None:
    relations = call("base", "dualv", "--friction", "none", "--no-offsets", "--set", "r_p=0.12 m")["relations"]
    # zz4 is regrouped with r_p^2 / d3 of each rod's first moment [Briot15, eq. 60 corrected]
    assert f"{0.12**2 / 0.28:.6g} MX_rod1" in relations["ZZR_platform"]


def test_show_says_what_is_coupled_and_draws(tmp_path: Path) -> None:
    for ending in (".png", ".html", ".svg"):
        target = tmp_path / f"robot{ending}"
        data = call("show", "orthoglide", "-o", str(target))
        assert target.stat().st_size > 10_000
        assert data["mobility"] == 3
        couplings = [loop["holds"] for loop in data["loops"] if loop["kind"] == "coupling"]
        assert any("q41" in text or "q4" in text for text in couplings)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_robots_lists_the_catalog() -> None:
    names = {robot["name"] for robot in call("robots")["robots"]}
    assert {"dualv", "delta", "orthoglide", "3prrr", "tx40", "delta3", "linear-delta", "par4"} <= names


@pytest.mark.slow
def test_demo_weighs_the_payload(tmp_path: Path) -> None:
    found = call("demo", "-o", str(tmp_path / "demo"))
    assert found["base"] == 28
    assert found["closure_error_m"] < 1e-12
    payload = found["payload"]
    # twice the interval: the search is stopped by the clock, so that the noise meets another motion each time
    assert abs(payload["found"] - payload["weighed"]) < payload["high"] - payload["low"] < 0.05
    assert all(Path(file).stat().st_size > 0 for file in found["files"])
    assert {"fit.json", "report.html", "unseen.parquet"} <= {Path(file).name for file in found["files"]}


WRONG = [
    (["base", "dualw"], "dualv"),
    (["base", "missing.yaml"], "missing.yaml"),
    (["base", "dualv", "--projection", "sideways"], "platform, actuators"),
    (["base", "dualv", "--projection", "actuators:m1,m2,m9"], "m1, m2, m3, m4"),
    (["base", "dualv", "--projection", "actuators:m1,m2"], "expected 3"),
    (["base", "tx40", "--symmetric"], "symmetric"),
    (["base", "dualv", "--set", "r_q=1"], "r_p"),
    (["base", "dualv", "--set", "r_p"], "NAME=VALUE"),
    (["base", "dualv", "--set", "r_p=5 m"], "cannot close near home"),
    (["show", "dualv", "-o", "picture.bmp"], ".png, .svg, .pdf, .html"),
    (["show", "dualv", "-o", "no/such/folder/picture.png"], "no folder"),
    (["bench", "nothing"], "regressor"),
    (["identify", "dualv", "log.csv", "--figures", "pdf"], "--figures pdf: -o DIR is missing"),
    (["identify", "dualv", "log.csv", "--compare", "fit.json"], "--compare fit.json: -o DIR is missing"),
    (["identify", "dualv", "log.csv", "--compare", "none.json", "-o", "out"], "none.json: no such file"),
    (["identify", "dualv", "log.csv", "--figures", "eps", "-o", "out"], "choose from pdf, svg, png"),
]


def test_a_benchmark_without_its_peer_says_where_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "figaroh", None)
    result = CliRunner().invoke(app, ["bench", "figaroh"])
    assert isinstance(result.exception, DalembertError)
    assert "'figaroh' is not installed" in str(result.exception) and "--extra bench" in str(result.exception)


@pytest.mark.parametrize(("words", "expected"), WRONG)
def test_a_mistake_is_one_line_that_names_the_choices(words: list[str], expected: str) -> None:
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, DalembertError)
    assert expected in str(result.exception)
    assert "\n" not in str(result.exception)


def test_the_command_exits_with_2_and_no_traceback() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from dalembert.cli.main import run; run()", "base", "dualw"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("error: ")


MISUSED = [
    ("base dualv --friction foo", "--friction.*'foo'.*'own'"),
    ("base", "Missing argument 'robot'"),
    ("base dualv --frictoin own", "--frictoin.*--friction"),
    ("base dualv extra", "extra"),
    ("bas dualv", "no command 'bas'; choose from .*did you mean 'base'"),
    ("base dualv --set r_p=0", "the motors hold 2 of 3 motions .pose.angle"),
]


@pytest.mark.parametrize(("words", "said"), MISUSED)
def test_a_wrong_use_ends_in_one_line(words, said, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dalembert", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and re.search(said, errors[0]), errors


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name):
    result = CliRunner().invoke(app, [name, "--help"], catch_exceptions=False)
    assert result.exit_code == 0 and "Usage" in result.output


def test_listing_the_commands_imports_none_of_them():
    code = "import sys; sys.argv = ['dalembert', '--help']\nfrom dalembert.cli.main import run\ntry: run()\nexcept SystemExit: pass\nassert 'casadi' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
