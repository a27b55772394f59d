"""The side YAML of a URDF file: loops, motors, efforts and all else that URDF has no place for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dalembert.robot.description import Robot
from dalembert.robot.yaml_builder import Document, build_robot
from dalembert.robot.yaml_legs import SECTION_KEYS, read_scope
from dalembert.robot.yaml_source import parse_file
from dalembert.robot.yaml_writer import yaml_text

__all__ = ["read_side", "side_path", "side_text"]

_KEYS = (
    "name",
    "source",
    "gravity",
    "constants",
    "legs",
    *SECTION_KEYS,
    "independent",
    "platform",
    "symmetric",
    "unmeasured",
    "without_encoder",
)


def side_path(urdf: Path) -> Path:
    """Where the side YAML of a URDF file is looked for: ``arm.urdf`` has ``arm.dalembert.yaml``."""
    return urdf.with_suffix(".dalembert.yaml")


def read_side(robot: Robot, path: Path) -> Robot:
    """The robot of a URDF file completed by its side YAML, in the notation of robot files.

    Loops come on top of the mimics, motors and efforts replace those of the URDF, the root link is ``base``.
    """
    root = parse_file(path)
    keys = root.mapping(_KEYS, (), "a side file")
    layers = {key: (value,) for key, value in keys.items() if not value.is_null}
    constants = keys["constants"].entries("a mapping of constants") if "constants" in layers else {}
    return build_robot(Document(root, layers, robot), read_scope({name: (item,) for name, item in constants.items()}))


def side_text(robot: Robot) -> str:
    """The side YAML that completes a URDF file; ``robot`` holds what has to be said there, and all the bodies."""
    effort_names = {name for effort in robot.efforts for name in effort.parameters}
    nominal = {name: value for name, value in robot.nominal.items() if name in effort_names}
    blocks = yaml_text(replace(robot, nominal=nominal)).rstrip("\n").split("\n\n")
    return "\n\n".join(block for block in blocks if not block.startswith("bodies:")) + "\n"
