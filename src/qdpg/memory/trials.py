"""What several episodes of the same policy say about it: where it belongs, and how good it is there.

A policy that was played n times has n fitnesses and n behaviours. It belongs to the cell of its mean behaviour. Its
*worth* there is its fitness, counted from below the worst of all, where an episode that ended in another cell counts
nothing: what somebody gets who asks for a policy for that cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PRIOR_EPISODES = 1.0  # every policy is taken to have played so many average episodes more than it has
PRIOR_HITS = 0.3  # share of episodes that end in a policy's own cell, as long as nobody has played often enough
ENOUGH = 4  # episodes after which a policy says something about that share


class Worth(NamedTuple):
    """How good policies are in their own cell, [P] each."""

    mean: np.ndarray  # estimate
    error: np.ndarray  # its standard error

    @property
    def low(self) -> np.ndarray:
        """What it is worth with some certainty."""
        return self.mean - self.error

    @property
    def high(self) -> np.ndarray:
        """What it may turn out to be worth."""
        return self.mean + self.error


def mean_over(values: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """The means of the first `episodes` [P] of `values` [P, K] or [P, K, D], in float64 and in order."""
    played = np.arange(values.shape[1]) < episodes[:, None]
    kept = np.where(played.reshape(*played.shape, *[1] * (values.ndim - 2)), values, 0.0).astype(np.float64)
    total = np.cumsum(kept, axis=1)[:, -1]
    return total / episodes.reshape(-1, *[1] * (total.ndim - 1))


def appraise(fitness: np.ndarray, is_hit: np.ndarray, episodes: np.ndarray) -> Worth:
    """Estimate the worth of P policies.

    Policies that played seldom are drawn towards the average: of their own fitness, but of everybody's share of
    episodes that end where they should, and of everybody's spread.

    Args:
        fitness: [P, K], of which the first `episodes` count.
        is_hit: [P, K] bool, whether the episode ended in the policy's own cell.
        episodes: [P] int, at least 1.
    """
    played = np.arange(fitness.shape[1]) < episodes[:, None]
    means = mean_over(fitness, episodes)
    lowest, highest = means.min(), means.max()
    # The best is worth twice as much as the worst, so that a policy has twice the share of hits to make up for it.
    base = lowest - max(highest - lowest, 1e-9 * max(abs(lowest), 1.0))
    worth = np.where(played & is_hit, fitness - base, 0.0)
    often = episodes >= ENOUGH
    hits = (is_hit & played).sum(axis=1) / episodes
    share = hits[often].mean() if often.any() else PRIOR_HITS
    prior = share * (means - base)
    total = episodes + PRIOR_EPISODES
    mean = (worth.sum(axis=1) + PRIOR_EPISODES * prior) / total
    squares = (np.where(played, worth - mean[:, None], 0.0) ** 2).sum(axis=1)
    # The variance of one episode: everybody's share of hits gives the prior for it.
    guess = share * (1 - share) * (means - base) ** 2
    variance = (squares + PRIOR_EPISODES * guess) / total
    return Worth(mean, np.sqrt(np.maximum(variance, 0.5 * guess) / total))
