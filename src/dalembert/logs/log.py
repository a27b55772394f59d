"""What a log is: typed, immutable, in SI units, on the robot's motors; in memory or read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.display import Plotted, aligned, number
from dalembert.errors import LogError, choices
from dalembert.robot.description import Robot

__all__ = ["Array", "Block", "Log", "LogInfo", "LogSource", "frozen", "make_log", "sealed"]

Array = NDArray[np.float64]


def frozen(values: ArrayLike) -> Array:
    """A read-only float64 array: the same one when it is read-only already, else a copy nobody else can
    write.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.flags.writeable:
        array = array.copy() if isinstance(values, np.ndarray) else array
        array.flags.writeable = False
    return array


def sealed(array: Array) -> Array:
    """The same array, made read-only: for one that was just computed and that nobody else holds."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True)
class LogInfo:
    """Everything about a log but its samples.

    ``positions`` names the columns of ``q`` (motors first, then sensors), ``torques`` those of ``tau`` (the
    motors whose torque is measured). Samples are uniform: ``start`` [s], ``period`` [s], ``samples``.
    ``unknown_gains`` names the torques whose drive gain is to be identified. ``notes`` holds one line for
    everything repaired or noticed.
    """

    name: str
    path: str
    sha256: str
    robot: str
    motors: tuple[str, ...]
    positions: tuple[str, ...]
    torques: tuple[str, ...]
    samples: int
    start: float
    period: float
    velocities: tuple[str, ...] = ()
    accelerations: tuple[str, ...] = ()
    payload: str = ""
    unknown_gains: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """Sampling frequency [Hz]."""
        return 1.0 / self.period

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return (self.samples - 1) * self.period

    def times(self, first: int, last: int) -> Array:
        """Times [s] of samples ``first`` to ``last - 1``, shape (last - first,)."""
        return np.asarray(self.start + self.period * np.arange(first, last), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive samples of a log, the first of them number ``first``; arrays as in :class:`Log`."""

    first: int
    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    qdd: Array | None = None


class LogSource(Protocol):
    """What an identification reads: metadata, and the samples in order, as often as needed."""

    @property
    def info(self) -> LogInfo: ...

    def blocks(self, size: int) -> Iterator[Block]:
        """The whole log in blocks of ``size`` samples, the last one shorter."""
        ...


@dataclass(frozen=True, slots=True)
class Log(Plotted):
    """A log in memory: time ``t`` [s] (n,), positions ``q`` (n, positions), torques ``tau`` (n, torques).

    Motors turn in rad or m, torques are N m or N, as the robot's motors are. ``qd`` and ``qdd`` are there
    when they were logged. All arrays are read-only float64.
    """

    info: LogInfo
    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    qdd: Array | None = None

    def __post_init__(self) -> None:
        info = self.info
        wanted = {
            "t": (info.samples,),
            "q": (info.samples, len(info.positions)),
            "tau": (info.samples, len(info.torques)),
            "qd": (info.samples, len(info.velocities)),
            "qdd": (info.samples, len(info.accelerations)),
        }
        for name, shape in wanted.items():
            array = getattr(self, name)
            if array is None and name in ("qd", "qdd") and shape[1] == 0:
                continue
            if array is None or np.shape(array) != shape:
                found = None if array is None else np.shape(array)
                raise LogError(f"log {info.name!r}: {name} has shape {found}, expected {shape}")
            object.__setattr__(self, name, frozen(array))

    @property
    def name(self) -> str:
        """Name of the log, its file's stem unless given."""
        return self.info.name

    @property
    def path(self) -> str:
        """File the log was read from, empty for one made in memory."""
        return self.info.path

    @property
    def sha256(self) -> str:
        """Hash of the file's bytes."""
        return self.info.sha256

    @property
    def motors(self) -> tuple[str, ...]:
        """Names of the robot's motors."""
        return self.info.motors

    @property
    def payload(self) -> str:
        """Label of the payload carried, empty for none."""
        return self.info.payload

    @property
    def notes(self) -> tuple[str, ...]:
        """One line for everything repaired or noticed."""
        return self.info.notes

    def __repr__(self) -> str:
        return f"<Log {self.headline}>"

    def __str__(self) -> str:
        """Range and RMS of every channel, and what was noticed."""
        return "\n".join([self.headline, *aligned(self.cells(), right=range(1, 5), indent="  "), *self.notes])

    @property
    def headline(self) -> str:
        """Name, size and payload in one line."""
        info = self.info
        carried = f", payload {info.payload}" if info.payload else ""
        return f"{info.name}: {info.samples} samples at {info.rate:.6g} Hz ({info.duration:.4g} s){carried}"

    def cells(self) -> list[tuple[str, ...]]:
        """Header and a row for every channel: its name, least and largest value, RMS."""
        info = self.info
        kinds = (("q", info.positions, self.q), ("qd", info.velocities, self.qd), ("qdd", info.accelerations, self.qdd))
        rows: list[tuple[str, ...]] = [("channel", "from", "to", "RMS")]
        for kind, names, values in (*kinds, ("tau", info.torques, self.tau)):
            for name, x in zip(names, () if values is None else values.T, strict=True):
                numbers = (x.min(), x.max(), np.sqrt(np.mean(x**2)))
                rows.append((f"{kind}_{name}", *(number(float(value)) for value in numbers)))
        return rows

    def blocks(self, size: int) -> Iterator[Block]:
        """The samples in blocks of ``size``, views of the log's arrays."""
        for first in range(0, self.info.samples, size):
            part = slice(first, min(first + size, self.info.samples))
            qd = None if self.qd is None else self.qd[part]
            qdd = None if self.qdd is None else self.qdd[part]
            yield Block(first, self.t[part], self.q[part], self.tau[part], qd, qdd)

    def with_payload(self, payload: str) -> Log:
        """The same log, carrying the payload of that label."""
        return replace(self, info=replace(self.info, payload=payload))

    def part(self, first: int, last: int, name: str | None = None) -> Log:
        """Samples ``first`` to ``last - 1`` as a log of their own."""
        n = self.info.samples
        if not 0 <= first < last <= n:
            raise LogError(f"log {self.name!r}: samples {first} to {last} asked for, expected 0 <= first < last <= {n}")
        cut = slice(first, last)
        info = replace(
            self.info,
            name=name if name is not None else f"{self.name}[{first}:{last}]",
            samples=last - first,
            start=float(self.t[first]),
        )
        qd = None if self.qd is None else self.qd[cut]
        qdd = None if self.qdd is None else self.qdd[cut]
        return Log(info, self.t[cut], self.q[cut], self.tau[cut], qd, qdd)


def make_log(
    robot: Robot,
    rate: float,
    q: ArrayLike,
    tau: ArrayLike,
    *,
    name: str = "log",
    start: float = 0.0,
    positions: Sequence[str] | None = None,
    payload: str = "",
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    notes: Sequence[str] = (),
) -> Log:
    """A log from arrays sampled at ``rate`` [Hz]: ``q`` (n, measured positions, or those of the motors), ``tau``
    (n, measured motors).
    """
    q, tau = frozen(q), frozen(tau)
    torques = tuple(m for m in robot.motor_names if m not in robot.unmeasured)
    every = tuple(robot.readings)
    if positions is None:
        motors = tuple(name for name in every if name in robot.motor_names)
        positions = every if q.ndim == 2 and q.shape[1] == len(every) else motors
    for column in positions:
        if column not in every:
            raise LogError(f"log {name!r}: no motor or sensor {column!r}; {choices(column, every)}")
    if not (np.isfinite(rate) and rate > 0.0):
        raise LogError(f"log {name!r}: rate {rate}, expected a positive frequency in Hz")
    n = len(q)
    info = LogInfo(
        name=name, path="", sha256="", robot=robot.name, motors=robot.motor_names, positions=tuple(positions),
        torques=torques, samples=n, start=start, period=1.0 / rate,
        velocities=tuple(positions) if qd is not None else (),
        accelerations=tuple(positions) if qdd is not None else (),
        payload=payload, notes=tuple(notes),
    )  # fmt: skip
    return Log(
        info,
        sealed(info.times(0, n)),
        q,
        tau,
        None if qd is None else frozen(qd),
        None if qdd is None else frozen(qdd),
    )
