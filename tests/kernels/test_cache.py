"""Finding a compiler, keeping what it made, doing without it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import casadi as ca
import numpy as np
import pytest
from tests.kernels.arm import regressor

from dalembert.errors import KernelError
from dalembert.kernels import Backend, build, c_executor, kernel, trace
from dalembert.kernels.tape import Program

DATA = np.linspace(-1.0, 2.0, 30).reshape(10, 3)


def program(constant: float) -> Program:
    x = ca.SX.sym("x", 3)
    return trace("cached", {"x": x}, {"y": ca.sin(x) + constant})


def forget() -> None:
    """As a new process would start: no library in memory."""
    c_executor.load_library.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "new" / "cache"))
    forget()
    return tmp_path / "new" / "cache"


@pytest.fixture
def no_compiling(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    c_executor.find_compiler("", os.environ["PATH"])

    def refuse(*_: Any) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(c_executor, "_compile", refuse)
    return monkeypatch


def check(constant: float) -> None:
    np.testing.assert_allclose(build(program(constant), "c")(DATA).y, np.sin(DATA) + constant, rtol=1e-14)


def test_second_process_does_not_compile(folder: Path, request: pytest.FixtureRequest) -> None:
    check(1.0)
    assert len(list(folder.iterdir())) == 1  # and no temporary file left
    forget()
    request.getfixturevalue("no_compiling")
    check(1.0)


@pytest.mark.parametrize("damage", ["cut", "empty", "altered", "directory"])
def test_damaged_files_are_compiled_again(folder: Path, damage: str) -> None:
    check(2.0)
    (path,) = folder.iterdir()
    content = path.read_bytes()
    # The library is mapped by this process, so its file is replaced, never written into.
    path.unlink()
    if damage == "directory":
        path.mkdir()
    else:
        middle = len(content) // 2
        altered = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:4000], "empty": b"", "altered": altered}[damage])
    forget()
    check(2.0)


def test_unusable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("DALEMBERT_CACHE", str(blocked / "cache"))
    forget()
    check(3.0)


def test_processes_at_the_same_time(folder: Path) -> None:
    c_executor.find_compiler(os.environ.get("CC", ""), os.environ.get("PATH", ""))
    script = (
        "import casadi as ca, numpy as np; from dalembert.kernels import build, trace; x = ca.SX.sym('x', 3);"
        "k = build(trace('p', {'x': x}, {'y': ca.cos(x) + 7}), 'c');"
        "assert np.allclose(k(np.ones((4, 3))).y, np.cos(1) + 7)"
    )
    running = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    assert not list(folder.glob("*.tmp"))


def test_kernels_built_and_used_by_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, [10.0, 11.0, 10.0, 12.0, 11.0]))
    for backend in get_args(Backend)[1:]:
        shared = build(program(13.0), backend)
        with ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(shared, DATA * k) for k in range(40)]
        results = [call.result().y for call in calls]
        for k, found in enumerate(results):
            np.testing.assert_allclose(found, np.sin(DATA * k) + 13.0, rtol=1e-13)


@pytest.mark.parametrize("cc", ["", "/nowhere/cc", sys.executable])
def test_without_a_compiler(cc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", cc)
    monkeypatch.setattr(kernel, "_NOTICES", [])
    with pytest.raises(KernelError, match=r"no working C compiler; tried .*set CC"):
        build(program(4.0), "c")
    with pytest.warns(RuntimeWarning, match="Kernels run on NumPy"):
        first = build(program(4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one notice per process
        second = build(program(5.0))
    assert (first.backend, second.backend) == ("numpy", "numpy")
    np.testing.assert_allclose(second(DATA).y, np.sin(DATA) + 5.0, rtol=1e-14)


def test_cc_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc -DDAL_TEST=1")
    found = c_executor.find_compiler("gcc -DDAL_TEST=1", os.environ["PATH"])
    assert found.command[1:] == ("-DDAL_TEST=1",)
    check(6.0)
    assert build(program(6.0)).backend == "c"


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_narrower_and_wider_vectors_than_the_machine_has(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text serves every register width: here it runs on registers that do not fit."""
    (command, *_) = c_executor.find_compiler("", os.environ["PATH"]).command
    monkeypatch.setenv("CC", f"{command} -DDAL_L={lanes}")
    y, yd, ydd, matrix = regressor()
    arm = trace("arm", {"y": y, "yd": yd, "ydd": ydd}, {"W": matrix, "e": ca.exp(y), "t": ca.tanh(1e3 * yd)})
    data = [np.random.default_rng(k).normal(size=(8009, 6)) for k in range(3)]  # enough to stream around the cache
    for found, expected in zip(build(arm, "c")(*data), build(arm, "numpy")(*data), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_unknown_backend() -> None:
    with pytest.raises(KernelError, match="expected auto, numpy or c"):
        build(program(1.0), "cuda")  # type: ignore[arg-type]
    with pytest.raises(KernelError, match="threads is 0"):
        build(program(1.0), threads=0)
