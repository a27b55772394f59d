"""A log beside its robot, before any parameter is estimated: what is wrong, and how to mend it."""

from dalembert.validation.check.checking import LogCheck, check_log, mended_channels
from dalembert.validation.check.finding import Change, Finding, Level

__all__ = ["Change", "Finding", "Level", "LogCheck", "check_log", "mended_channels"]
