"""``dalembert excite`` as it is typed: what it writes, what it says, and the runs that build on each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from tests.excitation.designs import design_of
from typer.testing import CliRunner

from dalembert.cli.main import app
from dalembert.errors import UsageError
from dalembert.excitation import Box, Cone, Cylinder, HalfSpace, Hemisphere, Sphere
from dalembert.logs import write_log
from dalembert.model import build_model
from dalembert.report.design_figures import draw_design
from dalembert.report.regions import region_lines
from dalembert.robot import load_robot
from dalembert.simulation.synthetic import random_recording

ROBOT = """
name: plotter
gravity: [0, 0, -9.81]
bodies:
  - name: shoulder
    joint: {name: q1, type: revolute, axis: y}
    inertia: {mass: 2, com: [0.1, 0.01, 0.02], tensor: [0.01, 0.05, 0.05]}
  - name: forearm
    parent: shoulder
    at: [0.3, 0, 0]
    joint: {name: q2, type: revolute, axis: y}
    inertia: {mass: 1, com: [0.1, 0, 0.01], tensor: [0.005, 0.02, 0.02]}
motors:
  - {name: m1, turns: {q1: 1}, torque_limit: 40, efforts: {rotor: 0.02, viscous: 0.3, coulomb: 0.2}}
  - {name: m2, turns: {q2: 1}, torque_limit: 20, efforts: {rotor: 0.01, viscous: 0.2, coulomb: 0.1}}
platform: forearm
limits:
  q1: {lower: -2, upper: 2, velocity: 5, acceleration: 40}
  q2: {lower: -2, upper: 2, velocity: 5, acceleration: 60}
home: {q1: 20 deg, q2: -40 deg}
"""
QUICK = ["--duration", "2", "--harmonics", "2", "--starts", "1", "--no-pictures"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("robot.yaml").write_text(ROBOT)
    return tmp_path


def excite(*words: str) -> dict:
    """JSON of a command that succeeds."""
    found = CliRunner().invoke(app, ["excite", "robot.yaml", *QUICK, *words, "--json"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_everything_is_written_and_said(folder):
    found = CliRunner().invoke(app, ["excite", "robot.yaml", *QUICK[:-1], "-o", "out"], catch_exceptions=False)
    assert found.exit_code == 0
    names = {"design.json", "report.md", "trajectory.csv", "trajectory.parquet", "trajectory.ros.json", "paths.png",
             "margins.png", "workspace.png"}  # fmt: skip
    assert {f.name for f in Path("out").iterdir()} == names
    data = json.loads(Path("out/design.json").read_text())
    for p in data["parameters"]:
        assert p["name"] in found.stdout
    assert "torque noise assumed" in found.stderr
    assert all(imread(f"out/{n}").std() > 0.01 for n in names if n.endswith(".png"))  # something is drawn


@pytest.mark.parametrize("family", ["fourier", "fourier-polynomial", "b-spline", "point-to-point"])
def test_families(folder, family):
    size = ["--harmonics", "6"] if family == "b-spline" else []
    data = excite("-o", "out", "--family", family, *size, "--repeat", "2")
    assert data["family"]["family"] == family
    assert data["record"][1] - data["record"][0] == pytest.approx(4.0)
    assert len(data["files"]) == 5


def test_runs_that_build_on_each_other(folder):
    """A random motion, an optimised one from it, a log as recorded, the next motion after that log."""
    chance = excite("-o", "random", "--random", "20", "--noise", _noise())
    best = excite("-o", "best", "--warm", "random", "--noise", _noise())
    assert best["search"]["method"] == "optimise"
    assert best["criterion"]["value"] < chance["criterion"]["value"]
    robot = load_robot("robot.yaml")
    recording = random_recording(build_model(robot), np.random.default_rng(0), rate=200.0)
    write_log(recording.log, "run.csv")
    following = excite("-o", "next", "--given", "run.csv", "--noise", _noise())
    sigma, before = ({p["name"]: p["sigma"] for p in d["parameters"]} for d in (following, best))
    assert set(sigma) == set(before)
    assert np.mean([sigma[n] < before[n] for n in sigma]) > 0.8


def _noise() -> str:
    Path("noise.yaml").write_text("{rate: 500 Hz, torque_noise: {m1: 0.3, m2: 0.2}}\n")
    return "noise.yaml"


def test_priors_bound_torques_and_inform(folder):
    Path("loose.yaml").write_text('values: {M_forearm: 1.2}\nbounds: {"M_*": [0.5, 3], "MX_*": [-0.3, 0.4]}\n')
    Path("known.yaml").write_text('scale: {"Fv_*": 1e-4, "Fc_*": 1e-4}\n')
    Path("limits.yaml").write_text("torque: {m1: 25, m2: 12}\n")
    bounded = excite("-o", "a", "--prior", "loose.yaml", "--limits", "limits.yaml", "--noise", _noise())
    assert any("at its highest" in m["limit"] for m in bounded["margins"])
    plain, known = (excite("-o", d, "--noise", _noise(), *w) for d, w in (("b", ()), ("c", ("--given", "known.yaml"))))
    sigma = {p["name"]: (p["sigma"], q["sigma"]) for p, q in zip(plain["parameters"], known["parameters"], strict=True)}
    assert all(after <= 1e-4 < before for name, (before, after) in sigma.items() if name[:2] in ("Fv", "Fc"))


def test_payload_runs(folder):
    data = excite(
        "-o", "out", "--payload", "--payload-mass", "0.5", "--criterion", "chosen", "--parameter", "M*_payload"
    )
    assert set(data["runs"]) == {"empty", "loaded"}
    assert data["runs"]["loaded"]["payload"] == "payload"
    assert data["runs"]["loaded"]["criterion"]["name"] == "chosen"
    assert {f.name for f in Path("out").iterdir()} == {"empty", "loaded"}
    empty, loaded = data["runs"].values()
    assert empty["noise"]["sigma"] == loaded["noise"]["sigma"]  # of the same drives, assumed once


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--payload", "--payload-mass", "-1"), "--payload-mass -1: expected a mass"),
        (("--random", "3", "--warm", "."), "--random and --warm"),
        (("--given", "design.json"), "--given design.json: a design, of which nothing is recorded yet"),
        (("--given", "."), "--given .: a design"),
        (("--output", "design.json"), "--output design.json: a file, expected a folder"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_a_search(folder, options, found):
    Path("design.json").write_text("{}")
    with pytest.raises(UsageError, match=re.escape(found)):
        CliRunner().invoke(app, ["excite", "robot.yaml", "-o", "out", *options], catch_exceptions=False)
    assert not Path("out").exists()


def test_coordinates_by_the_names_of_motors(folder):
    data = excite("--coordinates", "m2,m1")
    assert data["coordinates"] == ["q2", "q1"]
    folder = Path(f"{data['robot']}-motion")  # where nothing is said
    assert {str(folder / "trajectory.csv"), str(folder / "design.json")} <= set(data["files"])
    assert all(Path(file).is_file() for file in data["files"])
    found = CliRunner().invoke(app, ["excite", "tx40", "-o", "out", "--coordinates", "j1,j1"])
    assert found.exit_code != 0


def test_regions_are_drawn_where_they_are():
    low, high = np.full(3, -1.0), np.full(3, 1.0)
    centre, axis = (0.1, 0.2, 0.3), (0.0, 0.6, 0.8)
    shapes = (Box((-0.5, -0.5, -np.inf), (0.5, 0.4, 0.3)), Sphere(centre, 0.5), Hemisphere(centre, 0.5, axis),
              Cylinder(centre, 0.4, axis, -0.2, 0.5), Cylinder(centre, 0.4, axis), Cone(centre, axis, 0.5),
              HalfSpace(axis, 0.3))  # fmt: skip
    for shape in shapes:
        points = np.vstack(region_lines(shape, low, high))
        assert np.isfinite(points).all()
        along = (points - centre) @ axis
        across = np.linalg.norm(np.cross(points - centre, axis), axis=1)
        match shape:
            case Sphere() | Hemisphere():
                assert np.allclose(np.linalg.norm(points - centre, axis=1), 0.5)
                assert isinstance(shape, Sphere) or along.min() > -1e-9
            case Cylinder():
                assert np.allclose(across, 0.4)
                assert np.ptp(along) == pytest.approx(0.7) or not np.isfinite(shape.upper)
            case Cone():
                assert np.allclose(across, np.tan(0.5) * along, atol=1e-9)
            case HalfSpace():
                assert np.allclose(points @ axis, 0.3)
            case Box():
                assert points.min(axis=0) == pytest.approx([-0.5, -0.5, -1.0])
                assert points.max(axis=0) == pytest.approx([0.5, 0.4, 0.3])


def test_pictures_in_space_and_in_the_plane(tmp_path):
    for name in ("arm", "crane"):
        (tmp_path / name).mkdir()
        files = draw_design(design_of(name), tmp_path / name)
        assert {f.name for f in files} == {f.name for f in (tmp_path / name).iterdir()}
        assert all(imread(f).std() > 0.01 for f in files)
