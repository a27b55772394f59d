"""What a result looks like: pictures and the report."""

from dalembert.report.builder import write_report

__all__ = ["write_report"]
