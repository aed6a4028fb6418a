from __future__ import annotations

import numpy as np
import pytest

from qdpg.report.statistics import bootstrap_interval, interquartile_mean, join_curves, summarise


def test_median_and_quartiles_by_hand() -> None:
    found = summarise([-30.0, -24.0, -26.0, -126.0, -25.0])
    assert found == (-26.0, -30.0, -25.0, 5)
    assert found.spread == 2.5, "half the distance between the quartiles"
    assert summarise([1.0, 2.0, 4.0, 8.0])[:3] == (3.0, 1.75, 5.0), "interpolated linearly"
    assert summarise([3.0, np.nan])[:2] == (3.0, 3.0)
    assert np.isnan(summarise([3.0]).spread), "one run has no spread"
    assert np.isnan(summarise([np.nan]).median)


def test_what_was_never_reached_counts_as_infinite() -> None:
    assert summarise([1e5, np.inf, 2e5])[:3] == (2e5, 1.5e5, np.inf)
    assert summarise([1e5, np.inf]).median == np.inf
    assert summarise([np.inf, np.inf, 1e5])[:3] == (np.inf, np.inf, np.inf)


def test_interquartile_mean_by_hand() -> None:
    assert interquartile_mean(np.array([100.0, 1.0, 2.0, 3.0])) == 2.5
    assert interquartile_mean(np.array([1.0, 2.0, 6.0])) == pytest.approx((0.25 * 1 + 2 + 0.25 * 6) / 1.5)
    # Of five, the middle three count 0.75, 1 and 0.75.
    assert interquartile_mean(np.array([0.0, 1.0, 2.0, 7.0, 99.0])) == pytest.approx((0.75 + 2 + 0.75 * 7) / 2.5)
    assert interquartile_mean(np.array([[5.0], [7.0]])).tolist() == [5.0, 7.0]


def test_bootstrap_of_two_scores_is_known_exactly() -> None:
    value, low, high = bootstrap_interval([[0.0, 1.0]])
    assert value == 0.5
    assert (low, high) == (0.0, 1.0), "both ends have a quarter of the resamples each"


def test_bootstrap_keeps_to_strata() -> None:
    # Every resample has two zeros and two ones: drawn across strata, it would not.
    assert bootstrap_interval([[0.0, 0.0], [1.0, 1.0]]) == (0.5, 0.5, 0.5)
    pooled = bootstrap_interval([[0.0, 0.0, 1.0, 1.0]])
    assert pooled.low == 0.0
    assert pooled.high == 1.0


def test_bootstrap_agrees_with_theory_and_with_itself() -> None:
    scores = np.random.default_rng(1).normal(size=200)
    first = bootstrap_interval([scores])
    assert first == bootstrap_interval([scores]), "the same resamples every time"
    # The interquartile mean of a normal sample has about 1.09 times the standard error of the mean.
    assert first.high - first.low == pytest.approx(2 * 1.96 * 1.09 * scores.std() / np.sqrt(200), rel=0.25)
    assert first.low < first.value < first.high
    assert np.isnan(bootstrap_interval([[3.0], [4.0]])[1:]).all(), "single seeds say nothing about others"


def test_curves_are_joined_by_what_each_run_had_by_then() -> None:
    first = np.array([10.0, 20.0, 40.0]), np.array([1.0, 2.0, 3.0])
    second = np.array([15.0, 30.0]), np.array([5.0, 6.0])
    third = np.array([5.0, 12.0, 35.0]), np.array([-np.inf, 0.0, 9.0])
    curve = join_curves([first, second, third])
    assert curve.steps.tolist() == [15, 20, 30], "from when all have a value to the end of the shortest"
    assert curve.median.tolist() == [1, 2, 2]
    assert curve.low.tolist() == [0.5, 1, 1]
    assert curve.high.tolist() == [3, 3.5, 4]
    assert not len(join_curves([first, (np.array([]), np.array([]))]).steps)
    assert not len(join_curves([first, (np.array([50.0]), np.array([1.0]))]).steps)
    long = np.arange(1000.0), np.arange(1000.0)
    thinned = join_curves([long, long], points=50)
    assert len(thinned.steps) == 50
    assert (thinned.steps[0], thinned.steps[-1]) == (0, 999)
    np.testing.assert_array_equal(thinned.median, thinned.steps)
