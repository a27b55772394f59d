"""Motions to follow: one contract, one file per family."""

from dalembert.simulation.trajectories.file import read_trajectory
from dalembert.simulation.trajectories.moves import Law, Moves, move_times, moves
from dalembert.simulation.trajectories.random_points import random_points
from dalembert.simulation.trajectories.sampled import read_sampled, sampled
from dalembert.simulation.trajectories.shapes import corners, outlines, rotated_squares
from dalembert.simulation.trajectories.trajectory import MOTORS, Trajectory, follower_of, home_of, limit_of, names_of

__all__ = [
    "MOTORS",
    "Law",
    "Moves",
    "Trajectory",
    "corners",
    "follower_of",
    "home_of",
    "limit_of",
    "move_times",
    "moves",
    "names_of",
    "outlines",
    "random_points",
    "read_sampled",
    "read_trajectory",
    "rotated_squares",
    "sampled",
]
