"""Does a fit hold on motions it has never seen: torque, mass matrix, physical consistency."""

from dalembert.validation.blocks import CrossValidation, cross_validate
from dalembert.validation.heldout import GroupScore, Validation, validate

__all__ = ["CrossValidation", "GroupScore", "Validation", "cross_validate", "validate"]
