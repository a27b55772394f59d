"""The sections of a report, in the order they are read."""

from __future__ import annotations

from dalembert.report.sections import (
    closure,
    comparison,
    correlation,
    coverage,
    mass,
    motion,
    parameters,
    provenance,
    singular,
    torque,
    verdicts,
)
from dalembert.report.sections.contract import Content, Section

__all__ = ["SECTIONS", "Content", "Section"]

SECTIONS: tuple[Section, ...] = (
    verdicts.section,
    parameters.section,
    torque.section,
    correlation.section,
    singular.section,
    coverage.section,
    closure.section,
    mass.section,
    motion.section,
    comparison.section,
    provenance.section,
)
