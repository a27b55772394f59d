"""Does a fit hold on motions it has never seen: torque, mass matrix, physical consistency."""

from dalembert.validation.heldout import GroupScore, Validation, validate

__all__ = ["GroupScore", "Validation", "validate"]
