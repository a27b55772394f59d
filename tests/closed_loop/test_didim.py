"""DIDIM finds the truth of simulated experiments from their torques alone, on trees and loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.closed_loop.experiments import recorded

from dalembert.closed_loop.didim import Didim
from dalembert.identification.identify import identify
from dalembert.signals import SignalSettings, SlowMask

MASK = SlowMask(0.05, "relative")
SIGNALS = SignalSettings(decimate=20, mask=MASK)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps"), [("tx40", 5), ("dualv", 5), ("orthoglide", 8)])
def test_truth_is_found_from_rotors_of_one(name, steps):
    made = recorded(name)
    fit = identify(made.blind, made.log, estimator=Didim(made.law, made.path, inertia=made.guess), signals=SIGNALS)
    idim = identify(made.blind, made.log, signals=replace(SIGNALS, cutoff=50.0))
    assert fit.status == "converged"
    assert fit.estimate.iterations <= steps
    assert fit.relative_error < 1.1 * idim.relative_error
    z = made.z_scores(fit)
    assert np.mean(np.abs(z) < 2.0) > 0.85
    assert np.abs(z).max() < 5.0
