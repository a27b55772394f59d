"""The real log of a Staubli TX40, read from beside the repository."""

from __future__ import annotations

import numpy as np
import pytest
from tests.logs.arms import SHARED, chain

from dalembert.logs import open_log, read_log

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the recording is not here: {SHARED}")

GEARS = "[[32, 0, 0, 0, 0, 0], [0, 32, 0, 0, 0, 0], [0, 0, 45, 0, 0, 0], [0, 0, 0, -48, 0, 0], [0, 0, 0, 0, 45, 0], [0, 0, 0, 0, 32, 32]]"
CHANNELS = f"""
positions:
  columns: [motor_angle_1, motor_angle_2, motor_angle_3, motor_angle_4, motor_angle_5, motor_angle_6]
  matrix: {GEARS}
  inverse: true
  offset: [0, -pi/2, pi/2, 0, 0, 0]
torques:
  columns: [motor_torque_1, motor_torque_2, motor_torque_3, motor_torque_4, motor_torque_5, motor_torque_6]
  matrix: {GEARS}
  transpose: true
"""


def test_both_files_are_the_same_log(tmp_path):
    robot = chain(6, "tx40")
    (tmp_path / "tx40.yaml").write_text(CHANNELS)
    joint_side = read_log(SHARED / "tx40_train.parquet", robot)
    motor_side = read_log(SHARED / "tx40_train_motor_side.parquet", robot, tmp_path / "tx40.yaml")
    np.testing.assert_allclose(motor_side.q, joint_side.q, atol=1e-12)
    np.testing.assert_allclose(motor_side.tau, joint_side.tau, atol=1e-9)
    assert joint_side.notes == motor_side.notes == ()
    assert joint_side.info.rate == pytest.approx(5000.0)
    assert joint_side.info.samples == 26250
    source = open_log(SHARED / "tx40_train_motor_side.parquet", robot, tmp_path / "tx40.yaml")
    np.testing.assert_array_equal(np.concatenate([b.tau for b in source.blocks(1000)]), motor_side.tau)
    assert source.info == motor_side.info
