"""The contract of friction terms, and names understood on the command line."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import EstimationError, UsageError
from dalembert.identification.friction import (
    CANDIDATES,
    MODELS,
    TERMS,
    CoordinateMotion,
    Coulomb,
    FrictionLaws,
    FrictionModel,
    FrictionSource,
    MotionScale,
    Stribeck,
    friction_coordinates,
    parse_friction,
    without_friction,
)
from dalembert.robot import load_robot

RATE = 1000.0


def wandering(n: int = 3000, seed: int = 0, amplitude: float = 1.0) -> CoordinateMotion:
    """A sum of sines: many reversals, some of them small, and a pause."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) / RATE
    f, a, p = rng.uniform(0.3, 4.0, 6), rng.normal(size=6), rng.uniform(0, 6.28, 6)
    w = 2 * np.pi * f
    x = amplitude * (np.sin(np.outer(t, w) + p) @ a)
    x[n // 3 : n // 3 + 200] = x[n // 3]
    x[n // 3 + 200 :] += x[n // 3] - x[n // 3 + 200]
    xd = np.gradient(x, 1 / RATE)
    return CoordinateMotion(x, xd, np.gradient(xd, 1 / RATE), 1 / RATE, load=5.0 * np.cos(x))


def scaled(name: str, motion: CoordinateMotion) -> FrictionModel:
    return FrictionModel(name, (TERMS[name](),)).scaled(MotionScale.of([motion]))


@pytest.mark.parametrize("name", TERMS)
def test_term_contract(name: str) -> None:
    motion = wandering()
    term = scaled(name, motion)
    columns = term.columns(motion)
    k = len(term.symbols)
    assert columns.shape == (len(motion), k) == (len(motion), len(term.units("m")))
    assert len(term.nonnegative) == k and term.names("j1") == tuple(f"{s}_j1" for s in term.symbols)
    assert np.isfinite(columns).all() and np.all(np.linalg.norm(columns, axis=0) > 0.0)
    assert term.slopes(motion).shape == (len(motion), k, len(term.shape))
    np.testing.assert_array_equal(term.with_shape([s.value for s in term.shape]).columns(motion), columns)
    with pytest.raises(EstimationError, match="shape parameters"):
        term.with_shape([1.0] * (len(term.shape) + 1))


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("block", [1, 7, 640])
def test_blocks_do_not_matter(name: str, block: int) -> None:
    motion = wandering(700, seed=3)
    term = scaled(name, motion)
    whole = term.advance(motion, term.start())
    state, parts, settled = term.start(), [], []
    for at in range(0, len(motion), block):
        step = term.advance(motion.cut(slice(at, at + block)), state)
        state = step.state
        parts.append(step.columns)
        settled.append(step.settled)
    np.testing.assert_allclose(np.vstack(parts), whole.columns, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(np.concatenate(settled), whole.settled)
    np.testing.assert_allclose(state, whole.state, rtol=1e-12)


@pytest.mark.parametrize("name", TERMS)
def test_nonnegative_terms_dissipate(name: str) -> None:
    """A coefficient that must be >= 0 takes energy over any long motion; presliding gives back only what it stored."""
    motion = wandering(20000, seed=5)
    term = scaled(name, motion)
    flags = np.array(term.nonnegative)
    x = motion.x
    mean = 0.5 * (term.columns(motion)[1:] + term.columns(motion)[:-1])
    work = np.diff(x) @ mean
    assert np.all(work[flags] > 0.0)


@pytest.mark.parametrize("name", ["smooth", "stribeck"])
def test_slopes_are_derivatives(name: str) -> None:
    motion = wandering()
    term = scaled(name, motion)
    (shape,) = term.shape
    h = 1e-6 * shape.value
    high, low = (term.with_shape([shape.value + d]).columns(motion) for d in (h, -h))
    np.testing.assert_allclose(term.slopes(motion)[:, :, 0], (high - low) / (2 * h), atol=1e-7 / shape.value)


@pytest.mark.parametrize("delta", [1.0, 2.0])
def test_stribeck_levels(delta: float) -> None:
    """Static level at rest, Coulomb level at speed."""
    v = np.array([-50.0, -1e-9, 1e-9, 50.0])
    motion = CoordinateMotion(v, v, v, 1.0)
    np.testing.assert_allclose(
        Stribeck(0.1, delta=delta).columns(motion), [[-1, 0], [0, -1], [0, 1], [1, 0]], atol=1e-7
    )


def test_scale_ignores_blocks_and_tracks_percentiles() -> None:
    motion = wandering(5000, seed=2)
    whole = MotionScale.of([motion])
    cut = MotionScale.of(motion.cut(slice(k, k + 333)) for k in range(0, 5000, 333))
    assert whole == cut and np.array_equal(whole.counts, cut.counts)
    for percent in (10, 50, 90):
        assert whole.speed(percent) == pytest.approx(np.percentile(np.abs(motion.xd), percent), rel=0.06)
    assert whole.span == pytest.approx(np.ptp(motion.x))


def test_still_coordinate_gives_zero_columns_not_errors() -> None:
    still = CoordinateMotion(np.full(50, 0.3), np.zeros(50), np.zeros(50), 1e-3)
    for name in CANDIDATES:
        model = MODELS[name].scaled(MotionScale.of([still]))
        assert not np.any(model.columns(still))


@pytest.mark.parametrize("name", ["smooth", "stribeck", "dahl"])
def test_unscaled_terms_say_what_to_do(name: str) -> None:
    with pytest.raises(EstimationError, match="scaled"):
        TERMS[name]().columns(wandering(700))


def test_motion_is_checked_and_read_only() -> None:
    ones = np.ones(4)
    with pytest.raises(EstimationError, match="xd has shape"):
        CoordinateMotion(ones, np.ones(3), ones, 1.0)
    with pytest.raises(EstimationError, match="xdd is not finite at sample 2"):
        CoordinateMotion(ones, ones, np.array([0, 0, np.nan, 0]), 1.0)
    with pytest.raises(EstimationError, match="no load"):
        MODELS["load"].columns(CoordinateMotion(ones, ones, ones, 1.0))
    with pytest.raises(ValueError, match="read-only"):
        CoordinateMotion(ones, ones, ones, 1.0).x[0] = 2.0
    ones[0] = 2.0  # the caller's own array stays writable


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("none", ()),
        ("coulomb", ("Fv", "Fc")),
        ("viscous + Coulomb + offset", ("Fv", "Fc", "off")),
        ("quadratic", ("Fv", "Fc", "Fq")),
        ("viscous+sqrt", ("Fv", "Fr")),
        ("stribeck", ("Fv", "Fc", "Fs")),
        ("dahl+cubic", ("Fv", "Fd0", "Fd1", "Fd2", "Fd3", "Ft")),
    ],
)
def test_parse(text: str, symbols: tuple[str, ...]) -> None:
    model = parse_friction(text)
    assert isinstance(model, FrictionModel) and model.symbols == symbols


def test_parse_sources() -> None:
    assert parse_friction(" own ") is FrictionSource.OWN and parse_friction("AUTO") is FrictionSource.AUTO


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coulom", "did you mean 'coulomb'"),
        ("", "choose from own, auto"),
        ("viscous+", "no term ''"),
        ("viscous+stribek", "did you mean 'stribeck'"),
        ("viscous+viscous", "given twice"),
        ("coulomb+stribeck", "'coulomb' and 'stribeck' are both dry"),
        ("asymmetric+offset", "holds the offset already"),
    ],
)
def test_parse_refuses(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_friction(text)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_two_terms_of_one_symbol() -> None:
    with pytest.raises(EstimationError, match="'Fc'"):
        FrictionModel("both", (Coulomb(), Stribeck()))


def test_laws_of_a_robot() -> None:
    """The description loses what the model replaces; the laws name their parameters per coordinate."""
    robot = load_robot("tx40")
    places = friction_coordinates(robot)
    assert list(places) == ["j1", "j2", "j3", "j4", "j5", "j6", "m6"]
    left = without_friction(robot, MODELS["dahl"]).parameters()
    assert not any(name.startswith(("Fv", "Fc")) for name in left) and "off_j1" in left and "Ia_m6" in left
    assert not any(name.startswith("off") for name in without_friction(robot, MODELS["asymmetric"]).parameters())
    motion = wandering()
    laws = FrictionLaws.of(MODELS["stribeck"], dict.fromkeys(places, MotionScale.of([motion])))
    assert laws.shape_names[-1] == "vs_m6" and laws.names[:3] == ("Fv_j1", "Fc_j1", "Fs_j1")
    other = laws.with_shape(np.arange(1.0, 8.0))
    assert [shape.value for shape in other.shape] == list(range(1, 8))
    assert other.on("j3").shape[0].value == 3.0
    with pytest.raises(EstimationError, match="j1"):
        laws.on("j9")
