"""A log in its file, read block by block, gives what the log in memory gives, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identification.recovery import model_of

from dalembert.excitation import Fourier
from dalembert.identification import friction_rows, observation
from dalembert.identification.identify import identify
from dalembert.logs import open_log, read_log, write_log
from dalembert.signals import SignalSettings, SlowMask
from dalembert.simulation.synthetic import random_recording


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    recording = random_recording(model_of("scara"), np.random.default_rng(4), family=Fourier(5, 20.0), rate=1000.0)
    return write_log(recording.log, tmp_path_factory.mktemp("streaming") / "run.parquet")


@pytest.mark.parametrize("friction", [None, "sqrt"])
@pytest.mark.parametrize("block", [317, 100_000])
def test_neither_the_file_nor_its_blocks_show_in_the_result(path, friction, block, monkeypatch):
    """To 1e-10 of each value (of its sigma where it is near zero), with nothing kept between passes."""
    model, settings = model_of("scara"), SignalSettings(cutoff=30.0, decimate=20, mask=SlowMask())
    known = identify(model, read_log(path, model.robot), signals=settings, friction=friction)
    for module in (observation, friction_rows):
        monkeypatch.setattr(module, "BLOCK", block)
        monkeypatch.setattr(module, "KEPT_BYTES", 0)
    streamed = identify(model, open_log(path, model.robot), signals=settings, friction=friction)
    for one, other in zip(streamed.parameters, known.parameters, strict=True):
        assert abs(one.value - other.value) <= 1e-10 * max(abs(other.value), other.sigma)
        assert one.sigma_robust == pytest.approx(other.sigma_robust, rel=1e-8)
        assert one.verdict == other.verdict
