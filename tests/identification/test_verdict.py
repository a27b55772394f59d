"""Verdicts, the motion that would help, and doubts: said of simulated logs in which the reason is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.recovery import model_of
from tests.identification.synthetic import PARAMETERS, make_problem, make_rows, map_blocks

from dalembert.excitation import Fourier, fourier_within_limits
from dalembert.identification.dependence import dependence
from dalembert.identification.identify import Identification, identify
from dalembert.identification.uncertainty import robust_covariance
from dalembert.identification.verdict import Verdict, assess, default_hint
from dalembert.identification.wls import Wls
from dalembert.parameters import INERTIAL
from dalembert.simulation.synthetic import Recording, random_recording

MOTION = Fourier(5, 5.0)


def recording(name: str, still: tuple[str, ...] = ()) -> Recording:
    """A random motion in which some independent coordinates stand still."""
    model, rng = model_of(name), np.random.default_rng(1)
    path = fourier_within_limits(model, MOTION, rng)
    moving = np.array([coordinate not in still for coordinate in model.independent])[:, None]
    path = replace(path, sine=path.sine * moving, cosine=path.cosine * moving)
    return random_recording(model, rng, path=path, rate=500.0)


def test_an_axis_that_stands_still_is_what_the_hints_ask_for():
    """TX40 with joint 1 locked: what its log leaves open shows in motions of joint 1."""
    fit = identify(model_of("tx40"), recording("tx40", still=("j1",)).log)
    assert fit.status == "rank deficient"
    open_ = [p for p in fit.parameters if p.verdict == Verdict.NOT and p.sigma is None]
    assert {"Fv_j1", "Fc_j1", "ZZR_link1"} <= {p.name for p in open_}
    for p in open_:
        assert (p.sigma_robust, p.low, p.high) == (None, None, None)
        assert "j1" in p.hint
    known = [p for p in fit.parameters if p.sigma is not None]
    assert len(known) == fit.rank and all(p.sigma_robust is not None and p.verdict for p in known)


def test_a_parameter_shows_where_its_column_of_the_regressor_is():
    """TX40: the base inertia in accelerations of joint 1 alone, first moments of the upper arm at rest."""
    fit = identify(model_of("tx40"), recording("tx40").log)
    shown = dependence(fit.prepared)
    assert shown["ZZ_link1"] == "acceleration of j1"
    assert shown["MX_link2"].startswith("torque at rest")
    assert shown["ZZ_link2"] == "acceleration of j2"
    assert "speed" in shown["XX_link2"] and "j1" in shown["XX_link2"]
    assert set(shown) == {name for name in fit.prepared.ties.names if name.partition("_")[0] in INERTIAL}


def test_a_closed_robot_names_its_independent_coordinates():
    shown = dependence(identify(model_of("dualv"), recording("dualv").log).prepared)
    assert shown["ZZ_platform"] == "acceleration of pose.angle"
    assert "torque at rest" not in " ".join(shown.values())  # it moves in a horizontal plane


def test_verdicts_follow_sigma_and_correlation():
    rows = make_rows(noise=0.05)
    column, other = PARAMETERS.index("Fc_j3"), PARAMETERS.index("Fv_j3")

    def nearly(block):
        W = block.W.copy()
        W[:, column] = 3.0 * W[:, other] + 1e-3 * np.cos(block.sample) * (block.group == 2)
        return replace(block, W=W, y=block.y)

    problem = make_problem(map_blocks(rows, nearly))
    estimate = Wls().estimate(problem)
    found = {a.name: a for a in assess(problem, estimate, robust_covariance(problem, estimate))}
    assert found["Fc_j1"].verdict is Verdict.WELL and not found["Fc_j1"].hint
    assert found["Fc_j3"].verdict is not Verdict.WELL
    assert "moves together with Fv_j3 (correlation -1.00)" in found["Fc_j3"].hint
    assert found["Fc_j3"].hint.startswith(f"needs {default_hint('Fc_j3')}")


@pytest.fixture(scope="module")
def scara() -> Recording:
    return recording("scara")


def doubts(fit: Identification) -> str:
    return "\n".join(fit.provenance["doubts"])


def test_a_sound_log_raises_no_doubt(scara):
    fit = identify(model_of("scara"), scara.log)
    assert doubts(fit) == ""
    assert "doubtful" not in str(fit)


def test_a_torque_of_the_wrong_sign_is_friction_that_drives(scara):
    tau = scara.log.tau * [1.0, -1.0, 1.0, 1.0]
    fit = identify(model_of("scara"), replace(scara.log, tau=tau))
    assert "below zero" in doubts(fit) and "Fv_j2, Fc_j2" in doubts(fit)
    assert doubts(fit) in str(fit).replace("\n  ", "\n")


def test_torques_of_swapped_columns_are_not_explained(scara):
    fit = identify(model_of("scara"), replace(scara.log, tau=scara.log.tau[:, [2, 1, 0, 3]]))
    assert "of j1" in doubts(fit) and "of j3" in doubts(fit) and "dalembert check" in doubts(fit)
