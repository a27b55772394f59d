"""Controllers: one contract, one file each."""

from dalembert.simulation.controllers.augmented_pd import AugmentedPd
from dalembert.simulation.controllers.cascade import Cascade
from dalembert.simulation.controllers.computed_torque import ComputedTorque
from dalembert.simulation.controllers.contract import Controller, Law, Loop, Target, motor_inertia
from dalembert.simulation.controllers.feed_forward import FeedForward
from dalembert.simulation.controllers.file import LAWS, ControllerFile, law_named, read_controller
from dalembert.simulation.controllers.pd import Pd
from dalembert.simulation.controllers.pid import Pid
from dalembert.simulation.controllers.preload import Preload
from dalembert.simulation.controllers.stress_free import StressFree

__all__ = [
    "LAWS",
    "AugmentedPd",
    "Cascade",
    "ComputedTorque",
    "Controller",
    "ControllerFile",
    "FeedForward",
    "Law",
    "Loop",
    "Pd",
    "Pid",
    "Preload",
    "StressFree",
    "Target",
    "law_named",
    "motor_inertia",
    "read_controller",
]
