"""The ten lines by which the package is introduced run as they stand."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.docs.test_blocks import ROOT, RUN, blocks
from tests.identification.recovery import model_of

import dalembert as da
from dalembert.robot import with_payload
from dalembert.simulation.synthetic import random_recording

PLAN_OF_RECORD = """
import dalembert as da
robot = da.load_robot("dualv")                       # catalog name, or a .yaml / .urdf / .xml path
model = da.build_model(robot)
plan  = da.design_excitation(model, da.Fourier(harmonics=5, duration=10.0))
log   = da.read_log("run1.parquet", robot)
fit   = da.identify(model, [log, loaded], estimator=da.Wls(), payload={"run2": "tool"})
print(fit)                                           # table: parameter, value, sigma, regrouping
da.write_report("out/", fit, da.validate(fit, held_out))
da.export(fit, "robot.urdf")
"""
# the README's own, where it is not run as one of its blocks
TOURS = [
    PLAN_OF_RECORD,
    *(t for _, kind, t in blocks(ROOT / "README.md") if "import dalembert as da" in t and kind not in RUN),
]
MASS = 3.0


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Three logs in the working folder: one of the robot alone, one with a tool, one of another motion."""
    monkeypatch.chdir(tmp_path)
    rng, robot = np.random.default_rng(7), da.load_robot("dualv")
    tooled = da.build_model(with_payload(robot, "tool"))
    known = dict(robot.nominal) | {"M_tool": MASS, "ZZ_tool": 0.02}
    pi = np.array([known.get(name, 0.0) for name in tooled.parameters])
    for name, model, values in (
        ("run1", model_of("dualv"), "nominal"),
        ("run2", tooled, pi),
        ("run3", model_of("dualv"), "nominal"),
    ):
        da.write_log(
            random_recording(model, rng, family=da.Fourier(4, 4.0), pi=values, name=name).log, f"{name}.parquet"
        )
    # the search ends early: what it finds is tested elsewhere
    monkeypatch.setattr("dalembert.excitation.design.Effort", partial(da.Effort, starts=1, budget=1.0))
    return robot


@pytest.mark.slow
@pytest.mark.parametrize("lines", TOURS, ids=["plan", "readme"][: len(TOURS)])
def test_the_ten_lines_run(lines, recorded, capsys):
    names = {
        name: da.read_log(f"{file}.parquet", recorded) for name, file in (("loaded", "run2"), ("held_out", "run3"))
    }
    exec(compile(lines, "tour", "exec"), names)
    fit, printed = names["fit"], capsys.readouterr().out
    assert all(p.name in printed for p in fit.parameters)
    if "tool" in lines:
        assert fit["M_tool"].low < MASS < fit["M_tool"].high
    assert Path("out", "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    exported = da.build_model(da.load_robot("robot.urdf"))
    assert exported.robot.motor_names == recorded.motor_names and len(exported.robot.loops) == 4
    assert np.linalg.eigvalsh(exported.mass_matrix(exported.home[None], exported.vector("nominal"))).min() > 0.0


@pytest.mark.parametrize("first", ["", "import dalembert.export.source"])
def test_export_is_a_function_whatever_was_imported_before(first):
    code = f"import dalembert as da\n{first}\nfor _ in range(2):\n    try: da.export(None, 'fit.doc')\n    except da.DalembertError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("no format ends in '.doc'") == 2
