"""The model of a robot with its kernels: what every later room evaluates.

Each quantity is written once in ``symbolic`` and compiled, when first asked for, by ``kernels``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import ModelError
from dalembert.kernels import Backend, Kernel, build, trace
from dalembert.robot import Coordinate, Distance, Robot
from dalembert.symbolic import SX, Dynamics, pseudo_inverse

__all__ = ["Given", "Model", "build_model"]

Array = NDArray[np.float64]
Parameters = ArrayLike | Literal["nominal"]
Given = Literal["sensors", "independent", "motors"]


class Model:
    """A robot's dynamics, ready to evaluate over samples.

    Arrays have one row per sample: ``y yd ydd`` (n, n_y) are tree coordinates, ``v vd`` (n, r) independent velocities,
    ``tau`` (n, n_motors) motor torques, ``pi`` (p,) standard parameters in the order of ``parameters``.
    """

    def __init__(
        self, robot: Robot, *, independent: Sequence[str] = (), backend: Backend = "auto", threads: int = 1
    ) -> None:
        self.dynamics = Dynamics(robot, independent)
        self.robot = self.dynamics.robot
        self.backend: Backend = backend
        self.threads = threads
        self._kernels: dict[str, Kernel] = {}
        self._lock = RLock()

    def __repr__(self) -> str:
        sizes = f"{self.n_y} coordinates, mobility {self.r}, {self.n} motors, {len(self.parameters)} parameters"
        return f"<Model {self.robot.name}: {sizes}>"

    # --- what it is ----------------------------------------------------------------------------------------------

    @property
    def n_y(self) -> int:
        """Number of tree coordinates."""
        return self.dynamics.n_y

    @property
    def n(self) -> int:
        """Number of motors."""
        return self.dynamics.n

    @property
    def r(self) -> int:
        """Mobility: number of independent velocities."""
        return self.dynamics.r

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the tree coordinates."""
        return self.robot.coordinates

    @property
    def independent(self) -> tuple[str, ...]:
        """Coordinates whose velocities are ``v``."""
        return self.dynamics.independent

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the standard parameters."""
        return self.dynamics.parameters

    @property
    def home(self) -> Array:
        """Closed home configuration (n_y,)."""
        return self.dynamics.assembly.home

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about loops and idle mobilities, one sentence each."""
        return self.dynamics.assembly.notes

    @property
    def default_projection(self) -> str:
        """The projection used when none is asked for."""
        return self.dynamics.default_projection

    def row_names(self, projection: str | None = None) -> tuple[str, ...]:
        """What each row of a projection is called; rows of torques that are not measured are left out."""
        return self.dynamics.row_names(projection or self.default_projection)

    def nominal(self) -> Array:
        """Nominal parameter vector (p,); ModelError naming what the description does not give."""
        missing = [name for name in self.parameters if name not in self.robot.nominal]
        if missing:
            shown = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
            raise ModelError(
                f"robot {self.robot.name!r}: no nominal value for {len(missing)} of {len(self.parameters)} parameters "
                f"({shown}); give them under 'nominal:'"
            )
        return np.array([self.robot.nominal[name] for name in self.parameters])

    def vector(self, values: Parameters) -> Array:
        """A parameter vector (p,) from an array or the word "nominal"."""
        if isinstance(values, str):
            return self.nominal()
        pi = np.asarray(values, dtype=float)
        if pi.shape != (len(self.parameters),):
            raise ModelError(f"parameters: found shape {pi.shape}, expected ({len(self.parameters)},)")
        return pi

    # --- kernels -------------------------------------------------------------------------------------------------

    def kernel(self, name: str, write: Callable[[], tuple[dict[str, SX], dict[str, SX]]]) -> Kernel:
        """The compiled kernel of that name; ``write`` gives inputs and outputs the first time."""
        with self._lock:
            if name not in self._kernels:
                inputs, outputs = write()
                program = trace(f"{self.robot.name}:{name}", inputs, outputs)
                self._kernels[name] = build(program, backend=self.backend, threads=self.threads)
            return self._kernels[name]

    def adjoint(self, kernel: Kernel, output: str, by: Sequence[str]) -> Kernel:
        """Gradient by some inputs of one output times a seed, of a kernel of this model; built when first asked for."""
        with self._lock:
            key = f"{kernel.program.name} adjoint {output} {' '.join(by)}"
            if key not in self._kernels:
                self._kernels[key] = build(kernel.program.adjoint(output, list(by)), backend=self.backend)
            return self._kernels[key]

    def loops_kernel(self) -> Kernel:
        """Y -> all closure rows ``c`` and the independent rows' Jacobian ``C``."""
        d = self.dynamics
        return self.kernel(
            "loops", lambda: ({"y": d.y}, {"c": d.assembly.closures.c, "C": ca.densify(d.C)})
        )  # fmt: skip

    def velocity_kernel(self) -> Kernel:
        """y, yd -> ``N`` (n_y, r), ``g`` (n_y,) and ``J`` = T N (n, r)."""
        d = self.dynamics
        return self.kernel(
            "velocity",
            lambda: (
                {"y": d.y, "yd": d.yd},
                {"N": ca.densify(d.N), "g": d.acceleration_bias, "J": ca.densify(d.J_inv)},
            ),
        )

    def motion_kernel(self) -> Kernel:
        """y, v, vd -> ``yd`` = N v and ``ydd`` = N vd + g (n_y,)."""
        d = self.dynamics

        def write() -> tuple[dict[str, SX], dict[str, SX]]:
            v, vd = (ca.SX.sym(name, self.r) for name in ("v", "vd"))
            yd = ca.mtimes(d.N, v)
            g = ca.substitute(d.acceleration_bias, d.yd, yd)
            return {"y": d.y, "v": v, "vd": vd}, {"yd": yd, "ydd": ca.mtimes(d.N, vd) + g}

        return self.kernel("motion", write)

    def correction_kernel(self) -> Kernel:
        """Y -> y moved by one Newton step on the loops, the assembly's independent coordinates held; and ``c``."""
        d = self.dynamics

        def write() -> tuple[dict[str, SX], dict[str, SX]]:
            return {"y": d.y}, {"y": d.y + d.loop_correction, "c": d.assembly.closures.c}

        return self.kernel("correction", write)

    def position_map(self, given: Given = "sensors") -> Array:
        """Rows (n_s, n_y) of the positions a motion is given by: ``theta = rows @ y``."""
        if given == "independent":
            return self.robot.linear_map([((name, 1.0),) for name in self.independent])
        return self.robot.motor_map() if given == "motors" else self.robot.sensor_map()

    def newton_kernel(self, given: Given = "sensors") -> Kernel:
        """y, theta, weight -> y after one Newton step towards ``c = 0`` and the given ``theta``, and what was left
        before it: all closure rows ``c`` and the positions' mismatch ``e``.
        """
        return self.kernel(f"newton {given}", lambda: self.newton_expression(given))

    def newton_expression(self, given: Given = "sensors") -> tuple[dict[str, SX], dict[str, SX]]:
        """Inputs and outputs of :meth:`newton_kernel`, for a caller that follows one sample at a time."""
        d = self.dynamics
        sensors = ca.SX(ca.DM(self.position_map(given)))
        theta, weight = (ca.SX.sym(name, sensors.shape[0]) for name in ("theta", "weight"))
        mismatch = theta - ca.mtimes(sensors, d.y)
        dv = ca.mtimes(self._measured_inverse(sensors, weight), mismatch - ca.mtimes(sensors, d.loop_correction))
        y = d.y + ca.mtimes(d.N, dv) + d.loop_correction
        return {"y": d.y, "theta": theta, "weight": weight}, {
            "y": y,
            "c": d.assembly.closures.c,
            "e": mismatch,
        }

    def _measured_inverse(self, sensors: SX, weight: SX) -> SX:
        """Velocities v from sensor rates (r, n_s), weighted least squares where there are more than needed."""
        jacobian = ca.densify(ca.mtimes(sensors, self.dynamics.N))
        if jacobian.shape[0] == jacobian.shape[1]:
            return pseudo_inverse(jacobian)
        return ca.mtimes(pseudo_inverse(ca.mtimes(ca.diag(weight), jacobian)), ca.diag(weight))

    def rates_kernel(self, given: Given = "sensors") -> Kernel:
        """y, thetad, thetadd, weight -> ``yd`` and ``ydd`` from the given positions' rates."""
        return self.kernel(f"rates {given}", lambda: self.rates_expression(given))

    def rates_expression(self, given: Given) -> tuple[dict[str, SX], dict[str, SX]]:
        """Inputs and outputs of :meth:`rates_kernel`."""
        d = self.dynamics
        sensors = ca.SX(ca.DM(self.position_map(given)))
        rate, acceleration, weight = (ca.SX.sym(k, sensors.shape[0]) for k in ("thetad", "thetadd", "weight"))
        inverse = self._measured_inverse(sensors, weight)
        yd = ca.mtimes(d.N, ca.mtimes(inverse, rate))
        g = ca.substitute(d.acceleration_bias, d.yd, yd)
        ydd = ca.mtimes(d.N, ca.mtimes(inverse, acceleration - ca.mtimes(sensors, g))) + g
        inputs = {"y": d.y, "thetad": rate, "thetadd": acceleration, "weight": weight}
        return inputs, {"yd": yd, "ydd": ydd}

    def regressor_kernel(self, projection: str | None = None) -> Kernel:
        """y, yd, ydd, sigma -> ``W`` (k, p) and ``L`` (k, n): the model is ``L tau = W pi`` row by row, a row for each
        of :meth:`row_names`.

        ``sigma`` (n,) is the motors' torque noise; only the whitened projection uses it.
        """
        projection = projection or self.default_projection
        return self.kernel(f"regressor {projection}", lambda: self._write_regressor(projection))

    def _write_regressor(self, projection: str) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.dynamics
        sigma = ca.SX.sym("sigma", self.n)
        g = d.observed_map(projection, sigma)
        left = ca.mtimes(ca.SX(ca.DM(d.T)), g).T
        if projection == "actuators":
            left = ca.SX.eye(self.n)[d.motor_rows(d.row_names(projection)), :]  # (T N (T N)^{-1})' without the rounding
        return {"y": d.y, "yd": d.yd, "ydd": d.ydd, "sigma": sigma}, {
            "W": d.regressor(g),
            "L": ca.densify(left),
        }

    def coordinates_kernel(self, projection: str, places: Mapping[str, Coordinate | Distance]) -> Kernel:
        """y, yd, ydd, sigma -> motion ``x xd xdd`` (c,) of relative coordinates and ``D`` (k, c), how an effort on each
        enters the rows of a projection.
        """
        key = " ".join(places)
        return self.kernel(f"coordinates {projection} {key}", lambda: self._write_coordinates(projection, places))

    def _write_coordinates(
        self, projection: str, places: Mapping[str, Coordinate | Distance]
    ) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.dynamics
        sigma = ca.SX.sym("sigma", self.n)
        g = d.observed_map(projection, sigma)
        moving = [d.relative(on) for on in places.values()]
        outputs = {name: ca.vertcat(*[getattr(m, name) for m in moving]) for name in ("x", "xd", "xdd")}
        outputs["D"] = ca.mtimes(ca.vertcat(*[m.gradient for m in moving]), g).T
        return {"y": d.y, "yd": d.yd, "ydd": d.ydd, "sigma": sigma}, outputs

    def inverse_kernel(self, projection: str | None = None) -> Kernel:
        """y, yd, ydd, pi -> projected torque ``gamma`` (k,), same rows as the regressor with sigma = 1."""
        projection = projection or self.default_projection
        d = self.dynamics
        return self.kernel(
            f"inverse {projection}",
            lambda: (
                {"y": d.y, "yd": d.yd, "ydd": d.ydd, "pi": d.pi},
                {"gamma": ca.mtimes(d.observed_map(projection).T, d.tree_effort)},
            ),
        )

    def torque_kernel(self) -> Kernel:
        """y, yd, ydd, pi, preload -> motor torques ``tau`` (n,): minimum norm plus the preload's internal part."""
        d = self.dynamics
        preload = ca.SX.sym("preload", self.n)
        return self.kernel(
            "torque",
            lambda: (
                {"y": d.y, "yd": d.yd, "ydd": d.ydd, "pi": d.pi, "preload": preload},
                {"tau": d.motor_torque(preload)},
            ),
        )

    def mass_kernel(self) -> Kernel:
        """y, pi -> ``M`` (r, r), mass matrix on the independent velocities."""
        d = self.dynamics
        return self.kernel("mass", lambda: ({"y": d.y, "pi": d.pi}, {"M": d.mass}))

    def bias_kernel(self) -> Kernel:
        """y, yd, pi -> ``h`` (r,): effort on v at zero acceleration (Coriolis, gravity, friction)."""
        d = self.dynamics
        return self.kernel("bias", lambda: ({"y": d.y, "yd": d.yd, "pi": d.pi}, {"h": d.bias}))

    def forward_kernel(self) -> Kernel:
        """y, yd, tau, pi -> ``vd`` (r,) and ``ydd`` (n_y,): forward dynamics on the loops."""
        return self.kernel("forward", self._write_forward)

    def _write_forward(self) -> tuple[dict[str, SX], dict[str, SX]]:
        d = self.dynamics
        tau = ca.SX.sym("tau", self.n)
        vd = d.forward_dynamics(tau)
        ydd = ca.mtimes(d.N, vd) + d.acceleration_bias
        return {"y": d.y, "yd": d.yd, "tau": tau, "pi": d.pi}, {"vd": vd, "ydd": ydd}

    def energy_kernel(self) -> Kernel:
        """y, yd, pi -> kinetic energy ``T`` and potential energy ``V`` [J]."""
        d = self.dynamics

        def write() -> tuple[dict[str, SX], dict[str, SX]]:
            kinetic, potential = d.energy
            return {"y": d.y, "yd": d.yd, "pi": d.pi}, {"T": kinetic, "V": potential}

        return self.kernel("energy", write)

    def poses_kernel(self) -> Kernel:
        """Y -> for every body its pose in the base, ``poses`` (bodies, 12): rotation row by row, then position."""
        d = self.dynamics

        def write() -> tuple[dict[str, SX], dict[str, SX]]:
            rows = []
            for name in self.robot.body_names:
                rotation, position = d.tree.pose(d.tree.frame_of(name), d.y)
                rows.append(ca.horzcat(ca.vec(rotation.T).T, position.T))
            return {"y": d.y}, {"poses": ca.densify(ca.vertcat(*rows))}

        return self.kernel("poses", write)

    # --- evaluated -----------------------------------------------------------------------------------------------

    def velocity_maps(self, y: ArrayLike) -> tuple[Array, Array]:
        """``N`` (n, n_y, r) and ``J`` (n, n_motors, r), also when there is one mobility (a kernel drops that axis)."""
        y = np.atleast_2d(np.asarray(y, dtype=float))
        out = self.velocity_kernel()(y, np.zeros(self.n_y))
        return out["N"].reshape(len(y), self.n_y, self.r), out["J"].reshape(len(y), self.n, self.r)

    def regressor(self, y: ArrayLike, yd: ArrayLike, ydd: ArrayLike, projection: str | None = None) -> Array:
        """W (n, k, p) of a projection, sigma = 1."""
        w: Array = self.regressor_kernel(projection)(y, yd, ydd, np.ones(self.n))["W"]
        return w if w.ndim == 3 else w[:, :, None]

    def inverse_dynamics(self, y: ArrayLike, yd: ArrayLike, ydd: ArrayLike, pi: Parameters = "nominal") -> Array:
        """Motor torques (n, n_motors): of minimum norm where the robot is over-actuated."""
        tau: Array = self.torque_kernel()(y, yd, ydd, self.vector(pi), np.zeros(self.n))["tau"]
        return tau

    def forward_dynamics(self, y: ArrayLike, yd: ArrayLike, tau: ArrayLike, pi: Parameters = "nominal") -> Array:
        """Accelerations ydd (n, n_y)."""
        ydd: Array = self.forward_kernel()(y, yd, tau, self.vector(pi))["ydd"]
        return ydd

    def mass_matrix(self, y: ArrayLike, pi: Parameters = "nominal") -> Array:
        """M_v (n, r, r)."""
        m: Array = self.mass_kernel()(y, self.vector(pi))["M"]
        return m.reshape(-1, self.r, self.r)


def build_model(robot: Robot, *, independent: Sequence[str] = (), backend: Backend = "auto", threads: int = 1) -> Model:
    """Derive the model of a robot: its loops are closed at home; kernels are compiled when first used."""
    return Model(robot, independent=independent, backend=backend, threads=threads)
