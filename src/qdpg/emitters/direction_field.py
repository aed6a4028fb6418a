"""The direction field emitter: the greedy direction-conditioned policy, sent along many direction fields."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Exploration, Offspring
from qdpg.emitters.fields import FIELD, DirectionFields, count_mutated
from qdpg.emitters.learner import Learner, train_greedy
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.td3 import TD3Settings
from qdpg.learn.transitions import Minibatches, Transitions
from qdpg.memory.elites import Elites


class DirectionField(Emitter):
    """Trains direction-conditioned critics and their greedy policy; offspring are that policy with mutated fields."""

    least = 1

    def __init__(
        self,
        name: str,
        size: int,
        fields: DirectionFields,
        settings: TD3Settings,
        minibatches: Callable[[Transitions], Minibatches],
        objective: GradientObjective,
    ) -> None:
        """Remember what to train.

        Args:
            name: What the learner is called.
            size: Offspring per generation; where elites keep how directions enter them, `FieldMutation` takes a part.
            fields: How fields lie beside elites.
            settings: Of the update.
            minibatches: What the critics are trained on.
            objective: How many exploration episodes there are, and their noise.
        """
        self.learner, self.size, self.fields, self.settings = name, size, fields, settings
        self.minibatches, self.objective = minibatches, objective

    def init(self, key: jax.Array) -> Learner:
        """Fresh critics and a fresh greedy policy."""
        further = self.fields.descriptors
        return self.fields.networks.init_learner(key, self.settings, with_greedy=True, further_inputs=further)

    def select(self, elites: Elites, rng: np.random.Generator) -> np.ndarray:
        """Mutate fields of elites in sparse regions, [n, S]."""
        number = self.size - (count_mutated(self.size, elites) if self.fields.keeps_weights else 0)
        parents = elites.data()[FIELD][self.fields.draw_sparse(elites, rng, number)]
        return self.fields.mutate(parents, rng)

    def train(self, context: Context) -> Learner:
        """Train critics and greedy policy."""
        assert context.transitions is not None
        return train_greedy(context.learner, self.minibatches(context.transitions), context, self.settings)

    def emit(self, selected: np.ndarray, context: Context) -> Offspring:
        """Train, then give the newest greedy policy every field: what makes it faster serves all fields at once."""
        learner = self.train(context)
        policies, remembered = self.fields.follow(learner, selected), self.fields.remember(learner, selected)
        return Offspring(policies, np.full(len(selected), -1), remembered, learned=learner)

    def explore(self, offspring: Offspring, rng: np.random.Generator) -> Exploration | None:
        """The greedy policy, straight on in random directions."""
        number = self.objective.exploration_episodes
        if not number:
            return None
        fields = self.fields.constant(rng, number)
        return Exploration(self.fields.follow(offspring.learned, fields), self.objective.exploration_noise)
