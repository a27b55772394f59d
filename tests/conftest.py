"""What all tests share: reproducible randomness, no display, a compile cache of their own."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import hypothesis
import numpy as np
import pytest

from dalembert.kernels.c_executor import CompilerMissing, find_compiler

os.environ.setdefault("MPLBACKEND", "Agg")

# Two shared cores: a slow example is no failure. In CI the same examples are drawn each time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config: pytest.Config) -> None:
    """Without a compiler the kernels run on NumPy and say so: here that is the machine, not a mistake."""
    try:
        find_compiler(os.environ.get("CC", ""), os.environ.get("PATH", ""))
    except CompilerMissing:
        config.addinivalue_line("filterwarnings", "ignore:no working C compiler:RuntimeWarning")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that asks for compiled kernels is skipped on a machine that has no compiler."""
    try:
        return (yield)
    except CompilerMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session", autouse=True)
def _own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every run compiles what it tests; set DALEMBERT_CACHE to share compiled kernels between runs."""
    with pytest.MonkeyPatch.context() as patch:
        if "DALEMBERT_CACHE" not in os.environ:
            patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives every test the same numbers, whatever ran before it."""
    return np.random.default_rng(20240229)
