"""Plant and controller as one C library: generated text, then loop.c, compiled through the kernels' cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import KernelError
from dalembert.kernels import Program
from dalembert.kernels.c_executor import CompilerMissing, _machine, find_compiler, load_library
from dalembert.kernels.scalar import c_function
from dalembert.model import Model
from dalembert.simulation.controllers.contract import CHANNELS
from dalembert.simulation.sensing import sensed
from dalembert.simulation.setup import Fault, Setup

__all__ = ["CompiledLoop", "compiled_loop"]

Array = NDArray[np.float64]

_PLANT = ("rates", "friction", "slip", "correct")
_POINTERS = (
    "pi", "limit", "theta_map", "noise", "quantum", "tableau", "channels", "gains", "pi_model", "q", "tau", "y", "v",
    "vd", "e", "theta", "x", "y_model",
)  # fmt: skip
_REALS = ("h", "delay", "tolerance_r", "tolerance_a", "rest", "far", "spread")
_WHOLES = ("samples", "substeps", "control_every", "stages", "order", "adaptive", "event_limit", "locate_steps")
_COUNTS = ("held", "saturated", "steps", "rejected", "events", "chatter", "first")


def compiled_loop(model: Model, setup: Setup, law: Program | None, locate: Program | None) -> CompiledLoop | None:
    """The compiled loop; None where the model asks for NumPy or no compiler works."""
    if model.backend == "numpy":
        return None
    try:
        compiler = find_compiler(os.environ.get("CC", ""), os.environ.get("PATH", ""))
    except CompilerMissing:
        if model.backend == "c":
            raise
        return None
    text = _text(model, setup, law, locate)
    # -march=native matters even for single doubles: SSE code after a kernel's AVX-512 code ran 4x slower (measured)
    identity = "\0".join([text, *compiler.command, *compiler.flags, compiler.version, _machine()])
    key = hashlib.sha256(identity.encode()).hexdigest()[:32]
    library = load_library(key, text, compiler.command, compiler.flags)
    return CompiledLoop(library, _sizes(model, setup, law))


def _sizes(model: Model, setup: Setup, law: Program | None) -> tuple[tuple[str, int], ...]:
    sensors = len(sensed(model.robot))
    states = next(port.size for port in law.inputs if port.name == "x") if law else 1
    sizes = {"NY": model.n_y, "R": model.r, "N": model.n, "M": setup.m, "NC": setup.closures, "NS": sensors}
    return (*sizes.items(), ("NX", states))


def _text(model: Model, setup: Setup, law: Program | None, locate: Program | None) -> str:
    defines = "".join(f"#define DAL_{name} {size}\n" for name, size in _sizes(model, setup, law))
    parts = [defines, "#include <math.h>\n"]
    parts += [c_function(p, f"dal_{name}") for name, p in zip(_PLANT, setup.programs, strict=True)]
    if locate is not None:
        parts.append(c_function(locate, "dal_locate"))
    else:
        parts.append("static void dal_locate(const double *y, const double *q, double *out) {}\n")
    loop = files("dalembert.simulation").joinpath("loop.c").read_text(encoding="utf-8")
    head, marker, tail = loop.partition("long long dal_size(void)")
    if law is not None:
        parts.append(c_function(law, "dal_law_program"))
    return "\n".join([*parts, head, _law_text(law), marker + tail])


def _law_text(law: Program | None) -> str:
    """The law at tick ``k``: its ports taken from the run, its state kept there."""
    if law is None:
        return "static void dal_law(dal_run *u, long long k, const double *q, double *tau) {}\n"
    where = {name: f"u->channels[{i}] + k * DAL_N" for i, name in enumerate(CHANNELS)}
    where |= {"x": "u->x", "q": "q", "y": "u->y_model", "pi": "u->pi_model", "k": "u->gains"}
    where["scale"] = f"u->channels[{len(CHANNELS)}]"
    arguments = ", ".join([where[port.name] for port in law.inputs] + ["tau", "next"])
    return (
        "static void dal_law(dal_run *u, long long k, const double *q, double *tau)\n{\n    double next[DAL_NX];\n"
        f"    dal_law_program({arguments});\n    memcpy(u->x, next, sizeof next);\n}}\n"
    )


@lru_cache(maxsize=64)
def _structure(sizes: tuple[tuple[str, int], ...]) -> type[ctypes.Structure]:
    """dal_run of loop.c for robots of these sizes."""
    n = dict(sizes)
    real, whole, pointer = ctypes.c_double, ctypes.c_longlong, ctypes.c_void_p
    layout: list[tuple[str, Any]] = [(name, pointer) for name in _POINTERS]
    layout += [(name, real) for name in _REALS] + [(name, whole) for name in _WHOLES]
    layout += [("s", real * (n["NY"] + n["R"] + 2)), ("held_tau", real * n["N"])]
    layout += [("sign", real * n["M"]), ("w", real * n["M"]), ("h_next", real)]
    layout += [(name, whole * n["M"]) for name in ("mode", "active", "slipped")]
    layout += [(name, whole) for name in _COUNTS] + [("vd_out", pointer)]
    return type("Run", (ctypes.Structure,), {"_fields_": layout})


class CompiledLoop:
    """One robot's library; :meth:`begin` makes a run of it."""

    def __init__(self, library: ctypes.CDLL, sizes: tuple[tuple[str, int], ...]) -> None:
        self._library = library
        self._structure = _structure(sizes)
        library.dal_size.restype = ctypes.c_longlong
        if library.dal_size() != ctypes.sizeof(self._structure):
            raise KernelError(
                f"compiled simulation: a run takes {library.dal_size()} bytes, expected "
                f"{ctypes.sizeof(self._structure)}; the compiler lays structures out in its own way"
            )

    def begin(self, setup: Setup, arrays: dict[str, Array | None], channels: list[Array], whole: dict[str, int],
              delay: float) -> CompiledRun:  # fmt: skip
        """A run that reads and writes ``arrays`` (C-contiguous, kept alive by the run)."""
        return CompiledRun(self._library, self._structure(), setup, arrays, channels, whole, delay)


class CompiledRun:
    """One simulation under way."""

    def __init__(
        self,
        library: ctypes.CDLL,
        run: Any,
        setup: Setup,
        arrays: dict[str, Array | None],
        channels: list[Array],
        whole: dict[str, int],
        delay: float,
    ) -> None:
        self._library, self._run = library, run
        self._table = setup.method.packed()
        self._channels = (ctypes.c_void_p * len(channels))(*[c.ctypes.data for c in channels])
        self._alive = (arrays, channels)
        for name, array in (arrays | {"pi": setup.pi, "tableau": self._table}).items():
            setattr(run, name, None if array is None else array.ctypes.data)
        run.channels = ctypes.addressof(self._channels)
        for name in ("tolerance_r", "tolerance_a", "rest", "far", "spread", "event_limit"):
            setattr(run, name, getattr(setup, name))
        run.h, run.h_next, run.delay = setup.step, setup.step, delay
        run.stages, run.order = setup.method.stages, setup.method.order
        run.adaptive = int(setup.method.adaptive)
        for name, value in whole.items():
            setattr(run, name, value)
        run.s[:] = [*setup.y0, *setup.v0, 0.0, 0.0]
        library.dal_start(ctypes.byref(run))

    @property
    def counts(self) -> dict[str, int]:
        """Steps taken and rejected, velocities that came to rest, steps finished without meeting them."""
        return {name: int(getattr(self._run, name)) for name in ("steps", "rejected", "events", "chatter")}

    @property
    def saturated(self) -> int:
        """Samples at which a motor was at its limit."""
        return int(self._run.saturated)

    def sense(self, i: int) -> None:
        """Positions as measured at sample i, into ``q``."""
        self._library.dal_sense(ctypes.byref(self._run), ctypes.c_longlong(i))

    def apply(self, i: int) -> Fault:
        """Torques ``tau`` of sample i applied until the next."""
        return Fault(self._library.dal_apply(ctypes.byref(self._run), ctypes.c_longlong(i)))

    def simulate(self, first: int, last: int) -> tuple[int, Fault]:
        """Samples first .. last - 1 under the compiled law: the sample reached, and why it stopped there."""
        reached = ctypes.c_longlong(first)
        fault = self._library.dal_simulate(
            ctypes.byref(self._run), ctypes.c_longlong(first), ctypes.c_longlong(last), ctypes.byref(reached)
        )
        return int(reached.value), Fault(fault)
