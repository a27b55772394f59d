"""What is written is what was designed, in every form, and is read back by the commands that follow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.excitation.designs import FAMILIES, design_of
from tests.excitation.robots import arm, model_of

from dalembert.errors import DalembertError, ExportError, UsageError
from dalembert.excitation import (
    Box,
    Capsule,
    Clearance,
    Cone,
    Cylinder,
    HalfSpace,
    Hemisphere,
    Margin,
    Noise,
    Shares,
    Sphere,
    Tilt,
    Workspace,
    limits_file,
    read_coefficients,
    read_limits,
    read_noise,
    write_design,
)
from dalembert.robot import Limit
from dalembert.simulation import make_reference, read_trajectory

RATE = 250.0


@pytest.fixture(scope="module", params=["arm", "crane"])
def written(request, tmp_path_factory):
    """A design and the folder it was written to."""
    design = design_of(request.param)
    folder = tmp_path_factory.mktemp(request.param) / "new" / "folder"
    files = write_design(design, folder, rate=RATE)
    assert all(file.is_file() and file.stat().st_size > 0 for file in files)
    assert {f.name for f in folder.iterdir()} == {f.name for f in files}  # no partial files left
    return design, folder


def test_json_holds_the_design(written):
    design, folder = written
    text = (folder / "design.json").read_text(encoding="utf-8")
    assert not re.search(r"\b(NaN|Infinity)\b", text)
    data = json.loads(text)
    assert data["robot"] == design.model.robot.name
    assert data["coordinates"] == list(design.coordinates)
    assert np.array_equal(data["coefficients"], design.coefficients)  # every digit
    assert data["criterion"]["value"] == design.value
    assert [p["name"] for p in data["parameters"]] == [p.name for p in design.parameters]
    assert [p["sigma"] for p in data["parameters"]] == pytest.approx(design.sigma.tolist(), rel=1e-15)
    assert data["hidden"] == [p.name for p in design.hidden]
    assert data["margins"][0]["margin"] == min(m["margin"] for m in data["margins"]) >= 0.0


def test_a_design_is_started_from_again(written):
    design, folder = written
    for place in (folder, folder / "design.json"):
        assert np.array_equal(read_coefficients(place, design.model, design.family), design.coefficients)
    with pytest.raises(UsageError, match="fourier with 5 unknowns a coordinate, expected b-spline with 6"):
        read_coefficients(folder, design.model, FAMILIES["b-spline"])
    other = model_of("rig")
    with pytest.raises(UsageError, match=r"a motion of .*, expected one of q1, q2"):
        read_coefficients(folder, other, design.family)


def columns(table) -> dict[str, np.ndarray]:
    return {name: np.asarray(table[name]) for name in table.column_names}


def test_tables_hold_the_motion(written):
    design, folder = written
    csv = columns(pyarrow.csv.read_csv(folder / "trajectory.csv"))
    parquet = columns(pyarrow.parquet.read_table(folder / "trajectory.parquet"))
    assert list(csv) == list(parquet)
    t = parquet["t"]
    assert np.allclose(np.diff(t), 1.0 / RATE)
    assert design.duration <= t[-1] < design.duration + 1.0 / RATE
    rates = [name for name in parquet if name.startswith(("xd", "qd"))]
    assert all(abs(parquet[name][-1]) < 1e-9 * np.abs(parquet[name]).max() for name in rates)  # it ends at rest
    for name, values in parquet.items():
        assert np.abs(csv[name] - values).max() <= 1e-12 * max(1.0, np.abs(values).max())
    for kind, part in zip(("", "xd_", "xdd_"), design(t), strict=True):
        for k, name in enumerate(design.coordinates):
            assert np.array_equal(parquet[f"{kind}{name}"], part[:, k])
    for name in design.model.robot.motor_names:
        # motors' rates are the derivatives of their angles: central differences, away from where pieces meet
        dt = t[1] - t[0]
        for low, high in (("q", "qd"), ("qd", "qdd")):
            slope = (parquet[f"{low}_{name}"][2:] - parquet[f"{low}_{name}"][:-2]) / (2.0 * dt)
            error = np.abs(slope - parquet[f"{high}_{name}"][1:-1])
            assert np.median(error) < 2e-3 * np.abs(parquet[f"{high}_{name}"]).max()


def test_motor_angles_of_the_tree_are_its_gears(tmp_path):
    write_design(design_of("arm"), tmp_path, rate=RATE)
    table = columns(pyarrow.parquet.read_table(tmp_path / "trajectory.parquet"))
    assert np.allclose(table["q_b"], table["lift"] + 2.0 * table["reach"], atol=1e-12)
    assert np.allclose(table["qd_c"], 5.0 * table["xd_reach"], atol=1e-12)


def test_ros_trajectory_is_the_motors(written):
    design, folder = written
    ros = json.loads((folder / "trajectory.ros.json").read_text())
    table = columns(pyarrow.parquet.read_table(folder / "trajectory.parquet"))
    assert ros["joint_names"] == list(design.model.robot.motor_names)
    assert len(ros["points"]) == len(table["t"])
    for kind, key in (("q", "positions"), ("qd", "velocities"), ("qdd", "accelerations")):
        values = np.array([point[key] for point in ros["points"]])
        for k, name in enumerate(ros["joint_names"]):
            assert np.array_equal(values[:, k], table[f"{kind}_{name}"])
    since = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in ros["points"]]
    assert np.allclose(since, table["t"], atol=1e-9)
    assert all(0 <= p["time_from_start"]["nanosec"] < 10**9 for p in ros["points"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_simulate_follows_the_table(written, suffix):
    design, folder = written
    path = read_trajectory(folder / f"trajectory{suffix}", design.model)
    reference = make_reference(design.model, path, rate=RATE)
    x = reference.y @ design.model.position_map("independent").T
    assert np.abs(x - design(reference.t)[0]).max() < 1e-6


def test_report_in_words(written):
    design, folder = written
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert all(f"| {p.name} |" in text for p in design.parameters)
    assert all(f"- {p.name}: {p.why}" in text for p in design.hidden)
    assert design.noise.source in text or "Torque noise" in text


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    """A disk that fills up in the middle of a table leaves nothing, nor do a file where the folder should be and a rate of no use."""
    import pyarrow.parquet as parquet

    def full(table, where):
        Path(where).write_bytes(b"half")
        raise OSError(28, "No space left on device", str(where))

    monkeypatch.setattr(parquet, "write_table", full)
    with pytest.raises(ExportError, match="No space left"):
        write_design(design_of("arm"), tmp_path, rate=RATE)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    (tmp_path / "file").touch()
    with pytest.raises(ExportError, match="file is not a folder"):
        write_design(design_of("arm"), tmp_path / "file", rate=RATE)
    for rate in (0.0, -1.0, np.nan, 1e9):
        with pytest.raises(UsageError, match=r"rate .* Hz, expected a positive one"):
            write_design(design_of("arm"), tmp_path / "new", rate=rate)
    assert {f.name for f in tmp_path.iterdir()} == {"file"}


# --- limits and noise files ------------------------------------------------------------------------------------------

LIMITS = """
shares: {velocity: 0.8, torque: 70/100}
motion:
  lift: {lower: -50 deg, velocity: 2}
  c: {velocity: 3, jerk: 500}
torque: {a: 50 Nm}
workspace:
  - {shape: hemisphere, centre: [0, 0, -0.8], radius: 50 cm, axis: -z}
  - {shape: box, lower: [-1, -1, 0], upper: [1, 1, 2], body: upper, point: [0, 0, 0.1]}
  - {shape: sphere, radius: 2}
  - {shape: cylinder, radius: 1, axis: x, upper: 3}
  - {shape: cone, apex: [0, 0, -1], axis: z, angle: 60 deg}
  - {shape: half-space, normal: [0, 0, 1], offset: 1.5}
singularity: {platform: 0.05, condition: 20}
tilt: [{name: knee, a: column, axis_a: y, b: rod, axis_b: [0, 0, 1], angle: 30 deg}]
clearance: {floor: 0, distance: 2 cm, capsules: [{name: boom, body: upper, start: [0, 0, 0], end: [0.2, 0, 0], radius: 0.05},
  {name: post, body: base, start: [1, 0, 0], end: [1, 0, 1], radius: 0.1}], pairs: [[boom, post]]}
"""


def test_a_limits_file_says_all_of_it(tmp_path):
    (tmp_path / "limits.yaml").write_text(LIMITS)
    limits = read_limits(tmp_path / "limits.yaml", arm())
    own = arm().limits
    assert limits.shares == Shares(velocity=0.8, torque=0.7)
    lift = limits.motion["lift"]
    assert lift.lower == pytest.approx(np.deg2rad(-50.0))
    assert (lift.upper, lift.velocity, lift.acceleration) == (own["lift"].upper, 2.0, own["lift"].acceleration)
    assert limits.motion["c"] == Limit(velocity=3.0, jerk=500.0)
    assert limits.motion["turn"] == own["turn"]
    assert dict(limits.torque) == {"a": 50.0, "b": 60.0, "c": 60.0}
    assert limits.workspace == (
        Workspace(Hemisphere((0, 0, -0.8), 0.5)), Workspace(Box((-1, -1, 0), (1, 1, 2)), "upper", (0, 0, 0.1)),
        Workspace(Sphere((0, 0, 0), 2.0)), Workspace(Cylinder((0, 0, 0), 1.0, (1, 0, 0), upper=3.0)),
        Workspace(Cone((0, 0, -1), (0, 0, 1), np.deg2rad(60.0))), Workspace(HalfSpace((0, 0, 1), 1.5)),
    )  # fmt: skip
    assert limits.singularity == Margin(platform=0.05, condition=20.0)
    assert limits.tilt == (Tilt("knee", "column", (0, 1, 0), "rod", (0, 0, 1), np.deg2rad(30.0)),)
    boom, post = (
        Capsule("boom", "upper", (0, 0, 0), (0.2, 0, 0), 0.05),
        Capsule("post", "base", (1, 0, 0), (1, 0, 1), 0.1),
    )
    assert limits.clearance == Clearance((boom, post), (("boom", "post"),), 0.02, 0.0)


def test_the_example_in_the_docstring_is_one(tmp_path):
    """Read as YAML; its names are those of some other robot, which is all that is wrong with it."""
    text = (limits_file.__doc__ or "").partition("\n\n")[2]
    (tmp_path / "example.yaml").write_text(text)
    with pytest.raises(UsageError, match="no coordinate or motor 'j1'"):
        read_limits(tmp_path / "example.yaml", arm())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("workspace: [{shape: cube, radius: 1}]", "1: .*'cube'"), ("workspace: [{radius: 1}]", "1: .*'shape' is missing"),
        ("workspace: [{shape: sphere}]", "radius"), ("workspace: [{shape: sphere, radius: 1, upper: 2}]", "upper"),
        ("torque: {a: -3}", "1: .*torque"), ("singularity: {closures: 1}", "did you mean 'closure'"),
        ("motion: {lift: {velocity: 3 mm}}", "1: .*found '3 mm' in m, expected a speed in rad/s, deg/s, rpm$"),
        ("torque: {a: 3 kg}", "1: .*found '3 kg' in kg, expected a torque"), ("shares: {velocity: 1 m/s}", "without unit"),
        ("workspace: [{shape: sphere, radius: 3 deg}]", "1: .*found '3 deg' in rad, expected a length in m"),
        ("shares: {speed: 1}", "unknown key 'speed'"), ("clearance: {pairs: [[a]]}", "two names"),
        ("motion: {lift: {upper: high}}", "1: .*high"), ("- 1", "1:"),
    ],
)  # fmt: skip
def test_mistakes_in_a_limits_file_name_file_and_line(tmp_path, text, found):
    (tmp_path / "limits.yaml").write_text(text + "\n")
    with pytest.raises(DalembertError, match=found) as raised:
        read_limits(tmp_path / "limits.yaml", arm())
    assert "limits.yaml" in str(raised.value)


def test_noise_files(tmp_path):
    model, file = model_of("crane"), tmp_path / "noise.yaml"
    for text, sigma in (("0.5", (0.5, 0.5)), ("[0.5, 2]", (0.5, 2.0)), ("{m2: 2, m1: 0.5}", (0.5, 2.0))):
        file.write_text(f"rate: 500 Hz\ntorque_noise: {text}\n")
        noise = read_noise(file, model)
        assert noise.sigma == sigma
        assert noise.rate == pytest.approx(500.0)
        assert noise.source == str(file)
    file.write_text("torque_noise: 1\nencoder_counts: 4096\ndelay: 1 ms\nseed: 3\n")
    assert "encoder_counts, delay is not considered" in read_noise(file, model).source
    for text, found in (("torque_noise: [1, 2, 3]", "one each for m1, m2"), ("rate: 100", "torque_noise"),
                        ("torque_noise: {m1: 1}", "m2"), ("torque_noise: 0", "torque_noise")):  # fmt: skip
        file.write_text(text + "\n")
        with pytest.raises(DalembertError, match=found):
            read_noise(file, model)
    assert Noise.of(model, {"m1": 1.0, "m2": 3.0}).sigma == (1.0, 3.0)
    with pytest.raises(UsageError, match="no motor 'm3'"):
        Noise.of(model, {"m1": 1.0, "m3": 3.0})
    with pytest.raises(UsageError, match="nothing given for m2"):
        Noise.of(model, {"m1": 1.0})
    with pytest.raises(UsageError, match="found 3 numbers, expected one or 2"):
        Noise.of(model, [1.0, 2.0, 3.0])
    (tmp_path / "fit.json").write_text("{}")
    with pytest.raises(UsageError, match=r"not a fit\.json with rows and logs"):
        read_noise(tmp_path / "fit.json", model)
