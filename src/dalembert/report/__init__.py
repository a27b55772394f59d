"""What a result looks like: pictures and the report."""

from dalembert.report.builder import write_report
from dalembert.report.paper import write_figures

__all__ = ["write_figures", "write_report"]
