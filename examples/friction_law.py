"""A friction law of one's own: the log of a joint that also drags a cable, identified without and with its law.

uv run python examples/friction_law.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dalembert as da
from dalembert.excitation import fourier_within_limits
from dalembert.simulation import ComputedTorque, Sensing

ROBOT = """
name: slewing-arm
gravity: [0, 0, -9.81]
bodies:
  - name: arm
    parent: base
    joint: {name: q1, type: revolute, axis: y}
    inertia: {mass: 3 kg, com: [0.25, 0, 0], tensor: [0.01, 0.08, 0.08]}
motors:
  - {name: m1, turns: {q1: 1}, efforts: {rotor: 0.05, viscous: 0.4, coulomb: 1.2}}
efforts:
  - {on: q1, basis: [q1, q1^3], name: cable, values: [1.5, -0.8]}
home: {q1: 0}
limits: {q1: {lower: -2 rad, upper: 2 rad, velocity: 6, acceleration: 60}}
"""

with TemporaryDirectory() as folder:
    file = Path(folder) / "arm.yaml"
    file.write_text(ROBOT, encoding="utf-8")
    robot = da.load_robot(str(file))
    file.write_text("".join(line for line in ROBOT.splitlines(True) if "cable" not in line and line != "efforts:\n"))
    plain = da.load_robot(str(file))

model = da.build_model(robot)
rng = np.random.default_rng(1)
sensors = Sensing(encoder_step=2e-5, torque_noise=0.1)
logs = []
for name in ("recorded", "unseen"):
    motion = fourier_within_limits(model, da.Fourier(harmonics=5, duration=8.0), rng)
    controller = ComputedTorque(bandwidth=10.0, damping=0.7)
    logs.append(da.simulate(model, motion, controller, duration=8.0, sensing=sensors, rng=rng, name=name).log)
for described in (plain, robot):
    fit = da.identify(da.build_model(described), logs[0])
    print(fit, "\n")
    print(da.validate(fit.fit, logs[1]), "\n")
