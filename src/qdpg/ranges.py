"""The ranges of settings, stated where they are declared: `discount: Share = 0.99`.

A range is part of a field's type, so that it has one place, and `options.py` checks it for every setting alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, ends included unless said otherwise.

    Attributes:
        low: The least.
        high: The greatest.
        open_low: Whether the least itself is left out.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False

    def holds(self, value: float) -> bool:
        """Whether `value` is finite and lies within."""
        above = value > self.low if self.open_low else value >= self.low
        return math.isfinite(value) and above and value <= self.high

    def __str__(self) -> str:
        if self.low == -math.inf:
            return "finite"
        least = f"{'more than' if self.open_low else 'at least'} {self.low:g}"
        return least if self.high == math.inf else f"{least} and at most {self.high:g}"


Count = Annotated[int, Range(1)]
CountOrNone = Annotated[int, Range(0)]
Number = Annotated[float, Range()]  # any that is finite
Share = Annotated[float, Range(0, 1)]
Positive = Annotated[float, Range(0, open_low=True)]
NotNegative = Annotated[float, Range(0)]
AtLeastOne = Annotated[float, Range(1)]
Correlation = Annotated[float, Range(0, 0.9999)]
Widths = tuple[Count, ...]
Cells = tuple[Count, ...] | Count
