"""What a page carries in itself: scripts, styles, data and the plotting library."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from markupsafe import Markup

__all__ = ["asset", "plotly_bundle", "script_json"]


def asset(name: str) -> Markup:
    """A style sheet or script of this package, to stand in the page as it is."""
    return Markup((files("dalembert.report") / "templates" / name).read_text(encoding="utf-8"))


@cache
def plotly_bundle() -> Markup:
    """plotly.js, compressed: the page unpacks it when the first plot is drawn (4.9 MB as text, 2 MB here)."""
    from plotly.offline import get_plotlyjs

    return Markup(base64.b64encode(gzip.compress(get_plotlyjs().encode("utf-8"), 9, mtime=0)).decode("ascii"))


def script_json(data: Any) -> Markup:
    """JSON that may stand in a script element whatever names it holds; numbers that are not finite become null."""
    text = json.dumps(_finite(data), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
