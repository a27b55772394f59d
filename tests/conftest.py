"""What all tests share: reproducible randomness, no display, a compile cache of their own."""

from __future__ import annotations

import os

import hypothesis
import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

# Two shared cores: a slow example is no failure. In CI the same examples are drawn each time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives every test the same numbers, whatever ran before it."""
    return np.random.default_rng(20240229)
