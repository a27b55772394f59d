"""``dalembert robots``: the catalog."""

from __future__ import annotations

from dalembert.cli.console import AsJson, emit, table
from dalembert.robot import Coupling, catalog_names, load_robot

__all__ = ["robots"]


def robots(as_json: AsJson = False) -> None:
    """List the robots of the catalog."""
    rows = []
    for name in catalog_names():
        robot = load_robot(name)
        loops = sum(not isinstance(loop, Coupling) for loop in robot.loops)
        about, _, _ = robot.source.partition(". ")
        rows.append(
            {
                "name": name,
                "bodies": len(robot.bodies),
                "coordinates": len(robot.coordinates),
                "loops": loops,
                "motors": len(robot.motors),
                "about": about,
                "source": robot.source,
            }
        )
    columns = ["name", "bodies", "coordinates", "loops", "motors", "about"]
    shown = table("catalog", columns, [[row[column] for column in columns] for row in rows])
    emit(as_json, {"robots": rows}, shown)
