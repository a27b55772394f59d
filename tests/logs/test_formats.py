"""Every format is read as the same log, whole and in blocks of any size."""

from __future__ import annotations

import hashlib
from dataclasses import fields

import numpy as np
import pytest
from tests.logs.arms import chain, wave
from tests.logs.files import FORMATS, write_as

from dalembert.errors import LogError
from dalembert.logs import Log, Repair, make_log, open_log, read_log, write_log

ARM = chain(3)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_log(tmp_path, kind):
    log = wave(ARM)
    path = write_as(log, tmp_path, kind)
    read = read_log(path, ARM)
    # CSV, Parquet, MAT, CDR and JSON numbers keep all digits of a double
    np.testing.assert_array_equal(read.q, log.q)
    np.testing.assert_array_equal(read.tau, log.tau)
    # stamps of messages are whole nanoseconds
    np.testing.assert_allclose(read.t, log.t, atol=1e-9)
    assert read.motors == ARM.motor_names
    assert read.info.rate == pytest.approx(1000.0, rel=1e-9)
    if path.is_file():
        assert read.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["csv", "parquet", "mat5"])
@pytest.mark.parametrize("size", [1, 7, 399, 400, 1000])
def test_blocks_do_not_depend_on_their_size(tmp_path, kind, size):
    log = wave(ARM)
    source = open_log(write_as(log, tmp_path, kind), ARM)
    for reading in (source, log):
        blocks = list(reading.blocks(size))
        assert [b.first for b in blocks] == list(range(0, 400, size))
        np.testing.assert_array_equal(np.concatenate([b.q for b in blocks]), log.q)
        np.testing.assert_array_equal(np.concatenate([b.tau for b in blocks]), log.tau)
        np.testing.assert_allclose(np.concatenate([b.t for b in blocks]), log.t, rtol=1e-15)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_written_logs_keep_digits_payload_and_rates(tmp_path, suffix, rng):
    log = wave(ARM)
    full = make_log(ARM, 1000.0, log.q, log.tau, payload="a tool", qd=rng.normal(size=log.q.shape), qdd=log.q)
    read = read_log(write_log(full, tmp_path / f"x.{suffix}"), ARM)
    assert read.payload == "a tool"
    source = open_log(tmp_path / f"x.{suffix}", ARM)
    assert source.info == read.info
    assert source.with_payload("none").info.payload == "none"
    for name in ("q", "tau", "qd", "qdd"):
        np.testing.assert_array_equal(getattr(read, name), getattr(full, name))
    assert [p.name for p in tmp_path.iterdir()] == [f"x.{suffix}"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    log = wave(ARM)
    path = write_log(log, tmp_path / "x.parquet")
    before = path.read_bytes()

    class Broken:
        info = log.info

        def blocks(self, size):
            yield next(log.blocks(100))
            raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"):
        write_log(Broken(), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("kind", ["csv", "parquet", "mat5"])
def test_no_array_of_a_log_can_be_written(tmp_path, kind):
    log = read_log(write_as(wave(ARM), tmp_path, kind), ARM)
    source = open_log(write_as(wave(ARM), tmp_path, kind), ARM)
    mine = np.zeros((5, 3))
    made = make_log(ARM, 10.0, mine, mine)
    mine[:] = 1.0  # the caller's own array stays the caller's
    assert not made.q.any()
    for item in (log, made, log.part(3, 9), *log.blocks(100), *source.blocks(150)):
        arrays = [getattr(item, f.name) for f in fields(item)]
        for array in arrays:
            if isinstance(array, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 1.0


def test_sensors_and_unmeasured_torques(tmp_path):
    robot = chain(3, sensors=1, unmeasured=("j2",))
    log = wave(robot)
    with_sensor = make_log(robot, 1000.0, np.column_stack([log.q, log.q[:, 0]]), log.tau)
    read = read_log(write_log(with_sensor, tmp_path / "a.csv"), robot)
    assert read.info.positions == ("j1", "j2", "j3", "s1")
    assert read.info.torques == ("j1", "j3")
    without = read_log(write_log(log, tmp_path / "b.csv"), robot)
    assert without.info.positions == ("j1", "j2", "j3")
    assert without.tau.shape == (400, 2)


def test_time_stamps_of_parquet_become_seconds(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    log = wave(ARM, 50)
    stamps = pa.array(1_700_000_000_000_000_000 + np.arange(50) * 1_000_000, pa.timestamp("ns"))
    columns = {
        "t": stamps,
        **{f"q_j{i + 1}": log.q[:, i] for i in range(3)},
        **{f"tau_j{i + 1}": log.tau[:, i] for i in range(3)},
    }
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    read = read_log(tmp_path / "x.parquet", ARM)
    np.testing.assert_allclose(read.t, np.arange(50) * 1e-3, atol=1e-12)
    assert any("relative to the first" in note for note in read.notes)


def test_parts_and_payloads():
    log = wave(ARM)
    part = log.part(100, 200)
    assert part.t[0] == pytest.approx(0.1)
    np.testing.assert_array_equal(part.q, log.q[100:200])
    assert log.with_payload("tool").payload == "tool"
    with pytest.raises(LogError, match="samples 100 to 100"):
        log.part(100, 100)
    with pytest.raises(LogError, match=r"order.*choose from sort"):
        Repair(order="up")  # type: ignore[arg-type]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(LogError, match=r"tau has shape \(5, 2\), expected \(5, 3\)"):
        make_log(ARM, 10.0, np.zeros((5, 3)), np.zeros((5, 2)))
    with pytest.raises(LogError, match="no motor or sensor 'j9'"):
        make_log(ARM, 10.0, np.zeros((5, 3)), np.zeros((5, 3)), positions=("j1", "j2", "j9"))
    log = wave(ARM)
    assert isinstance(log, Log)
