"""A robot and a log nobody here has seen, from files to report: every command is the one the last one printed."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.validation.damage import arm, recorded
from typer.testing import CliRunner

from dalembert.cli.main import app
from dalembert.identification.base import base_parameters
from dalembert.robot.urdf_writer import write_urdf

# What the robot's maker gives: a URDF without inertias; what its controller records: degrees, own names, milliseconds,
# one torque with the sign of the other side of the gear.
COLUMNS = "time_ms," + ",".join([*(f"axis{k}_act_pos" for k in (1, 2, 3)), *(f"axis{k}_trq" for k in (1, 2, 3))])


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    log = recorded("serial").log
    bare = arm()
    write_urdf(type(bare)(bare.name, bare.bodies, motors=bare.motors, limits=bare.limits), tmp_path / "lab.urdf")
    (tmp_path / "lab.dalembert.yaml").unlink()
    assert "inertia" not in (tmp_path / "lab.urdf").read_text()
    table = np.column_stack([1e3 * log.t, np.degrees(log.q), log.tau * [1.0, -1.0, 1.0]])
    np.savetxt(tmp_path / "run1.csv", table, delimiter=",", header=COLUMNS, comments="", fmt="%.9g")
    return tmp_path


def follow(first: str, most: int) -> list[str]:
    """Run a command, then the one after ``next:``, and so on; the commands."""
    done, line = [], first
    while len(done) < most:
        words = shlex.split(line)
        assert words[0] == "dalembert"
        result = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        assert result.exit_code in (0, 1), result.output
        done.append(line)
        hints = [text.removeprefix("next: ") for text in result.stdout.splitlines() if text.startswith("next: ")]
        if not hints or words[1] == "identify":
            return done
        (line,) = hints
    return done


def test_from_urdf_and_csv_to_a_report_in_five_commands(bench: Path) -> None:
    done = follow("dalembert new lab.yaml --from urdf lab.urdf", most=5)
    assert [shlex.split(line)[1] for line in done] == ["new", "check", "check", "identify"]
    assert (bench / "arm-fit" / "report.html").stat().st_size > 100_000
    # the truth behind the log lies in the intervals of what was found
    fit = json.loads((bench / "arm-fit" / "fit.json").read_text())
    known = recorded("serial")
    base = base_parameters(known.model)
    truth = dict(zip(base.base_names, base.project(known.model.nominal()), strict=True))
    found = {p["name"]: p for p in fit["parameters"]}
    assert set(found) == set(truth) and len(found) == 22
    outside = [n for n, p in found.items() if not p["low"] <= truth[n] <= p["high"]]
    assert len(outside) <= 3, outside  # 22 intervals of 95 %: more than three outside in one log of a hundred
    for name in ("MXR_lift_link", "MX_bend_link", "Fv_pan", "Fc_lift"):
        assert found[name]["value"] == pytest.approx(truth[name], rel=0.05)


def test_check_says_the_same_in_json(bench: Path) -> None:
    follow("dalembert new lab.yaml lab.urdf", most=1)
    result = CliRunner().invoke(app, ["check", "lab.yaml", "run1.csv", "--json"], catch_exceptions=False)
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["next"] == "dalembert check lab.yaml run1.csv --write-channels channels.yaml"
    said = " ".join(f["text"] for f in data["findings"])
    assert "all positions are in degrees" in said and "tau_lift has the wrong sign" in said
    assert all(f["mended"] and f["level"] == "fault" for f in data["findings"]) and data["faults"] == len(
        data["findings"]
    )
    assert data["proposal"]["tau_lift"] == "{column: axis2_trq, unit: Nm, sign: -1}"
    assert data["proposal"]["q_pan"] == "{column: axis1_act_pos, unit: deg}"
    assert not (bench / "channels.yaml").exists()


def test_a_clean_log_leads_on_at_once(bench: Path) -> None:
    follow("dalembert new lab.yaml lab.urdf", most=1)
    from dalembert.logs import write_log

    write_log(recorded("serial").log, bench / "good.csv")
    result = CliRunner().invoke(app, ["check", "lab.yaml", "good.csv"], catch_exceptions=False)
    assert result.exit_code == 0 and "nothing looks wrong" in result.stdout
    assert result.stdout.splitlines()[-1] == "next: dalembert identify lab.yaml good.csv -o arm-fit"


def test_signals_without_a_column_are_left_to_a_person(bench: Path) -> None:
    follow("dalembert new lab.yaml lab.urdf", most=1)
    text = (bench / "run1.csv").read_text().replace("axis3_trq", "third")
    (bench / "run2.csv").write_text(text)
    result = CliRunner().invoke(app, ["check", "lab.yaml", "run2.csv", "--write-channels", "own.yaml"])
    assert "no column looks like" in str(result.exception) and "own.yaml is written" in str(result.exception)
    own = bench / "own.yaml"
    assert "FILL IN: a column for tau_bend" in own.read_text() and "third" in own.read_text()
    own.write_text(own.read_text() + "  tau_bend: third\n")
    data = json.loads(
        CliRunner().invoke(app, ["check", "lab.yaml", "run2.csv", "--channels", "own.yaml", "--json"]).stdout
    )
    assert data["proposal"]["q_bend"] == "{column: axis3_act_pos, unit: deg}"
    assert data["next"].endswith("--channels own.yaml --write-channels channels.yaml")


def test_an_angle_of_a_whole_degree_stays_readable(bench: Path) -> None:
    follow("dalembert new lab.yaml lab.urdf", most=1)
    from dalembert.logs import Log, write_log

    log = recorded("serial").log
    shifted = Log(log.info, log.t, log.q + np.array([0.0, math.pi / 2, 0.0]), log.tau)
    write_log(shifted, bench / "zero.csv")
    data = json.loads(CliRunner().invoke(app, ["check", "lab.yaml", "zero.csv", "--json"]).stdout)
    assert data["proposal"] == {"q_lift": "{column: q_lift, unit: rad, offset: -90 deg}"}
