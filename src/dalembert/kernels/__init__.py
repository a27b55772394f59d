"""CasADi SX expression -> fast function over many samples.

program = trace("W", inputs={"y": y, "yd": yd, "ydd": ydd}, outputs={"W": W})
kernel = build(program)
(W,) = kernel(y, yd, ydd)          # arrays (n, k) in, (n, r, p) out
"""

from dalembert.kernels.kernel import Backend, Kernel, Outputs, build
from dalembert.kernels.tape import Input, Output, Program, trace

__all__ = ["Backend", "Input", "Kernel", "Output", "Outputs", "Program", "build", "trace"]
