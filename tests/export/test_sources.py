"""Exported functions against the Python model, compiled and run as a user would."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import casadi as ca
import numpy as np
import pytest
from tests.export.fits import fit_of, model_of
from tests.helpers.catalog import catalog_robot

from dalembert.errors import ExportError
from dalembert.export import export
from dalembert.export.c_text import prefix_of
from dalembert.export.programs import Functions
from dalembert.export.source import identified
from dalembert.export.vectors import sample_vectors as vectors_of
from dalembert.identification.friction import FrictionLaws, FrictionModel, MotionScale, parse_friction
from dalembert.identification.friction.motion import CoordinateMotion
from dalembert.model import build_model
from dalembert.motion import random_states
from dalembert.robot import select_efforts, with_payload
from dalembert.robot.load import catalog_names

LIBM = {"sin", "cos", "sqrt", "atan2"}


def build(folder: Path) -> str:
    done = subprocess.run(
        ["make", "-s", "test", "CFLAGS=-O1"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def undefined(library: Path) -> set[str]:
    """Symbols the code takes from elsewhere, its own aside."""
    shown = subprocess.run(["nm", "-u", str(library)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in shown.splitlines() if line.strip() and not line.endswith(":")}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", catalog_names())
def test_c_equals_the_model_for_every_catalog_robot(name: str, tmp_path: Path) -> None:
    """gcc -std=c99 -Wall -Wextra -Werror; the test program compares every function with its vectors to 1e-12 and the
    vectors are compared with the model here. Nothing is called but sin, cos, sqrt and atan2: no allocation.
    """
    model = model_of(name)
    fit = fit_of(model)
    export(fit, tmp_path, to="c")
    assert "0 faults" in build(tmp_path)
    p = prefix_of(name)
    assert undefined(tmp_path / f"{p}.o") <= LIBM
    exported = subprocess.run(["nm", "-g", "--defined-only", f"{p}.o"], cwd=tmp_path, capture_output=True, text=True)
    names = {line.split()[-1] for line in exported.stdout.splitlines() if line.strip()}
    assert f"{p}_inverse_dynamics" in names and all(found.startswith(f"{p}_") for found in names)

    source = identified(fit)
    for vector in vectors_of(Functions(source)):
        v = vector.arrays
        state = [v[f"inverse_dynamics_{z}"][None] for z in ("y", "yd", "ydd")]
        same(v["inverse_dynamics_effort"], model.inverse_dynamics(*state, source.pi))
        same(v["regressor_W"] @ source.beta, model.inverse_dynamics(*state, source.pi))
        same(v["mass_matrix_M"], model.mass_matrix(state[0], source.pi))
        tau = v["forward_dynamics_tau"][None]
        same(v["forward_dynamics_ydd"], model.forward_dynamics(*state[:2], tau, source.pi))
        # base values with the dependent parameters at zero are the same robot as the nominal values
        np.testing.assert_allclose(
            v["inverse_dynamics_effort"][:, 0], model.inverse_dynamics(*state)[0], rtol=0, atol=1e-6
        )


def same(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.ravel(), expected.ravel(), rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_wrong_constant_is_found_by_the_test_that_travels_along(tmp_path: Path) -> None:
    export(fit_of(model_of("scara")), tmp_path, to="c")
    text = (tmp_path / "scara.c").read_text()
    at = text.index("0x1.", text.index("void inverse_dynamics_body"))
    (tmp_path / "scara.c").write_text(text[: at + 4] + ("1" if text[at + 4] != "1" else "2") + text[at + 5 :])
    done = subprocess.run(["make", "-s", "test"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "inverse_dynamics effort: relative error" in done.stdout


def test_cmake_builds_and_runs_the_test(tmp_path: Path) -> None:
    export(fit_of(model_of("scara")), tmp_path, to="c")
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["build/scara_test"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["tx40", "dualv", "delta3"])
def test_the_python_module_needs_numpy_alone_and_equals_the_model(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    export(fit_of(model), tmp_path / "robot.py")
    alone = (
        "import sys; sys.path.insert(0, '.'); import robot; bad = {'dalembert', 'casadi', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-I", "-c", f"{alone}; assert not bad, bad"], cwd=tmp_path, check=True)

    robot = load(tmp_path / "robot.py")
    states = random_states(model, 20, np.random.default_rng(5))
    tau = model.inverse_dynamics(states.y, states.yd, states.ydd)
    np.testing.assert_allclose(robot.inverse_dynamics(states.y, states.yd, states.ydd), tau, rtol=0, atol=1e-6)
    np.testing.assert_allclose(robot.regressor(states.y, states.yd, states.ydd) @ robot.BETA, tau, rtol=0, atol=1e-6)
    sensors = model.position_map()
    motion = (z @ sensors.T for z in (states.y, states.yd, states.ydd))
    preload = (np.zeros(model.n),) if model.n > model.r else ()
    found, y = robot.torque(*motion, *preload, start=states.y + 1e-3)
    np.testing.assert_allclose(y, states.y, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found, tau, rtol=0, atol=1e-6)
    one = robot.mass_matrix(states.y[0])  # one state as well as many
    np.testing.assert_allclose(one, model.mass_matrix(states.y[:1])[0], rtol=0, atol=1e-7)


def test_the_casadi_file_gives_each_function_on_its_own(tmp_path: Path) -> None:
    model = model_of("dualv")
    export(fit_of(model), tmp_path / "robot.casadi")
    whole = ca.Function.load(str(tmp_path / "robot.casadi"))
    states = random_states(model, 1, np.random.default_rng(5))
    tau = model.inverse_dynamics(states.y, states.yd, states.ydd)
    inverse = whole.factory("id", ["y", "yd", "ydd"], ["inverse_dynamics"])
    np.testing.assert_allclose(inverse(states.y, states.yd, states.ydd).full().ravel(), tau[0], rtol=0, atol=1e-6)
    forward = whole.factory("fd", ["y", "yd", "tau"], ["forward_dynamics"])
    np.testing.assert_allclose(forward(states.y, states.yd, tau).full().ravel(), states.ydd[0], rtol=0, atol=1e-5)


def with_laws(name: str, friction: str) -> tuple[FrictionLaws, list[float]]:
    law = parse_friction(friction)
    assert isinstance(law, FrictionModel)
    t = np.linspace(0.0, 6.0, 600)
    motion = CoordinateMotion(np.sin(t), np.cos(t), -np.sin(t), 0.01)
    laws = FrictionLaws.of(law, {f"j{k}": MotionScale.of([motion]) for k in range(1, 5)})
    return laws, list(np.random.default_rng(2).uniform(0.2, 3.0, len(laws.names)))


@pytest.mark.parametrize(
    "friction", ["asymmetric+sqrt", "stribeck", "smooth+offset", "quadratic+cubic+coulomb", "dahl+sqrt"]
)
def test_friction_laws_of_a_fit_come_along(friction: str, tmp_path: Path) -> None:
    """The exported friction equals what the law's own columns give along a motion, presliding included."""
    described = catalog_robot("scara")
    rigid = build_model(select_efforts(described, friction="none"), backend="numpy")
    laws, values = with_laws("scara", friction)
    fit = fit_of(rigid, described=described, laws=laws, law_values=values)
    export(fit, tmp_path, to="c")
    assert "0 faults" in build(tmp_path)
    export(fit, tmp_path / "robot.py")
    robot = load(tmp_path / "robot.py")

    t = np.linspace(0.0, 4.0, 400)
    w = np.array([1.0, 1.7, 2.3, 3.1])
    y, yd, ydd = 0.3 * np.sin(np.outer(t, w)), 0.3 * w * np.cos(np.outer(t, w)), -0.3 * w**2 * np.sin(np.outer(t, w))
    expected = rigid.inverse_dynamics(y, yd, ydd)
    at = 0
    for k, (_, law) in enumerate(laws.laws):
        count = len(law.symbols)
        own = law.columns(CoordinateMotion(y[:, k], yd[:, k], ydd[:, k], t[1]))
        expected[:, k] += own @ values[at : at + count]
        at += count
    found = []
    state = robot.presliding_start(y[0]) if "dahl" in friction else None
    for k in range(len(t)):
        if state is None:
            found.append(robot.torque(y[k], yd[k], ydd[k])[0])
        else:
            effort, _, state = robot.torque(y[k], yd[k], ydd[k], state)
            found.append(effort)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_a_payload_is_carried_or_not() -> None:
    bare = catalog_robot("dualv")
    loaded = build_model(with_payload(bare, "tool"), backend="numpy")
    pi = np.array([bare.nominal.get(name, 0.0) for name in loaded.parameters])
    pi[loaded.parameters.index("M_tool")] = 5.37
    fit = fit_of(loaded, pi=pi, payloads=("tool",), logs=("", "tool"))
    states = random_states(loaded, 3, np.random.default_rng(1))
    state = (states.y, states.yd, states.ydd)
    none, carried = identified(fit), identified(fit, "tool")
    assert "left out" in none.notes[0] and none.robot.body_names == bare.body_names
    np.testing.assert_allclose(
        none.model.inverse_dynamics(*state, none.pi), model_of("dualv").inverse_dynamics(*state), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        carried.model.inverse_dynamics(*state, carried.pi), loaded.inverse_dynamics(*state, pi), rtol=0, atol=1e-6
    )
    with pytest.raises(ExportError, match="payload 'gripper' is not in the fit"):
        identified(fit, "gripper")


def test_sources_do_not_overwrite_another_project(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n\techo mine\n")
    with pytest.raises(ExportError, match="another project's"):
        export(fit_of(model_of("scara")), tmp_path, to="c")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Makefile"]
    with pytest.raises(ExportError, match="no format ends in"):
        export(fit_of(model_of("scara")), tmp_path / "robot.step")
    with pytest.raises(ExportError, match=r"expected \.csv for csv"):
        export(fit_of(model_of("scara")), tmp_path / "robot.urdf", to="csv")
