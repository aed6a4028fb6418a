"""The ranges of settings, stated where they are declared: `discount: Share = 0.99`.

A range is part of a field's type, so that it has one place, and `options.py` checks it for every setting alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated

from qdpg.errors import UserError

_LARGEST = 1e30  # beyond, single precision would not hold what is made of it
_MOST = 2**31 - 1  # of what is counted


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
        return above and value <= self.high and abs(value) <= _LARGEST

    def __str__(self) -> str:
        if self.low == -math.inf:
            return f"finite and at most {_LARGEST:g}"
        least = f"{'more than' if self.open_low else 'at least'} {self.low:g}"
        if self.high == math.inf:
            return least
        return (
            f"{least} and at most {self.high:,}" if isinstance(self.high, int) else f"{least} and at most {self.high:g}"
        )

    def check(self, value: float, name: str) -> None:
        """Refuse a value that lies outside.

        Args:
            value: A number.
            name: What it is called.

        Raises:
            UserError: It does.
        """
        if not self.holds(value):
            large = f" (and not larger than {_LARGEST:g})" if abs(value) > _LARGEST and self.high == math.inf else ""
            raise UserError(f"{name} is {value!r:.40}, but must be {self}{large}.")

    def whole(self, value: float, name: str) -> int:
        """Return `value` as a whole number; 1e5 is one too.

        Args:
            value: A number.
            name: What it is called.

        Raises:
            UserError: It is no whole number, or lies outside.
        """
        is_whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
        if not is_whole or isinstance(value, bool):
            raise UserError(f"{name} is {value!r:.40}, but must be a whole number.")
        self.check(value, name)
        return int(value)


COUNT = Range(1, _MOST)
COUNT_OR_NONE = Range(0, _MOST)
SEED = Range(0, _MOST)
Count = Annotated[int, COUNT]
CountOrNone = Annotated[int, COUNT_OR_NONE]
Horizon = Annotated[int, Range(1, 1_000_000)]
Seed = Annotated[int, SEED]
Number = Annotated[float, Range()]  # any that is finite
Share = Annotated[float, Range(0, 1)]
Positive = Annotated[float, Range(0, open_low=True)]
NotNegative = Annotated[float, Range(0)]
AtLeastOne = Annotated[float, Range(1)]
Correlation = Annotated[float, Range(0, 0.9999)]
Widths = tuple[Count, ...]
Cells = tuple[Count, ...] | Count


def check_seconds(value: float, name: str) -> None:
    """Refuse what is no length of time; it may be endless.

    Raises:
        UserError: It is none.
    """
    if not value >= 0:
        raise UserError(f"{name} is {value}, but must be at least 0.")
