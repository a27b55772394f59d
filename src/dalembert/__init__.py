"""Dynamic parameters of any robot from its logs: the public names, loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.closed_loop.cloe import Cloe
    from dalembert.closed_loop.didim import Didim
    from dalembert.closed_loop.instruments import SimulatedIv
    from dalembert.errors import DalembertError
    from dalembert.excitation import (
        BSpline,
        Design,
        Effort,
        Fourier,
        FourierPolynomial,
        Limits,
        Noise,
        PointToPoint,
        Shares,
        design_excitation,
        read_limits,
        write_design,
    )
    from dalembert.export import export
    from dalembert.identification.base import base_parameters
    from dalembert.identification.bounded import Bounded
    from dalembert.identification.constraints import Constraints
    from dalembert.identification.essential import FTest, SigmaRatio
    from dalembert.identification.fit import Fit
    from dalembert.identification.fit_files import read_fit, write_fit
    from dalembert.identification.identify import Identification, identify
    from dalembert.identification.irls import Irls
    from dalembert.identification.iv import Iv
    from dalembert.identification.ols import Ols
    from dalembert.identification.physical import Physical
    from dalembert.identification.prior import Prior
    from dalembert.identification.sdp import Sdp
    from dalembert.identification.tls import Tls
    from dalembert.identification.wls import Wls
    from dalembert.logs import Repair, open_log, read_channels, read_log, write_log
    from dalembert.model import build_model
    from dalembert.report import write_figures, write_report
    from dalembert.robot import Robot, catalog_names, load_robot
    from dalembert.signals import SignalSettings, SlowMask
    from dalembert.simulation import Simulator, read_controller, read_trajectory, simulate
    from dalembert.validation import Validation, validate
    from dalembert.validation.check import LogCheck, check_log

_HOME = {
    "BSpline": "excitation",
    "Bounded": "identification.bounded",
    "Cloe": "closed_loop.cloe",
    "Constraints": "identification.constraints",
    "DalembertError": "errors",
    "Design": "excitation",
    "Didim": "closed_loop.didim",
    "Effort": "excitation",
    "FTest": "identification.essential",
    "Fit": "identification.fit",
    "Fourier": "excitation",
    "FourierPolynomial": "excitation",
    "Identification": "identification.identify",
    "Irls": "identification.irls",
    "Iv": "identification.iv",
    "Limits": "excitation",
    "LogCheck": "validation.check",
    "Noise": "excitation",
    "Ols": "identification.ols",
    "Physical": "identification.physical",
    "PointToPoint": "excitation",
    "Prior": "identification.prior",
    "Repair": "logs",
    "Robot": "robot",
    "Sdp": "identification.sdp",
    "Shares": "excitation",
    "SigmaRatio": "identification.essential",
    "SignalSettings": "signals",
    "SimulatedIv": "closed_loop.instruments",
    "Simulator": "simulation",
    "SlowMask": "signals",
    "Tls": "identification.tls",
    "Validation": "validation",
    "Wls": "identification.wls",
    "base_parameters": "identification.base",
    "build_model": "model",
    "catalog_names": "robot",
    "check_log": "validation.check",
    "design_excitation": "excitation",
    "export": "export",
    "identify": "identification.identify",
    "load_robot": "robot",
    "open_log": "logs",
    "read_channels": "logs",
    "read_controller": "simulation",
    "read_fit": "identification.fit_files",
    "read_limits": "excitation",
    "read_log": "logs",
    "read_trajectory": "simulation",
    "simulate": "simulation",
    "validate": "validation",
    "write_design": "excitation",
    "write_figures": "report",
    "write_fit": "identification.fit_files",
    "write_log": "logs",
    "write_report": "report",
}

__all__ = [
    "BSpline",
    "Bounded",
    "Cloe",
    "Constraints",
    "DalembertError",
    "Design",
    "Didim",
    "Effort",
    "FTest",
    "Fit",
    "Fourier",
    "FourierPolynomial",
    "Identification",
    "Irls",
    "Iv",
    "Limits",
    "LogCheck",
    "Noise",
    "Ols",
    "Physical",
    "PointToPoint",
    "Prior",
    "Repair",
    "Robot",
    "Sdp",
    "Shares",
    "SigmaRatio",
    "SignalSettings",
    "SimulatedIv",
    "Simulator",
    "SlowMask",
    "Tls",
    "Validation",
    "Wls",
    "base_parameters",
    "build_model",
    "catalog_names",
    "check_log",
    "design_excitation",
    "export",
    "identify",
    "load_robot",
    "open_log",
    "read_channels",
    "read_controller",
    "read_fit",
    "read_limits",
    "read_log",
    "read_trajectory",
    "simulate",
    "validate",
    "write_design",
    "write_figures",
    "write_fit",
    "write_log",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    return getattr(import_module(f"dalembert.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
