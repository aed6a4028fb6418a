"""The policy gradient emitter: copies of elites climb twin critics that all of them share."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from qdpg.emitters.emitter import Context, Emitter, Exploration, Offspring
from qdpg.emitters.learner import Learner, Networks, climb_frozen, draw_rates, train_greedy
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.climbing import climb
from qdpg.learn.networks import join_policies, repeat_policies, take_policies
from qdpg.learn.td3 import Actors, TD3Settings, init_actors
from qdpg.learn.transitions import Transitions, UniformMinibatches
from qdpg.memory.elites import Elites


class Selected(NamedTuple):
    """Elites that were selected."""

    rows: np.ndarray  # [n] rows of `Elites.data()`
    actors: Actors  # their copies, ready to be improved


class PolicyGradient(Emitter):
    """Copies of elites, improved for one objective.

    Without a greedy actor the copies themselves train the critics, as in QD-PG: all climb together, and the critics'
    gradients are averaged. With one, a single policy that lives on from generation to generation trains them, as in
    PGA-ME, and is played as the first of the offspring; the copies then climb critics that stand still.
    """

    def __init__(
        self,
        name: str,
        objective: GradientObjective,
        rewards: tuple[float, float],
        size: int,
        networks: Networks,
        settings: TD3Settings,
        *,
        greedy_steps: int = 0,
        offspring_rate: float | None = None,
        explore_with_first: bool = False,
    ) -> None:
        """Remember what to climb.

        Args:
            name: What the objective, and the learner, is called.
            objective: Its settings.
            rewards: Of the environment's reward and of the novelty, how much counts.
            size: Offspring per generation, a greedy actor included.
            networks: What learns.
            settings: Of the update; discount and bound of actions are the objective's.
            greedy_steps: Gradient steps of each copy where there is a greedy actor; 0 means that there is none.
            offspring_rate: Learning rate of the copies, if it is another than the greedy actor's.
            explore_with_first: Whether exploration episodes are played by the first of the offspring only, which is the
                greedy actor if there is one; otherwise by all in turn.
        """
        self.learner, self.objective, self.size, self.networks, self.settings = (
            name,
            objective,
            size,
            networks,
            settings,
        )
        self.rewards = rewards
        self.greedy_steps, self.keeps_start = greedy_steps, rewards[0] > 0
        self.least = 1 + (greedy_steps > 0)  # a greedy actor is one of them
        self.climbs_novelty = rewards == (0.0, 1.0)  # where both rewards count, the other is reason enough
        self.offspring_rate = settings.actor_rate if offspring_rate is None else offspring_rate
        self.explore_with_first = explore_with_first
        # The environment's reward is shaped when it is stored; novelty changes, and is shaped in each minibatch.
        self.shaping = objective.discount if objective.shapes_novelty and rewards[1] else None

    def init(self, key: jax.Array) -> Learner:
        """Fresh critics, and a greedy actor if there is to be one."""
        return self.networks.init_learner(key, self.settings, with_greedy=self.greedy_steps > 0)

    def select(self, elites: Elites, rng: np.random.Generator) -> Selected:
        """Draw elites, and a learning rate for each copy."""
        number = self.size - (self.greedy_steps > 0)
        rows = elites.draw(rng, number, self.objective.selection_pressure)
        rates = draw_rates(self.objective, self.offspring_rate, number, rng)
        copies = init_actors(self.networks.for_learning(elites.policies(rows)), self.settings, rates)
        return Selected(rows, copies)

    def emit(self, selected: Selected, context: Context) -> Offspring:
        """Improve the copies and train the critics."""
        minibatches, learner = self._minibatches(context.transitions), context.learner
        if learner.greedy is None:
            actors, critics = climb(
                selected.actors,
                learner.critics,
                minibatches,
                context.key,
                context.steps,
                context.stop,
                settings=self.settings,
            )
            policies, learner, rows = actors.online, Learner(critics, None), selected.rows
        else:
            learner = self.train(context)
            assert learner.greedy is not None
            policies, rows = learner.greedy.online, np.append(-1, selected.rows)
            if len(selected.rows):
                critics, steps = learner.critics, self.greedy_steps
                actors = climb_frozen(selected.actors, critics, minibatches, context, steps, self.settings)
                policies = join_policies(policies, actors.online)
        return Offspring(self.networks.for_play(policies), rows, learned=learner)

    def train(self, context: Context) -> Learner:
        """Train the critics with the greedy actor alone."""
        return train_greedy(context.learner, self._minibatches(context.transitions), context, self.settings)

    def explore(self, offspring: Offspring, rng: np.random.Generator) -> Exploration | None:
        """Copies of the offspring, to be played with noise."""
        number = self.objective.exploration_episodes
        explorers = take_policies(offspring.policies, slice(1)) if self.explore_with_first else offspring.policies
        if not number:
            return None
        return Exploration(repeat_policies(explorers, number), self.objective.exploration_noise)

    def _minibatches(self, transitions: Transitions | None) -> UniformMinibatches:
        """What draws transitions with this objective's reward."""
        assert transitions is not None
        weights = self.networks.weights(self.objective, self.rewards)
        return UniformMinibatches(transitions, weights, self.networks.scaling, self.shaping)
