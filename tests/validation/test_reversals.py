"""Errors near velocity reversals are reported apart from those of clearly moving joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identification.recovery import model_of, preload

from dalembert.identification.identify import identify
from dalembert.signals import SignalSettings, SlowMask, plan, usable
from dalembert.simulation.synthetic import random_recording
from dalembert.validation import validate


def share_near_reversals(speed, limit, more, settled):
    """Share of the instants at which some motor is slower than ``limit`` or turns back, with ``more`` samples around."""
    return 1.0 - usable(speed, limit, settled.reach + more, settled.turning + more).all(axis=1).mean()


def test_a_noisy_sign_errs_near_reversals_and_wrong_inertia_away_from_them(rng):
    model = model_of("dualv")
    first, second = (
        random_recording(model, rng, preload=preload, encoder_step=step, name=name)
        for name, step in (("first", 1e-5), ("second", 5e-5))
    )
    fit = identify(model, first.log).fit
    held_out = replace(second.log, tau=second.torque)
    found = validate(fit, held_out)
    # the share is that of the true motion, whose speed the encoders know to within the limit, its reversals to a sample
    full_rate = SignalSettings(cutoff=fit.provenance["logs"][0]["cutoff"], decimate=1, mask=SlowMask())
    settled = plan(second.log, full_rate)
    speed = (second.motion.yd @ model.robot.motor_map().T)[settled.border :][: settled.samples]
    least = share_near_reversals(speed, 1e-3 * settled.slow, -settled.turning, settled)
    most = share_near_reversals(speed, 2.0 * settled.slow, 2, settled)
    assert 0.0 < least <= found.reversal_share <= most
    assert found.away_error < 0.003
    assert found.reversal_error > 5.0 * found.away_error  # the sign of a noisy velocity
    assert f"{100 * found.reversal_error:.2f} % near them" in str(found)
    # the two parts are the whole, weighed by their torque
    low, high = sorted((found.away_error, found.reversal_error))
    assert low < found.raw_relative_error < high
    heavy = replace(
        fit, parameters=tuple(replace(p, value=1.1 * p.value) if p.unit == "kg" else p for p in fit.parameters)
    )
    worse = validate(heavy, held_out)
    assert worse.away_error > 5.0 * found.away_error
    assert np.isfinite(worse.reversal_error)


def test_a_motion_without_reversals_has_no_such_part(rng):
    model = model_of("scara")
    recording = random_recording(model, rng, name="first")
    fit = identify(model, recording.log).fit
    speed = np.abs(recording.motion.yd @ model.robot.motor_map().T).min(axis=1)
    still = np.concatenate([[0], np.flatnonzero(speed < 0.01), [len(speed)]])
    k = int(np.argmax(np.diff(still)))
    moving = recording.log.part(int(still[k]) + 1, int(still[k + 1]), name="moving")
    found = validate(fit, moving)
    assert found.reversal_share == pytest.approx(0.0)
    assert found.away_error == pytest.approx(found.raw_relative_error)
    assert "reversals" not in str(found)
