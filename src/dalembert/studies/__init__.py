"""Published studies reproduced end to end in simulation: the paper's tables beside ours, findings, figures.

The values a paper identified are the truth of the simulator only; nothing of them reaches an estimate.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType

from dalembert.errors import UsageError, choices
from dalembert.studies.drawing import draw
from dalembert.studies.study import Curve, Figure, Finding, Panel, Progress, Study, Table, silent

__all__ = [
    "STUDIES",
    "Curve",
    "Figure",
    "Finding",
    "Panel",
    "Progress",
    "Study",
    "Table",
    "draw",
    "reproduce",
]

# name -> module with ``reproduce(progress, *, quick) -> Study``, loaded when asked for
STUDIES: Mapping[str, str] = MappingProxyType(
    {"dualv": "dualv", "delta": "delta", "tx40": "tx40", "3prrr": "prrr", "orthoglide": "orthoglide"}
)


def reproduce(name: str, progress: Progress = silent, *, quick: bool = False) -> Study:
    """Run a study by name; ``quick`` runs shorter experiments, for a look."""
    if name not in STUDIES:
        raise UsageError(f"reproduce: no study {name!r}; {choices(name, (*STUDIES, 'all'))}")
    begun = time.monotonic()
    study: Study = import_module(f"dalembert.studies.{STUDIES[name]}").reproduce(progress, quick=quick)
    return replace(study, seconds=time.monotonic() - begun)
