"""Numbers as people read them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Write four significant digits, or whole thousands and more: 0.1235, -23.6, 12,346; "-" if there is no number."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def plural(count: int, noun: str) -> str:
    """Count a noun: 1 elite, 1,024 elites."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
