"""The cross-entropy method with a diagonal covariance, as CEM-RL uses it (Pourchot and Sigaud, ICLR 2019)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LAST_NOISE = 1e-5  # ε tends to this
_DECAY = 0.95  # … by this factor per generation


class Distribution(NamedTuple):
    """A normal distribution of parameter vectors."""

    mean: np.ndarray  # [P] float64
    variance: np.ndarray  # [P] float64
    noise: float  # ε, what is added to the variance


def init_distribution(mean: np.ndarray, variance: float) -> Distribution:
    """Start around `mean` [P], with the same variance everywhere, which is ε at first too."""
    return Distribution(mean.astype(np.float64), np.full(len(mean), variance), variance)


def sample(distribution: Distribution, rng: np.random.Generator, number: int) -> np.ndarray:
    """Draw parameter vectors in mirrored pairs, [number] even, [number, P] float64."""
    half = rng.standard_normal((number // 2, len(distribution.mean)))
    return distribution.mean + np.sqrt(distribution.variance) * np.concatenate([half, -half])


def update(distribution: Distribution, vectors: np.ndarray, fitness: np.ndarray) -> Distribution:
    """Move to the better half of the vectors, weighted by rank.

    The variance is measured about the OLD mean and divided once more by the number of parents, as in the authors' code.

    Args:
        distribution: What the vectors came from.
        vectors: [n, P].
        fitness: [n].
    """
    parents = len(vectors) // 2
    best = vectors[np.argsort(-fitness, kind="stable")[:parents]]
    weights = np.log((parents + 1) / np.arange(1, parents + 1))
    weights /= weights.sum()
    spread = weights @ (best - distribution.mean) ** 2 / parents
    # ε decays before it is used, so that the first generation already adds less than the start's.
    noise = _DECAY * distribution.noise + (1 - _DECAY) * LAST_NOISE
    return Distribution(weights @ best, spread + noise, noise)
