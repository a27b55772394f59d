"""Dynamic parameters of any robot from its logs: the public names, loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.errors import DalembertError
    from dalembert.excitation import Fourier
    from dalembert.identification.base import base_parameters
    from dalembert.logs import read_log, write_log
    from dalembert.model import build_model
    from dalembert.robot import Robot, catalog_names, load_robot

_HOME = {
    "DalembertError": "errors",
    "Fourier": "excitation",
    "Robot": "robot",
    "base_parameters": "identification.base",
    "build_model": "model",
    "catalog_names": "robot",
    "load_robot": "robot",
    "read_log": "logs",
    "write_log": "logs",
}

__all__ = [
    "DalembertError",
    "Fourier",
    "Robot",
    "base_parameters",
    "build_model",
    "catalog_names",
    "load_robot",
    "read_log",
    "write_log",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    return getattr(import_module(f"dalembert.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
