"""[Gnad24]: complete, physically consistent parameters of Delta-like robots by log-Cholesky coordinates.

D. Gnad, H. Gattringer, A. Mueller, W. Hoebarth, R. Riepl, L. Messner, Dedicated dynamic parameter identification for
Delta-like robots, IEEE Robotics and Automation Letters (2024).
"""

from __future__ import annotations

from dalembert.studies.delta_bench import Bench
from dalembert.studies.delta_family import family
from dalembert.studies.delta_industrial import industrial
from dalembert.studies.delta_surrogate import NOISE, TRUTH, surrogate
from dalembert.studies.study import Progress, Study, silent

__all__ = ["reproduce"]


def reproduce(progress: Progress = silent, *, quick: bool = False) -> Study:
    """Figures 3 to 8 and table I, and the same method on three other robots."""
    progress("section VII: preparing the simulated robot")
    bench = Bench.of("delta", NOISE, TRUTH)
    sections = (
        surrogate(bench, progress, quick=quick),
        industrial(bench, progress, quick=quick),
        family(progress, quick=quick),
    )
    return Study(
        "delta",
        "D. Gnad et al., Dedicated dynamic parameter identification for Delta-like robots, 2024",
        tuple(table for section in sections for table in section.tables),
        tuple(finding for section in sections for finding in section.findings),
        tuple(figure for section in sections for figure in section.figures),
    )
