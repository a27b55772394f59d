from __future__ import annotations

import numpy as np
import pytest
from tests.identification.synthetic import PARAMETERS

from dalembert.errors import EstimationError
from dalembert.identification.constraints import Constraints, Equality

NAMES = ("M_a", "MX_a", "M_b", "MX_b", "Fv_1", "Fv_2")


def test_patterns_and_exact_names():
    resolved = Constraints(fixed={"Fv_*": 2.0, "Fv_2": 3.0}, zero=("MX_b",), bounds={"M_*": (0.0, 5.0)}).resolve(NAMES)
    np.testing.assert_array_equal(resolved.fixed, [np.nan, np.nan, np.nan, 0.0, 2.0, 3.0])
    np.testing.assert_array_equal(resolved.lower, [0.0, -np.inf, 0.0, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(resolved.upper, [5.0, np.inf, 5.0, np.inf, np.inf, np.inf])


def test_every_point_of_the_basis_meets_every_equality(rng):
    spec = Constraints(
        fixed={"Fv_1": 1.5},
        ties=(("M_a", "M_b"),),
        equalities=(Equality((("MX_a", 1.0), ("M_a", -0.1))), Equality((("MX_b", 2.0), ("Fv_1", 1.0)), 4.0)),
    )
    x0, Z = spec.resolve(NAMES).basis()
    assert Z.shape == (6, 2)
    assert np.linalg.matrix_rank(Z) == 2
    x = x0 + Z @ rng.standard_normal(2)
    assert x[0] == pytest.approx(x[2])
    assert x[1] == pytest.approx(0.1 * x[0])
    assert 2.0 * x[3] + 1.5 == pytest.approx(4.0)
    assert x[4] == 1.5


def test_a_fixed_member_fixes_all_tied_to_it():
    x0, Z = Constraints(fixed={"M_a": 2.0}, ties=(("M_a", "M_b"), ("M_b", "Fv_2"))).resolve(NAMES).basis()
    assert (x0[0], x0[2], x0[5]) == (2.0, 2.0, 2.0)
    assert Z.shape == (6, 3)


def test_tied_bodies_tie_all_ten():
    tie = Constraints(tied_bodies=(("arm", "hand"),)).resolve(PARAMETERS).tie
    assert list(tie[:10]) == list(tie[10:20]) == list(range(10))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (Constraints(fixed={"M_c": 1.0}), r"fixed: no parameter 'M_c'; choose from .*did you mean 'M_"),
        (Constraints(zero=("Q_*",)), r"zero: no parameter 'Q_\*'"),
        (Constraints(bounds={"Fx_1": (0, 1)}), "bounds: no parameter 'Fx_1'"),
        (Constraints(ties=(("M_a", "M_z"),)), "ties: no parameter 'M_z'"),
        (Constraints(tied_bodies=(("a", "b"),)), "tied body 'a': no parameter"),
        (Constraints(equalities=(Equality((("M_z", 1.0),)),)), "equality 0: no parameter 'M_z'"),
        (Constraints(fixed={"M_*": 1.0, "*_a": 2.0}), "'M_a' is given both 1 and 2"),
        (Constraints(fixed={"M_a": 1.0, "M_b": 2.0}, ties=(("M_a", "M_b"),)), "fixed to different values"),
        (Constraints(bounds={"M_*": (0, 1), "M_a": (2, 3)}), "lower 2 above upper 1"),
        (Constraints(fixed={"M_a": -1.0}, bounds={"M_*": (0, 1)}), "outside its bounds"),
    ],
)
def test_one_line_errors(spec, message):
    with pytest.raises(EstimationError, match=message) as caught:
        spec.resolve(NAMES)
    assert "\n" not in str(caught.value)


def test_equalities_that_contradict():
    spec = Constraints(fixed={"M_a": 1.0}, equalities=(Equality((("M_a", 1.0),), 2.0),))
    with pytest.raises(EstimationError, match="equality 0 contradicts"):
        spec.resolve(NAMES).basis()
    with pytest.raises(EstimationError, match=r"lower 2\.0 above upper 1\.0"):
        Constraints(bounds={"M_a": (2.0, 1.0)})
    with pytest.raises(EstimationError, match="finite"):
        Constraints(fixed={"M_a": np.nan})
