"""Experiments in simulation: a robot under control, its sensors, written as logs."""

from dalembert.simulation.controllers import (
    AugmentedPd,
    Cascade,
    ComputedTorque,
    Controller,
    ControllerFile,
    FeedForward,
    Law,
    Pd,
    Pid,
    Preload,
    StressFree,
    Target,
    law_named,
    motor_inertia,
    read_controller,
)
from dalembert.simulation.noise_file import NoiseFile, read_noise
from dalembert.simulation.parameter_file import (
    ParameterFile,
    parameters_of_fit,
    read_parameters,
    with_point_mass,
)
from dalembert.simulation.reference import Reference, make_reference
from dalembert.simulation.result import Simulation, Status, Truth
from dalembert.simulation.sensing import Sensing
from dalembert.simulation.simulator import Options, Simulator, simulate
from dalembert.simulation.summary import Summary, energy_imbalance, summarise
from dalembert.simulation.synthetic import perfect_tracking
from dalembert.simulation.trajectories import Trajectory, read_trajectory

__all__ = [
    "AugmentedPd",
    "Cascade",
    "ComputedTorque",
    "Controller",
    "ControllerFile",
    "FeedForward",
    "Law",
    "NoiseFile",
    "Options",
    "ParameterFile",
    "Pd",
    "Pid",
    "Preload",
    "Reference",
    "Sensing",
    "Simulation",
    "Simulator",
    "Status",
    "StressFree",
    "Summary",
    "Target",
    "Trajectory",
    "Truth",
    "energy_imbalance",
    "law_named",
    "make_reference",
    "motor_inertia",
    "parameters_of_fit",
    "perfect_tracking",
    "read_controller",
    "read_noise",
    "read_parameters",
    "read_trajectory",
    "simulate",
    "summarise",
    "with_point_mass",
]
