"""Numbers as a person reads them: as many digits as are known, a true minus sign, powers of ten."""

from __future__ import annotations

import math

__all__ = ["bytes_text", "percent", "significant", "unit_text", "with_interval"]

NONE = "–"
_UP = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _decimal(value: float, decimals: int) -> str:
    text = f"{value:.{max(decimals, 0)}f}"
    if float(text) == 0.0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def _power(exponent: int) -> str:
    return f"·10{str(exponent).translate(_UP)}"


def significant(value: float | None, digits: int = 4) -> str:
    """A number with that many significant digits; a dash for none or one that is not finite."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0.0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if -4 <= exponent < 6:
        return _decimal(value, digits - 1 - exponent)
    return _decimal(value / 10.0**exponent, digits - 1) + _power(exponent)


def with_interval(value: float, half: float | None) -> tuple[str, str]:
    """A value and the half width of its interval: two digits of the width, and the value to the same place."""
    if half is None or not math.isfinite(half) or half <= 0.0:
        return significant(value, 5), NONE
    place = int(f"{half:.1e}".partition("e")[2])
    size = max(place, int(f"{value:.1e}".partition("e")[2]) if value else place)
    place = max(place, size - 6)  # seven digits are enough for the eye
    if -4 <= size < 6:
        return _decimal(value, 1 - place), _decimal(half, 1 - place)
    scale = 10.0**size
    return _decimal(value / scale, size - place + 1) + _power(size), _decimal(half / scale, size - place + 1) + _power(
        size
    )


def percent(share: float | None, digits: int = 3) -> str:
    """A share as percent."""
    if share is None or not math.isfinite(share):
        return NONE
    return f"{significant(100.0 * share, digits)} %"


def unit_text(unit: str) -> str:
    """A unit with its powers raised: kg m^2 as kg m²."""
    head, *tails = unit.split("^")
    out = head
    for tail in tails:
        k = 2 if tail[:1] == "-" else 1
        out += tail[:k].translate(_UP) + tail[k:]
    return out


def bytes_text(count: int) -> str:
    """A size of a file."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
