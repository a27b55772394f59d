"""`dalembert control`: what an identified model is worth, judged on a plant of known parameters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.export.fits import fit_of, model_of
from typer.testing import CliRunner

from dalembert.cli.main import app
from dalembert.errors import DalembertError
from dalembert.identification.fit_files import write_fit

PATH = "family: fourier\nduration: 1 s\nharmonics: 2\namplitude: 0.3\nseed: 4\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Path:
    """A right fit, one that is wrong by 30 % in everything, a trajectory."""
    folder = tmp_path_factory.mktemp("control")
    model = model_of("scara")
    write_fit(fit_of(model), folder / "right")
    write_fit(fit_of(model, pi=1.3 * model.nominal()), folder / "wrong")
    (folder / "path.yaml").write_text(PATH)
    (folder / "heavy.yaml").write_text("".join(f"{n}: {1.3 * v}\n" for n, v in model.robot.nominal.items()))
    return folder


def call(*words: object) -> dict:
    result = CliRunner().invoke(app, ["control", *map(str, words), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def largest(found: dict, name: str) -> np.ndarray:
    return np.array(next(one for one in found["controllers"] if one["name"] == name)["max_error"])


def test_a_right_model_leaves_what_holding_the_torque_costs(bench):
    """With the exact model only the zero-order hold is left; PD must lag."""
    found = call(bench / "right", bench / "path.yaml")
    assert [one["name"] for one in found["controllers"]] == ["pd", "feed-forward", "computed-torque"]
    assert (largest(found, "computed-torque") < 0.5 * largest(found, "pd")).all()  # the DualV paper's gain
    pd, _, ct = found["controllers"]
    np.testing.assert_allclose(ct["reduction"], 1 - largest(found, "computed-torque") / largest(found, "pd"))
    assert pd["reduction"] == [0.0] * len(found["motors"])
    assert found["units"] == ["rad", "rad", "m", "rad"]


def test_a_wrong_model_shows_in_the_errors_and_the_truth_decides_what_is_wrong(bench):
    right = largest(call(bench / "right", bench / "path.yaml", "--controller", "computed-torque"), "computed-torque")
    wrong = largest(call(bench / "wrong", bench / "path.yaml", "--controller", "computed-torque"), "computed-torque")
    assert (wrong > 3.0 * right).all()
    # on a robot that really is 30 % heavier the same fit is the right one
    heavy = call(
        bench / "wrong", bench / "path.yaml", "--controller", "computed-torque", "--truth", bench / "heavy.yaml"
    )
    np.testing.assert_allclose(largest(heavy, "computed-torque"), right, rtol=1e-3)


def test_noise_is_the_same_for_every_controller_and_the_picture_is_written(bench, tmp_path):
    (tmp_path / "noise.yaml").write_text("seed: 3\nencoder_step: 1e-4\n")
    (tmp_path / "soft.yaml").write_text("controller: pd\nbandwidth: 10 Hz\nrate: 500 Hz\n")
    words = [bench / "right", bench / "path.yaml", "--controller", "pd", "--controller", tmp_path / "soft.yaml"]
    found = call(*words, "--noise", tmp_path / "noise.yaml", "-o", tmp_path / "errors.png")
    assert (largest(found, "soft") > largest(found, "pd")).all()
    assert found["picture"] == str(tmp_path / "errors.png")
    assert (tmp_path / "errors.png").stat().st_size > 10_000
    assert found["controllers"] == call(*words, "--noise", tmp_path / "noise.yaml")["controllers"]


def test_a_payload_of_the_fit_is_carried_when_asked_for(bench, tmp_path):
    """Controllers that know the payload track it as well as the bare robot."""
    from dalembert.model import build_model
    from dalembert.robot import load_robot, with_payload

    bare = load_robot("scara")
    model = build_model(with_payload(bare, "tool"), backend="numpy")
    values = {**bare.nominal, "M_tool": 2.0}
    pi = [values.get(name, 0.0) for name in model.parameters]
    write_fit(fit_of(model, pi=pi, described=bare, payloads=("tool",), logs=("", "tool")), tmp_path / "fit")
    one = ("--controller", "computed-torque")
    without = call(tmp_path / "fit", bench / "path.yaml", *one)
    carried = call(tmp_path / "fit", bench / "path.yaml", *one, "--payload", "tool=2 kg")
    assert without["payload"] == "" and carried["payload"] == "tool"
    assert (largest(carried, "computed-torque") < 3.0 * largest(without, "computed-torque")).all()
    torque = [found["controllers"][0]["max_torque"][0] for found in (without, carried)]
    assert torque[1] > 1.05 * torque[0]


WRONG = [
    (["--controller", "pdd"], "pd, pid"),
    (["--controller", "pd", "--controller", "pd"], "given twice"),
    (["--payload", "tool=1"], "the fit has none"),
    (["-o", "errors.bmp"], ".png"),
    (["-o", "no/such/folder/errors.png"], "no folder"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_a_mistake_is_one_line(bench, words, said):
    result = CliRunner().invoke(app, ["control", str(bench / "right"), str(bench / "path.yaml"), *words])
    assert isinstance(result.exception, DalembertError)
    assert said in str(result.exception) and "\n" not in str(result.exception)


def test_a_model_without_positive_inertia_is_refused(bench, tmp_path):
    model = model_of("scara")
    write_fit(fit_of(model, pi=-model.nominal()), tmp_path / "fit")
    result = CliRunner().invoke(app, ["control", str(tmp_path / "fit"), str(bench / "path.yaml")])
    assert isinstance(result.exception, DalembertError) and "not positive" in str(result.exception)


def test_a_run_that_fails_says_so_and_ends_with_1(bench, tmp_path):
    (tmp_path / "wild.yaml").write_text("controller: pd\nbandwidth: 5000 Hz\nsaturation: false\n")
    words = [str(bench / "right"), str(bench / "path.yaml"), "--controller", str(tmp_path / "wild.yaml"), "--json"]
    result = CliRunner().invoke(app, ["control", *words])
    found = json.loads(result.stdout)["controllers"][0]
    assert result.exit_code == 1 and found["status"] == "diverged" and found["remedy"]
