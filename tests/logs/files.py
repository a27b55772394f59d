"""Writes the same log in every format the readers know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from dalembert.logs import Log, write_log

FORMATS = ("csv", "semicolon", "gz", "parquet", "mat5", "mat5-struct", "mat73", "mcap-cdr", "mcap-json", "rosbag2")


def _csv(log: Log, path: Path, delimiter: str, decimal: str) -> None:
    names = ["t", *(f"q_{m}" for m in log.motors), *(f"tau_{m}" for m in log.motors)]
    rows = np.column_stack([log.t, log.q, log.tau])
    lines = [
        delimiter.join(names),
        *(delimiter.join(repr(float(x)).replace(".", decimal) for x in row) for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n")


def _mat73(log: Log, path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in (("t", log.t[:, None]), ("q", log.q), ("tau", log.tau)):
            file[name] = array.T  # MATLAB writes the last index first
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        file["comment"] = np.frombuffer("arm".encode("utf-16-le"), np.uint16)[:, None]
        file["comment"].attrs["MATLAB_class"] = np.bytes_("char")
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file")


def _joint_states(log: Log):  # type: ignore[no-untyped-def]
    """Stamp [ns], names (in turning order, with a gripper), position, velocity, effort of each message."""
    names = [*log.motors, "gripper"]
    for i in range(len(log.t)):
        order = np.roll(np.arange(len(names)), i)
        q, tau = np.append(log.q[i], 0.0), np.append(log.tau[i], 0.0)
        stamp = 1_700_000_000_000_000_000 + round(log.t[i] * 1e9)
        yield stamp, [names[j] for j in order], q[order], np.zeros(0), tau[order]


def _mcap(log: Log, path: Path, encoding: str) -> None:
    import json

    writer_module = pytest.importorskip("mcap.writer")
    ros = pytest.importorskip("rosbags.typesys")
    store = ros.get_typestore(ros.Stores.ROS2_HUMBLE)
    with path.open("wb") as stream:
        writer = writer_module.Writer(stream)
        writer.start()
        schema = writer.register_schema(
            "sensor_msgs/msg/JointState", "ros2msg" if encoding == "cdr" else "jsonschema", b""
        )
        channel = writer.register_channel("/joint_states", encoding, schema)
        for stamp, names, q, qd, tau in _joint_states(log):
            data = bytes(store.serialize_cdr(_state(store, stamp, names, q, qd, tau), "sensor_msgs/msg/JointState"))
            if encoding == "json":
                head = {"stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}}
                body = {"header": head, "name": names, "position": list(q), "velocity": [], "effort": list(tau)}
                data = json.dumps(body).encode()
            writer.add_message(channel, log_time=stamp, data=data, publish_time=stamp)
        writer.finish()


def _state(store, stamp, names, q, qd, tau):  # type: ignore[no-untyped-def]
    types = store.types
    time = types["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
    header = types["std_msgs/msg/Header"](stamp=time, frame_id="")
    return types["sensor_msgs/msg/JointState"](header=header, name=names, position=q, velocity=qd, effort=tau)


def _rosbag2(log: Log, path: Path) -> None:
    ros = pytest.importorskip("rosbags.typesys")
    bags = pytest.importorskip("rosbags.rosbag2")
    store = ros.get_typestore(ros.Stores.ROS2_HUMBLE)
    kind = "sensor_msgs/msg/JointState"
    with bags.Writer(path, version=9) as writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for stamp, names, q, qd, tau in _joint_states(log):
            writer.write(connection, stamp, store.serialize_cdr(_state(store, stamp, names, q, qd, tau), kind))


def write_as(log: Log, folder: Path, kind: str) -> Path:
    """Write the log as a file of that kind; skips the test where an optional package is missing."""
    path = folder / {
        "csv": "log.csv", "semicolon": "log.txt", "gz": "log.csv.gz", "parquet": "log.parquet", "mat5": "log.mat",
        "mat5-struct": "log.mat", "mat73": "log.mat", "mcap-cdr": "log.mcap", "mcap-json": "log.mcap", "rosbag2": "log",
    }[kind]  # fmt: skip
    if kind in ("csv", "parquet"):
        write_log(log, path)
    elif kind == "semicolon":
        _csv(log, path, ";", ",")
    elif kind == "gz":
        import gzip

        _csv(log, folder / "plain.csv", ",", ".")
        path.write_bytes(gzip.compress((folder / "plain.csv").read_bytes()))
    elif kind == "mat5":
        scipy.io.savemat(path, {"t": log.t[:, None], "q": log.q, "tau": log.tau, "rate": 1000.0, "who": "arm"})
    elif kind == "mat5-struct":
        scipy.io.savemat(path, {"log": {"t": log.t, "q": log.q.T, "tau": log.tau}})
    elif kind == "mat73":
        _mat73(log, path)
    elif kind.startswith("mcap"):
        _mcap(log, path, kind.removeprefix("mcap-"))
    else:
        _rosbag2(log, path)
    return path
