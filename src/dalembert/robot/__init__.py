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
from dalembert.robot.load import catalog_names, load_robot
from dalembert.robot.selection import select_efforts, with_payload
from dalembert.robot.yaml_reader import read_yaml
from dalembert.robot.yaml_writer import write_yaml

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
    "catalog_names",
    "load_robot",
    "read_yaml",
    "select_efforts",
    "with_payload",
    "write_yaml",
]
