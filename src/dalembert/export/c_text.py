"""The text of exported C: header, source, test vectors, test program, builds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.export.programs import DOCS, Functions
from dalembert.export.vectors import sample_vectors
from dalembert.kernels import Program
from dalembert.kernels.opcodes import Op
from dalembert.kernels.scalar import c_function

__all__ = ["MADE_BY", "c_files", "prefix_of"]

MADE_BY = "written by dalembert"
TOLERANCE = 1e-12  # of an output's largest entry, between this code and the Python model
_LIBM = {Op.SIN, Op.COS, Op.SQRT, Op.ATAN2}  # what a controller's mathematics library surely has
_NO_CALL = {Op.SIGN, Op.FABS, Op.IF_ELSE_ZERO}
_STEPS = 20  # of Newton, before a configuration is given up
_JUMP = 0.5  # [rad or m] a Newton step beyond this leaves the branch
_QUADRATIC = 1e-8  # [rad or m] a step of quadratic convergence this small leaves rounding
_LINEAR = 1e-13  # [rad or m] the same where more sensors than mobilities leave a residual

Array = NDArray[np.float64]


def prefix_of(name: str) -> str:
    """The robot's name as C can have it: what every exported name starts with."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII).lower()
    return text if text[:1].isalpha() else f"robot_{text}"


def c_files(functions: Functions, prefix: str) -> dict[str, str]:
    """Every file of the export by name."""
    return _C(functions, prefix).files()


class _C:
    def __init__(self, functions: Functions, prefix: str) -> None:
        self.functions, self.p, self.P = functions, prefix, prefix.upper()
        self.programs = functions.programs
        self.source = functions.source
        self.located = "newton" in self.programs
        d = functions.dynamics
        self.sizes: dict[str, tuple[int, str]] = {
            "NY": (d.n_y, "tree coordinates y"),
            "NS": (len(functions.sensors), "measured positions theta: motors, then further sensors"),
            "N": (d.n, "motors"),
            "R": (d.r, "independent velocities v"),
            "K": (self.programs["inverse_dynamics"].outputs[0].shape[0], "entries of an effort"),
            "NB": (len(self.source.symbols), "base parameters"),
        }
        if functions.has_state:
            self.sizes["NX"] = (functions.symbols.state.numel(), "state of the presliding friction")

    def files(self) -> dict[str, str]:
        p = self.p
        return {
            f"{p}.h": self._header(),
            f"{p}.c": self._source(),
            f"{p}_vectors.h": self._vectors(),
            f"{p}_test.c": self._test(),
            "Makefile": _MAKE.format(p=p, made=MADE_BY, libm=self._beyond()),
            "CMakeLists.txt": _CMAKE.format(p=p, made=MADE_BY),
        }

    # --- what is exported --------------------------------------------------------------------------------------------

    def _size(self, port: str) -> str:
        """Length of an array, in the header's names."""
        p = self.P
        return {
            "y": f"{p}_NY", "yd": f"{p}_NY", "ydd": f"{p}_NY", "next": f"{p}_NY", "theta": f"{p}_NS",
            "thetad": f"{p}_NS", "thetadd": f"{p}_NS", "tau": f"{p}_N", "preload": f"{p}_N", "effort": f"{p}_K",
            "gamma": f"{p}_R", "W": f"{p}_K * {p}_NB", "M": f"{p}_R * {p}_R", "N": f"{p}_NY * {p}_R",
            "state": f"{p}_NX", "state_next": f"{p}_NX",
        }[port]  # fmt: skip

    def _public(self) -> dict[str, Program]:
        return {name: program for name, program in self.programs.items() if name != "newton"}

    def _declaration(self, name: str, program: Program) -> str:
        ports = [f"const double {port.name}[{self._size(port.name)}]" for port in program.inputs]
        ports += [f"double {port.name}[{self._size(port.name)}]" for port in program.outputs]
        return f"void {self.p}_{name}({', '.join(ports)})"

    def _torque_arguments(self) -> list[str]:
        """Arguments of the whole way from motor positions to torques, in order."""
        extra = ["preload"] if self.functions.over_actuated else []
        return ["theta", "thetad", "thetadd", *extra]

    def _torque_declaration(self) -> str:
        ports = [f"const double {name}[{self._size(name)}]" for name in self._torque_arguments()]
        ports.append(f"double y[{self.P}_NY]")
        if self.functions.has_state:
            ports.append(f"double state[{self.P}_NX]")
        return f"int {self.p}_torque({', '.join(ports)}, double effort[{self.P}_K])"

    def _close_declaration(self) -> str:
        return f"int {self.p}_close(const double theta[{self.P}_NS], double y[{self.P}_NY])"

    def _beyond(self) -> str:
        """Library functions used beyond sin, cos, sqrt and atan2, in words."""
        used = {Op(int(op)) for program in self.programs.values() for op in program.ops}
        plain = {op for op in Op if op <= Op.NOT} - {Op.POW, Op.FMIN, Op.FMAX, Op.FMOD, Op.REMAINDER, Op.HYPOT}
        plain -= {Op.COPYSIGN, Op.FLOOR, Op.CEIL}
        more = sorted(op.name.lower() for op in used - plain - _LIBM - _NO_CALL)
        return f"sin, cos, sqrt, atan2{''.join(f', {name}' for name in more)}"

    # --- header ------------------------------------------------------------------------------------------------------

    def _header(self) -> str:
        source, guard = self.source, f"{self.P}_H"
        model = source.model
        lines = [
            f"/* {source.robot.name}: dynamics identified by {source.fit.method}, {MADE_BY}.",
            " *",
            " * One sample a call, SI units, no allocation, no state but what you hand in: functions may be called",
            " * from any thread. Matrices are row by row. Outputs must not overlap inputs.",
            f" * Functions of <math.h> used: {self._beyond()}.",
            " *",
            *_listed("y, yd, ydd: tree coordinates and rates", model.coordinates),
            *_listed("v: independent velocities", model.independent),
            *_listed("tau: motors", source.robot.motor_names),
            *_listed("theta: measured positions", tuple(source.robot.readings)),
            *_listed("effort", source.robot.motor_names if self._by_motor else model.independent),
            *_listed("beta: base parameters", source.symbols),
            *(f" * Note: {_comment(text)}" for text in source.notes),
            " */",
            f"#ifndef {guard}\n#define {guard}\n",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            "enum {",
            *(f"    {self.P}_{name} = {size}, /* {text} */" for name, (size, text) in self.sizes.items()),
            "};\n",
            f"/* A closed configuration, to start {self.p}_close from. */",
            f"extern const double {self.p}_home[{self.P}_NY];\n",
            "/* Base parameters of the fit. */",
            f"extern const double {self.p}_beta[{self.P}_NB];\n",
        ]
        if self.located:
            lines += [_CLOSE_DOC[self.functions.linear], f"{self._close_declaration()};\n"]
        for name, program in self._public().items():
            lines += [f"/* {_comment(self._doc(name))} */", f"{self._declaration(name, program)};\n"]
        if self.located:
            lines += [self._torque_doc(), f"{self._torque_declaration()};\n"]
        lines.append("#ifdef __cplusplus\n}\n#endif\n\n#endif")
        return "\n".join(lines) + "\n"

    @property
    def _by_motor(self) -> bool:
        d = self.functions.dynamics
        return d.n >= d.r

    def _doc(self, name: str) -> str:
        if name in ("inverse_dynamics", "regressor"):
            kind = "motor torques" if self._by_motor else "efforts on the independent velocities"
            return f"{DOCS[name]}: {kind}{', of least norm' if self.functions.over_actuated else ''}"
        return DOCS[name]

    def _torque_doc(self) -> str:
        text = f"The whole way: y closed at theta as by {self.p}_close, whose value is returned, then the effort"
        if self.functions.over_actuated:
            text += ", plus the share of preload that moves nothing"
        if self.functions.has_state:
            text += "; state goes on to this sample"
        return f"/* {text}. */"

    # --- source ------------------------------------------------------------------------------------------------------

    def _source(self) -> str:
        model = self.source.model
        parts = [
            f'/* {MADE_BY}; see the header. */\n#include <math.h>\n\n#include "{self.p}.h"\n',
            _PLAIN_TRIG.format(p=self.p),
        ]
        parts.append(_constants(f"const double {self.p}_home[{self.P}_NY]", model.home))
        parts.append(_constants(f"const double {self.p}_beta[{self.P}_NB]", self.source.beta))
        for name, program in self.programs.items():
            parts.append(c_function(program, f"{self.p}_{name}" if name == "newton" else f"{name}_body"))
            if name != "newton":
                ports = ", ".join([*(p.name for p in program.inputs), *(p.name for p in program.outputs)])
                parts.append(f"{self._declaration(name, program)}\n{{\n    {name}_body({ports});\n}}\n")
        if self.located:
            parts += [self._close(), self._torque()]
        return "\n".join(parts)

    def _close(self) -> str:
        head = self._close_declaration()
        if self.functions.linear:
            return _CLOSE_ONCE.format(head=head, p=self.p, P=self.P)
        exact = len(self.functions.sensors) == self.functions.dynamics.r
        done = _QUADRATIC if exact else _LINEAR
        return _CLOSE.format(head=head, p=self.p, P=self.P, steps=_STEPS, jump=_JUMP, done=done)

    def _torque(self) -> str:
        p, P = self.p, self.P
        state = "state, " if self.functions.has_state else ""
        body = [f"double yd[{P}_NY], ydd[{P}_NY];", f"const int steps = {p}_close(theta, y);", "if (!steps) return 0;"]
        body.append(f"{p}_rates(y, thetad, thetadd, yd, ydd);")
        if state:
            body.insert(1, f"double now[{P}_NX];")
            body += [f"{p}_presliding(y, state, now);", f"for (int k = 0; k < {P}_NX; k++) state[k] = now[k];"]
        body.append(f"{p}_inverse_dynamics(y, yd, ydd, {state}effort);")
        if self.functions.over_actuated:
            body.insert(1, f"double inner[{P}_N];")
            body.insert(1, f"const double none[{P}_R] = {{0.0}};")
            body += [
                f"{p}_distribute(y, none, preload, inner);",
                f"for (int k = 0; k < {P}_N; k++) effort[k] += inner[k];",
            ]
        body.append("return steps;")
        return f"{self._torque_declaration()}\n{{\n    " + "\n    ".join(body) + "\n}\n"

    # --- test --------------------------------------------------------------------------------------------------------

    def _vectors(self) -> str:
        vectors = sample_vectors(self.functions)
        lines = [f"/* Values of the Python model at {len(vectors)} states, {MADE_BY}. */"]
        lines.append(f"enum {{ {self.P}_VECTORS = {len(vectors)} }};")
        for key in vectors[0].arrays:
            size = vectors[0].arrays[key].size
            rows = ",\n".join(f"    {{{_numbers(v.arrays[key].ravel())}}}" for v in vectors)
            lines.append(f"static const double v_{key}[{self.P}_VECTORS][{max(1, size)}] = {{\n{rows}}};")
        return "\n".join(lines) + "\n"

    def _test(self) -> str:
        checks = []
        for name, program in self._public().items():
            given = ", ".join(f"v_{name}_{port.name}[k]" for port in program.inputs)
            outputs = [port.name for port in program.outputs]
            space = "".join(f"double {port}[{self._size(port)}]; " for port in outputs)
            compare = " ".join(
                f'check("{name} {port}", {port}, v_{name}_{port}[k], {self._size(port)});' for port in outputs
            )
            checks.append(f"{{ {space}{self.p}_{name}({given}, {', '.join(outputs)}); {compare} }}")
        if self.located:
            checks.append(self._close_test())
            checks.append(self._torque_test())
        body = "\n        ".join(checks)
        return _TEST.format(p=self.p, P=self.P, made=MADE_BY, tolerance=TOLERANCE, body=body)

    def _copy(self, name: str, start: str) -> str:
        size = self._size(name)
        return f"double {name}[{size}]; for (int i = 0; i < {size}; i++) {name}[i] = {start}[k][i];"

    def _close_test(self) -> str:
        check = f'check("close", y, v_close_y[k], {self.P}_NY);'
        return (
            f'{{ {self._copy("y", "v_close_start")} if (!{self.p}_close(v_close_theta[k], y)) lost("close"); {check} }}'
        )

    def _torque_test(self) -> str:
        given = ", ".join(f"v_torque_{name}[k]" for name in self._torque_arguments())
        state, argument = "", ""
        if self.functions.has_state:
            state, argument = self._copy("state", "v_torque_state"), "state, "
        return (
            f"{{ {self._copy('y', 'v_close_start')} {state} double effort[{self.P}_K]; "
            f'if (!{self.p}_torque({given}, y, {argument}effort)) lost("torque"); '
            f'check("torque", effort, v_torque_effort[k], {self.P}_K); }}'
        )


def _comment(text: str) -> str:
    """Text that cannot end a C comment."""
    return " ".join(text.replace("*/", "* /").split())


def _listed(title: str, names: Sequence[str]) -> list[str]:
    """Comment lines with an index before every name."""
    lines, line = [], f" * {title}:"
    for k, name in enumerate(names):
        word = f" [{k}] {_comment(name)}"
        if len(line) + len(word) > 110:
            lines.append(line)
            line = " *    "
        line += word
    return [*lines, line]


def _numbers(values: Array) -> str:
    return ", ".join(float(value).hex() for value in values) if len(values) else "0.0"


def _constants(declaration: str, values: Array) -> str:
    return f"{declaration} = {{{_numbers(values)}}};\n"


_CLOSE_DOC: Mapping[bool, str] = {
    True: "/* Coordinates of the measured positions, in closed form. Returns 1. */",
    False: "/* Coordinates at the measured positions by Newton from the y handed in (home, or the sample before).\n"
    " * Returns the number of steps, or 0 where the loops do not close from there: y is then as it was. */",
}

_PLAIN_TRIG = """\
#ifdef __GNUC__ /* apart, or GCC calls sincos for both, which not every C library has */
static __attribute__((noinline, unused)) double {p}_sin(double a) {{ return sin(a); }}
static __attribute__((noinline, unused)) double {p}_cos(double a) {{ return cos(a); }}
#define sin {p}_sin
#define cos {p}_cos
#endif
"""

_CLOSE_ONCE = """\
{head}
{{
    double next[{P}_NY];
    {p}_newton(y, theta, next);
    for (int k = 0; k < {P}_NY; k++) y[k] = next[k];
    return 1;
}}
"""

_CLOSE = """\
{head}
{{
    double at[{P}_NY], next[{P}_NY];
    for (int k = 0; k < {P}_NY; k++) at[k] = y[k];
    for (int step = 1; step <= {steps}; step++) {{
        double size = 0.0;
        {p}_newton(at, theta, next);
        for (int k = 0; k < {P}_NY; k++) {{
            const double moved = next[k] > at[k] ? next[k] - at[k] : at[k] - next[k];
            if (!(moved <= size)) size = moved; /* a NaN too */
            at[k] = next[k];
        }}
        if (!(size < {jump})) return 0;
        if (size < {done}) {{
            for (int k = 0; k < {P}_NY; k++) y[k] = at[k];
            return step;
        }}
    }}
    return 0;
}}
"""

_TEST = """\
/* Compares {p}.c with the Python model; {made}. Exit status 0 when every entry agrees to {tolerance:g}. */
#include <stdio.h>

#include "{p}.h"
#include "{p}_vectors.h"

static int faults = 0;
static double worst = 0.0;

static void lost(const char *what)
{{
    faults++;
    printf("%s: did not converge\\n", what);
}}

static void check(const char *what, const double *found, const double *expected, int size)
{{
    double top = 1e-300, error = 0.0;
    for (int i = 0; i < size; i++) {{
        const double e = expected[i] < 0.0 ? -expected[i] : expected[i];
        const double d = found[i] > expected[i] ? found[i] - expected[i] : expected[i] - found[i];
        if (e > top) top = e;
        if (!(d <= error)) error = d;
    }}
    error /= top;
    if (!(error <= worst)) worst = error;
    if (!(error <= {tolerance:g})) {{
        faults++;
        printf("%s: relative error %.3g\\n", what, error);
    }}
}}

int main(void)
{{
    for (int k = 0; k < {P}_VECTORS; k++) {{
        {body}
    }}
    printf("{p}: %d states, largest relative error %.3g, %d faults\\n", {P}_VECTORS, worst, faults);
    return faults ? 1 : 0;
}}
"""

_MAKE = """\
# {made}. Functions of the mathematics library used: {libm}.
CFLAGS ?= -O2
override CFLAGS += -std=c99 -Wall -Wextra -Werror

all: lib{p}.a

{p}.o: {p}.c {p}.h
\t$(CC) $(CFLAGS) -c -o $@ {p}.c

lib{p}.a: {p}.o
\t$(AR) rcs $@ {p}.o

{p}_test: {p}_test.c {p}_vectors.h lib{p}.a
\t$(CC) $(CFLAGS) -o $@ {p}_test.c lib{p}.a -lm

test: {p}_test
\t./{p}_test

clean:
\trm -f {p}.o lib{p}.a {p}_test

.PHONY: all test clean
"""

_CMAKE = """\
# {made}
cmake_minimum_required(VERSION 3.10)
project({p} C)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({p} STATIC {p}.c)
target_include_directories({p} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_link_libraries({p} PUBLIC m)

enable_testing()
add_executable({p}_test {p}_test.c)
target_link_libraries({p}_test PRIVATE {p})
add_test(NAME {p}_test COMMAND {p}_test)
"""
