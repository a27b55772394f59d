"""Robot logs in MCAP files and ROS 1 / ROS 2 bags: the joint states in them, one column per joint and quantity.

Needs the extra ``mcap`` (packages ``mcap`` and ``rosbags``). Columns are ``t`` (the messages' own stamps, relative to
the first), ``q_<joint>``, ``qd_<joint>``, ``tau_<joint>``, so that logs of a robot's joints need no channel map.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import LogError, choices
from dalembert.logs.log import Array

__all__ = ["BagTable", "McapTable"]

_TYPES = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState", "sensor_msgs/msg/jointstate", "JointState")
_INSTALL = "pip install 'dalembert[mcap]'"
_FIELDS = (("q", "position"), ("qd", "velocity"), ("tau", "effort"))
Message = tuple[int, Sequence[str], Mapping[str, Sequence[float]]]  # stamp [ns], joint names, values by field


class McapTable:
    """Joint states of one topic of an MCAP file: ROS 2 (CDR), ROS 1 or JSON messages."""

    rows: int | None
    ordered: Mapping[str, tuple[str, ...]] = {}
    lenient = True
    metadata: Mapping[str, str] = {}

    def __init__(self, path: Path, topic: str | None = None) -> None:
        self.path = path
        self.topic, messages = self._messages(topic)
        self.notes: tuple[str, ...] = (f"topic {self.topic!r}: time relative to the first message",)
        self.data = _tabulate(messages, f"{path}: topic {self.topic!r}")
        self.columns = tuple(self.data)
        self.rows = len(self.data["t"])

    def batches(self, names: Sequence[str], size: int) -> Iterator[Array]:
        for first in range(0, self.rows or 0, size):
            yield np.column_stack([self.data[name][first : first + size] for name in names])

    def _messages(self, topic: str | None) -> tuple[str, list[Message]]:
        try:
            from mcap.exceptions import McapError
            from mcap.reader import make_reader
        except ImportError:
            raise LogError(f"{self.path}: MCAP files need the extra mcap: {_INSTALL}") from None
        try:
            with self.path.open("rb") as stream:
                reader = make_reader(stream)
                summary = reader.get_summary()
                channels = {} if summary is None else summary.channels
                schemas = {} if summary is None else summary.schemas
                found = {c.topic: schemas[c.schema_id].name for c in channels.values() if c.schema_id in schemas}
                chosen = _choose(self.path, found, topic)
                decode = _Decoder(self.path)
                return chosen, [decode(channel, m) for _, channel, m in reader.iter_messages(topics=[chosen])]
        except (McapError, OSError, ValueError, KeyError, EOFError, struct.error) as error:
            raise LogError(f"{self.path}: not an MCAP file, or a damaged one: {_line(error)}") from None


class BagTable(McapTable):
    """Joint states of one topic of a ROS 1 bag or a ROS 2 bag folder."""

    def _messages(self, topic: str | None) -> tuple[str, list[Message]]:
        try:
            from rosbags.highlevel import AnyReader, AnyReaderError
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise LogError(f"{self.path}: ROS bags need the extra mcap: {_INSTALL}") from None
        try:
            with AnyReader([self.path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
                chosen = _choose(self.path, {c.topic: c.msgtype for c in reader.connections}, topic)
                picked = [c for c in reader.connections if c.topic == chosen]
                return chosen, [
                    _from_ros(reader.deserialize(raw, connection.msgtype), stamp)
                    for connection, stamp, raw in reader.messages(connections=picked)
                ]
        except (AnyReaderError, OSError, ValueError, KeyError, EOFError, struct.error) as error:
            raise LogError(f"{self.path}: not a ROS bag, or a damaged one: {_line(error)}") from None


class _Decoder:
    """Joint states from raw messages of an MCAP file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stores: dict[str, Any] = {}

    def __call__(self, channel: Any, message: Any) -> Message:
        encoding = channel.message_encoding
        if encoding == "json":
            return self._json(message)
        if encoding not in ("cdr", "ros1"):
            raise LogError(
                f"{self.path}: topic {channel.topic!r} has {encoding!r} messages; choose from cdr, ros1, json"
            )
        try:
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise LogError(f"{self.path}: {encoding} messages need the extra mcap: {_INSTALL}") from None
        if encoding not in self.stores:
            self.stores[encoding] = get_typestore(Stores.ROS2_HUMBLE if encoding == "cdr" else Stores.ROS1_NOETIC)
        store = self.stores[encoding]
        read = store.deserialize_cdr if encoding == "cdr" else store.deserialize_ros1
        return _from_ros(read(message.data, "sensor_msgs/msg/JointState"), message.log_time)

    def _json(self, message: Any) -> Message:
        try:
            body = json.loads(message.data)
            stamp = body.get("header", {}).get("stamp", {})
            seconds = int(stamp.get("sec", stamp.get("secs", 0)))
            ns = seconds * 1_000_000_000 + int(stamp.get("nanosec", stamp.get("nsec", stamp.get("nsecs", 0))))
            return ns or message.log_time, list(body["name"]), {f: body.get(f) or [] for _, f in _FIELDS}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LogError(f"{self.path}: a JSON message is no joint state: {_line(error)}") from None


def _from_ros(state: Any, logged: int) -> Message:
    stamp = state.header.stamp
    ns = int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
    return ns or logged, list(state.name), {field: getattr(state, field) for _, field in _FIELDS}


def _choose(path: Path, found: Mapping[str, str], topic: str | None) -> str:
    """The topic asked for, or the only one with joint states."""
    if topic is not None and topic not in found:
        raise LogError(f"{path}: no topic {topic!r}; {choices(topic, found)}")
    states = sorted(t for t, kind in found.items() if kind.endswith(_TYPES) and topic in (None, t))
    if len(states) == 1:
        return states[0]
    if not states:
        listed = ", ".join(f"{t} ({kind})" for t, kind in sorted(found.items())) or "no topics"
        raise LogError(f"{path}: no joint states, expected sensor_msgs/JointState messages, found {listed}")
    raise LogError(
        f"{path}: joint states on {len(states)} topics; name one (topic: in a channels file); {choices('', states)}"
    )


def _tabulate(messages: Iterable[Message], where: str) -> dict[str, Array]:
    """Columns from messages; every message must name the same joints, in any order."""
    messages = list(messages)
    if not messages:
        raise LogError(f"{where}: no messages, expected joint states")
    joints = tuple(messages[0][1])
    order = {name: i for i, name in enumerate(joints)}
    data: dict[str, Array] = {"t": np.array([stamp - messages[0][0] for stamp, _, _ in messages]) * 1e-9}
    for prefix, field in _FIELDS:
        if len(messages[0][2][field]) == 0:
            continue
        table = np.full((len(messages), len(joints)), np.nan)
        for row, (_, names, values) in enumerate(messages):
            if len(values[field]) != len(names) or set(names) != set(joints):
                found = f"{len(values[field])} values of {field} for joints {', '.join(names)}"
                expected = f"expected {len(joints)} for {', '.join(joints)}"
                raise LogError(f"{where}: message {row + 1} has {found}, {expected}")
            table[row, [order[name] for name in names]] = values[field]
        data.update({f"{prefix}_{name}": table[:, i] for i, name in enumerate(joints)})
    return data


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
