"""The colours of the page, for pictures that are drawn elsewhere: told apart by colour-blind readers, on white."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from dalembert.report.inline import asset

__all__ = ["DASHES", "palette"]

DASHES = (
    "solid",
    "dash",
    "dot",
    "dashdot",
    "longdash",
    "longdashdot",
)  # of the curves "1" to "6", as plots.js has them


@cache
def palette() -> Mapping[str, str]:
    """Colour (#rrggbb) of each role and thing, as the style sheet of the page has them in light."""
    light = asset("page.css").partition("{")[2].partition("}")[0]
    named = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light))
    return MappingProxyType(named | {str(k): named[f"c{k}"] for k in range(1, 7)})
