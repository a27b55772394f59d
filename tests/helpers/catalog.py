"""The catalog's robots, trees and loops apart."""

from __future__ import annotations

from functools import cache

from dalembert.robot import Robot
from dalembert.robot.load import catalog_names, load_robot


@cache
def catalog_robot(name: str) -> Robot:
    return load_robot(name)


def catalog_trees() -> list[str]:
    return [name for name in catalog_names() if not catalog_robot(name).loops]


def catalog_loops() -> list[str]:
    return [name for name in catalog_names() if catalog_robot(name).loops]
