"""Evolution strategies: a gradient estimated from the ranks of mirrored perturbations (Salimans et al., 2017).

Perturbations are never stored. Each is drawn from a counter (seed, generation, index), so that those of a generation
can be played in chunks of any size and drawn once more when their ranks are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
import optax
from scipy.stats import rankdata

from qdpg.learn.networks import MLP, flatten_population, unflatten_population
from qdpg.learn.normaliser import ObservationStats, fold

OptimiserState: TypeAlias = Any  # of optax: Adam's moments
_ADAM = optax.scale_by_adam()


class Source(NamedTuple):
    """Where the perturbations of a generation come from."""

    seed: int
    generation: int

    def draw(self, index: int, size: int) -> np.ndarray:
        """Return ε of pair `index`, [size] standard normal float32: one stream over all parameters of a policy."""
        key = np.array([self.seed, self.generation], np.uint64)
        bits = np.random.Philox(key=key, counter=np.array([0, 0, 0, index], np.uint64))
        return np.random.Generator(bits).standard_normal(size, np.float32)


def perturb(centre: np.ndarray, sigma: float, source: Source, pairs: Iterable[int]) -> np.ndarray:
    """Return θ + σε and θ - σε of each pair, one after the other, [2m, P] float32.

    Args:
        centre: θ, [P].
        sigma: σ.
        source: Where ε comes from.
        pairs: Indices of m pairs.
    """
    steps = [np.float32(sigma) * source.draw(index, len(centre)) for index in pairs]
    return np.stack([vector for step in steps for vector in (centre + step, centre - step)])


class Perturbations(NamedTuple):
    """θ + σε and θ - σε of n pairs as policies, one after the other; made when they are needed.

    They are what is sent to whoever plays them: one policy, however many pairs there are.
    """

    centre: MLP  # θ in the coordinates of normalised observations, a population of one
    sigma: float
    source: Source
    observed: ObservationStats

    def make(self, rows: np.ndarray) -> MLP:
        """Make the policies `rows` [m] of 2n, on plain observations, stacked."""
        pairs, places = np.unique(rows // 2, return_inverse=True)
        vectors = perturb(flatten_population(self.centre)[0], self.sigma, self.source, pairs)
        template = jax.tree.map(lambda leaf: leaf[0], self.centre)
        return fold(unflatten_population(vectors[2 * places + rows % 2], template), self.observed)


def centred_ranks(scores: np.ndarray) -> np.ndarray:
    """Return the ranks of scores [N], from -0.5 (worst) to 0.5 (best); equal scores have equal ranks."""
    return (rankdata(scores) - 1) / max(len(scores) - 1, 1) - 0.5


def blend_ranks(novelty: np.ndarray, fitness: np.ndarray, weight: float) -> np.ndarray:
    """Return (1 - w) · rank(novelty) + w · rank(fitness), [N], for a `weight` w in [0, 1]."""
    return (1 - weight) * centred_ranks(novelty) + weight * centred_ranks(fitness)


def estimate_gradient(ranks: np.ndarray, source: Source, size: int) -> np.ndarray:
    """Return Σ (rank⁺ - rank⁻) ε / n, [size] float64; the sum runs in the order of the pairs.

    Args:
        ranks: [2n], of the policies in the order of `perturb`.
        source: As it was for `perturb`.
        size: P.
    """
    weights = ranks[0::2] - ranks[1::2]
    gradient = np.zeros(size)
    for index, weight in enumerate(weights):
        gradient += weight * source.draw(index, size)
    return gradient / len(weights)


def init_optimiser(centre: np.ndarray) -> OptimiserState:
    """A fresh Adam for θ [P]."""
    return _ADAM.init(centre)


def ascend(
    centre: np.ndarray, gradient: np.ndarray, optimiser: OptimiserState, rate: float, decay: float
) -> tuple[np.ndarray, OptimiserState]:
    """Take one step of Adam up `gradient`, with weight decay as part of what Adam sees.

    Args:
        centre: θ, [P] float32.
        gradient: [P].
        optimiser: Adam's moments.
        rate: Learning rate.
        decay: Factor on θ in the gradient of the penalty.
    """
    descent = (decay * centre - gradient).astype(np.float32)
    step, optimiser = _ADAM.update(descent, optimiser)
    return (centre - np.float32(rate) * np.asarray(step)).astype(np.float32), optimiser
