"""The prior file: everything it can say, and one line with file and line number for everything it cannot."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.identification.constraints import Constraints
from dalembert.identification.fit import Fit, FitParameter
from dalembert.identification.fit_files import write_fit
from dalembert.identification.prepare import column_names
from dalembert.identification.prior import Box, Cylinder, Prior, Sphere
from dalembert.identification.prior_file import Known, read_known
from dalembert.parameters import BodyInertia, inertial_names, is_physical
from dalembert.robot import load_robot
from dalembert.robot.geometry import Placement
from dalembert.robot.urdf_writer import write_urdf

ROBOT = load_robot("tx40")
NAMES = column_names(ROBOT, payloads=("tool",))


def known(folder: Path, text: str) -> Known:
    file = folder / "prior.yaml"
    file.write_text(text)
    return read_known(file, ROBOT, NAMES)


def body(found: Known, name: str) -> np.ndarray:
    assert found.prior is not None
    return np.array([found.prior.values[n] for n in inertial_names(name)])


def test_bodies_by_shape_material_and_cad(tmp_path):
    found = known(tmp_path, """
bodies:
  link1: {cylinder: {radius: 60 mm, length: 0.3 m, inner: 50 mm}, material: steel, at: [0.1, 0, 0], axis: x}
  link2:
    - {box: [0.3, 0.1, 0.2]}
    - {sphere: 4 cm, material: 1200, at: [0, 0, 0.1]}
    - {mass: 0.4 kg, com: [0, 0, 0.2]}
  link3: {mass: 2, com: [0, 0.1, 0], tensor: [0.02, 0.01, 0.02]}
  tool: {XX: 0.02, YY: 0.02, ZZ: 0.01, MZ: 0.1, M: 1}
""")  # fmt: skip
    along_x = Placement.of((0.1, 0, 0), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    np.testing.assert_allclose(
        body(found, "link1"), Cylinder(0.06, 0.3, "steel", 0.05, along_x).parameters(), atol=1e-12
    )
    parts = [
        Box((0.3, 0.1, 0.2)),
        Sphere(0.04, 1200.0, Placement.of((0, 0, 0.1))),
        BodyInertia(0.4, (0, 0, 0.2), (0,) * 6),
    ]
    np.testing.assert_allclose(body(found, "link2"), sum(p.parameters() for p in parts), atol=1e-12)
    np.testing.assert_allclose(
        body(found, "link3"), BodyInertia(2, (0, 0.1, 0), (0.02, 0, 0, 0.01, 0, 0.02)).parameters()
    )
    np.testing.assert_allclose(body(found, "tool"), [0.02, 0, 0, 0.02, 0, 0.01, 0, 0, 0.1, 1])
    assert all(is_physical(body(found, name)) for name in ("link1", "link2", "link3", "tool"))
    assert body(found, "link4")[9] == ROBOT.nominal["M_link4"]  # the others stay nominal
    assert found.constraints == Constraints()


def test_values_scales_and_certainties(tmp_path):
    found = known(tmp_path, """
values: {Fv_j2: 7.5, "Fv_*": 2, M_link2: 3100 g}
scale: {"M_*": 0.5}
fixed: {M_tool: 5.37 kg, "Ia_*": prior, "Fv_j?": prior}
zero: ["off_*", MX_link5]
tied: [[Fc_j5, Fc_j6]]
tied_bodies: [[link5, link6]]
bounds: {"M_*": [0.1, 20], M_link1: {max: 9}, "Fc_*": {min: 0.1}}
mass_center: {link2: x, link3: {axis: [0, 1, 1], through: [0, 0, 0.1]}}
equal: [{MX_link1: 1, M_link1: -0.2, value: 0.3}]
""")  # fmt: skip
    assert found.prior is not None
    assert (found.prior.values["Fv_j2"], found.prior.values["Fv_j3"], found.prior.values["M_link2"]) == (7.5, 2.0, 3.1)
    assert found.prior.scale["M_link4"] == 0.5
    c = found.constraints
    assert (c.fixed["M_tool"], c.fixed["Ia_j3"], c.fixed["Fv_j2"]) == (5.37, ROBOT.nominal["Ia_j3"], 7.5)
    assert "Fv_m6" not in c.fixed
    assert set(c.zero) == {"MX_link5", "MY_link2", "MZ_link2"} | {f"off_j{k}" for k in range(1, 7)}
    assert (c.bounds["M_link1"], c.bounds["M_link2"]) == ((0.1, 9.0), (0.1, 20.0))
    assert c.bounds["Fc_m6"] == (0.1, math.inf)
    # a centre of mass on that line meets all that was asked, one beside it does not
    resolved = c.resolve(NAMES)
    x0, Z = resolved.basis()
    u = np.random.default_rng(0).standard_normal(Z.shape[1])
    x = dict(zip(NAMES, x0 + Z @ u, strict=True))
    m, my, mz = x["M_link3"], x["MY_link3"], x["MZ_link3"]
    assert x["MX_link3"] == pytest.approx(0.0, abs=1e-12) and my == pytest.approx(mz - 0.1 * m)
    assert x["MX_link1"] - 0.2 * x["M_link1"] == pytest.approx(0.3)


def test_values_of_robots_and_fits(tmp_path):
    write_urdf(ROBOT, tmp_path / "cad.urdf")
    for source in ("tx40", str(tmp_path / "cad.urdf")):
        found = read_known(source, ROBOT, NAMES)
        assert found.prior is not None and found.prior.values["M_link3"] == pytest.approx(4.4)
    parameters = (
        FitParameter("Fv_j1", 8.0, regrouping="Fv_j1"),
        FitParameter("ZZR_link1", 1.3, regrouping="ZZ_link1 + Ia_j1"),
    )
    columns = {"columns": {"ZZR_link1": "ZZ_link1"}}
    base = Fit("tx40", "wls", "converged", 2, 1.0, 0.1, (), parameters, provenance=columns)
    write_fit(base, tmp_path / "stage1")
    found = known(tmp_path, "from: [nominal, stage1]\nfixed: {Fv_j1: stage1/fit.json}\n")
    assert found.prior is not None and found.prior.values["Fv_j1"] == 8.0 and found.prior.values["Fv_j2"] == 7.0
    assert found.constraints.fixed == {"Fv_j1": 8.0}
    assert "ZZ_link1 are regrouped there" in found.notes[0]
    assert known(tmp_path, "from: none\n").prior == Prior({}, source=str(tmp_path / "prior.yaml"))
    with pytest.raises(DalembertError, match=r"prior.yaml:1: .*'ZZ_link1' is regrouped with others in stage1"):
        known(tmp_path, "fixed: {'ZZ_link1': stage1}\n")


BAD = [
    ("valeus: {M_link1: 1}", "unknown key 'valeus'.*did you mean 'values'"),
    ("values:\n  M_link9: 1", r":2: values.M_link9: no parameter 'M_link9'.*did you mean 'M_link"),
    ("values: {M_link1: heavy}", "'heavy'"),
    ("values: {M_link1: 3 kgs}", "unknown unit 'kgs'"),
    ("values: {M_link1: 3 mm}", "values.M_link1: found '3 mm' in m, expected a mass in kg, g"),
    ("scale: {'MX_*': 3 kg}", "found '3 kg' in kg, expected a moment of mass in kg m"),
    ("fixed: {Fv_j1: 3 Nm}", "found '3 Nm' in Nm, expected a damping in Nm s/rad"),
    ("bounds: {'M_*': {max: 3 N}}", "M_.*max: found '3 N' in N, expected a mass"),
    ("bodies: {link1: {sphere: 3 kg}}", "found '3 kg' in kg, expected a length in m"),
    ("bodies: {link1: {sphere: 0.1, material: 3 kg}}", "expected a density in kg/m"),
    ("scale: {M_link1: -1}", "expected a scale greater than zero"),
    ("bodies: {limb: {sphere: 1}}", "no body 'limb'.*link1"),
    ("bodies: {link1: {sphere: 0.1, box: [1, 1, 1]}}", "found box, sphere, expected one of"),
    ("bodies: {link1: {material: steel}}", "found no shape"),
    ("bodies: {link1: {sphere: 0.1, material: stel}}", "no material 'stel'.*did you mean 'steel'"),
    ("bodies: {link1: {sphere: -0.1}}", "expected a positive length"),
    ("bodies: {link1: {cylinder: {radius: 0.1}}}", "the key 'length' is missing"),
    ("bodies: {link1: {cylinder: {radius: 0.1, length: 1, inner: 0.2}}}", "inner radius 0.2"),
    ("bodies: {link1: {mass: 1, at: [0, 0, 1]}}", "found at beside mass"),
    ("bodies: {link1: {mass: 0}}", "found no mass"),
    ("bodies: {link1: []}", "at least one part"),
    ("fixed: {M_link1: nothing.json}", "nothing.json.*no such file"),
    ("from: none\nfixed: {M_link1: prior}", ":2: .*nothing is believed of 'M_link1'"),
    ("from: cad.urdf", "cad.urdf"),
    ("zero: off_*", "expected a list"),
    ("zero: [of_*]", r"no parameter 'of_\*'"),
    ("tied: [[Fv_j1]]", "expected at least two"),
    ("tied_bodies: [[link1, limb]]", "no body 'limb'"),
    ("bounds: {M_link1: [2, 1]}", "lower bound 2 is above the upper one 1"),
    ("bounds:\n  M_link1: [1, 2]\n  'M_*': [3, 4]", ":3: .*bounds of 'M_link1' exclude"),
    ("bounds: {M_link1: 3}", r"expected \[lower, upper\]"),
    ("mass_center: {link1: w}", "choose from x, y, z"),
    ("equal: [{MX_*: 1}]", r"no parameter 'MX_\*'"),
    ("fixed: {M_link1: 3}\nbounds: {M_link1: [0, 1]}", "outside its bounds"),
    ("fixed: {M_link5: 1, M_link6: 2}\ntied_bodies: [[link5, link6]]", "fixed to different values"),
    ("fixed: {MX_link1: 1, M_link1: 2}\nequal: [{MX_link1: 1, M_link1: -1}]", "contradicts"),
    ("- a list", "expected"),
    ("", "expected"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_mistake_is_one_line_with_its_place(tmp_path, text, said):
    with pytest.raises(DalembertError, match=said) as caught:
        known(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{tmp_path / 'prior.yaml'}:")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(DalembertError, match=r"missing\.yaml"):
        read_known(tmp_path / "missing.yaml", ROBOT, NAMES)
    with pytest.raises(DalembertError, match="no robot 'tx4'"):
        read_known("tx4", ROBOT, NAMES)
