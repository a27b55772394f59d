"""Options that several commands read logs by, parsed once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import typer

from dalembert.errors import UsageError, choices
from dalembert.logs import LogSource, Repair, load_log
from dalembert.robot import Robot
from dalembert.signals import SignalSettings, SlowMask

__all__ = [
    "ChannelsOption",
    "CutoffOption",
    "DecimateOption",
    "LogReader",
    "MaskOption",
    "PayloadOption",
    "RepairOption",
    "repair_of",
    "signal_settings",
]

PayloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--payload",
        metavar="NAME=LOG[,LOG...]",
        help="these logs were made with the payload NAME on the platform: a file, or the name of a log given",
    ),
]
ChannelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--channels",
        metavar="FILE",
        help="which column is which signal, in which unit, on which side of the gears; LOG=FILE for one log only",
    ),
]
RepairOption = Annotated[
    list[str] | None,
    typer.Option(
        "--repair",
        metavar="WHAT=HOW",
        help="missing=drop, order=sort, duplicates=drop, jitter=resample|uniform, gaps=longest|fill; each is said",
    ),
]
CutoffOption = Annotated[
    str, typer.Option("--cutoff", metavar="HZ|auto", help="cutoff of the zero-phase position filter [Hz]; 0: no filter")
]
DecimateOption = Annotated[
    str, typer.Option("--decimate", metavar="N|auto", help="one sample kept of N after a common low-pass; 1: all")
]
MaskOption = Annotated[
    str,
    typer.Option(
        "--mask-slow",
        metavar="LIMIT|none",
        help="leave out samples of joints too slow for the sign of their velocity to be known: 5 (times the encoder's "
        "velocity noise), '0.01 rad/s', '2 %' of the largest speed, or none",
    ),
]


def signal_settings(cutoff: str, decimate: str, mask_slow: str) -> SignalSettings:
    """How signals are treated, from what the options say."""
    return SignalSettings(
        cutoff=None if cutoff == "auto" else _number("--cutoff", cutoff, "a frequency in Hz or auto"),
        decimate=None if decimate == "auto" else _whole(decimate),
        mask=_mask(mask_slow),
    )


def _number(option: str, text: str, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise UsageError(f"{option} {text!r}: expected {expected}")
    return value


def _whole(text: str) -> int:
    value = _number("--decimate", text, "a whole number or auto")
    if value != int(value):
        raise UsageError(f"--decimate {text!r}: expected a whole number or auto")
    return int(value)


def _mask(text: str) -> SlowMask | None:
    said = text.strip().lower()
    if said in ("none", "0"):
        return None
    expected = "a number of velocity noises, a speed such as '0.01 rad/s', a share such as '2 %', or none"
    for ending in ("rad/s", "m/s"):
        if said.endswith(ending):
            return SlowMask(_number("--mask-slow", said.removesuffix(ending), expected), "absolute")
    if said.endswith("%"):
        return SlowMask(_number("--mask-slow", said.removesuffix("%"), expected) / 100.0, "relative")
    return SlowMask(_number("--mask-slow", said, expected), "noise")


@dataclass(frozen=True, slots=True)
class LogReader:
    """Reads the logs of one command: with channel maps, repairs and payload labels; ``torque_only`` files without
    positions.
    """

    robot: Robot
    channels: Sequence[str]
    repair: Sequence[str]
    torque_only: Collection[str] = ()

    def read(self, paths: Iterable[str], payload: Sequence[str]) -> list[LogSource]:
        """The logs, in order; those only named by ``--payload`` follow."""
        wanted = list(paths)
        twice = next((file for file in wanted if wanted.count(file) > 1), None)
        if twice is not None:
            raise UsageError(f"log {twice} is given twice, expected each log once")
        carried = _carried(payload)
        names = _names([*wanted, *(file for file in carried if _is_file(file))])
        known = {name: file for file, name in names.items()}
        label = {}
        for place, what in carried.items():
            file = place if place in names else known.get(place)
            if file is None:
                raise UsageError(f"--payload {what}={place}: no such log; {choices(place, known)}, or a file")
            label[file] = what
        maps, repair = _maps(self.channels, names), repair_of(self.repair)
        return [self._one(file, name, maps, repair, label.get(file)) for file, name in names.items()]

    def _one(self, file: str, name: str, maps: dict[str, str], repair: Repair | None, payload: str | None) -> LogSource:
        positions = file not in self.torque_only
        log = load_log(file, self.robot, maps.get(file, maps.get("")), repair, positions=positions)
        info = replace(log.info, name=name, payload=log.info.payload if payload is None else payload)
        named: LogSource = replace(log, info=info)  # type: ignore[type-var]
        return named


def _is_file(place: str) -> bool:
    return Path(place).exists()


def _names(files: Sequence[str]) -> dict[str, str]:
    """A name for every file: its stem, or its whole path where two have the same."""
    stems = [Path(file).name.partition(".")[0] for file in files]
    return {
        file: stem if len({f for f, s in zip(files, stems, strict=True) if s == stem}) == 1 else file
        for file, stem in zip(files, stems, strict=True)
    }


def _pairs(option: str, given: Sequence[str], form: str) -> list[tuple[str, str]]:
    out = []
    for text in given:
        left, equals, right = text.partition("=")
        if not equals or not left.strip() or not right.strip():
            raise UsageError(f"{option} {text!r}: expected {form}")
        out.append((left.strip(), right.strip()))
    return out


def _carried(given: Sequence[str]) -> dict[str, str]:
    """Payload by log."""
    out: dict[str, str] = {}
    for name, logs in _pairs("--payload", given, "NAME=LOG, for example tool=run2.parquet"):
        for place in (part.strip() for part in logs.split(",")):
            if out.get(place, name) != name:
                raise UsageError(f"--payload: log {place!r} carries {out[place]!r} and {name!r}, expected one of them")
            out[place] = name
    return out


def _maps(given: Sequence[str], names: dict[str, str]) -> dict[str, str]:
    """Channel map by file, the one for all others under ''."""
    out: dict[str, str] = {}
    known = {name: file for file, name in names.items()} | {file: file for file in names}
    for text in given:
        left, equals, right = text.partition("=")
        if equals and not _is_file(text) and left not in known:
            raise UsageError(f"--channels {text!r}: no log {left!r}; {choices(left, names.values())}")
        place, file = (known[left], right) if equals and left in known else ("", text)
        if place in out:
            raise UsageError(f"--channels: {out[place]!r} and {file!r} are both for the same logs, expected one file")
        out[place] = file
    return out


def repair_of(given: Sequence[str]) -> Repair | None:
    """What may be repaired, from ``WHAT=HOW`` words; None where none are given."""
    if not given:
        return None
    valid = [item.name for item in fields(Repair)]
    parts = [part for text in given for part in text.split(",")]
    found = dict(_pairs("--repair", parts, "WHAT=HOW, for example jitter=resample"))
    for name in found:
        if name not in valid:
            raise UsageError(f"--repair {name}: {choices(name, valid)}")
    return Repair(**found)  # type: ignore[arg-type]
