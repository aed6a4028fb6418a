"""Ranges hold what they say, and say what they hold."""

import math
from typing import get_args

import pytest

from qdpg.ranges import (
    AtLeastOne,
    Cells,
    Correlation,
    Count,
    CountOrNone,
    NotNegative,
    Positive,
    Range,
    Share,
    Widths,
)


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (Count, [1, 10**9], [0, -1]),
        (CountOrNone, [0, 1], [-1]),
        (Share, [0, 0.5, 1], [-1e-9, 1.001, 99]),
        (Positive, [1e-30, 1e30], [0, -1e-30]),
        (NotNegative, [0, 1e30], [-1e-30]),
        (AtLeastOne, [1, 3.5], [0.999, 0]),
        (Correlation, [0, 0.9999], [1, -0.1]),
    ],
)
def test_what_lies_within(kind, inside, outside):
    (limits,) = kind.__metadata__
    assert all(limits.holds(value) for value in inside)
    assert not any(limits.holds(value) for value in [*outside, math.nan, math.inf, -math.inf])


def test_no_range_holds_what_is_not_finite():
    everything = Range()
    assert everything.holds(-1e30)
    assert not any(everything.holds(value) for value in (math.nan, math.inf, -math.inf))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Range(0, 1), "at least 0 and at most 1"),
        (Range(0, open_low=True), "more than 0"),
        (Range(1), "at least 1"),
        (Range(0, 0.9999), "at least 0 and at most 0.9999"),
    ],
)
def test_ranges_in_words(limits, words):
    assert str(limits) == words


def test_widths_and_cells_are_counts():
    assert get_args(Widths) == (Count, ...)
    assert get_args(Cells) == (Widths, Count)
