"""The evolution strategy emitter: offspring are samples of a distribution that follows what samples were worth."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.emitters.learner import Networks
from qdpg.learn.networks import flatten_population, init_mlp, init_population, unflatten_population
from qdpg.learn.sep_cma import Strategy, sample, start_strategy, update
from qdpg.memory.elites import Elites


class Sampled(NamedTuple):
    """A strategy, and what its newest samples were drawn with."""

    strategy: Strategy
    seed: np.ndarray  # [] int64


class EvolutionStrategy(Emitter):
    """Samples of separable CMA-ES."""

    def __init__(self, name: str, size: int, sigma: float, networks: Networks) -> None:
        """Remember where to start.

        Args:
            name: Of the strategy, which nobody else shares.
            size: Offspring per generation.
            sigma: Standard deviation of the parameters at the start.
            networks: Shapes of the policies.
        """
        self.learner, self.size, self.sigma, self.networks = name, size, sigma, networks
        self.template = init_mlp(jax.random.key(0), networks.policy_sizes, output=networks.output)

    def init(self, key: jax.Array) -> Sampled:
        """All around one random policy."""
        first = flatten_population(init_population(key, 1, self.networks.policy_sizes, output=self.networks.output))[0]
        return Sampled(start_strategy(first, self.sigma), np.array(0))

    def select(self, elites: Elites, rng: np.random.Generator) -> np.int64:
        """Draw what samples will be drawn with."""
        return rng.integers(2**62)

    def emit(self, selected: np.int64, context: Context) -> Offspring:
        """Sample."""
        state = context.learner._replace(seed=np.array(selected))
        vectors = sample(state.strategy, self.size, int(selected))
        policies = unflatten_population(vectors, self.template)
        return Offspring(policies, np.full(self.size, -1), learned=state)

    def learn(self, state: Sampled, values: np.ndarray, elites: Elites, rng: np.random.Generator) -> Sampled:
        """The strategy after its newest samples turned out to be worth `values` [size].

        One that has come to an end starts again from a random elite.
        """
        strategy, has_ended = update(state.strategy, int(state.seed), values)
        draw = rng.random()  # whether it is needed or not, so that strategies do not depend on each other
        if has_ended:
            row = int(draw * len(elites))
            strategy = start_strategy(elites.data()["solution"][row], self.sigma)
        return state._replace(strategy=strategy)
