"""A channel map as the text of a channels file, each entry in the words a person would use."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from dalembert.logs.channels import ELECTRIC, UNITS, Channel, ChannelMap
from dalembert.logs.guess import angular_places
from dalembert.robot.description import Robot

__all__ = ["channel_text", "channels_text"]

_SAME = 1e-12  # relative: two factors that print alike
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_RESERVED = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}


def channels_text(
    channels: ChannelMap, robot: Robot, head: Sequence[str] = (), remarks: Mapping[str, str] | None = None
) -> str:
    """The channels file of a map; ``head`` are comment lines, ``remarks`` a comment behind each signal's entry."""
    said = remarks or {}
    lines = [*(f"# {' '.join(line.split())}" for line in head), _time(channels)]
    if channels.payload:
        lines.append(f"payload: {_word(channels.payload)}")
    if channels.topic:
        lines.append(f"topic: {_word(channels.topic)}")
    lines.append("signals:")
    for channel in channels.channels:
        remark = f"   # {said[channel.signal]}" if channel.signal in said else ""
        lines.append(f"  {_word(channel.signal)}: {channel_text(channel, robot)}{remark}")
    return "\n".join(lines) + "\n"


def _time(channels: ChannelMap) -> str:
    time = channels.time
    if time.column is None:
        return f"time: {{rate: {_number(time.rate or 1.0)} Hz}}"
    unit = next((u for u, f in UNITS["t"].items() if math.isclose(f, time.unit, rel_tol=_SAME)), "s")
    return f"time: {{column: {_word(time.column)}, unit: {unit}}}"


def channel_text(channel: Channel, robot: Robot) -> str:
    """One entry: column, unit, sign or gain, offset."""
    kind, _, place = channel.signal.partition("_")
    turns = angular_places(robot)[place]
    keys: dict[str, str] = {}
    if len(channel.terms) == 1:
        column, factor = channel.terms[0]
        keys["column"] = _word(column)
        if channel.unknown_gain:
            keys |= {"constant": "unknown"}
        keys |= _factor(kind, factor, turns=turns)
    else:
        keys["columns"] = "{" + ", ".join(f"{_word(c)}: {_number(f)}" for c, f in channel.terms) + "}"
    if channel.offset:
        keys["offset"] = _angle(channel.offset) if turns and kind == "q" else _number(channel.offset)
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def _factor(kind: str, factor: float, *, turns: bool) -> dict[str, str]:
    """A factor as unit and sign where it is one, else as a gain."""
    # the units of this kind of joint, the plain one first
    units = {u: f for u, f in UNITS[kind].items() if u not in ELECTRIC}
    if kind != "tau":
        units = {u: f for u, f in units.items() if u.startswith(("rad", "mrad", "deg", "turn", "rpm")) == turns}
    elif not turns:
        units = {"N": 1.0, "kN": 1e3}
    sign = {"sign": "-1"} if factor < 0.0 else {}
    unit = next((u for u, f in units.items() if math.isclose(f, abs(factor), rel_tol=_SAME)), None)
    if unit is not None:
        return {"unit": unit, **sign}
    return {"gain": _number(factor)}


def _angle(value: float) -> str:
    """An angle, in degrees where they are whole."""
    degrees = math.degrees(value)
    whole = round(degrees)
    return f"{whole} deg" if abs(degrees - whole) < 1e-9 else _number(value)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED else json.dumps(text, ensure_ascii=False)
