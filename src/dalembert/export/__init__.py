"""A fit as files of other tools: URDF, MJCF, YAML, csv, C, CasADi, Python.

``dalembert.export`` is both this room and the public function: Python binds the room to that name of the package as
soon as anything of it is imported. So the room can be called, and does what the function does.
"""

import sys
from types import ModuleType
from typing import Any

from dalembert.export.exporting import FORMATS, export, format_of

__all__ = ["FORMATS", "export", "format_of"]


class _Room(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return export(*args, **options)


sys.modules[__name__].__class__ = _Room
