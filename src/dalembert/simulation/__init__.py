"""Experiments in simulation, written as logs."""

from dalembert.simulation.synthetic import Sensing, perfect_tracking

__all__ = ["Sensing", "perfect_tracking"]
