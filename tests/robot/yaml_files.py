"""Robot files of the YAML tests."""

from __future__ import annotations

from pathlib import Path

from dalembert.robot import Robot, read_yaml

ARM = """\
name: arm
bodies:
  - {name: a, joint: {name: q1, type: revolute}}
  - {name: b, joint: {name: q2, type: revolute}}
"""

DUALV = """\
name: dualv
source: "[Briot15] table 1; r_p is not printed there, 0.14 m assumed"
gravity: [0, 0, -9.81]
constants: {l_OA: 0.41 m, d: 0.28 m, r_p: 0.14 m}
bodies:
  - {name: platform, parent: base, joint: {name: pose, type: planar}}
legs:
  each: [{k: 1, gamma: 15.52 deg, side: 1}, {k: 2, gamma: 164.48 deg, side: 1},
         {k: 3, gamma: -164.48 deg, side: -1}, {k: 4, gamma: -15.52 deg, side: -1}]
  symmetric: true
  bodies:
    - {name: "crank{k}", parent: base, at: [l_OA*cos(gamma), l_OA*sin(gamma), 0],
       joint: {name: "q1{k}", type: revolute, axis: z}}
    - {name: "rod{k}", parent: "crank{k}", at: [d, 0, 0], joint: {name: "q2{k}", type: revolute, axis: z}}
  loops:
    - {name: "C{k}", type: point, between: [{body: "rod{k}", at: [d, 0, 0]},
                                            {body: platform, at: [0, side*r_p, 0]}]}
  motors:
    - {name: "m{k}", turns: {"q1{k}": 1}, efforts: [rotor, viscous, coulomb]}
independent: [pose]
home: {pose: [0, 0, 0 deg], q11: -40 deg}
"""

EVERYTHING = """\
name: everything
source: >
  many
  things
gravity: [0, -9.81, 0]
constants: {l: 20 cm, half: l/2}
bodies:
  - {name: a, joint: {name: q1, type: revolute, axis: y, limits: {lower: -pi, upper: 90 deg, velocity: 100 deg/s}}}
  - {name: b, parent: a, at: [0, 0, l], rpy: [pi/2, 0, 0], joint: {name: q2, type: revolute, efforts: [viscous]},
     inertia: {mass: 2 kg, com: [half, 0, 0], tensor: [1, 2, 3]}}
  - {name: c, parent: b, at: [half, 0, 0], joint: {name: slide, type: prismatic, axis: -x, efforts: {coulomb: 3 N}}}
  - {name: wrist, parent: c, quaternion: [1, 0, 0, 0], joint: {type: universal, axis: x, second_axis: [0, 1, 1]}}
  - {name: nut, parent: a, joint: {name: screw, type: helical, pitch: 5 mm}, massless: true}
  - {name: ball, parent: nut, rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]], joint: {type: spherical}}
  - {name: cover, parent: ball}
loops:
  - {name: hold, type: rod, length: 0.3, between: [{body: wrist, at: [0, 0, 1]}, base]}
  - {name: pin, type: axis, between: [{body: cover, axis: y}, {body: wrist, rpy: [0, 10 deg, 0]}]}
  - {type: coupling, set: screw, equals: {q2: -1, q1: 2, constant: 90 deg}}
motors:
  - {turns: {q1: 50}, efforts: {rotor: 0.01, viscous: unknown}, torque_limit: 12 Nm, limits: {acceleration: 30}}
  - {name: m6, turns: "32*q2 + 32*wrist.first", efforts: [rotor, offset]}
sensors:
  - {name: encoder, reads: {ball.rx: 1}}
efforts:
  - {on: q2 - q1, friction: [viscous, coulomb]}
  - {on: m6, friction: {coulomb: 2}, name: belt}
  - {on: {distance: [{body: a, at: [l, 0, 0]}, {body: wrist}]}, efforts: [viscous], name: ram}
  - {spring: slide, stiffness: 30 N/m, rest: unknown}
  - {spring: q1, rest: 10 deg, name: torsion}
  - {on: slide, constant: 12 N, name: weight}
  - {on: slide, basis: [1, slide, "l*cos(m6)"], name: cable, values: [1, 2, 3]}
  - {force: {q2: "sign(d(wrist.first))", wrist.first: "sign(d(q2 - q1))"}, name: fcm6, value: 0.5}
independent: [q1, wrist]
home: {q1: 10 deg, wrist: [0.1, 0.2], ball.rz: 0.3}
platform: cover
symmetric: [[a, b], [c, cover]]
limits: {m6: {lower: -1, upper: 1}, slide: {upper: 10 cm}}
nominal: {M_a: 3 kg, Fv_q2: 0.25}
unmeasured: [m6]
without_encoder: [m6]
"""

MDH = """\
name: table
mdh:
  columns: [joint, antecedent, sigma, gamma, b, alpha, d, theta, r]
  rows:
    - [j1, base, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    - [j2, j1, 1, 0, 0, -pi/2, 0.1, 90 deg, 0.2]
    - [j3, base, ~, ~, ~, 0.2, 0.7, ~, ~]
    - [tip, j2, 2, 0.2, 0.1, 0, 0.4, 0, 0.3]
  cut:
    - {name: C, type: axis, between: [tip, {body: j3, at: [0.4, 0, 0]}]}
"""


def read_text(folder: Path, text: str, **constants: float | str) -> Robot:
    """The robot of a file with this text."""
    path = folder / "robot.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, constants)
