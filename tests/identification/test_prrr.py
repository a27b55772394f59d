"""The kinematically redundant 3PRRR in two stages of bounded least squares, as [Fontes17] identifies it.

Six drives move the three coordinates of the platform. The first stage moves one slide after the other, the second draws
squares by the cranks alone, with what the first found of the slides held.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli.main import app
from dalembert.errors import DalembertError
from dalembert.identification.fit_files import read_fit, write_fit
from dalembert.identification.prepare import column_names
from dalembert.identification.prior_file import read_known
from dalembert.logs import Log, write_log
from dalembert.signals import SlowMask
from dalembert.simulation import Options, Pd, Sensing
from dalembert.simulation.trajectories import MOTORS, Trajectory, home_of, moves, outlines, rotated_squares
from dalembert.studies.laboratory import Laboratory, standard_robust

pytestmark = pytest.mark.slow  # experiments simulated, identified through the API and the command line

L_1, L_2, H = 0.191, 0.232, 0.08  # [m]
MASSES = {"M_crank": 0.45, "M_rod": 0.5, "M_platform": 0.3}  # [kg] none of them a nominal one
MOVED = 610.0  # [kg] slide and screw
POSE = ("pose.x", "pose.y", "pose.angle", "zeta1", "zeta2", "zeta3")
# at speeds below these friction holds a drive: blocked slides in the squares, resting ones in their own log
MASK = {"slides": "0.02 m/s", "squares": "0.1 rad/s"}

ARMS = f"""
mass_center: {{crank: x, rod: x}}
zero: [MX_platform, MY_platform, M_slider, "Ia_turn*"%s]
tied: [["Ia_slide?"]%s]
equal:                                  # uniform bars and a disc
  - {{MX_crank: 1, M_crank: {-L_1 / 2}}}
  - {{ZZ_crank: 1, M_crank: {-(L_1**2) / 3}}}
  - {{MX_rod: 1, M_rod: {-L_2 / 2}}}
  - {{ZZ_rod: 1, M_rod: {-(L_2**2) / 3}}}
  - {{ZZ_platform: 1, M_platform: {-(H**2) / 2}}}
"""
MODELLED = ARMS % ("", ', ["Fv_slide?"], ["Fc_slide?"], ["Fv_turn?"], ["Fc_turn?"]')
LEFT_OUT = ARMS % (', "Fv_*", "Fc_*"', "")
# the cranks rest in the first stage: nothing is seen of the arms, whose masses are those of the design
FIRST = "fixed: {M_crank: 0.3, M_rod: 0.354, M_platform: 0.78, 'F?_turn?': 0}\n"
SECOND = "fixed: {'??_slide?': first/fit.json}\n"


def laboratory(coulomb: float) -> Laboratory:
    robot = da.load_robot("3prrr", m_c=MOVED, m_l1=MASSES["M_crank"], m_l2=MASSES["M_rod"], m_n=MASSES["M_platform"])
    turn = {"Ia_turn": 0.0, "Fv_turn": 0.05, "Fc_turn": coulomb}
    truth = {**robot.nominal, **{f"{name}{k}": value for name, value in turn.items() for k in (1, 2, 3)}}
    return Laboratory.of(
        da.load_robot("3prrr"),
        Pd(bandwidth=10.0, damping=1.0, derivative_cutoff=50.0),
        Sensing(encoder_step=[5e-7, 2e-5] * 3, torque_noise=[5.0, 0.02] * 3),
        3,
        truth=truth,
        options=Options(control_rate=1000.0, log_rate=250.0),
    )


def slides(lab: Laboratory) -> Log:
    points = np.tile(home_of(lab.model, MOTORS), (10, 1))
    for k in range(3):
        points[3 * k + 1 : 3 * k + 3, 2 * k] = -0.06, 0.06
    path = moves(points, [0.6, 0.9, 0.6] * 3)
    return lab.record(Trajectory(path, MOTORS, float(path.end[-1]), rests=True), name="slides")


def squares(lab: Laboratory) -> Log:
    path = outlines(lab.model, rotated_squares(0.12, 3), ("pose.x", "pose.y"), coordinates=POSE, move=0.5)
    return lab.record(path, name="squares")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both logs of a robot with friction in its drives, the prior files of both stages."""
    folder = tmp_path_factory.mktemp("3prrr")
    lab = laboratory(0.6)
    write_log(slides(lab), folder / "slides.parquet")
    write_log(squares(lab), folder / "squares.parquet")
    for name, arms in (("modelled", MODELLED), ("left-out", LEFT_OUT)):
        (folder / name).mkdir()
        (folder / name / "slides.yaml").write_text(arms + FIRST)
        (folder / name / "squares.yaml").write_text(arms + SECOND)
    return folder


def stage(bench: Path, model: da.Model, which: str, log: str, file: str = "") -> da.Identification:
    names = column_names(model.robot, symmetric=True)
    known = read_known(bench / which / f"{log}.yaml", model.robot, names)
    limit = float(MASK[log].split()[0])
    found = da.identify(
        model, da.read_log(bench / f"{file or log}.parquet", model.robot), estimator=da.Bounded(), symmetric=True,
        signals=da.SignalSettings(mask=SlowMask(limit, "absolute")), constraints=known.constraints,
    )  # fmt: skip
    if log == "slides":
        write_fit(found.fit, bench / which / "first")
    return found


@pytest.fixture(scope="module")
def model() -> da.Model:
    return da.build_model(da.load_robot("3prrr"))


def test_two_stages_find_every_mass(bench: Path, model: da.Model) -> None:
    first, second = (stage(bench, model, "modelled", log) for log in ("slides", "squares"))
    assert (first.status, second.status) == ("converged", "converged")
    # one number of the slides beside their two of friction; then three masses and the cranks' friction
    assert (first.rank, second.rank) == (3, 5)
    # a drive at rest tells nothing, and takes nothing from the others: rows of the slides first, of the cranks then
    for fit, seen in ((first, "slide"), (second, "turn")):
        assert all((row.rows > 0) == row.name.startswith(seen) for row in fit.rows)
        assert fit.relative_error < 0.02
    # the arms of the design, 0.4 kg off, ride on the slide: they may be missed in 610 kg
    assert first.standard["Ia_slide1"] == pytest.approx(MOVED, rel=2e-3)
    robust = standard_robust(second)
    for name, mass in MASSES.items():
        where = second.estimate.standard_names.index(name)
        assert abs(second.standard[name] - mass) < 3.0 * robust.sigma[where] < 0.1 * mass
    # the second stage holds what the first found to the last bit; legs are equal, centres of mass on the bars' axes
    for name in ("Ia_slide2", "Fv_slide3", "Fc_slide1"):
        assert second.standard[name] == first.standard[name]
    assert second.standard["Fc_turn1"] == second.standard["Fc_turn3"] == pytest.approx(0.6, rel=0.01)
    assert second.standard["MX_rod"] == pytest.approx(second.standard["M_rod"] * L_2 / 2, rel=1e-9)
    assert second.standard["MY_rod"] == 0.0
    assert all(second.standard[f"{symbol}_{body}"] >= 0.0 for body in ("crank", "rod") for symbol in ("M", "ZZ"))


def test_friction_left_out_drives_a_mass_to_zero(bench: Path, model: da.Model) -> None:
    """m_l1 = 0 as in [Fontes17, table 1], though the cranks weigh 0.45 kg each; m_c is none the worse."""
    first, second = (stage(bench, model, "left-out", log) for log in ("slides", "squares"))
    assert first.standard["Ia_slide1"] == pytest.approx(MOVED, rel=0.01)
    assert second.standard["M_crank"] == 0.0
    assert {"M_crank", "ZZ_crank"} <= set(second.provenance["settings"]["at bound"])
    assert second.standard["M_rod"] > MASSES["M_rod"]
    # not the method's doing: the same model is right about drives without dry friction
    write_log(squares(laboratory(0.0)), bench / "smooth.parquet")
    smooth = stage(bench, model, "left-out", "squares", "smooth")
    for name, mass in MASSES.items():
        assert smooth.standard[name] == pytest.approx(mass, rel=0.1)


def test_both_stages_on_the_command_line(bench: Path, model: da.Model) -> None:
    for log, out in (("slides", "first"), ("squares", "second")):
        words = ["identify", "3prrr", str(bench / f"{log}.parquet"), "--method", "bounded", "--symmetric"]
        words += ["--mask-slow", MASK[log], "--prior", str(bench / "modelled" / f"{log}.yaml")]
        result = CliRunner().invoke(
            app, [*words, "-o", str(bench / "modelled" / out), "--json"], catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["status"] == "converged"
    first, second = (read_fit(bench / "modelled" / out).standard for out in ("first", "second"))
    same = stage(bench, model, "modelled", "squares").standard
    for name in (*MASSES, "Fc_turn1"):
        # a prior file without 'from' believes the nominal values, with a weight of 1e-9 of the torque's
        assert second[name] == pytest.approx(same[name], rel=1e-5)
    for name in ("Ia_slide1", "Fv_slide2", "Fc_slide3"):
        assert second[name] == first[name]


def test_a_stage_that_is_not_there_is_one_line(tmp_path: Path, model: da.Model) -> None:
    (tmp_path / "squares.yaml").write_text(MODELLED + SECOND)
    with pytest.raises(DalembertError, match=r"squares\.yaml:.*first/fit\.json.*no such file"):
        read_known(tmp_path / "squares.yaml", model.robot, column_names(model.robot, symmetric=True))
