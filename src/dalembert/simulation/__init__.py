"""Experiments in simulation: a robot under control, its sensors, written as logs."""

from dalembert.simulation.controllers import (
    AugmentedPd,
    Cascade,
    ComputedTorque,
    Controller,
    FeedForward,
    Law,
    Pd,
    Pid,
    Preload,
    StressFree,
    Target,
    motor_inertia,
)
from dalembert.simulation.reference import Reference, make_reference
from dalembert.simulation.result import Simulation, Status, Truth
from dalembert.simulation.sensing import Sensing
from dalembert.simulation.simulator import Options, Simulator, simulate
from dalembert.simulation.synthetic import perfect_tracking

__all__ = [
    "AugmentedPd",
    "Cascade",
    "ComputedTorque",
    "Controller",
    "FeedForward",
    "Law",
    "Options",
    "Pd",
    "Pid",
    "Preload",
    "Reference",
    "Sensing",
    "Simulation",
    "Simulator",
    "Status",
    "StressFree",
    "Target",
    "Truth",
    "make_reference",
    "motor_inertia",
    "perfect_tracking",
    "simulate",
]
