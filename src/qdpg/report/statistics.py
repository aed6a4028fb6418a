"""What is said about several runs: medians, quartiles, interquartile means with bootstrap intervals, joint curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95
_CHUNK = 1_000  # resamples at a time


class Summary(NamedTuple):
    """The middle of some scores."""

    median: float
    low: float  # first quartile
    high: float  # third quartile
    known: int  # how many scores

    @property
    def spread(self) -> float:
        """Half the interquartile range, the paper's ±; not-a-number for a single score, which has no spread."""
        return (self.high - self.low) / 2 if self.known > 1 else np.nan


def summarise(scores: Sequence[float] | np.ndarray) -> Summary:
    """Return median and quartiles (interpolated linearly) of the scores that are known; infinite ones count.

    Args:
        scores: [n], with not-a-number for what is not known.
    """
    known = np.asarray(scores, np.float64)
    known = np.sort(known[~np.isnan(known)])
    if not len(known):
        return Summary(np.nan, np.nan, np.nan, 0)
    median, low, high = (_quantile(known, part) for part in (0.5, 0.25, 0.75))
    return Summary(median, low, high, len(known))


def _quantile(ascending: np.ndarray, part: float) -> float:
    """The `part` quantile of `ascending` [n ≥ 1]; between something and infinity there is only infinity."""
    place = part * (len(ascending) - 1)
    below, above = ascending[int(np.floor(place))], ascending[int(np.ceil(place))]
    share = place - np.floor(place)
    return float(below) if below == above or share == 0 else float(below + share * (above - below))


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean of the middle half along the last axis, [..., n] → [...].

    Scores at the edge of the middle half count in part, so that it is exactly half of them whatever n is: of three
    scores, the middle one counts once and the others a quarter each.
    """
    number = scores.shape[-1]
    edges = np.arange(number + 1) / number
    weights = np.diff(np.clip(edges, 0.25, 0.75)) / 0.5
    return np.sort(scores, axis=-1) @ weights


class Interval(NamedTuple):
    """An estimate and where it would lie with other seeds."""

    value: float
    low: float
    high: float


def bootstrap_interval(strata: Sequence[Sequence[float] | np.ndarray], seed: int = 0) -> Interval:
    """Return the interquartile mean of all scores with a stratified bootstrap interval (percentiles, 95 %).

    Every resample draws as many scores of each stratum as it has, with replacement (Agarwal et al., 2021). A single
    score per stratum tells nothing about other seeds; the interval is then not known (NaN).

    Args:
        strata: The scores of each task, one per seed; all finite, at least one.
        seed: Where the resamples come from.
    """
    groups = [np.asarray(scores, np.float64) for scores in strata if len(scores)]
    value = float(interquartile_mean(np.concatenate(groups)))
    if max(map(len, groups)) == 1:
        return Interval(value, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(RESAMPLES // _CHUNK):
        drawn = [group[rng.integers(len(group), size=(_CHUNK, len(group)))] for group in groups]
        means.append(interquartile_mean(np.concatenate(drawn, axis=1)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(value, float(low), float(high))


class Curve(NamedTuple):
    """Median and quartiles over runs, against environment steps; all [n]."""

    steps: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray


def join_curves(curves: Sequence[tuple[np.ndarray, np.ndarray]], points: int = 200) -> Curve:
    """Join the curves of several runs: at every step, each counts with the last value it had by then.

    The joint curve begins when all have a value and ends with the shortest, so that it never is about fewer runs.

    Args:
        curves: Steps [n] (ascending) and values [n] of each run; values that are not finite are left out.
        points: Of the joint curve, at most.
    """
    known = []
    for steps, values in curves:
        shown = np.isfinite(values)
        if not shown.any():
            return Curve(*(np.array([]) for _ in range(4)))
        known.append((steps[shown], values[shown]))
    first, last = max(steps[0] for steps, _ in known), min(steps[-1] for steps, _ in known)
    if last < first:
        return Curve(*(np.array([]) for _ in range(4)))
    # Where any run has a new value; thinned out evenly if that is too often.
    at = np.unique(np.concatenate([[first, last], *(s[(s >= first) & (s <= last)] for s, _ in known)]))
    if len(at) > points:
        at = at[np.linspace(0, len(at) - 1, points).round().astype(int)]
    held = np.stack([values[np.searchsorted(steps, at, side="right") - 1] for steps, values in known])
    low, median, high = np.quantile(held, [0.25, 0.5, 0.75], axis=0)
    return Curve(at, median, low, high)
