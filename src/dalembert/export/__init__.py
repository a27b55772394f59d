"""A fit as files of other tools: URDF, MJCF, YAML, csv, C, CasADi, Python."""

from dalembert.export.exporting import FORMATS, export, format_of

__all__ = ["FORMATS", "export", "format_of"]
