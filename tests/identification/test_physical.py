"""The two physically consistent methods against each other, and the coordinates of one of them."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.identification.synthetic import (
    BODIES,
    FRICTION,
    PARAMETERS,
    beta,
    guess,
    make_problem,
    make_rows,
    nominal,
    truth,
)

from dalembert.errors import EstimationError
from dalembert.identification.chart import BodyBlock, ExpBlock, MassBlock, build_chart
from dalembert.identification.constraints import Constraints, Equality
from dalembert.identification.objective import Regularisation, Weighting, assemble, bregman
from dalembert.identification.physical import Physical
from dalembert.identification.prior import Prior
from dalembert.identification.problem import Status
from dalembert.identification.sdp import Sdp
from dalembert.parameters import INERTIAL, is_physical, log_cholesky_jacobian, pseudo_inertia, to_log_cholesky

NOISE = [0.05, 1.0]
DEVIATION = tuple(f"{s}_{b}" for b in BODIES for s in ("XY", "XZ", "YZ"))


def theta_of(body: str) -> np.ndarray:
    start = PARAMETERS.index(f"XX_{body}")
    return to_log_cholesky(truth()[start : start + 10])


def test_all_ten_entries_of_gnad_14_as_corrected(rng):
    """[Gnad24, eq. 14] with s23^2 in Theta_yy and the missing Theta_zz (theory.md, section 6)."""
    block = BodyBlock(((0,) * 10,), (0, 1, 2), tuple(range(10)))
    for _ in range(20):
        theta = rng.normal(0.0, 0.7, 10)
        a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
        e1, e2, e3 = np.exp([d1, d2, d3])
        expected = {
            "M": t1**2 + t2**2 + t3**2 + 1.0,
            "MX": t1 * e1,
            "MY": t1 * s12 + t2 * e2,
            "MZ": t1 * s13 + t2 * s23 + t3 * e3,
            "XX": s12**2 + s23**2 + s13**2 + e2**2 + e3**2,
            "YY": s13**2 + s23**2 + e1**2 + e3**2,
            "ZZ": s12**2 + e1**2 + e2**2,
            "XY": -s12 * e1,
            "YZ": -s12 * s13 - s23 * e2,
            "XZ": -s13 * e1,
        }
        found = block.value(theta)
        for name, value in expected.items():
            assert found[INERTIAL.index(name)] == pytest.approx(np.exp(2.0 * a) * value, rel=1e-12)
        np.testing.assert_allclose(block.jacobian(theta), log_cholesky_jacobian(theta), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(block.start(found), theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "block",
    [
        BodyBlock(((0,) * 10,), (0, 1, 2), tuple(range(10))),
        BodyBlock(((0,) * 10,), (2, 0, 1), tuple(range(10))),
        BodyBlock(((0,) * 10,), (0, 1, 2), (0, 1, 2, 3, 7, 8, 9)),
        BodyBlock(((0,) * 10,), (1, 0, 2), (1, 2, 3, 4, 7, 9), mass=2.5),
        MassBlock(((0,) * 10,)),
        ExpBlock(((0,),), 0.5, 1.0),
    ],
    ids=["full", "other axes", "no deviation", "known mass", "point", "friction"],
)
def test_jacobians_are_exact(block, rng):
    theta = rng.normal(0.0, 0.5, block.size)
    step = 1e-6
    numeric = np.stack(
        [(block.value(theta + step * e) - block.value(theta - step * e)) / (2.0 * step) for e in np.eye(block.size)],
        axis=1,
    )
    np.testing.assert_allclose(block.jacobian(theta), numeric, rtol=1e-8, atol=1e-8 * np.abs(numeric).max())
    if isinstance(block, BodyBlock):
        np.testing.assert_allclose(block.start(block.value(theta)), theta, rtol=1e-8, atol=1e-8)
        assert is_physical(block.value(theta))
        J = pseudo_inertia(block.value(theta))
        assert block.log_barrier(theta) == pytest.approx(-np.log(np.linalg.det(J)), rel=1e-9)
        change = block.jacobian(theta) @ rng.standard_normal(block.size)
        reach = block.reach(theta, change)
        assert is_physical(block.value(theta) + 0.999 * reach * change)
        assert not is_physical(block.value(theta) + 1.001 * reach * change)
    if block.size > 5 and isinstance(block, BodyBlock) and block.mass:
        assert block.value(theta)[9] == pytest.approx(2.5, rel=1e-12)


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("prior", [nominal(), guess()], ids=["truth", "guess"])
@pytest.mark.parametrize("kind", list(Regularisation))
def test_both_methods_find_the_same_optimum(kind, prior, noise):
    problem = make_problem(make_rows(noise=noise), prior)
    for gamma in (1e-6, 1e-3):
        sdp = Sdp(gamma_p=gamma, regularisation=kind).estimate(problem)
        physical = Physical(gamma_p=gamma, regularisation=kind).estimate(problem)
        assert sdp.status is physical.status is Status.CONVERGED
        assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
        np.testing.assert_allclose(physical.values, sdp.values, rtol=2e-3, atol=2e-3)
        for estimate in (sdp, physical):
            assert all(is_physical(estimate.body(name)) for name in BODIES)
            friction = [estimate.standard[PARAMETERS.index(n)] for n in FRICTION]
            assert min(friction) >= 0.0
            np.testing.assert_allclose(estimate.values, beta(estimate.standard), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", list(Regularisation))
def test_both_methods_find_the_same_optimum_however_quiet_the_log(kind):
    """Simulated logs have next to no noise: the cost is then a tiny part of what no model at all would have."""
    for noise in (1e-5, 1e-3):
        problem = make_problem(make_rows(noise=noise), guess())
        sdp, physical = Sdp(regularisation=kind).estimate(problem), Physical(regularisation=kind).estimate(problem)
        assert sdp.status is physical.status is Status.CONVERGED
        assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
        assert all(is_physical(estimate.body(name)) for estimate in (sdp, physical) for name in BODIES)


def test_the_prior_fades_as_the_log_grows():
    """By itself the prior weighs as one sigma of one sample; a weight that is given pulls alike however long the log."""
    gaps, weights = {}, {}
    for samples in (150, 2400):
        rows = make_rows(samples=samples, noise=0.3)
        for gamma in (0.0, 1e-5):
            light, heavy = (Sdp(gamma_p=gamma).estimate(make_problem(rows, prior)) for prior in (guess(), nominal()))
            gaps[samples, gamma] = float(np.abs(light.values - heavy.values).max())
            weights[samples, gamma] = light.settings["gamma_p"]
    assert weights[150, 0.0] * 150 == pytest.approx(weights[2400, 0.0] * 2400, rel=0.3)  # peaks and sigma differ a bit
    assert gaps[2400, 0.0] < 0.25 * gaps[150, 0.0]  # faster than the noise of 16 times the samples does
    assert gaps[2400, 1e-5] > 0.5 * gaps[150, 1e-5]


def test_the_optimum_is_one(rng):
    """No physical parameters near or far cost less than the optimum."""
    problem = make_problem(make_rows(noise=0.5), guess())
    method = Sdp(gamma_p=1e-4, weighting="peak")
    estimate = method.estimate(problem)
    objective = assemble(
        problem,
        problem.constraints.resolve(PARAMETERS),
        gamma_tau=1.0,
        gamma_p=1e-4,
        regularisation=Regularisation.RELATIVE,
        weighting=Weighting.PEAK,
    )
    assert objective.cost(estimate.standard) == pytest.approx(estimate.cost, rel=1e-12)
    others = [truth(), guess().vector(PARAMETERS)]
    for _ in range(200):
        target = others[0] * rng.uniform(0.5, 1.5) + others[1] * rng.uniform(0.0, 1.0)
        trial = estimate.standard + rng.uniform(0.0, 1.0) ** 4 * (target - estimate.standard)
        assert objective.cost(trial) >= estimate.cost * (1.0 - 1e-9)


def test_two_priors_give_the_same_torque_on_a_rich_log():
    """As in the study of [Gnad24, VII]: different beliefs, the same base parameters within a few percent."""
    rows = make_rows(samples=600, noise=0.02)
    first = Physical().estimate(make_problem(rows, guess()))
    second = Physical().estimate(make_problem(rows, nominal()))
    gap = np.abs(first.values - second.values) / np.abs(second.values).max()
    assert gap.max() < 2e-3
    assert np.abs(first.standard - second.standard).max() > 0.05  # though bodies differ where the torque is blind


def test_structural_zeros_are_zero_and_both_methods_agree():
    zero = (*DEVIATION, "MY_arm", "MZ_arm")
    problem = make_problem(make_rows(noise=0.3), guess(), constraints=Constraints(zero=zero))
    resolved = problem.constraints.resolve(PARAMETERS)
    objective = assemble(problem, resolved, gamma_tau=1.0, gamma_p=1e-4, regularisation="relative", weighting="peak")
    assert build_chart(problem, resolved, objective).size == 5 + 7 + 6  # [Gnad24, eq. 16 and VI.c]
    sdp, physical = Sdp(gamma_p=1e-4).estimate(problem), Physical(gamma_p=1e-4).estimate(problem)
    assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
    for estimate in (sdp, physical):
        assert max(abs(estimate.standard[PARAMETERS.index(n)]) for n in zero) < 1e-12
        assert all(is_physical(estimate.body(name)) for name in BODIES)


def test_zeros_that_need_another_order_of_axes():
    problem = make_problem(make_rows(noise=0.1), guess(), constraints=Constraints(zero=("MX_arm", "XZ_arm", "YZ_arm")))
    physical, sdp = Physical(gamma_p=1e-4).estimate(problem), Sdp(gamma_p=1e-4).estimate(problem)
    assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
    blocked = make_problem(make_rows(), guess(), constraints=Constraints(zero=("MX_arm", "YZ_arm")))
    with pytest.raises(EstimationError, match=r"zeros of body 'arm'.*sdp"):
        Physical().estimate(blocked)
    assert Sdp().estimate(blocked).status is Status.CONVERGED


def test_tied_bodies_are_equal_and_both_methods_agree():
    both = nominal()
    ten = {n.removesuffix("_arm"): v for n, v in both.values.items() if n.endswith("_arm")}
    prior = Prior({**both.values, **{f"{s}_hand": v for s, v in ten.items()}})
    constraints = Constraints(tied_bodies=(BODIES,), ties=(("Fv_*",),))
    problem = make_problem(make_rows(noise=0.3), prior, constraints=constraints)
    for kind in ("relative", "entropic"):
        sdp = Sdp(gamma_p=1e-4, regularisation=kind).estimate(problem)
        physical = Physical(gamma_p=1e-4, regularisation=kind).estimate(problem)
        assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
        for estimate in (sdp, physical):
            np.testing.assert_allclose(estimate.body("arm"), estimate.body("hand"), rtol=1e-9, atol=1e-12)
            same = [estimate.standard[PARAMETERS.index(f"Fv_j{k}")] for k in (1, 2, 3)]
            assert np.ptp(same) < 1e-12


def test_a_weighed_mass_and_known_friction_are_kept():
    fixed = {"M_hand": 4.8, "Fc_j1": 4.5}
    problem = make_problem(make_rows(noise=0.3), guess(), constraints=Constraints(fixed=fixed))
    sdp, physical = Sdp(gamma_p=1e-4).estimate(problem), Physical(gamma_p=1e-4).estimate(problem)
    assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
    for estimate in (sdp, physical):
        for name, value in fixed.items():
            assert estimate.standard[PARAMETERS.index(name)] == pytest.approx(value, rel=1e-10)


def test_a_point_mass_needs_one_coordinate():
    zero = tuple(f"{s}_hand" for s in INERTIAL[:9])
    problem = make_problem(make_rows(noise=0.1), guess(), constraints=Constraints(zero=zero))
    for kind in ("relative", "entropic"):
        sdp = Sdp(regularisation=kind).estimate(problem)
        physical = Physical(regularisation=kind).estimate(problem)
        assert physical.cost == pytest.approx(sdp.cost, rel=1e-6)
        assert sdp.body("hand")[9] > 0.0
        assert np.all(sdp.body("hand")[:9] == 0.0)


def test_the_semidefinite_method_takes_every_constraint():
    constraints = Constraints(
        bounds={"M_hand": (0.0, 4.0), "Fv_j2": (2.0, 3.0)},
        equalities=(Equality((("MX_arm", 1.0), ("M_arm", -0.2))),),
    )
    problem = make_problem(make_rows(noise=0.1), guess(), constraints=constraints)
    estimate = Sdp(gamma_p=1e-4).estimate(problem)
    standard = dict(zip(estimate.standard_names, estimate.standard, strict=True))
    assert standard["MX_arm"] == pytest.approx(0.2 * standard["M_arm"], rel=1e-9)
    assert standard["M_hand"] <= 4.0 + 1e-7
    assert 2.0 - 1e-7 <= standard["Fv_j2"] <= 3.0 + 1e-7
    for options in (
        Constraints(bounds={"M_hand": (0.0, 4.0)}),
        Constraints(equalities=constraints.equalities),
        Constraints(fixed={"MX_arm": 0.3}),
        Constraints(fixed={"XX_arm": 0.3}),
        Constraints(ties=(("XX_arm", "XX_hand"),)),
        Constraints(bounds={"Fv_j2": (2.0, 3.0)}),
    ):
        with pytest.raises(EstimationError, match=r"physical: .*(sdp|all three free)"):
            Physical().estimate(make_problem(make_rows(), guess(), constraints=options))


def test_contradicting_bounds_are_infeasible_not_a_crash():
    constraints = Constraints(
        bounds={"M_arm": (5.0, 6.0)}, equalities=(Equality((("M_arm", 1.0), ("M_hand", 1.0)), 1.0),)
    )
    estimate = Sdp().estimate(make_problem(make_rows(), guess(), constraints=constraints))
    assert estimate.status is Status.INFEASIBLE
    assert estimate.status.remedy
    assert np.isfinite(estimate.values).all()


def test_entropy_does_not_depend_on_the_frame(rng):
    """The log-det divergence and the pull-back metric are invariant to a change of the body frame."""
    ten, other = truth()[:10], guess().vector(PARAMETERS)[:10]
    value = bregman(ten, np.linalg.cholesky(pseudo_inertia(other)))
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Q, rng.standard_normal(3)

    def moved(p: np.ndarray) -> np.ndarray:
        J = T @ pseudo_inertia(p) @ T.T
        tensor = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        return np.concatenate([tensor[np.triu_indices(3)], J[:3, 3], [J[3, 3]]])

    assert bregman(moved(ten), np.linalg.cholesky(pseudo_inertia(moved(other)))) == pytest.approx(value, rel=1e-7)
    assert bregman(other, np.linalg.cholesky(pseudo_inertia(other))) == pytest.approx(0.0, abs=1e-9)
    assert value > 0.0


def test_a_prior_that_is_no_body_is_refused():
    values = dict(guess().values)
    values["M_hand"] = 0.01
    with pytest.raises(EstimationError, match=r"body 'hand' is not physically consistent"):
        Sdp().estimate(make_problem(make_rows(), Prior(values)))
    with pytest.raises(EstimationError, match="no prior"):
        Physical().estimate(replace(make_problem(make_rows()), prior=None))
    with pytest.raises(EstimationError, match=r"did you mean 'entropic'"):
        Sdp(regularisation="entropi").estimate(make_problem(make_rows()))


def test_what_weights_and_gammas_mean():
    """The weight of the prior pulls; the peak weighting is diag(tau_max)^-2 with gamma_tau / s."""
    rows = make_rows(noise=0.3)
    problem = make_problem(rows, guess())
    peaked = [Sdp(gamma_p=g, weighting="peak").estimate(problem) for g in (1e-6, 1e-1, 1e3)]
    far = [np.abs(one.standard[-6:] / guess().vector(PARAMETERS)[-6:] - 1.0).max() for one in peaked]
    assert far[0] > far[1] > far[2]
    assert far[2] < 1e-3
    estimate = Sdp(gamma_tau=2.0, gamma_p=1e-3, weighting="peak").estimate(problem)
    W, y = np.concatenate([b.W for b in rows.data]), np.concatenate([b.y for b in rows.data])
    peak = np.concatenate([np.full(len(b.y), np.abs(b.y).max()) for b in rows.data])
    reference = guess().vector(PARAMETERS)
    scale = np.where(reference != 0.0, np.abs(reference), np.inf)
    for name, value in guess().scale.items():
        scale[PARAMETERS.index(name)] = value
    expected = 2.0 / 150 * np.sum(((y - W @ estimate.standard) / peak) ** 2) + 1e-3 * np.sum(
        ((estimate.standard - reference) / scale) ** 2
    )
    # the zero entries of the reference add their own, smaller term
    assert expected <= estimate.cost <= expected + 1e-3 * len(PARAMETERS)


@pytest.mark.slow
def test_a_tenth_of_a_second_from_the_factor():
    problem = make_problem(make_rows(samples=400, noise=0.1), guess())
    for kind in ("relative", "entropic"):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            Sdp(regularisation=kind).estimate(problem)
            times.append(time.perf_counter() - start)
        assert min(times) < 0.1
