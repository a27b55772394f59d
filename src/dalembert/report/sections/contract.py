"""The contract of the sections: evidence in, what its template shows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.report.evidence import Evidence
from dalembert.report.panels import Picture

__all__ = ["Content", "Section"]


@dataclass(frozen=True, slots=True)
class Content:
    """One section of a page: ``key`` names its template and anchor, ``title`` heads it, ``short`` stands in the list of
    sections; ``shown`` is what the template reads, ``pictures`` what it draws, ``data`` what its script reads (JSON
    values).
    """

    key: str
    title: str
    short: str
    shown: Mapping[str, Any]
    pictures: tuple[Picture, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


# What one section makes of the evidence; None where there is nothing to show
Section = Callable[[Evidence], Content | None]
