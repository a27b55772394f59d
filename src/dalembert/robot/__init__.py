"""What a robot is: frozen description, readers, writers, catalog."""

from dalembert.robot.description import (
    BASE,
    Anchor,
    Body,
    Coordinate,
    Coupling,
    Distance,
    Effort,
    EffortKind,
    Limit,
    Loop,
    LoopKind,
    Motor,
    Robot,
    Sensor,
)
from dalembert.robot.geometry import IDENTITY, Placement
from dalembert.robot.joints import Joint, JointType, Step

__all__ = [
    "BASE",
    "IDENTITY",
    "Anchor",
    "Body",
    "Coordinate",
    "Coupling",
    "Distance",
    "Effort",
    "EffortKind",
    "Joint",
    "JointType",
    "Limit",
    "Loop",
    "LoopKind",
    "Motor",
    "Placement",
    "Robot",
    "Sensor",
    "Step",
]
