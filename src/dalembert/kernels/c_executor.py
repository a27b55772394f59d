"""Compile the C text of a tape with the system's compiler, keep the result on disk, and run it."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import KernelError
from dalembert.kernels.c_emitter import ENTRY_POINT, OPERATIONS_PER_FUNCTION, emit
from dalembert.kernels.layout import Rows, aligned_zeros
from dalembert.kernels.tape import FloatArray, Program

COMPILERS = ("cc", "gcc", "clang")
# No -ffast-math: NaN, inf and the order of additions keep their meaning. No contraction to fused
# multiply-add either, so that NumPy and C round alike. -O1 runs as fast as -O3 and compiles faster.
BASE_FLAGS = ("-std=gnu99", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-w")
TARGET_FLAGS = (("-march=native",), ())  # tried in this order
STREAM_FLAG = "-DDAL_STREAM"
# Outputs above this size leave the cache before anybody reads them: write around it.
STREAM_BYTES = 8 * 2**20
COMPILE_TIMEOUT_S = 300.0


class CompilerMissing(KernelError):
    """No working C compiler on this machine."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler that has compiled a small vector program on this machine with these flags."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    version: str


class CExecutor:
    """Runs one program by generated C. Holds no state a call changes, so threads may share it."""

    backend = "c"
    block = 2048  # measured: 512 is 1.3x slower (the cost of a call); above 4096 the outputs leave the cache
    releases_gil = True

    def __init__(self, program: Program, operations_per_function: int = OPERATIONS_PER_FUNCTION) -> None:
        compiler = find_compiler(os.environ.get("CC", ""), os.environ.get("PATH", ""))
        source = emit(program, operations_per_function)
        self._text = source.text
        self._work_size = source.work_size
        self._compiler = compiler
        self._plain = load(self._text, compiler, ())
        self._streaming: Any = None

    def run(self, inputs: Sequence[FloatArray], rows: Sequence[Rows], n: int) -> None:
        """Fill the output rows for n samples.

        `inputs[i]` has shape (n, size) and any strides; `rows[k]` are the rows of output k.
        """
        targets = np.concatenate([row.memory.ctypes.data + row.index * row.memory.strides[0] for row in rows])
        if n == 0 or not len(targets):
            return
        inputs = [array if _addressable(array) else np.ascontiguousarray(array) for array in inputs]
        pointers = np.array([array.ctypes.data for array in inputs], dtype=np.int64)
        strides = np.array([array.strides for array in inputs], dtype=np.int64).reshape(-1, 2) // 8
        sample, entry = np.ascontiguousarray(strides.T)
        work = aligned_zeros(1, self._work_size)
        function = self._function(n * len(targets) * 8)
        function(*(array.ctypes.data for array in (pointers, sample, entry, targets, work)), n)

    def _function(self, written_bytes: int) -> Any:
        if written_bytes < STREAM_BYTES:
            return self._plain
        if self._streaming is None:
            try:
                self._streaming = load(self._text, self._compiler, (STREAM_FLAG,))
            except KernelError:  # the compiler went away since: the plain kernel is right too, only slower
                self._streaming = self._plain
        return self._streaming


def _addressable(array: FloatArray) -> bool:
    """Whether C can step through it in whole doubles."""
    return array.flags.aligned and all(stride % 8 == 0 for stride in array.strides)


_PROBE = """#include <math.h>
typedef double v __attribute__((vector_size(64)));
double dal_probe(double x) { v a = {x, x, x, x, x, x, x, x}; a = a * a + 1.0; return a[3] + sin(x); }
"""


@lru_cache(maxsize=8)
def find_compiler(cc: str, path: str) -> Compiler:
    """The first of $CC, cc, gcc, clang that compiles vectors; `cc` and `path` are those variables."""
    tried = []
    for candidate in [*([cc] if cc else []), *COMPILERS]:
        words = shlex.split(candidate)
        program = shutil.which(words[0], path=path)
        if program is None:
            tried.append(f"{candidate} (not found)")
            continue
        command = (program, *words[1:])
        for target in TARGET_FLAGS:
            try:
                _compile(_PROBE, command, BASE_FLAGS + target)
                version = _output_of((*command, "--version"))
            except (OSError, subprocess.SubprocessError):
                continue
            return Compiler(command, BASE_FLAGS + target, version)
        tried.append(f"{candidate} (does not compile a vector program)")
    raise CompilerMissing(f"no working C compiler; tried {', '.join(tried)}; install gcc or clang, or set CC")


def load(text: str, compiler: Compiler, extra_flags: tuple[str, ...]) -> Any:
    """The compiled entry point of `text`: from this process, from the cache on disk, or compiled now."""
    flags = compiler.flags + extra_flags
    identity = "\0".join([text, *compiler.command, *flags, compiler.version, _machine()])
    key = hashlib.sha256(identity.encode()).hexdigest()[:32]
    function = getattr(load_library(key, text, compiler.command, flags), ENTRY_POINT)
    function.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_longlong]
    function.restype = None
    return function


@lru_cache(maxsize=256)
def load_library(key: str, text: str, command: tuple[str, ...], flags: tuple[str, ...]) -> ctypes.CDLL:
    """Cached files are named `key-digest.so`: a torn or altered one fails its digest and is redone."""
    folder = cache_folder()
    if folder is not None:
        for path in sorted(folder.glob(f"{key}-*.so")):
            library = _load_checked(path)
            if library is not None:
                return library
    try:
        binary = _compile(text, command, flags)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip().splitlines()
        raise KernelError(f"{command[0]} cannot compile a kernel: {reason[0] if reason else error}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise KernelError(f"{command[0]} cannot compile a kernel: {error}") from error
    return _store_and_load(binary, key, folder)


def _store_and_load(binary: bytes, key: str, folder: Path | None) -> ctypes.CDLL:
    name = f"{key}-{_digest(binary)}.so"
    if folder is not None:
        with contextlib.suppress(OSError):
            _write_atomically(folder / name, binary)
            library = _load_checked(folder / name)
            if library is not None:
                return library
    with tempfile.TemporaryDirectory(prefix="dalembert-", ignore_cleanup_errors=True) as scratch:
        path = Path(scratch) / name
        path.write_bytes(binary)
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            raise KernelError(f"cannot load a compiled kernel: {error}") from error


def _load_checked(path: Path) -> ctypes.CDLL | None:
    """Loading a torn library can kill the process, so its content is checked first."""
    try:
        if _digest(path.read_bytes()) == path.stem.split("-")[1]:
            return ctypes.CDLL(str(path))
        path.unlink()
    except OSError:
        pass
    return None


def _write_atomically(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def cache_folder() -> Path | None:
    """$DALEMBERT_CACHE or ~/.cache/dalembert/kernels, made if absent; None where nothing can be written."""
    chosen = os.environ.get("DALEMBERT_CACHE")
    try:
        folder = Path(chosen) if chosen else Path.home() / ".cache" / "dalembert" / "kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    return folder


def _compile(text: str, command: tuple[str, ...], flags: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="dalembert-", ignore_cleanup_errors=True) as scratch:
        source, target = Path(scratch) / "kernel.c", Path(scratch) / "kernel.so"
        source.write_text(text, encoding="utf-8")
        subprocess.run(
            [*command, *flags, str(source), "-o", str(target), "-lm"],
            check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=COMPILE_TIMEOUT_S,
        )  # fmt: skip
        return target.read_bytes()


def _output_of(command: tuple[str, ...]) -> str:
    done = subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=COMPILE_TIMEOUT_S)
    return done.stdout.decode(errors="replace")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


@lru_cache(maxsize=1)
def _machine() -> str:
    """What -march=native depends on: a shared cache must not serve one CPU's instructions to another."""
    lines = {platform.machine(), platform.processor(), sys.platform}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.split("\t")[0].strip().lower() in {
                "model name",
                "cpu family",
                "model",
                "flags",
                "features",
                "cpu part",
            }:
                lines.add(line)
    return "\n".join(sorted(lines))
