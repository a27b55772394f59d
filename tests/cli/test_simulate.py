"""`dalembert simulate` as a new user types it: every controller, every kind of trajectory, every mistake."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalembert.cli.main import app, run
from dalembert.logs import read_log
from dalembert.model import build_model
from dalembert.robot import load_robot
from dalembert.simulation.controllers.file import LAWS

FILES = {
    "fourier.yaml": "family: fourier\nduration: 0.6 s\nharmonics: 3\namplitude: [30 mm, 30 mm, 8 deg]\nseed: 1\n",
    "points.yaml": "family: points\nrandom: {count: 2, seed: 1}\nmove: 0.2 s\n",
    "squares.yaml": "family: outline\nplane: [pose.x, pose.y]\nmove: 0.1 s\nshapes:\n"
    "  [{square: 40 mm}, {square: 40 mm, turn: 10 deg}, {triangle: 40 mm}]\n",
    "far.yaml": "family: outline\nplane: [pose.x, pose.y]\nshapes: [{square: 5 m}]\n",
    "wild.yaml": "controller: pd\nbandwidth: 5000 Hz\nsaturation: false\n",
    "slow.yaml": "controller: computed-torque\nrate: 400 Hz\nstress_free: true\n",
    "heavy.yaml": "M_platform: 4 kg\n",
    "noise.yaml": "seed: 3\nencoder_step: 1e-5\ntorque_noise: 0.1\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trajectories, controllers and sensors as a user writes them, and a table as ``excite`` writes it."""
    place = tmp_path_factory.mktemp("simulate")
    for name, text in FILES.items():
        (place / name).write_text(text)
    t = np.arange(60) * 0.01
    table = np.column_stack([t, 0.02 * np.sin(5 * t), 0.01 * np.cos(5 * t), 0.1 * t])
    np.savetxt(place / "table.csv", table, delimiter=",", header="t,pose.x,pose.y,pose.angle", comments="")
    return place


def call(folder: Path, *words: object, code: int = 0) -> dict:
    """JSON of a run; words that are files of the folder are given with their place."""
    places = [
        str(folder / str(w)) if (folder / str(w)).is_file() or str(w).startswith("new.") else str(w) for w in words
    ]
    result = CliRunner().invoke(app, ["simulate", *places, "--json"], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", LAWS)
def test_every_controller_follows(folder: Path, name: str) -> None:
    found = call(folder, "dualv", "fourier.yaml", "--controller", name)
    assert (found["status"], found["controller"], found["samples"], found["log"]) == ("ok", name, 601, None)
    assert max(found["max_error"]) < 1e-3
    assert found["closure_error"] < 1e-12 and found["energy_imbalance"] < 1e-6


@pytest.mark.parametrize("file", ["fourier.yaml", "points.yaml", "squares.yaml", "table.csv"])
def test_every_kind_of_trajectory_is_followed_and_logged(folder: Path, file: str, tmp_path: Path) -> None:
    found = call(folder, "dualv", file, "-o", tmp_path / "run.parquet")
    log = read_log(tmp_path / "run.parquet", load_robot("dualv"))
    assert found["log"] == str(tmp_path / "run.parquet") and found["samples"] == log.info.samples
    assert log.info.positions == log.info.torques == ("m1", "m2", "m3", "m4")
    np.testing.assert_allclose(np.abs(log.tau).max(axis=0), found["max_torque"], rtol=0.2)


def test_a_log_can_be_followed_again(folder: Path, tmp_path: Path) -> None:
    """The q_<motor> columns of a log are a trajectory too, although four motors drive three mobilities."""
    call(folder, "dualv", "fourier.yaml", "-o", tmp_path / "one.parquet")
    again = call(folder, "dualv", tmp_path / "one.parquet", "-o", tmp_path / "two.parquet")
    assert again["status"] == "ok"
    first, second = (read_log(tmp_path / f"{name}.parquet", load_robot("dualv")) for name in ("one", "two"))
    np.testing.assert_allclose(second.q, first.q, atol=1e-4)


def test_truth_noise_rates_and_payload_are_as_asked(folder: Path, tmp_path: Path) -> None:
    plain = call(folder, "dualv", "fourier.yaml", "--controller", "pd")
    heavy = call(folder, "dualv", "fourier.yaml", "--controller", "pd", "--truth", "heavy.yaml")
    loaded = call(
        folder, "dualv", "fourier.yaml", "--controller", "pd", "--payload", "tool=5.37 kg", "-o", tmp_path / "l.parquet"
    )
    assert np.mean(heavy["rms_torque"]) > 1.2 * np.mean(plain["rms_torque"])
    assert np.mean(loaded["rms_torque"]) > np.mean(heavy["rms_torque"])
    assert read_log(tmp_path / "l.parquet", load_robot("dualv")).info.payload == loaded["payload"] == "tool"
    noise = ("--noise", "noise.yaml", "-o", tmp_path / "n.csv", "--log-rate", 200, "--rate", 1000)
    rough = call(folder, "dualv", "fourier.yaml", "--controller", "slow.yaml", *noise)
    log = read_log(tmp_path / "n.csv", load_robot("dualv"))
    assert (rough["samples"], log.info.rate) == (121, 200.0)
    steps = log.q / 1e-5
    np.testing.assert_allclose(steps, steps.round(), atol=1e-4)
    first = log.tau.copy()
    call(folder, "dualv", "fourier.yaml", "--controller", "slow.yaml", *noise)
    np.testing.assert_array_equal(read_log(tmp_path / "n.csv", load_robot("dualv")).tau, first)  # same seed
    call(folder, "dualv", "fourier.yaml", "--controller", "slow.yaml", *noise, "--seed", 4)
    assert np.abs(read_log(tmp_path / "n.csv", load_robot("dualv")).tau - first).max() > 0.1
    assert call(folder, "dualv", "fourier.yaml", "--controller", "slow.yaml")["samples"] == 241  # the file's rate
    assert call(folder, "dualv", "fourier.yaml", "--duration", "1.2")["samples"] == 1201


def test_a_preload_is_in_the_log_and_moves_nothing(folder: Path, tmp_path: Path) -> None:
    for name, more in (("free", ()), ("bent", ("--preload", "5,-5,5,-5"))):
        call(folder, "dualv", "fourier.yaml", "-o", tmp_path / f"{name}.parquet", *more)
    robot = load_robot("dualv")
    free, bent = (read_log(tmp_path / f"{name}.parquet", robot) for name in ("free", "bent"))
    np.testing.assert_allclose(bent.q, free.q, atol=1e-5)
    model = build_model(robot)
    j = model.velocity_maps(model.home)[1][0]
    inside = np.array([5.0, -5.0, 5.0, -5.0]) - j @ np.linalg.pinv(j) @ [5.0, -5.0, 5.0, -5.0]
    assert np.abs(inside).max() > 2.0
    np.testing.assert_allclose((bent.tau - free.tau).mean(axis=0), inside, atol=0.5)  # home's null space, nearly


@pytest.mark.parametrize(
    ("words", "status"), [(["far.yaml"], "left workspace"), (["fourier.yaml", "--controller", "wild.yaml"], "diverged")]
)
def test_a_run_that_fails_says_so_and_leaves_no_log(
    folder: Path, words: list[str], status: str, tmp_path: Path
) -> None:
    found = call(folder, "dualv", *words, "-o", tmp_path / "run.parquet", code=1)
    assert found["status"] == status and found["reason"] and found["remedy"] and found["log"] is None
    assert not list(tmp_path.iterdir())
    assert "NaN" not in json.dumps(found)


WRONG = [
    ("dualw fourier.yaml", "no robot 'dualw'.*did you mean 'dualv'"),
    ("dualv missing.yaml", "missing.yaml:1: No such file"),
    ("dualv noise.yaml", "noise.yaml:1: the key 'family' is missing"),
    ("dualv fourier.txt", "fourier.txt"),
    ("dualv fourier.json", "unknown suffix '.json'; expected a .yaml trajectory or samples"),
    ("tx40 fourier.yaml", "fourier.yaml:4: amplitude: found a list of 3, expected one number, or one each for j1"),
    ("dualv fourier.yaml -o run.bmp", "cannot write '.bmp'; choose from .csv, .parquet"),
    ("dualv fourier.yaml -o no/folder/run.csv", "no folder"),
    ("dualv fourier.yaml --controller pdd", "controller 'pdd'; choose from pd, pid.*did you mean 'pd'"),
    ("dualv fourier.yaml --controller fourier.yaml", "the key 'controller' is missing"),
    ("dualv fourier.yaml --preload 1,2", "expected 4 torques, for m1, m2, m3, m4"),
    ("dualv fourier.yaml --preload a,b", "expected numbers separated by commas"),
    ("orthoglide far.yaml --preload 1,2,3", "3 motors for 3 mobilities leave no internal torque"),
    ("dualv fourier.yaml --truth noise.yaml", "unknown key 'seed'"),
    ("dualv fourier.yaml --truth missing.json", "no such file"),
    ("dualv fourier.yaml --noise heavy.yaml", "unknown key 'M_platform'; choose from seed"),
    ("dualv fourier.yaml --rate 0", "control_rate 0.0, expected a positive number"),
    ("dualv fourier.yaml --rate 1e-9", "expected 0.01 to 1e\\+06 Hz"),
    ("dualv fourier.yaml --log-rate 0", "log_rate 0.0, expected a positive number"),
    ("dualv fourier.yaml --log-rate 333.3", "need 3.33e\\+06 samples/s to meet.*one divides the other"),
    ("dualv fourier.yaml --duration nan", "expected a positive duration"),
    ("dualv fourier.yaml --duration 1e12", "expected at most 20000000 ticks"),
    ("dualv table.csv --duration 5", "5 s asked for, the motion lasts 0.59 s"),
    ("dualv fourier.yaml --payload tool=x", "expected NAME or NAME=KG"),
    ("dualv fourier.yaml --payload tool=-1", "expected a positive mass"),
    ("dualv fourier.yaml --payload platform=1", "a body is named 'platform' already"),
    ("dualv fourier.yaml --method euler", "integrator 'euler'; choose from rk4, dopri5, bs23"),
    ("dualv fourier.yaml --seed -3", "--seed.*greater than or equal to 0"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_a_mistake_ends_in_one_line_and_writes_nothing(folder, words, said, tmp_path, capsys, monkeypatch):
    for name in (*FILES, "table.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dalembert", "simulate", *words.split()])
    before = set(tmp_path.iterdir())
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and re.search(said, errors[0]), errors
    assert set(tmp_path.iterdir()) == before
