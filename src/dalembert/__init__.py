"""Dynamic parameters of any robot from its logs."""

from dalembert.robot.load import catalog_names, load_robot

__all__ = ["catalog_names", "load_robot"]
