"""Robots by name or by file."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from dalembert.errors import RobotError, choices
from dalembert.robot.description import Robot
from dalembert.robot.yaml_source import is_file

__all__ = ["SUFFIXES", "catalog_names", "catalog_path", "load_robot"]

SUFFIXES = (".yaml", ".yml", ".urdf", ".xml", ".mjcf")


def _catalog() -> Path:
    return Path(str(resources.files("dalembert.robot"))) / "catalog"


def catalog_names() -> tuple[str, ...]:
    """Names of the robots that come with the package."""
    robots = (path for path in sorted(_catalog().glob("*.yaml")) if _is_robot(path))
    return tuple(path.stem for path in robots)


def _is_robot(path: Path) -> bool:
    """False for a file of parameter values that lies beside the robots."""
    return re.search(r"^(name|extends)\s*:", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def catalog_path(name: str) -> Path:
    """File of a catalog robot, to copy and change; RobotError with the choices for an unknown name."""
    names = catalog_names()
    if name not in names:
        raise RobotError(
            f"no robot {name!r} in the catalog; {choices(name, names)}; or give a file ending in {', '.join(SUFFIXES)}"
        )
    return _catalog() / f"{name}.yaml"


def load_robot(source: str | Path, **constants: float | str) -> Robot:
    """A robot of the catalog by name, or of a YAML, URDF or MJCF file.

    ``constants`` replace values of the constants block of a YAML description: ``load_robot("dualv", r_p="12 cm")``.
    """
    from dalembert.robot.yaml_reader import read_yaml

    text = str(source)
    suffix = Path(text).suffix.lower()
    if suffix not in SUFFIXES:
        return read_yaml(catalog_path(text), constants)
    path = Path(text)
    if not is_file(path):
        raise RobotError(f"no file {text!r}, expected a robot file ending in {', '.join(SUFFIXES)}")
    if suffix in (".yaml", ".yml"):
        return read_yaml(path, constants)
    if constants:
        raise RobotError(f"{text}: found constants {', '.join(constants)}, expected none: only YAML files have any")
    if suffix == ".urdf":
        from dalembert.robot.urdf_reader import read_urdf

        return read_urdf(path)
    from dalembert.robot.mjcf_reader import read_mjcf

    return read_mjcf(path)
