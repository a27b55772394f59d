from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dalembert.errors import EstimationError
from dalembert.identification.base import nominal_values
from dalembert.identification.prior import DENSITY, Box, Cylinder, Prior, Sphere, density, natural_scale
from dalembert.parameters import INERTIAL, BodyInertia, inertial_names, is_physical, pseudo_inertia
from dalembert.robot import load_robot
from dalembert.robot.geometry import Placement

PLACED = Placement.of((0.1, -0.2, 0.3), Rotation.from_euler("xyz", [0.3, -0.7, 1.1]).as_matrix())


def sampled(inside: object, box: np.ndarray, rho: float, placement: Placement, rng: np.random.Generator) -> np.ndarray:
    """Ten parameters of a solid by Monte Carlo: the definition of the integrals."""
    n = 400_000
    p = rng.uniform(-0.5, 0.5, (n, 3)) * box
    p = p[inside(p)] @ placement.R.T + placement.p
    dm = rho * np.prod(box) / n
    x, y, z = p.T
    moments = [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y, x, y, z, np.ones(len(p))]
    return dm * np.array([np.sum(m) for m in moments])


@pytest.mark.parametrize(
    ("shape", "inside", "box"),
    [
        (Cylinder(0.2, 0.5, 1000.0, placement=PLACED), lambda p: np.hypot(p[:, 0], p[:, 1]) < 0.2, [0.4, 0.4, 0.5]),
        (
            Cylinder(0.2, 0.5, 1000.0, inner=0.12, placement=PLACED),
            lambda p: np.abs(np.hypot(p[:, 0], p[:, 1]) - 0.16) < 0.04,
            [0.4, 0.4, 0.5],
        ),
        (Box((0.2, 0.4, 0.6), 1000.0, placement=PLACED), lambda p: np.ones(len(p), dtype=bool), [0.2, 0.4, 0.6]),
        (Sphere(0.3, 1000.0, placement=PLACED), lambda p: np.linalg.norm(p, axis=1) < 0.3, [0.6, 0.6, 0.6]),
    ],
    ids=["cylinder", "hollow", "box", "sphere"],
)
def test_shapes_are_the_integrals_they_stand_for(shape, inside, box, rng):
    found = shape.parameters()
    expected = sampled(inside, np.array(box), 1000.0, PLACED, rng)
    np.testing.assert_allclose(found, expected, atol=6e-3 * np.abs(expected).max())
    assert is_physical(found)


def test_a_prior_of_several_parts_adds_up():
    cad = BodyInertia(2.0, (0.1, 0.0, 0.0), (0.1, 0.0, 0.0, 0.2, 0.0, 0.2))
    prior = Prior.of_bodies({"arm": [Sphere(0.1, "steel"), cad], "hand": cad}, {"Fv_1": 0.3})
    total = Sphere(0.1, "steel").parameters() + cad.parameters()
    np.testing.assert_allclose([prior.values[n] for n in inertial_names("arm")], total)
    names = (*inertial_names("hand"), "Fv_1", "other")
    both = prior.vector((*inertial_names("arm"), *names))
    np.testing.assert_allclose(both[10:20], cad.parameters())
    assert list(both[20:]) == [0.3, 0.0]
    merged = prior | Prior({"Fv_1": 0.5})
    assert merged.values["Fv_1"] == 0.5


def test_natural_scale_bounds_every_entry(rng):
    for _ in range(100):
        U = rng.standard_normal((4, 4))
        J = U @ U.T
        tensor = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        ten = np.concatenate([tensor[np.triu_indices(3)], J[:3, 3], [J[3, 3]]])
        scale = natural_scale(ten)
        off = [INERTIAL.index(s) for s in ("XY", "XZ", "YZ", "MX", "MY", "MZ")]
        assert np.all(np.abs(ten[off]) <= scale[off] + 1e-12)
        np.testing.assert_allclose(pseudo_inertia(ten), J, atol=1e-12)


def test_bad_shapes_and_materials_say_what_is_wrong():
    assert density("steel") == DENSITY["steel"] == 7850.0
    with pytest.raises(EstimationError, match=r"no 'aluminum'; choose from .*did you mean 'aluminium'"):
        Box((1, 1, 1), "aluminum")
    with pytest.raises(EstimationError, match=r"inner radius 0\.3"):
        Cylinder(0.2, 1.0, inner=0.3)
    with pytest.raises(EstimationError, match="box: y -1"):
        Box((1.0, -1.0, 1.0))
    with pytest.raises(EstimationError, match="density -5"):
        Sphere(0.1, -5.0)
    with pytest.raises(EstimationError, match="no parameter 'M_x'"):
        Prior({"M_x": 1.0}).vector(("M_y",))
    with pytest.raises(EstimationError, match="finite"):
        Prior({"M_x": np.inf})


def test_nominal_values_know_tied_bodies():
    robot = load_robot("delta3")
    names = ("M_arm", "M_arm1", "XX_struts", "Fv_m2", "Fs_m2")
    found = nominal_values(robot, names)
    assert found == {"M_arm": 0.15, "M_arm1": 0.15, "XX_struts": robot.nominal["XX_struts2"], "Fv_m2": 0.05}
    uneven = replace(robot, nominal={**robot.nominal, "M_arm2": 0.3})
    assert nominal_values(uneven, ["M_arm"])["M_arm"] == pytest.approx(0.2)


def test_inertias_of_shapes_may_be_off_by_the_largest_of_them():
    """Of a thin rod the inertia about its own axis is the least sure number; CAD values are taken at their word."""
    rod, cad = Cylinder(0.01, 1.0), BodyInertia(1.0, (0.0, 0.0, 0.0), (1e-5, 0.0, 0.0, 1e-2, 0.0, 1e-2))
    prior = Prior.of_bodies({"rod": rod, "cad": cad})
    assert prior.scale == {f"{symbol}_rod": prior.values["XX_rod"] for symbol in ("XX", "YY", "ZZ")}
    assert prior.values["ZZ_rod"] < 1e-3 * prior.scale["ZZ_rod"]
